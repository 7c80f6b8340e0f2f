"""A room's log folded once for all its visitors, and the changes since any event."""

import secrets
from typing import Final

import msgspec

from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.events import ChangeBody, Event
from genie_core.room.security.identity import Identity
from genie_core.room.state.hosting import refuse_other_room
from genie_core.room.state.private import PrivateReader
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.room.view.reader import Earlier
from genie_core.room.view.wording import changed_thread
from genie_serve.web.entries import (
    NoticeEntry,
    answer_entry,
    members_of,
    message_entry,
    notice_entry,
)

KEPT: Final = 300
"""Latest entries that a page can show; there are up to twice as many for a moment."""

_encode: Final = msgspec.json.Encoder().encode


class RoomFeed:
    """The entries that all visitors of a room may see, as of event `state.head`.

    An entry has the number of its event and is encoded once after each change. Nothing private is
    opened here: each visitor opens its own messages.
    """

    def __init__(self) -> None:
        self.id: Final = secrets.token_hex(4)
        self.state: Final = RoomState()
        self.last: Event | None = None
        self.dropped = 0
        """The number of the last event that changed an entry which is no longer kept."""
        self._changes: dict[int, int] = {}
        self._notices: dict[int, NoticeEntry] = {}
        self._answers: dict[int, int] = {}
        self._encoded: dict[int, msgspec.Raw] = {}
        self._members: msgspec.Raw | None = None
        self._earlier = Earlier()
        self._reader = PrivateReader(Identity.generate())

    @property
    def mark(self) -> int:
        """The mark of the last event, by which the room knows whether its log has the same one."""
        return 0 if self.last is None else event_mark(self.last)

    @property
    def members(self) -> msgspec.Raw:
        """The present members as JSON: the same object until an event."""
        if self._members is None:
            self._members = msgspec.Raw(_encode(members_of(self.state)))
        return self._members

    def apply(self, event: Event, room: str) -> None:
        """Take in an event of the log; one that was applied before changes nothing.

        `room` is the id that the host claimed.

        Raises:
            IllegalEvent: it contradicts the log so far.
            UnprovenHost: it gives the room a host who may not host it.
        """
        state = self.state
        if event.seq <= state.head:
            return
        refuse_other_room(state, event, room)
        is_change = isinstance(event.original.body, ChangeBody)
        state.apply(event, self._reader.shown(event, state))
        self._members = None
        self.last = event
        notice = notice_entry(event, state, self._earlier)
        self._earlier.add(event)
        if notice is not None:
            self._notices[event.seq] = notice
            self._change(event.seq)
        thread = state.threads.get(event.seq) or changed_thread(event, state)
        if thread is not None:
            self._change_thread(thread, with_replies=is_change)
        if len(self._changes) > 2 * KEPT:
            self._drop()

    def changed_since(self, seq: int) -> list[tuple[int, int]]:
        """Return the entries that events after `seq` changed last, each with the event, in order."""
        found = []
        for number, changed in reversed(self._changes.items()):
            if changed <= seq:
                break
            found.append((number, changed))
        return found[::-1]

    def entry(self, number: int) -> msgspec.Raw | None:
        """Return an entry as JSON; None if there is nothing that all may see."""
        if number in self._encoded:
            return self._encoded[number]
        made = self._made(number)
        if made is None:
            return None
        encoded = self._encoded[number] = msgspec.Raw(_encode(made))
        return encoded

    def _made(self, number: int) -> msgspec.Struct | None:
        if number in self._notices:
            return self._notices[number]
        thread = self.state.threads.get(self._answers.get(number, number))
        if thread is None:
            return None
        if number == thread.seq:
            return message_entry(thread, self.state)
        return answer_entry(thread, self.state) if number == thread.answered_seq else None

    def _change_thread(self, thread: MessageThread, *, with_replies: bool) -> None:
        answer = thread.answered_seq
        numbers = [thread.seq]
        numbers += [old for old, message in self._answers.items() if message == thread.seq]
        if answer is not None and answer not in numbers:
            self._answers[answer] = thread.seq
            numbers.append(answer)
        if with_replies:  # they quote it
            known = map(self.state.threads.get, self._changes)
            numbers += [each.seq for each in known if each is not None and each.reply == thread.seq]
        for number in numbers:
            self._change(number)

    def _change(self, number: int) -> None:
        """Note that the event applied last changed an entry, unless it is too old to be kept."""
        head = self.state.head
        if number in self._changes or number == head:
            self._changes.pop(number, None)
            self._encoded.pop(number, None)
            self._changes[number] = head

    def _drop(self) -> None:
        """Drop the oldest entries."""
        for number in sorted(self._changes)[:-KEPT]:
            self.dropped = max(self.dropped, self._changes.pop(number))
            for kept in (self._notices, self._answers, self._encoded):
                kept.pop(number, None)
