from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MemberJoined,
    MessagePosted,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import WINDOW, RoomState
from genie_tui.widgets.past_state import told


def kinds(events: list[Event]) -> list[str]:
    return [type(event.body).__name__ for event in events]


def test_a_state_alone_tells_what_was_said_and_done() -> None:
    log = RoomLog()
    log.add(MemberJoined("host", engine=True), "ann")
    asked = log.ask("ann", "q?")
    log.say("bob", "meanwhile")
    log.answer(asked, "a!")
    broken = log.say("ann", "again", handler="ann")
    log.add(RunFailed(broken.seq, "agent", "boom"), "ann")
    stopped = log.ask("ann", "more")
    log.add(RunCancelled(stopped.seq), "ann")
    assert kinds(told(log.state)) == kinds(log.events[1:])


def test_tool_calls_are_told_with_how_they_ended() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q?")
    log.add(ApprovalRequested(asked.seq, "a", "genie", "run", {"n": 1}), "ann")
    log.add(ApprovalResolved(asked.seq, "a", "denied", "no"), "ann")
    log.add(ApprovalRequested(asked.seq, "b", "genie", "run", {}), "ann")
    events = told(log.state)
    assert kinds(events) == [
        "MessagePosted",
        "DecisionMade",
        "ApprovalRequested",
        "ApprovalResolved",
        "ApprovalRequested",
    ]
    assert [event.body for event in events[2:]] == [event.body for event in log.events[2:]]


def test_what_follows_is_not_told_twice() -> None:
    log = RoomLog()
    asked = log.ask("ann", "q?")
    log.say("bob", "meanwhile")
    log.add(ApprovalRequested(asked.seq, "a", "genie", "run", {}), "ann")
    log.add(ApprovalResolved(asked.seq, "a", "approved"), "ann")
    log.answer(asked, "a!")
    for cut in range(1, len(log.events)):
        assert kinds(told(log.state, log.events[cut:])) == kinds(log.events[:cut])


def test_a_clock_that_goes_back_leaves_the_order_of_what_was_said() -> None:
    log = RoomLog()
    first = log.say("ann", "one", handler="ann")
    log.add(DecisionMade(first.seq, "ignore", "chat"), "ann")
    log.say("bob", "two", after=-5_000)
    log.say("bob", "three", after=2)
    said = [event.body.text for event in told(log.state) if isinstance(event.body, MessagePosted)]
    assert said == ["one", "two", "three"]


def test_events_at_one_moment_stay_in_order() -> None:
    log = RoomLog()
    asked = log.say("ann", "q?", handler="ann", after=0)
    log.add(DecisionMade(asked.seq, "delegate"), "ann", after=0)
    log.add(ApprovalRequested(asked.seq, "a", "genie", "run", {}), "ann", after=0)
    log.add(ApprovalResolved(asked.seq, "a", "approved"), "ann", after=0)
    log.add(AnswerPosted(asked.seq, "done"), "ann", after=0)
    assert kinds(told(log.state)) == kinds(log.events)


def test_what_is_left_of_forgotten_messages_is_not_told() -> None:
    log = RoomLog()
    waiting = log.ask("ann", "q?")
    for number in range(2 * WINDOW):
        log.say("bob", str(number))
    assert waiting.seq in log.state.exchanges
    assert log.state.floor > waiting.seq
    assert all(event.seq > log.state.floor for event in told(log.state))


def test_only_the_latest_can_be_asked_for() -> None:
    log = RoomLog()
    for number in range(10):
        log.say("bob", str(number))
    assert told(log.state, most=3) == log.events[-3:]
    assert told(log.state, log.events[6:], 3) == log.events[3:6]
    assert told(log.state, most=30) == log.events


def test_an_empty_state_tells_nothing() -> None:
    assert told(RoomState()) == []
