"""A stretch of a room's log that is read again, with what it shows."""

from collections.abc import Sequence
from typing import Final

from genie_core.room.protocol.events import Event, MessagePosted, RecoveredEvent
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.room.state.thread import RUNNING, MessageThread
from genie_tui.widgets.entry import Entry
from genie_tui.widgets.transcript import Transcript

PAGE: Final = 500
"""Events that are read at once."""

MOST: Final = 3 * PAGE
"""Events of a stretch at most."""


class Stretch:
    """The events from `first` to `last`, and nothing of what was before or comes after.

    `before` says how many messages there are before it, None if that is not known. Making one takes
    some hundredths of a second and touches nothing else, so that it can be done in a thread.
    """

    def __init__(
        self, events: Sequence[Event], first: int, last: int, before: int | None = None
    ) -> None:
        self.events = events
        self.first = first
        self.last = last
        self.before = 0 if first <= 1 and before is None else before
        self.messages = count_messages(events)
        self._state = RoomState()
        self._state.floor = self._state.head = first - 1
        self._transcript = Transcript(self._state)
        for event in events:
            self._take(event)

    @property
    def entries(self) -> list[Entry]:
        """What it shows, in order."""
        return self._transcript.entries

    @property
    def seqs(self) -> list[int]:
        """The number of the event that each entry shows."""
        return self._transcript.seqs

    def place(self, message: int) -> int | None:
        """The index of the entry that shows a message."""
        return self._transcript.place(message)

    def places_of(self, digest: str) -> list[int]:
        """The indices of the entries that show a file."""
        return self._transcript.places_of(digest)

    def exchange(self, message: int) -> MessageThread | None:
        """What came of a message; None if that is told later on, or earlier."""
        found = self._state.exchanges.get(message)
        return None if found is None or found.phase in RUNNING else found

    def with_front(self, events: Sequence[Event], first: int) -> "Stretch":
        """One that begins with these, which are those from `first` on, and ends sooner."""
        before = self.before
        if before is not None:
            before = max(0, before - count_messages(events))
        whole = [*events, *self.events]
        kept = whole[:MOST]
        last = kept[-1].seq if len(kept) < len(whole) else self.last
        return Stretch(kept, first, last, before)

    def with_back(self, events: Sequence[Event], last: int) -> "Stretch":
        """One that ends with these, which are those up to `last`, and begins later."""
        whole = [*self.events, *events]
        kept = whole[-MOST:]
        if len(kept) == len(whole):
            return Stretch(kept, self.first, last, self.before)
        gone = count_messages(whole[: -len(kept)])
        before = self.before + gone if self.before is not None else None
        return Stretch(kept, kept[0].seq, last, before)

    def _take(self, event: Event) -> None:
        try:
            self._state.apply(event)
        except IllegalEvent:  # a log with a hole in it is still worth reading
            self._state.head = event.seq
        self._transcript.add(event)


def count_messages(events: Sequence[Event]) -> int:
    """How many of these are messages, recovered ones included."""
    return sum(
        isinstance(body, MessagePosted)
        or (isinstance(body, RecoveredEvent) and isinstance(body.event.body, MessagePosted))
        for body in (event.body for event in events)
    )
