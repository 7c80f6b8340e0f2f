"""What a room's log shows of an engine's work, and what it has yet to be told."""

import pytest

from genie_core.room.event import (
    Answered,
    AnyBody,
    Asked,
    Cancelled,
    Decided,
    Event,
    Failed,
    Hosted,
    Joined,
    Opened,
    RunBody,
    Said,
    Settled,
)
from genie_core.room.fold import RoomState
from genie_core.room.recorded import unrecorded, waiting_after
from genie_core.room.seat import Unreported

FIRST, SECOND, UNKNOWN = 4, 5, 9


def decided(message: int = FIRST, query: str = "q", elapsed: float = 0.5) -> Decided:
    return Decided(message, "delegate", "asked for", query, None, elapsed)


def ignored(message: int = FIRST) -> Decided:
    return Decided(message, "ignore", "small talk", None, None, 0.5)


def asked(approval: str) -> Asked:
    return Asked(FIRST, approval, "main", "delete", {"path": "a"}, "ann's machine")


def settled(approval: str) -> Settled:
    return Settled(FIRST, approval, "approved")


def parked(approval: str) -> Settled:
    return Settled(FIRST, approval, "parked")


RUN: tuple[RunBody, ...] = (
    decided(),
    asked("x"),
    asked("y"),
    settled("x"),
    settled("y"),
    Answered(FIRST, "done", "ann", 1.0),
)
"""A run from its beginning to its end."""


def room(*bodies: RunBody) -> RoomState:
    """A room with two messages that ann's engine handles, after these steps."""
    state = RoomState()
    spoken: list[tuple[str, AnyBody]] = [
        ("", Opened("r", "Room")),
        ("", Hosted("ann")),
        ("ann", Joined("host", engine=True)),
        ("ann", Said("m1", "delete a", "ann")),
        ("ann", Said("m2", "and b", "ann")),
    ]
    for seq, (by, body) in enumerate([*spoken, *(("ann", body) for body in bodies)], 1):
        state.apply(Event(seq, float(seq), by, body))
    return state


def reports(*bodies: RunBody) -> list[Unreported]:
    return [Unreported(f"report {number}", body) for number, body in enumerate(bodies)]


def lacking(state: RoomState, *bodies: RunBody) -> list[RunBody]:
    return [report.body for report in unrecorded(reports(*bodies), state)]


@pytest.mark.parametrize("heard", range(len(RUN) + 1))
def test_what_the_log_shows_is_not_told_again(heard: int) -> None:
    state = room(*RUN[:heard])
    assert lacking(state, *RUN) == list(RUN[heard:])
    for body in RUN[heard:]:
        assert state.objection(body, "ann") is None
        state.apply(Event(state.head + 1, 9.0, "ann", body))
    assert lacking(state, *RUN) == []


@pytest.mark.parametrize(
    "end", [ignored(), Failed(FIRST, "agent", "broken"), Cancelled(FIRST, "ann left")]
)
def test_every_end_is_told_once(end: RunBody) -> None:
    begun = () if isinstance(end, Decided) else (decided(),)
    assert lacking(room(*begun), end) == [end]
    assert lacking(room(*begun, end), end) == []


def test_what_came_before_something_that_is_there_is_there_as_well() -> None:
    again = decided(query="once more", elapsed=0.7)
    suspended = (decided(), asked("x"), parked("x"), Cancelled(FIRST, "suspended"))
    state = room(*suspended, settled("x"), again)
    assert lacking(state, *suspended, settled("x"), again) == []
    answer = Answered(FIRST, "done", "ann", 1.0)
    assert lacking(state, *suspended, settled("x"), again, answer) == [answer]


def test_one_message_says_nothing_about_another() -> None:
    first, second = decided(), decided(SECOND)
    end = Answered(SECOND, "done", "ann", 1.0)
    told = (first, second, asked("x"), end)
    assert lacking(room(second, end), *told) == [first, asked("x")]


def test_work_on_a_message_that_this_log_does_not_have_is_left_out() -> None:
    other = decided(UNKNOWN)
    assert lacking(room(), other, decided(), Cancelled(UNKNOWN, "ann left")) == [decided()]


@pytest.mark.parametrize(
    ("heard", "untold", "waiting"),
    [
        (0, [], []),
        (3, [], ["x", "y"]),
        (3, [settled("y")], ["x"]),
        (3, [settled("x"), settled("y")], []),
        (1, [asked("x")], ["x"]),
        (1, [asked("x"), settled("x")], []),
        (3, RUN[3:], None),
        (0, [ignored()], None),
        (3, [parked("x"), parked("y"), Cancelled(FIRST, "left")], None),
        (1, [Failed(FIRST, "agent", "broken")], None),
        (1, [Cancelled(FIRST, "left"), decided(), asked("z")], ["z"]),
        (1, [Cancelled(FIRST, "left"), asked("z"), settled("z")], None),
        (3, [Answered(SECOND, "done", "ann", 1.0)], ["x", "y"]),
    ],
)
def test_how_a_run_stands_once_the_room_has_heard_all(
    heard: int, untold: list[RunBody], waiting: list[str] | None
) -> None:
    state = room(*RUN[:heard])
    assert waiting_after(state.exchanges[FIRST], untold) == waiting
