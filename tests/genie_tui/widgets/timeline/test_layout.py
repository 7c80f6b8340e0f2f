"""How high entries are guessed to be."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from genie_core.room.view.entries import (
    AnswerEntry,
    DayEntry,
    GapEntry,
    MessageEntry,
    NoticeEntry,
    TimelineEntry,
    UnsentEntry,
)
from genie_core.room.view.wording import FileLine, QuoteLine
from genie_tui.widgets.timeline.canvas import NAMES, Palette
from genie_tui.widgets.timeline.layout import (
    GROWING_CHARS,
    GROWING_LINES,
    MOST_CHARS,
    MOST_LINES,
    EntryLayout,
    beginning,
    ending,
    estimate,
)
from genie_tui.widgets.timeline.painter import Painter

HEIGHTS = st.lists(st.integers(1, 9), min_size=1, max_size=40)


class Column:
    """Entries of known heights, all guessed to be one line high."""

    def __init__(self, heights: list[int]) -> None:
        self.heights = heights
        self.drawn: list[int] = []
        self.window = EntryLayout(self.draw, lambda _: 1)
        self.window.replace_from(0, len(heights))

    def draw(self, index: int) -> list[Strip]:
        self.drawn.append(index)
        return [Strip([Segment(f"{index}.{row}")]) for row in range(self.heights[index])]

    def seen(self, top: int, rows: int) -> list[str]:
        shown = []
        for line in range(top, min(top + rows, self.window.height)):
            index, row = self.window.at(line)
            shown.append(self.window.lines(index)[row].text)
        return shown


def test_at_the_end_only_what_is_near_is_drawn() -> None:
    column = Column([3] * 10_000)
    top = column.window.settle_end(10)
    assert column.seen(top, 10)[-1] == "9999.2"
    assert len(column.seen(top, 10)) == 10
    assert len(column.drawn) <= 7


def test_wrong_guesses_above_keep_view() -> None:
    column = Column([1, 7, 2, 9, 4] * 20)
    window = column.window
    top = window.settle_end(6)
    before = column.seen(top, 6)
    for _ in range(60):
        higher = window.settle(top - 1, 6)
        after = column.seen(higher, 6)
        assert after[1:] == before[:-1]
        top, before = higher, after


def test_reading_on_by_pages_skips_nothing() -> None:
    column = Column([1, 7, 2, 9, 4] * 20)
    window = column.window
    top = window.settle(0, 6)
    read = column.seen(top, 6)
    for _ in range(200):
        top = window.settle(top + 6, 6)
        read += column.seen(top, 6)
    everything = [f"{i}.{row}" for i, height in enumerate(column.heights) for row in range(height)]
    assert sorted(set(read), key=everything.index) == everything


def test_appending_draws_nothing_again() -> None:
    column = Column([2] * 50)
    column.window.settle_end(10)
    already = list(column.drawn)
    column.heights += [2] * 3
    column.window.replace_from(50, 53)
    column.window.settle_end(10)
    assert sorted(column.drawn[len(already) :]) == [50, 51, 52]


def test_redrawing_one_entry_draws_that_one() -> None:
    column = Column([2] * 50)
    top = column.window.settle_end(10)
    already = len(column.drawn)
    column.heights[49] = 5
    column.window.redraw(49)
    top = column.window.settle_end(10)
    assert column.drawn[already:] == [49]
    assert column.seen(top, 10)[-1] == "49.4"


def test_an_empty_column_has_no_lines() -> None:
    column = Column([])
    assert column.window.settle(5, 10) == 0
    assert column.window.settle_end(10) == 0
    assert column.window.height == 0


def test_splice_above_redraws_nothing() -> None:
    column = Column([2, 3, 1, 4] * 30)
    window = column.window
    top = window.settle_end(8)
    before, already = column.seen(top, 8), len(column.drawn)
    column.heights[:40] = [5] * 10
    window.splice(0, 40, 10)
    assert len(window) == len(column.heights)
    shift = 10 - 40
    top = window.settle_end(8)
    shown = [column.window.at(line) for line in range(top, window.height)]
    old = [(int(text.split(".")[0]) + shift, int(text.split(".")[1])) for text in before]
    assert shown[-len(old) :] == old
    assert len(column.drawn) == already


def test_inserted_entries_draw_when_seen() -> None:
    column = Column([1] * 20)
    column.window.settle(0, 20)
    column.drawn.clear()
    column.heights[5:7] = [3, 3, 3]
    column.window.splice(5, 2, 3)
    top = column.window.settle(0, 30)
    assert sorted(column.drawn) == [5, 6, 7]
    assert column.window.height == sum(column.heights)
    assert top == 0


def test_entry_settles_at_distance() -> None:
    column = Column([1, 7, 2, 9, 4] * 40)
    window = column.window
    for index, distance in ((100, 3), (57, 0), (120, -4), (30, 9)):
        top = window.settle_by(index, distance, 10)
        assert window.span(index)[0] - top == distance
        top = window.settle(top, 10)
        assert window.span(index)[0] - top == distance
    assert window.settle_by(0, 5, 10) == 0


WIDTH = 40
PALETTE = Palette({name: Style() for name in NAMES})
SPEECH = MessageEntry(1, 0.0, "ann", "hello", emote=False, opens=True)
REPLY = AnswerEntry(1, 0.0, "ann", "", "an answer", "", elapsed=2.04)


def drawn(entry: TimelineEntry) -> int:
    return len(Painter(PALETTE, WIDTH, reasons=False).paint(entry, None))


@pytest.mark.parametrize(
    "entry",
    [
        DayEntry(date(2026, 11, 21)),
        NoticeEntry(0.0, "◇", "bob hosts now", sets_off=True),
        GapEntry(3),
        GapEntry(3, between=True),
        replace(SPEECH, files=(FileLine(1, "d", "a", "7 bytes"),)),
        replace(SPEECH, text="", quotes=(QuoteLine("r · 1"),)),
        NoticeEntry(0.0, "→", "bob joined", opens=True),
        NoticeEntry(0.0, "→", "bob joined", opens=False),
        SPEECH,
        replace(SPEECH, opens=False),
        replace(SPEECH, emote=True),
        replace(SPEECH, text="a\n\nb"),
        replace(SPEECH, text="x" * 36),
        replace(SPEECH, text="x" * 37),
        REPLY,
        replace(REPLY, quote="what?"),
        UnsentEntry("ann", "hello", emote=False, opens=True),
    ],
)
def test_the_guess_is_right_for_plain_entries(entry: TimelineEntry) -> None:
    assert estimate(entry, WIDTH) == drawn(entry)


def test_the_guess_is_near_for_long_text() -> None:
    entry = replace(SPEECH, text="some words of usual length and " * 60)
    assert estimate(entry, WIDTH) == pytest.approx(drawn(entry), rel=0.15)


@pytest.mark.parametrize("text", ["", "a", "a\nb\n", "x" * GROWING_CHARS, "\n" * 50])
def test_what_is_short_enough_stays_whole(text: str) -> None:
    assert beginning(text) == (text, "")
    assert ending(text) == (text, "")


def test_lines_are_cut_off_and_counted() -> None:
    text = "\n".join(str(number) for number in range(MOST_LINES + 385))
    shown, missing = beginning(text)
    assert shown.split("\n")[-1] == str(MOST_LINES - 1)
    assert missing == "385 more lines"


def test_a_long_line_is_cut_within() -> None:
    shown, missing = beginning("x" * (MOST_CHARS + 1_234))
    assert (len(shown), missing) == (MOST_CHARS, "1,234 more characters")


def test_cuts_fall_between_lines() -> None:
    line = "x" * 999
    shown, missing = beginning("\n".join([line] * 100))
    assert set(shown.split("\n")) == {line}
    assert missing == f"{100 - MOST_CHARS // 1_000} more lines"


def test_blank_lines_are_not_counted() -> None:
    assert beginning("x\n" * MOST_LINES)[1] == ""


def test_of_a_growing_text_the_end_is_shown() -> None:
    text = "\n".join(str(number) for number in range(GROWING_LINES + 385))
    shown, missing = ending(text)
    assert shown.split("\n") == [str(385 + number) for number in range(GROWING_LINES)]
    assert missing == "385 lines above"


def test_a_growing_line_shows_its_end() -> None:
    shown, missing = ending("a" * 5_000 + "b" * GROWING_CHARS)
    assert (shown, missing) == ("b" * GROWING_CHARS, "5,000 characters above")


def test_code_that_grows_stays_code() -> None:
    shown, _ = ending("text\n```python\n" + "x = 1\n" * 1_000)
    assert shown.startswith("```python\nx = 1\n")
    closed, _ = ending("```python\nx\n```\n" + "words\n" * 1_000)
    assert closed.startswith("words\n")


@given(st.text(st.sampled_from("ab\n"), max_size=30), st.integers(0, 1_500))
def test_cuts_are_bounded_and_in_order(part: str, times: int) -> None:
    text = part * times
    first, _ = beginning(text)
    last, _ = ending(text)
    assert text.startswith(first)
    assert text.endswith(last)
    assert len(first) <= MOST_CHARS
    assert len(last) <= max(GROWING_CHARS, len(part))
    assert first.count("\n") <= MOST_LINES
    assert last.count("\n") <= GROWING_LINES
    assert bool(first.strip()) == bool(text.strip())


@given(HEIGHTS, st.data())
def test_changes_give_what_building_anew_gives(heights: list[int], data: st.DataObject) -> None:
    column = Column(heights)
    layout = column.window
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(heights)))
        match data.draw(st.sampled_from(["redraw", "cut", "append", "splice"])):
            case "redraw" if place < len(heights):
                heights[place] = data.draw(st.integers(1, 9))
                layout.redraw(place)
            case "cut":
                del heights[place:]
                layout.replace_from(place, place)
            case "splice":
                removed = min(len(heights) - place, 2)
                heights[place : place + removed] = [4, 4, 4]
                layout.splice(place, removed, 3)
            case _:
                heights.append(5)
                layout.replace_from(len(heights) - 1, len(heights))
        measured = [layout.span(index) for index in range(len(heights))]
        measured = [layout.span(index) for index in range(len(heights))]  # the first look measures
        assert measured == [(sum(heights[:i]), height) for i, height in enumerate(heights)]
        assert [layout.at(line) for line in range(layout.height)] == [
            (i, row) for i, height in enumerate(heights) for row in range(height)
        ]


def test_lines_outside_belong_to_the_ends() -> None:
    layout = Column([2, 3]).window
    layout.settle_end(10)
    assert layout.at(-5) == (0, 0)
    assert layout.at(99) == (1, 2)
