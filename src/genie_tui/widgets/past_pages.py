"""Which part of a room's log to read next, and what to make of it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from genie_core.room.protocol.events import Event
from genie_tui.widgets.past_stretch import PAGE, Stretch, count_messages

Past: TypeAlias = Callable[[int, int], Awaitable[list[Event]]]
"""Reads the last events before a number, at most so many. Raises `GenieError` or `OSError`."""


class Edge(Enum):
    """Where what is read next belongs."""

    START = "the room's first events"
    FRONT = "before what is read"
    BACK = "after what is read"
    LIVE = "before what is live"
    AT = "around an event"


@dataclass(frozen=True, slots=True)
class Want:
    """Read the last events before `before`, at most `most`.

    `seq` is the event that it is for, 0 without one.
    """

    edge: Edge
    before: int
    most: int
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """An event to go to, so that it is so many lines below the top."""

    seq: int
    distance: int
    select: bool = False


def wanted(edge: Edge, since: int, stretch: Stretch | None, seq: int = 0) -> Want | None:
    """What to read, None if there is nothing there; events from `since` on are shown live."""
    before, most = since, PAGE
    match edge:
        case Edge.START:
            before = min(PAGE + 1, since)
        case Edge.AT:
            before = min(seq + PAGE // 2 + 1, since)
        case Edge.FRONT if stretch is not None:
            before = stretch.first
        case Edge.BACK if stretch is not None:
            before = min(stretch.last + PAGE + 1, since)
            most = before - stretch.last - 1
    if before <= 1 or most <= 0:
        return None
    return Want(edge, before, most, seq)


def stretched(
    want: Want, stretch: Stretch | None, events: Sequence[Event], since: int, earlier: int
) -> Stretch:
    """What is shown of the past once this was read. It may take long: call it in a thread.

    `earlier` messages come before `since`. Where fewer events were read than were asked for, the
    log begins, and where there are none it has nothing of what is missing.
    """
    last = want.before - 1
    first = events[0].seq if len(events) >= want.most else 1
    if stretch is not None and want.edge is Edge.FRONT:
        return stretch.with_front(events, first)
    if stretch is not None and want.edge is Edge.BACK:
        return stretch.with_back(events, last)
    if not events:
        return Stretch((), 1, since - 1, earlier)
    before = max(0, earlier - count_messages(events)) if want.before == since else None
    return Stretch(events, first, last, before)
