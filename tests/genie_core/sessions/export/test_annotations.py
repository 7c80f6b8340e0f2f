"""Decisions and approvals beside their messages."""

from contextlib import closing

from tests.genie_tui.widgets.room_log import START, RoomLog

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessagePosted,
    RecoveredEvent,
    RoomCreated,
    Spending,
)
from genie_core.sessions.export.annotations import Annotations, Footnote, collect
from genie_core.sessions.export.choices import EVERYTHING, Choices
from genie_core.sessions.export.story import story


def notes(
    log: RoomLog, choices: Choices = EVERYTHING, wrong: frozenset[int] = frozenset()
) -> dict[int, list[Footnote]]:
    """The footnotes of all messages that have some."""
    with closing(Annotations()) as found:
        collect(story(log.events), found, choices, wrong)
        return {message: found.notes_of(message) for message in found.noted()}


def room() -> RoomLog:
    log = RoomLog()
    log.add(RoomCreated("r1", "Standup"))
    log.say("ann", "tidy up", handler="ann")
    spent = (Spending("reasoner", "a-model", requests=1, input_tokens=10, cost=0.5),)
    log.add(DecisionMade(2, "delegate", "it asks", query="tidy up", spent=spent), "ann")
    log.add(ApprovalRequested(2, "a1", "system", "rm", {"path": "/tmp/a\x1b[1m"}), "ann")
    edited = {"path": "/tmp/b"}
    log.add(ApprovalResolved(2, "a1", "approved", arguments=edited, how="edit"), "ann")
    log.say("bob", "nothing to decide")
    return log


def test_annotations_follow_their_message() -> None:
    found = notes(room())
    assert list(found) == [2]
    decided, asked, settled = found[2]
    assert decided.line.mark + asked.line.mark + settled.line.mark == "●▲✓"
    assert ("reason", "it asks") in decided.fields
    assert "a-model" in dict(decided.fields)["agents"]
    assert dict(asked.fields)["agent"] == "genie"
    assert dict(asked.fields)["arguments"] == "path:\n/tmp/a␛[1m"
    assert dict(settled.fields)["changes"].splitlines()[-1] == '+path: "/tmp/b"'
    assert decided.at == START + 2


def test_what_was_marked_as_wrong_says_so() -> None:
    decided, asked, _settled = notes(room(), wrong=frozenset({2}))[2]
    assert decided.line.text.endswith("(marked as wrong)")
    assert "wrong" not in asked.line.text


def test_those_that_were_recovered_say_from_whom() -> None:
    log = RoomLog()
    log.add(RoomCreated("r1", "Standup"))
    log.add(
        RecoveredEvent(Event(7, START, "bob", MessagePosted("b1", "before", handler="bob"))), "cleo"
    )
    log.add(RecoveredEvent(Event(8, START, "bob", DecisionMade(7, "ignore", "small talk"))), "cleo")
    ((number, (note,)),) = notes(log).items()
    assert number == 2
    assert ("recovered", "from cleo's copy") in note.fields


def test_tool_arguments_can_be_left_out() -> None:
    _decided, asked, settled = notes(room(), Choices(arguments=False))[2]
    assert asked.line.text == "genie asks for rm"
    assert "/tmp" not in str((asked, settled))


def test_messages_alone_have_no_footnotes() -> None:
    assert notes(room(), Choices(messages_only=True)) == {}
