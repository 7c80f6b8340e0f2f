"""What is written to the terminal shows the same screen as Textual's own output, with fewer bytes."""

import random
import re

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from genie_tui.frame import Frame

WIDTH, HEIGHT = 24, 6
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
TEXTS = ["hello", "   ", "a", "genie", "日本", "é", "🙂", "x̂", "────"]
SEQUENCE = re.compile(
    r"\x1b\[(\d*);?(\d*)([HG])|\x1b\[([\d;]*)m|\x1b\]8;([^\x1b]*)\x1b\\|(.)", re.DOTALL
)


class Terminal:
    """A terminal that knows what a frame and Textual write; a wide character covers two cells."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], tuple[str, tuple[object, ...]]] = {
            (y, x): (" ", ()) for y in range(HEIGHT) for x in range(WIDTH)
        }
        self.y = self.x = 0

    def feed(self, text: str) -> None:
        from rich.cells import cell_len

        pen: dict[str, str] = {}
        link = ""
        for row, column, move, sgr, target, char in SEQUENCE.findall(text):
            if move == "H":
                self.y, self.x = int(row) - 1, int(column) - 1
            elif move == "G":
                self.x = int(row) - 1
            elif char == "\n":
                self.y += 1
            elif char:
                width = cell_len(char)
                state = (*sorted(pen.items()), link)
                if width == 0:
                    before, drawn = self.cells[self.y, self.x - 1]
                    self.cells[self.y, self.x - 1] = (before + char, drawn)
                    continue
                for offset in range(width):
                    self.cells[self.y, self.x + offset] = ("" if offset else char, state)
                self.x += width
            elif target or text == "":
                link = target.partition(";")[2]
            else:
                pen = _after(pen, sgr.split(";") if sgr else ["0"])


def _after(pen: dict[str, str], codes: list[str]) -> dict[str, str]:
    pen = dict(pen)
    while codes:
        code = codes.pop(0)
        number = int(code or 0)
        if number in (38, 48):
            count = 4 if codes[0] == "2" else 2
            pen[code] = ";".join(codes[:count])
            del codes[:count]
        elif number == 0:
            pen.clear()
        elif number in (39, 49):
            pen.pop(str(number - 1), None)
        elif 30 <= number <= 37 or 90 <= number <= 97:
            pen["38"] = code
        elif 40 <= number <= 47 or 100 <= number <= 107:
            pen["48"] = code
        else:
            pen[code] = "on"
    return pen


def strip(rng: random.Random, width: int = WIDTH) -> Strip:
    """A line of pieces in any style that is exactly so wide."""
    segments: list[Segment] = []
    left = width
    while left:
        piece = Segment(rng.choice(TEXTS), rng.choice(STYLES))
        if piece.cell_length > left:
            piece = Segment(" " * left, rng.choice(STYLES))
        segments.append(piece)
        left -= piece.cell_length
    return Strip(segments)


def whole(lines: list[Strip]) -> LayoutUpdate:
    return LayoutUpdate([[line] for line in lines], Region(0, 0, WIDTH, HEIGHT))


def part(line: Strip, y: int, x: int) -> ChopsUpdate:
    """A piece of a line, from a column on."""
    chops: list[dict[int, Strip | None]] = [{} for _ in range(HEIGHT)]
    chops[y] = {x: line}
    ends = [[WIDTH] for _ in range(HEIGHT)]
    return ChopsUpdate(chops, [(y, x, WIDTH)], ends)


@pytest.mark.parametrize("seed", range(40))
def test_the_terminal_shows_what_textual_would_have_drawn(seed: int) -> None:
    rng = random.Random(seed)
    frame, ours, textuals = Frame(), Terminal(), Terminal()
    for step in range(20):
        if step and rng.random() < 0.6:
            x = rng.choice([0, 3, 10])
            update: LayoutUpdate | ChopsUpdate = part(
                strip(rng, WIDTH - x), rng.randrange(HEIGHT), x
            )
        else:
            update = whole([strip(rng) for _ in range(HEIGHT)])
        if rng.random() < 0.1:
            frame.forget()
        ours.feed(frame.changes(update, CONSOLE))
        textuals.feed(update.render_segments(CONSOLE))
        assert ours.cells == textuals.cells


def test_nothing_is_written_for_what_is_there() -> None:
    frame = Frame()
    lines = [strip(random.Random(1)) for _ in range(HEIGHT)]
    assert frame.changes(whole(lines), CONSOLE)
    assert frame.changes(whole(lines), CONSOLE) == ""
    frame.forget()
    assert frame.changes(whole(lines), CONSOLE)


def test_one_changed_cell_is_a_move_and_a_character() -> None:
    frame = Frame()
    red = STYLES[1]
    frame.changes(whole([Strip([Segment("a" * WIDTH, red)])] * HEIGHT), CONSOLE)
    lines = [Strip([Segment("a" * WIDTH, red)])] * HEIGHT
    lines = [*lines[:2], Strip([Segment("aaab" + "a" * (WIDTH - 4), red)]), *lines[3:]]
    written = frame.changes(whole(lines), CONSOLE)
    assert written == "\x1b[3;4H\x1b[38;2;255;0;0;48;2;0;0;0mb\x1b[0m"


def test_another_size_is_drawn_as_a_whole() -> None:
    frame = Frame()
    line = Strip([Segment("a" * WIDTH)])
    frame.changes(whole([line] * HEIGHT), CONSOLE)
    smaller = LayoutUpdate([[line]] * 2, Region(0, 0, WIDTH, 2))
    assert frame.changes(smaller, CONSOLE).count("a" * WIDTH) == 2
