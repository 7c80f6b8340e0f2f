from dataclasses import replace
from datetime import date

import pytest
from rich.style import Style

from genie_tui.widgets.entry import Day, Entry, Note, Reply, Speech, Waiting
from genie_tui.widgets.paint import Painter, estimate
from genie_tui.widgets.palette import NAMES, Palette

WIDTH = 40
PALETTE = Palette({name: Style() for name in NAMES})
SPEECH = Speech(1, 0.0, "ann", "hello", emote=False, opens=True)
REPLY = Reply(1, 0.0, "ann", "", "an answer", "", elapsed=2.04)


def drawn(entry: Entry, width: int = WIDTH) -> list[str]:
    strips = Painter(PALETTE, width, reasons=False).paint(entry, None)
    return [strip.text.rstrip() for strip in strips]


@pytest.mark.parametrize(
    "entry",
    [
        Day(date(2026, 11, 21)),
        Note(0.0, "→", "bob joined", opens=True),
        Note(0.0, "→", "bob joined", opens=False),
        SPEECH,
        replace(SPEECH, opens=False),
        replace(SPEECH, emote=True),
        replace(SPEECH, text="a\n\nb"),
        replace(SPEECH, text="x" * 36),
        replace(SPEECH, text="x" * 37),
        REPLY,
        replace(REPLY, quote="what?"),
        Waiting("ann", "hello", emote=False, opens=True),
    ],
)
def test_the_guess_is_right_for_plain_entries(entry: Entry) -> None:
    assert estimate(entry, WIDTH) == len(drawn(entry))


def test_the_guess_is_near_for_long_text() -> None:
    entry = replace(SPEECH, text="some words of usual length and " * 60)
    assert estimate(entry, WIDTH) == pytest.approx(len(drawn(entry)), rel=0.15)


@pytest.mark.parametrize("width", [20, 40, 120])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    entries: list[Entry] = [
        Day(date(2026, 11, 21)),
        replace(SPEECH, author="x" * 200, text="y" * 500),
        replace(REPLY, receiver="x" * 200, owner="y" * 90, quote="z" * 300, text="w" * 500),
        replace(SPEECH, text="```python\n" + "v" * 300 + "\n```"),
    ]
    for entry in entries:
        strips = Painter(PALETTE, width, reasons=False).paint(entry, None)
        assert max(strip.cell_length for strip in strips) <= width


def test_an_answer_says_whose_it_is_and_how_long_it_took() -> None:
    head = drawn(replace(REPLY, receiver="bob", owner="ann"), 80)[1]
    assert head.startswith(" ┃ genie · for bob · by the agent of ann  ")
    assert head.endswith(" · 2.0 s")


def test_an_emote_is_one_sentence() -> None:
    assert drawn(replace(SPEECH, text="waves", emote=True)) == ["", "   * ann waves"]
