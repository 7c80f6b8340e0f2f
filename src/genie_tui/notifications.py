"""When the terminal's bell rings for events of a room."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from genie_core.room.protocol.events import ApprovalRequested, Event, MemberJoined
from genie_core.room.protocol.names import MAX_POINTS, fold_name
from genie_core.room.state.room_state import RoomState
from genie_core.room.view.spoken import spoken_in
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
    """Describe an event that rings, in a line; not safe to show."""
    if isinstance(event.body, ApprovalRequested):
        return f"{title}: approve {event.body.tool}?"
    said = spoken_in(event)
    return f"{title}: {said.by}: {said.text}" if said is not None else title


def rings(notify: Notify, event: Event, state: RoomState, me: str) -> bool:
    """Whether an event rings for a member with this setting of `notify`.

    Tool calls that wait for them ring, and messages with their name, to them, or all; quiet ones
    never do.
    """
    if notify == "none":
        return False
    if isinstance(event.body, ApprovalRequested):
        return any(each.id == event.body.approval for each in state.pending_for(me))
    said = spoken_in(event)
    is_quiet = event.posted is not None and event.posted.quiet
    if said is None or is_quiet or not said.is_whole or event.original is not event:
        return False
    if said.is_private and not said.text:
        return False
    to_me = event.by != me and (said.to == me or mentions(said.text, me))
    others = said.is_answer or event.by != me
    return others if notify == "all" else to_me


def mentions(text: str, name: str) -> bool:
    """Whether a text mentions `@` and a member's name, in any case."""
    wanted = fold_name(name)
    for word in _CALL.findall(text):
        plain = _PLAIN.match(word)
        called = {word, word.rstrip(_AROUND), plain[0].rstrip(_AROUND) if plain else ""}
        if any(fold_name(each) == wanted for each in called if len(each) <= MAX_POINTS):
            return True
    return False
