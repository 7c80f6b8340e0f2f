import shlex

import pytest

from genie_core.room.participant.receipt import Item, Receipt
from genie_tui.exit_report import ExitReport, UnsavedInput, UnsentText, exit_lines

HOSTILE = "\x1b]0;x\x07\x9b31m\u202e$(touch /tmp/x); r1\nr2"


def test_the_way_back_leads_to_the_folder() -> None:
    (line,) = exit_lines([ExitReport("2026-11-21-standup-3fk9", "Standup", hosted=True)])
    assert line.endswith("genie-tui resume 2026-11-21-standup-3fk9")
    (line,) = exit_lines([ExitReport("r1", "Standup", hosted=True, copy="r1@ann")])
    assert line.endswith("genie-tui resume r1@ann")
    (line,) = exit_lines([ExitReport("r1", "Standup", hosted=False, copy="r1@bob")])
    assert line.endswith("genie-tui join r1@bob")


@pytest.mark.parametrize("hosted", [True, False])
def test_hostile_text_commands_nothing(hosted: bool) -> None:
    item = Item(4, HOSTILE, HOSTILE, HOSTILE)
    receipt = Receipt((item,), (item,), (item,), (item,), problems=(HOSTILE,))
    for left in (
        ExitReport(HOSTILE, HOSTILE, hosted=hosted, receipt=receipt, saved_to=HOSTILE),
        ExitReport(HOSTILE, HOSTILE, hosted=hosted, copy=HOSTILE),
    ):
        for line in exit_lines([left]):
            assert line.isprintable()
        if left.again:
            words = shlex.split(left.again.partition(": ")[2], comments=True)
            assert (words[0], len(words)) == ("genie-tui", 3)


def test_the_lines_are_grouped_by_room() -> None:
    kitchen = ExitReport("k1", "Kitchen", hosted=True, saved_to="/rooms/k1", draft="salt")
    garden = ExitReport("g1", "Garden", hosted=True, saved_to="/rooms/g1", draft="seeds")
    assert list(exit_lines([kitchen, garden, ExitReport("a1", "Attic", hosted=True)])) == [
        "Suspended 'Kitchen'.",
        "  your draft  kept: salt",
        "  saved to    /rooms/k1",
        "  Resume it with: genie-tui resume k1",
        "",
        "Suspended 'Garden'.",
        "  your draft  kept: seeds",
        "  saved to    /rooms/g1",
        "  Resume it with: genie-tui resume g1",
        "",
        "Suspended 'Attic'. Resume it with: genie-tui resume a1",
        "",
        "Open all of them again with: genie-tui resume",
    ]


WORDS = UnsavedInput(
    "Garden",
    (UnsentText("one\ntwo", ("plan.pdf",)), UnsentText("", ("a\x1b.txt",))),
    UnsentText("half a sen"),
)


def test_it_says_what_there_is() -> None:
    assert WORDS.what == "2 unsent messages and your draft"
    assert UnsavedInput("", draft=UnsentText("", ("x",))).what == "what is attached to your draft"


def test_for_a_terminal_it_commands_nothing() -> None:
    lines = list(WORDS.lines())
    assert "[attached: a␛.txt]" in lines
    assert not any("\x1b" in line for line in lines)
