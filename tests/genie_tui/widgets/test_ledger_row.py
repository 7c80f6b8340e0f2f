"""How a row of the ledger is drawn."""

from rich.style import Style

from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    MessagePosted,
    Spending,
)
from genie_tui.widgets.ledger_log import LedgerLog, Row
from genie_tui.widgets.ledger_row import INDENT, RowLook, draw

SAID = MessagePosted("1", "what is the sum of all that?", handler="ann")


def look(width: int) -> RowLook:
    return RowLook(width, Style(), lambda _: Style())


def drawn(row: Row, width: int = 60, *, doing: str = "", wrong: bool = False) -> list[str]:
    strips = draw(row, look(width), doing=doing, wrong=wrong)
    assert [strip.cell_length for strip in strips] == [width, width]
    return [strip.text for strip in strips]


def row_of(*bodies: DecisionMade | AnswerPosted) -> Row:
    """The last row of a log in which ann says something and this comes of it."""
    log = LedgerLog()
    log.apply(Event(1, 1.0, "ann", SAID))
    for number, body in enumerate(bodies, 2):
        log.apply(Event(number, float(number), "ann", body))
    return log.row(log.numbers[-1])


def test_a_decision_tells_why_below_or_who_is_at_what() -> None:
    row = row_of(DecisionMade(1, "ignore", reason="small talk \x1b[2J"))
    first, second = drawn(row)
    assert "ann" in first
    assert second.startswith(" " * INDENT + "small talk")
    assert "\x1b" not in second
    assert drawn(row, doing="calling read_file")[1].strip() == "calling read_file"


def test_what_the_person_thinks_of_a_decision_stands_behind_it() -> None:
    row = row_of(DecisionMade(1, "ignore"))
    assert "! marked wrong" in drawn(row, wrong=True)[0]
    assert "wrong" not in drawn(row)[0]


def test_only_a_decision_is_marked() -> None:
    answered = row_of(DecisionMade(1, "delegate"), AnswerPosted(1, "42"))
    assert "wrong" not in drawn(answered, wrong=True)[0]


def test_what_does_not_fit_is_cut_and_what_it_took_is_not() -> None:
    spent = (Spending("system", "gpt-4o-mini", 1, 1_000, 10, 0, 1.0, 0.25),)
    row = row_of(
        DecisionMade(1, "delegate"), AnswerPosted(1, "word " * 40, elapsed=2.0, spent=spent)
    )
    wide, _ = drawn(row, 100)
    assert wide.endswith(" $0.25 · 2.0 s ")
    first, second = drawn(row, 40)
    assert first.endswith(" 2.0 s ")
    assert second.rstrip().endswith("…")
