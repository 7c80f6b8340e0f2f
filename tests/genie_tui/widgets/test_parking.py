from collections.abc import Callable

import pytest
from tests.genie_tui.widgets.room_log import RoomLog

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    RunCancelled,
    RunFailed,
)
from genie_tui.export.story import story
from genie_tui.widgets.entry import Note
from genie_tui.widgets.ledger_log import Filter, Kind, LedgerLog
from genie_tui.widgets.ledger_text import headline
from genie_tui.widgets.past_state import told
from genie_tui.widgets.silence import why_silent
from genie_tui.widgets.transcript import Transcript

End = Callable[[int], RunCancelled | RunFailed]


def suspended(message: int) -> RunCancelled:
    return RunCancelled(message, "the room was suspended")


def lost(message: int) -> RunFailed:
    return RunFailed(message, "lost", "ann's program ended during this run")


def stopped(message: int) -> RunCancelled:
    return RunCancelled(message, "stopped by ann")


def interrupted(end: End, *tools: str) -> tuple[RoomLog, Event]:
    """A room in which the work on ann's message ended when calls of these tools waited for her."""
    log = RoomLog()
    said = log.ask("ann", "write it down")
    for tool in tools:
        log.add(ApprovalRequested(said.seq, f"call-{tool}", "system", tool, {}), "ann")
    for tool in tools:
        log.add(ApprovalResolved(said.seq, f"call-{tool}", "parked"), "ann")
    log.add(end(said.seq), "ann")
    return log, said


def notes(log: RoomLog, events: list[Event]) -> list[str]:
    transcript = Transcript(log.state)
    for event in events:
        transcript.add(event)
    return [f"{each.mark} {each.text}" for each in transcript.entries if isinstance(each, Note)]


def rows(events: list[Event]) -> list[str]:
    ledger = LedgerLog()
    for event in events:
        ledger.apply(event)
    lines = [headline(row) for row in ledger.rows if row.kind in (Kind.CANCEL, Kind.FAILURE)]
    return [f"{line.glyph} {line.verdict} {line.subject}" for line in lines]


@pytest.mark.parametrize(
    ("end", "why"),
    [(suspended, "the room was suspended"), (lost, "ann's program ended during this run")],
)
def test_work_that_goes_on_with_an_answer_was_parked_and_not_stopped(end: End, why: str) -> None:
    log, said = interrupted(end, "write_file")
    parked = f"parked with write_file to answer: {why}"
    assert notes(log, log.events) == [f"‖ genie's work for ann was {parked}"]
    assert rows(log.events) == [f"‖ {parked}"]
    lines = [passage.line for passage in story(log.events) if passage.line]
    assert f"{lines[-1].mark} {lines[-1].text}" == f"‖ the work on it was {parked}"
    exchange = log.state.exchanges[said.seq]
    assert list(exchange.parked) == ["call-write_file"]
    assert "genie goes on when ann has answered a tool call" in why_silent(exchange)


def test_what_was_parked_is_no_failure() -> None:
    log, _ = interrupted(lost, "write_file")
    ledger = LedgerLog()
    for event in log.events:
        ledger.apply(event)
    assert not [row for row in ledger.rows if row.passes(Filter.FAILURES, "ann")]


def test_a_state_that_was_read_again_says_the_same() -> None:
    log, _ = interrupted(suspended, "write_file")
    assert notes(log, told(log.state)) == [
        "‖ genie's work for ann was parked with write_file to answer: the room was suspended"
    ]
    again = ["‖ parked with write_file to answer: the room was suspended"]
    assert rows(told(log.state)) == again


def test_what_was_parked_once_still_reads_so_when_it_went_on() -> None:
    log, said = interrupted(suspended, "write_file")
    before = notes(log, log.events)
    log.add(ApprovalResolved(said.seq, "call-write_file", "approved"), "ann")
    log.add(DecisionMade(said.seq, "delegate"), "ann")
    log.add(AnswerPosted(said.seq, "done"), "ann")
    assert notes(log, log.events) == before
    assert not log.state.exchanges[said.seq].parked


def test_work_of_which_nothing_waits_was_stopped() -> None:
    log, said = interrupted(suspended, "write_file")
    log.add(ApprovalResolved(said.seq, "call-write_file", "approved"), "ann")
    log.add(DecisionMade(said.seq, "delegate"), "ann")
    log.add(suspended(said.seq), "ann")
    assert notes(log, log.events)[-1] == (
        "■ genie's work for ann was stopped: the room was suspended"
    )
    assert rows(log.events)[-1] == "■ stopped the room was suspended"


def test_what_a_person_stops_was_stopped_by_them() -> None:
    log, _ = interrupted(stopped, "write_file")
    assert notes(log, log.events) == ["■ genie's work for ann was stopped by ann"]
    assert rows(log.events) == ["■ stopped stopped by ann"]


def test_several_calls_are_counted() -> None:
    log, said = interrupted(suspended, "write_file", "run_command")
    assert rows(log.events) == ["‖ parked with 2 tool calls to answer: the room was suspended"]
    silent = why_silent(log.state.exchanges[said.seq])
    assert "genie goes on when ann has answered 2 tool calls" in silent
