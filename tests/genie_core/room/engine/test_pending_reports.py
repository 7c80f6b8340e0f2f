"""What a room's log shows of an engine's work, and what it has yet to be told."""

import pytest

from genie_core.room.client.model import PendingReport
from genie_core.room.engine.pending_reports import lacking, unfinished
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import RoomState

FIRST, SECOND, UNKNOWN = 4, 5, 9


def decided(message: int = FIRST, query: str = "q", elapsed: float = 0.5) -> DecisionMade:
    return DecisionMade(message, "delegate", "asked for", query, None, elapsed)


def ignored(message: int = FIRST) -> DecisionMade:
    return DecisionMade(message, "ignore", "small talk", None, None, 0.5)


def asked(approval: str) -> ApprovalRequested:
    return ApprovalRequested(FIRST, approval, "main", "delete", {"path": "a"}, "ann's machine")


def settled(approval: str) -> ApprovalResolved:
    return ApprovalResolved(FIRST, approval, "approved")


def parked(approval: str) -> ApprovalResolved:
    return ApprovalResolved(FIRST, approval, "parked")


RUN: tuple[RunBody, ...] = (
    decided(),
    asked("x"),
    asked("y"),
    settled("x"),
    settled("y"),
    AnswerPosted(FIRST, "done", "ann", 1.0),
)
"""A run from its beginning to its end."""


def log_of(*bodies: RunBody) -> list[Event]:
    """The log of a room with two messages that ann's engine handles, after these steps."""
    spoken: list[tuple[str, AnyBody]] = [
        ("", RoomCreated("r", "Room")),
        ("", HostStarted("ann")),
        ("ann", MemberJoined("host", engine=True)),
        ("ann", MessagePosted("m1", "delete a", "ann")),
        ("ann", MessagePosted("m2", "and b", "ann")),
    ]
    bodied = [*spoken, *(("ann", body) for body in bodies)]
    return [Event(seq, float(seq), by, body) for seq, (by, body) in enumerate(bodied, 1)]


def room(*bodies: RunBody) -> RoomState:
    state = RoomState()
    for event in log_of(*bodies):
        state.apply(event)
    return state


def lacked(log: list[Event], *bodies: RunBody, since: int = SECOND) -> list[RunBody]:
    """Which of these steps, taken when the room was known up to an event, a log lacks."""
    kept = [PendingReport(f"step {number}", body, since) for number, body in enumerate(bodies)]
    return [step.body for step in lacking(kept, log)]


@pytest.mark.parametrize("heard", range(len(RUN) + 1))
def test_what_the_log_shows_is_not_told_again(heard: int) -> None:
    assert lacked(log_of(*RUN[:heard]), *RUN) == list(RUN[heard:])


def test_an_end_like_an_earlier_one_is_another() -> None:
    """Else what was allowed in between would be asked about, and done, once more."""
    log = log_of(decided(), asked("x"), parked("x"), RunCancelled(FIRST, "ann left"))
    again: list[RunBody] = [settled("x"), decided(elapsed=0.7), RunCancelled(FIRST, "ann left")]
    assert lacked(log, *again, since=log[-1].seq) == again


def test_repeated_report_is_lacking_once() -> None:
    end = RunCancelled(FIRST, "ann left")
    assert lacked(log_of(end), end, decided(), end) == [decided(), end]


def test_one_message_says_nothing_about_another() -> None:
    first, second = decided(), decided(SECOND)
    end = AnswerPosted(SECOND, "done", "ann", 1.0)
    told = (first, second, asked("x"), end)
    assert lacked(log_of(second, end), *told) == [first, asked("x")]


@pytest.mark.parametrize(
    ("heard", "unrecorded", "waiting"),
    [
        (0, [], []),
        (3, [], ["x", "y"]),
        (3, [settled("y")], ["x"]),
        (3, [settled("x"), settled("y")], []),
        (1, [asked("x")], ["x"]),
        (1, [asked("x"), settled("x")], []),
        (3, RUN[3:], None),
        (6, [], None),
        (6, [decided(elapsed=0.7)], []),
        (6, [decided(elapsed=0.7), asked("z")], ["z"]),
        (6, [settled("z")], None),
        (0, [ignored()], None),
        (0, [settled("x"), AnswerPosted(FIRST, "done", "ann", 1.0)], []),  # what decided it is lost
        (0, [asked("x")], []),
        (0, [decided(), asked("x")], ["x"]),
        (0, [RunFailed(FIRST, "reasoner", "broken")], None),
        (3, [parked("x"), parked("y"), RunCancelled(FIRST, "left")], None),
        (1, [RunFailed(FIRST, "agent", "broken")], None),
        (1, [RunCancelled(FIRST, "left"), decided(), asked("z")], ["z"]),
        (1, [RunCancelled(FIRST, "left"), asked("z"), settled("z")], None),
        (3, [AnswerPosted(SECOND, "done", "ann", 1.0)], ["x", "y"]),
    ],
)
def test_pending_reports_settle_run_state(
    heard: int, unrecorded: list[RunBody], waiting: list[str] | None
) -> None:
    assert unfinished(room(*RUN[:heard]), unrecorded).get(FIRST) == waiting


def test_a_message_that_is_not_known_has_no_run() -> None:
    assert unfinished(room(), [decided(UNKNOWN)]).keys() == {FIRST, SECOND}
