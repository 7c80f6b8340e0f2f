"""What is written to the terminal shows the same screen as Textual's own output, with fewer bytes."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final
from unicodedata import category

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from tests.genie_tui.emulator import MEASURES, Emulator, Measure, clusters, single, spacing
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from genie_tui.terminal_diff import Frame

WIDTH, HEIGHT = 24, 3
CONSOLE = Console(color_system="truecolor", width=WIDTH, legacy_windows=False)
STYLES = [
    None,
    Style.parse("#ff0000 on #000000"),
    Style.parse("bold #ff0000 on #000000"),
    Style.parse("italic underline #00ff00 on #101010"),
    Style.parse("#00ff00"),
    Style.parse("reverse"),
    Style.parse("color(4) on color(200)"),
    Style.parse("link https://example.org #00ff00"),
]
PLAIN: Final = ["hello", "   ", "a", "genie", "日本", "é", "한 x", "────"]
MARKED: Final = [*PLAIN, "🙂", "x\u0302", "\u0301", "\u0302\u0301abc", "日\u0301", "\u1112\u1161"]
SEQUENCES: Final = [*MARKED, "❤\ufe0f", "👩\u200d👩\u200d👧", "🇩🇪", "👍\U0001f3fd", "1\ufe0f\u20e3"]
"""Texts whose width Rich gives as terminals with `clusters` do."""

DISPUTED: Final = [
    *SEQUENCES,
    "\ufe0f",
    "\u200d👧 x",
    "\u200d\u200d",
    "☺ ☹✈",
    "🇩",
    "🇪 ab",
    "कि क्ष",
    "ลำ",
    "\u200b",
    "\u2060z",
    "\U0001faea",
    "⌛",
    "\u0488",
    "ab\u200dcd",
]


def strip(pieces: Sequence[tuple[str, Style | None]], width: int = WIDTH) -> Strip:
    return Strip([Segment(*each) for each in pieces]).adjust_cell_length(width)


def whole(lines: Iterable[Iterable[Strip]], width: int = WIDTH) -> LayoutUpdate:
    lines = list(lines)
    return LayoutUpdate(lines, Region(0, 0, width, len(lines)))


def part(line: Strip, y: int, x: int) -> ChopsUpdate:
    """A piece of a line, from a column on."""
    chops: list[dict[int, Strip | None]] = [{} for _ in range(HEIGHT)]
    chops[y] = {x: line}
    ends = [[x + line.cell_length] for _ in range(HEIGHT)]
    return ChopsUpdate(chops, [(y, x, WIDTH)], ends)


def pieces(texts: Sequence[str]) -> st.SearchStrategy[list[tuple[str, Style | None]]]:
    return st.lists(st.tuples(st.sampled_from(texts), st.sampled_from(STYLES)), max_size=8)


def updates(texts: Sequence[str]) -> st.SearchStrategy[list[LayoutUpdate | ChopsUpdate]]:
    """Updates of the screen, the first of the whole. No piece starts with a mark."""
    line = pieces(texts).map(lambda some: [("a", None), *some])
    all_of_it = st.lists(line, min_size=HEIGHT, max_size=HEIGHT).map(
        lambda lines: whole([[strip(each)] for each in lines])
    )
    position = st.tuples(st.integers(0, HEIGHT - 1), st.sampled_from([0, 3, 10, WIDTH - 1]))
    some_of_it = st.builds(lambda some, at: part(strip(some, WIDTH - at[1]), *at), line, position)
    return st.tuples(all_of_it, st.lists(some_of_it | all_of_it, max_size=12)).map(
        lambda both: [both[0], *both[1]]
    )


@pytest.mark.parametrize(("measure", "texts"), [(single, MARKED), (clusters, SEQUENCES)])
@settings(max_examples=50)
@given(data=st.data())
def test_output_matches_textual(
    data: st.DataObject, measure: Measure, texts: Sequence[str]
) -> None:
    frame = Frame()
    ours, textuals = (Emulator(WIDTH, HEIGHT, measure) for _ in range(2))
    for update in data.draw(updates(texts)):
        if data.draw(st.booleans()):
            frame.forget()
        ours.feed(frame.changes(update, CONSOLE))
        textuals.feed(update.render_segments(CONSOLE))
        assert ours.cells == textuals.cells


COLUMNS: Final = [(0, 3), (3, 7), (10, WIDTH - 10)]
"""The first column and the width of three widgets beside each other."""


def texts_of_widgets(texts: Sequence[str]) -> st.SearchStrategy[list[list[Strip]]]:
    """Lines of three pieces each."""
    line = st.tuples(*(pieces(texts).map(partial(strip, width=width)) for _, width in COLUMNS))
    return st.lists(line.map(list), min_size=HEIGHT, max_size=HEIGHT)


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=25)
@given(data=st.data())
def test_disputed_widths_leave_no_residue(data: st.DataObject, measure: Measure) -> None:
    frame, terminal = Frame(), Emulator(WIDTH, HEIGHT, measure)
    lines = data.draw(texts_of_widgets(DISPUTED))
    terminal.feed(frame.changes(whole(lines), CONSOLE))
    for other in data.draw(st.lists(texts_of_widgets(DISPUTED), max_size=4)):
        for y, n in data.draw(st.sets(st.tuples(st.integers(0, HEIGHT - 1), st.integers(0, 2)))):
            lines[y][n] = other[y][n]
            terminal.feed(frame.changes(part(other[y][n], y, COLUMNS[n][0]), CONSOLE))
        fresh = Emulator(WIDTH, HEIGHT, measure)
        fresh.feed(Frame().changes(whole(lines), CONSOLE))
        assert terminal.cells == fresh.cells
        assert_letters_stand_in_their_columns(terminal, lines)


def assert_letters_stand_in_their_columns(
    terminal: Emulator, lines: Sequence[Sequence[Strip]]
) -> None:
    """Check those that no character before them may cover or move, as terminals do.

    These are at the right edge, and between spacing marks.
    """
    for y, line in enumerate(lines):
        text = "".join(segment.text for each in line for segment in each)
        has_spacing_marks = any(category(char) == "Mc" for char in text)
        for (x, _), each in zip(COLUMNS, line, strict=True):
            for column, char in [] if has_spacing_marks else _letters(each):
                assert x + column >= WIDTH - 2 or terminal.cells[y][x + column][0] == char


def _letters(line: Strip) -> list[tuple[int, str]]:
    """The columns and the ASCII characters that no mark changes; but for spaces."""
    found: list[tuple[int, str]] = []
    x = 0
    for text in (segment.text for segment in line):
        for n, char in enumerate(text):
            before, after = cell_len(text[:n]), cell_len(text[: n + 1])
            if char.isascii() and after > before:
                found.append((x + before, char))
            elif found and before == after and not char.isascii():
                found.pop()
        x += cell_len(text)
    return [(column, char) for column, char in found if char != " "]


def test_lone_mark_takes_no_cell() -> None:
    frame, screen = Frame(), pyte.Screen(WIDTH, 1)
    for letter in "|X":
        pieces = [("@bob", STYLES[1]), ("\u0301", None), (f"abc {letter} wall", None)]
        pyte.Stream(screen).feed(frame.changes(whole([[strip(pieces)]]), CONSOLE))
    assert screen.display[0].rstrip() == "@bob\u0301abc X wall"


def test_disputed_text_realigns_next_column() -> None:
    written = Frame().changes(whole([[strip([("a❤\ufe0f b", None)], 5)]], 5), CONSOLE)
    assert written == "\x1b[1;1Ha   \x1b[2G❤\ufe0f\x1b[1;5Hb"


def test_spacing_marks_stay_readable() -> None:
    terminal = Emulator(WIDTH, 1, spacing)
    pieces = [strip([("हिन्दी है", None)], 12), strip([("| wall", None)], 12)]
    terminal.feed(Frame().changes(whole([pieces]), CONSOLE))
    shown = "".join(str(cell[0]) for cell in terminal.cells[0])
    assert shown == "हिन्दी है   | wall      "


def test_nothing_is_written_for_what_is_there() -> None:
    frame = Frame()
    lines = [[strip([("genie 日本 ❤\ufe0f", STYLES[1])])]] * HEIGHT
    assert frame.changes(whole(lines), CONSOLE)
    assert frame.changes(whole(lines), CONSOLE) == ""
    frame.forget()
    assert frame.changes(whole(lines), CONSOLE)


def test_single_cell_change_is_minimal() -> None:
    frame = Frame()
    before = [strip([("a" * WIDTH, STYLES[1])])]
    frame.changes(whole([before] * HEIGHT), CONSOLE)
    after = [strip([("aaab" + "a" * (WIDTH - 4), STYLES[1])])]
    written = frame.changes(whole([before, before, after]), CONSOLE)
    assert written == "\x1b[3;4H\x1b[38;2;255;0;0;48;2;0;0;0mb\x1b[0m"


@pytest.mark.parametrize(("width", "height"), [(WIDTH, HEIGHT - 1), (WIDTH - 1, HEIGHT)])
def test_another_size_is_drawn_as_a_whole(width: int, height: int) -> None:
    frame = Frame()
    frame.changes(whole([[strip([("a" * WIDTH, None)])]] * HEIGHT), CONSOLE)
    smaller = whole([[strip([("a" * width, None)], width)]] * height, width)
    assert frame.changes(smaller, CONSOLE).count("a" * width) == height


TALL: Final = 30
LINES: Final = st.lists(
    st.text("abc 日", max_size=WIDTH // 2), min_size=2 * TALL, max_size=2 * TALL
)
OFFSET: Final = st.integers(0, TALL)


@settings(max_examples=50)
@given(data=st.data())
def test_lines_that_move_scroll(data: st.DataObject) -> None:
    """Two lists beside each other, that move by different lines between a head and a foot."""
    frame = Frame()
    ours, textuals = (Emulator(WIDTH, TALL, single) for _ in range(2))
    style = st.sampled_from(STYLES)
    left, right = ([(text, data.draw(style)) for text in data.draw(LINES)] for _ in range(2))
    for at in data.draw(st.lists(st.tuples(OFFSET, OFFSET), min_size=2, max_size=5)):
        rows = [[left[y + at[0]], right[y + at[1]]] for y in range(TALL - 2)]
        lines = [[strip([("head", None)])], *map(_side_by_side, rows), [strip([("foot", None)])]]
        ours.feed(frame.changes(whole(lines), CONSOLE))
        textuals.feed(whole(lines).render_segments(CONSOLE))
        assert ours.cells == textuals.cells


def _side_by_side(texts: Iterable[tuple[str, Style | None]]) -> list[Strip]:
    return [strip([each], WIDTH // 2) for each in texts]


def test_scroll_writes_only_last_line() -> None:
    frame, width = Frame(), 80
    lines = [[strip([(f"message {n} {n * n} " * 4, STYLES[1])], width)] for n in range(TALL + 1)]
    frame.changes(whole(lines[:-1], width), CONSOLE)
    written = frame.changes(whole(lines[1:], width), CONSOLE)
    assert written.startswith("\x1b[1;30r\x1b[30H\x1bD\x1b[r")
    assert len(written) < 2 * width


def test_nothing_scrolls_that_is_not_known() -> None:
    """A column moves beside one that was not drawn again since the frame was forgotten."""
    frame, terminal, width = Frame(), Emulator(WIDTH, TALL, single), WIDTH // 2
    left = [strip([(f"{n * n * 7919}{n * 104729}", STYLES[n % 8])], width) for n in range(TALL + 1)]
    right = [strip([(f"stays {n}", None)], width) for n in range(TALL)]

    def column(at: int) -> ChopsUpdate:
        lines: list[dict[int, Strip | None]] = [{0: left[y + at]} for y in range(TALL)]
        return ChopsUpdate(lines, [(y, 0, width) for y in range(TALL)], [[width]] * TALL)

    both = [list(each) for each in zip(left, right, strict=False)]
    terminal.feed(frame.changes(whole(both), CONSOLE))
    frame.forget()
    terminal.feed(frame.changes(column(0), CONSOLE))
    terminal.feed(frame.changes(column(1), CONSOLE))
    fresh = Emulator(WIDTH, TALL, single)
    both = [list(each) for each in zip(left[1:], right, strict=True)]
    fresh.feed(whole(both).render_segments(CONSOLE))
    assert terminal.cells == fresh.cells
