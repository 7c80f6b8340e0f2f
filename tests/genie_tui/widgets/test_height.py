"""How high entries are guessed to be."""

from dataclasses import replace
from datetime import date

import pytest
from rich.style import Style

from genie_tui.widgets.entry import (
    Day,
    Divider,
    Earlier,
    Entry,
    FileLine,
    Note,
    QuoteLine,
    Reply,
    Speech,
    Waiting,
)
from genie_tui.widgets.height import estimate
from genie_tui.widgets.paint import Painter
from genie_tui.widgets.palette import NAMES, Palette

WIDTH = 40
PALETTE = Palette({name: Style() for name in NAMES})
SPEECH = Speech(1, 0.0, "ann", "hello", emote=False, opens=True)
REPLY = Reply(1, 0.0, "ann", "", "an answer", "", elapsed=2.04)


def drawn(entry: Entry) -> int:
    return len(Painter(PALETTE, WIDTH, reasons=False).paint(entry, None))


@pytest.mark.parametrize(
    "entry",
    [
        Day(date(2026, 11, 21)),
        Divider("bob hosts now"),
        Earlier(3),
        Earlier(3, between=True),
        replace(SPEECH, files=(FileLine(1, "d", "a", "7 bytes"),)),
        replace(SPEECH, text="", quotes=(QuoteLine("r · 1"),)),
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
    assert estimate(entry, WIDTH) == drawn(entry)


def test_the_guess_is_near_for_long_text() -> None:
    entry = replace(SPEECH, text="some words of usual length and " * 60)
    assert estimate(entry, WIDTH) == pytest.approx(drawn(entry), rel=0.15)
