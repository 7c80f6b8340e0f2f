"""What stands below a message."""

import pytest
from rich.style import Style
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.thread import MessageThread
from genie_tui.widgets.aftermath import Aftermath, is_parked
from genie_tui.widgets.canvas import Canvas, Line
from genie_tui.widgets.doings import Doings
from genie_tui.widgets.palette import NAMES, Palette

CANVAS = Canvas(Palette({name: Style() for name in NAMES}))


def below(doings: Doings | None = None, room: int = 60) -> Aftermath:
    return Aftermath(CANVAS, room, doings or Doings())


def texts(lines: list[Line]) -> list[str]:
    return ["".join(part.text for part in line).rstrip() for line in lines]


def asked(log: RoomLog) -> MessageThread:
    return log.state.exchanges[log.ask("ann", "write it down").seq]


def test_what_is_done_is_told_until_there_is_an_answer_to_look_at() -> None:
    doings, exchange = Doings(), asked(RoomLog())
    message = exchange.seq
    assert below(doings).work(message, exchange) == []
    doings.take(message, "system", "calling", "read_file")
    assert texts(below(doings).work(message, exchange)) == ["   ◐ calling read_file"]
    doings.wrote(message)
    assert below(doings).work(message, exchange) == []


def test_who_has_to_allow_a_call_is_named_and_wrapped_lines_stand_under_the_first() -> None:
    log = RoomLog()
    exchange = asked(log)
    log.add(ApprovalRequested(exchange.seq, "call", "system", "write_file", {}), "ann")
    waits = below().work(exchange.seq, exchange)
    assert texts(waits) == ["   ▲ genie waits for ann to allow a tool call"]
    narrow = texts(below(room=24).work(exchange.seq, exchange))
    assert len(narrow) > 1
    assert all(line.startswith(" ▏   ") for line in narrow[1:])


@pytest.mark.parametrize(
    "end",
    [RunCancelled(1, "the room was suspended"), RunFailed(1, "lost", "ann's program ended")],
)
def test_work_that_was_parked_tells_for_what_it_waits(end: RunCancelled | RunFailed) -> None:
    log = RoomLog()
    exchange = asked(log)
    log.add(ApprovalRequested(exchange.seq, "call", "system", "write_file", {}), "ann")
    log.add(ApprovalResolved(exchange.seq, "call", "parked"), "ann")
    log.add(end, "ann")
    assert is_parked(exchange)
    (line,) = texts(below().work(exchange.seq, exchange))
    assert line == "   ‖ genie goes on when ann has answered a tool call"


def test_why_nobody_answers_and_what_the_person_thinks_of_it() -> None:
    log = RoomLog()
    alone = log.state.exchanges[log.say("bob", "hello").seq]
    assert texts(below().silence(alone)) == ["   · silent: nobody's agent was there to read it"]
    ignored = log.state.exchanges[log.say("ann", "hello", handler="ann").seq]
    log.add(DecisionMade(ignored.seq, "ignore", "small talk \x1b[2J"), "ann")
    (line,) = texts(below().silence(ignored))
    assert line.startswith("   · silent: small talk")
    assert "\x1b" not in line
    wrong = "   ! you marked the decision to stay silent as wrong"
    assert texts(below().disagreed(ignored)) == [wrong]
    answered = asked(log)
    assert below().silence(answered) == []
    wrong = "   ! you marked the decision to answer as wrong"
    assert texts(below().disagreed(answered)) == [wrong]
    assert texts(below().disagreed(None)) == ["   ! you marked the decision as wrong"]
