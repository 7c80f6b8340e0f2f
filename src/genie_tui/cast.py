"""A room as a terminal recording (asciicast, version 2), which players and web pages can show.

The format is described at https://docs.asciinema.org/manual/asciicast/v2/.
"""

import io
import json
from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from genie_core.archive.saved import SavedRoom
from genie_core.room.event import Answered, Event, Said
from genie_tui.export.story import AGENT, Passage, story
from genie_tui.moments import local_time
from genie_tui.replay.pace import gap
from genie_tui.text import visible, visible_line
from genie_tui.widgets.brought import file_lines, quote_lines

WIDTH: Final = 100
HEIGHT: Final = 30

LAST: Final = 2.0
"""Seconds for which the end is shown."""

_TIME: Final = Style.parse("bright_black")
_QUIET: Final = Style.parse("bright_black")
_BAD: Final = Style.parse("red")
_ASKS: Final = Style.parse("yellow")
_PERSON: Final = Style.parse("bold cyan")
_AGENT: Final = Style.parse("bold magenta")
_STYLES: Final = {"✗": _BAD, "⚠": _BAD, "▲": _ASKS, "‖": _ASKS}


def cast(saved: SavedRoom) -> Iterator[str]:
    """Yield the recording line by line, at the pace of a replay. Blocks.

    Raises:
        DamagedRoom: the log is no file.
        DiskFailure: it can't be read.

    """
    with saved.reader() as log:
        first = log.read(0, 1)
        began = first[0].at if first else saved.record.created
        yield _line(_header(visible_line(saved.record.shown_title), began))
        now, before = 0.0, began
        for event, text in _screens(log.events()):
            now, before = now + gap(before, event.at), event.at
            yield _line([round(now, 3), "o", text])
        yield _line([round(now + LAST, 3), "o", ""])


def _header(title: str, began: float) -> dict[str, object]:
    return {
        "version": 2,
        "width": WIDTH,
        "height": HEIGHT,
        "timestamp": int(began),
        "title": title,
        "env": {"TERM": "xterm-256color"},
    }


def _line(value: object) -> str:
    return json.dumps(value) + "\n"


def _screens(events: Iterator[Event]) -> Iterator[tuple[Event, str]]:
    """What a terminal is sent for each passage."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=WIDTH,
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    for passage in story(events):
        grid = Table.grid(padding=(0, 2), pad_edge=False)
        grid.add_column(width=len("00:00:00"))
        grid.add_column(width=WIDTH - len("00:00:00") - 2, overflow="fold")
        grid.add_row(Text(f"{local_time(passage.event.at):%H:%M:%S}", _TIME), _text(passage))
        console.print(grid)
        yield passage.event, _trimmed(out.getvalue())
        out.seek(0)
        out.truncate()


def _trimmed(text: str) -> str:
    """Without the blanks that fill lines up, and with the line ends that a terminal needs."""
    return "".join(f"{line.rstrip()}\r\n" for line in text.split("\n")[:-1])


def _text(passage: Passage) -> Text:
    told = passage.told
    match told.body:
        case Said() as said:
            return _said(visible_line(told.by), said)
        case Answered() as answered:
            to = f" → {passage.receiver}" if passage.receiver else ""
            return Text.assemble((AGENT, _AGENT), f"{to}: ", visible(answered.text))
    mark, text = passage.line or ("", "")
    return Text(f"{mark} {text}", _STYLES.get(mark, _QUIET))


def _said(author: str, said: Said) -> Text:
    between = " " if said.emote else ": "
    text = Text.assemble((author, _PERSON), between, visible(said.text))
    for file in file_lines(said.files):
        text.append(f"\n📎 {file.name}, {file.about}", _QUIET)
    for quote in quote_lines(said.quotes):
        text.append(f"\n❝ from {quote.text}", _QUIET)
    return text
