"""When the terminal's bell rings for events of a room."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    Event,
    MemberJoined,
    MessagePosted,
)
from genie_core.room.protocol.names import MAX_POINTS, fold_name
from genie_core.room.state.room_state import RoomState
from genie_core.settings.model import Notify

GAP: Final = 1.0
"""Minimum seconds between two rings."""

_CALL: Final = re.compile(r"(?<![\w@./+-])@(\S+)")
_PLAIN: Final = re.compile(r"[\w.-]++(?!/(?!@))")
"""The start of a word, unless the word is the path of a file."""
_AROUND: Final = ".,;:!?)]}>'\"…"


class Bell:
    """Rings for news as configured, never for history or the person's own events.

    `notify` may be set at any time; `clock` is monotonic seconds.
    """

    def __init__(self, notify: Notify, clock: Callable[[], float]) -> None:
        self.notify: Notify = notify
        self._clock = clock
        self._rang_at = float("-inf")
        self._head = 0
        self._here = False

    def enter(self, state: RoomState, me: str) -> None:
        """Start in a room; events that its state includes are history."""
        person = state.people.get(me)
        self._head = state.head
        self._here = person is not None and person.present

    def ring_for(self, events: Iterable[Event], state: RoomState, me: str) -> Event | None:
        """Return for which of the events, which `state` includes, to ring now; None for no ring."""
        called = [event for event in events if self._counts(event, state, me)]
        now = self._clock()
        if not called or now - self._rang_at < GAP:
            return None
        self._rang_at = now
        return called[-1]

    def _counts(self, event: Event, state: RoomState, me: str) -> bool:
        if isinstance(event.body, MemberJoined) and event.by == me:
            self._here = True
        news = self._here and event.seq > self._head
        return news and rings(self.notify, event, state, me)


def told_by(event: Event, title: str) -> str:
    """Say in a line what an event that rings tells; not safe to show."""
    match event.body:
        case ApprovalRequested(tool=tool):
            return f"{title}: approve {tool}?"
        case MessagePosted(text=text):
            return f"{title}: {event.by}: {text}"
        case AnswerPosted(text=text):
            return f"{title}: genie: {text}"
    return title


def rings(notify: Notify, event: Event, state: RoomState, me: str) -> bool:
    """Whether an event rings for a member with this setting of `notify`.

    Tool calls that wait for them ring, and messages with their name, to them, or all.
    """
    if notify == "none":
        return False
    match event.body:
        case ApprovalRequested(approval=approval):
            return any(each.id == approval for each in state.pending_for(me))
        case MessagePosted(sealed=sealed, text="") | AnswerPosted(sealed=sealed, text="") if sealed:
            return False
        case MessagePosted(text=text, to=to):
            to_me = to == me or mentions(text, me)
            return event.by != me and (notify == "all" or to_me)
        case AnswerPosted(text=text, receiver=receiver):
            to_me = event.by != me and (receiver == me or mentions(text, me))
            return notify == "all" or to_me
        case _:
            return False


def mentions(text: str, name: str) -> bool:
    """Whether a text mentions `@` and a member's name, in any case."""
    wanted = fold_name(name)
    for word in _CALL.findall(text):
        plain = _PLAIN.match(word)
        called = {word, word.rstrip(_AROUND), plain[0].rstrip(_AROUND) if plain else ""}
        if any(fold_name(each) == wanted for each in called if len(each) <= MAX_POINTS):
            return True
    return False
