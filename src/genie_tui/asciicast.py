"""A room as a terminal recording (asciicast, version 2), which players and web pages can show.

The format is described at https://docs.asciinema.org/manual/asciicast/v2/.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.text.events import file_lines, quote_lines
from genie_core.sessions.export.story import Passage, story
from genie_core.sessions.replay.pace import gap
from genie_core.sessions.session import SavedSession
from genie_core.sessions.transcript import AGENT
from genie_core.text.format import local_time
from genie_core.text.safe import visible, visible_line

WIDTH: Final = 100
HEIGHT: Final = 30

LAST: Final = 2.0
"""Seconds for which the end is shown."""

_GAP: Final = "  "
_TIME: Final = Style.parse("bright_black")
_QUIET: Final = Style.parse("bright_black")
_BAD: Final = Style.parse("red")
_ASKS: Final = Style.parse("yellow")
_GOOD: Final = Style.parse("green")
_PERSON: Final = Style.parse("bold cyan")
_AGENT: Final = Style.parse("bold magenta")
_STYLES: Final = {"✗": _BAD, "⚠": _BAD, "▲": _ASKS, "‖": _ASKS, "✓": _GOOD}


def cast(saved: SavedSession) -> Iterator[str]:
    """Yield the recording line by line, at the pace of a replay. Blocks.

    Raises:
        DamagedSession: the log is no file.
        DiskFailure: it can't be read.
    """
    with saved.reader() as log:
        first = log.read(0, 1)
        began = first[0].at if first else saved.metadata.created
        yield _line(_header(visible_line(saved.metadata.shown_title), began))
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


def _screens(events: Iterable[Event]) -> Iterator[tuple[Event, str]]:
    """Yield the terminal output of each passage."""
    console = Console(width=WIDTH, legacy_windows=False, emoji=False)  # it only measures
    for passage in story(events):
        when = f"{local_time(passage.event.at):%H:%M:%S}"
        lines = _text(passage).wrap(console, WIDTH - len(when) - len(_GAP), overflow="fold")
        begins = [_coloured(when, _TIME), *[" " * len(when)] * (len(lines) - 1)]
        yield (
            passage.event,
            "".join(
                f"{begin}{_GAP}{_line_of(line, console)}\r\n"
                for begin, line in zip(begins, lines, strict=True)
            ),
        )


def _line_of(text: Text, console: Console) -> str:
    text.rstrip()
    return "".join(
        _coloured(segment.text, segment.style) for segment in text.render(console, end="")
    )


def _coloured(text: str, style: Style | None) -> str:
    return style.render(text, color_system=ColorSystem.STANDARD) if style else text


def _text(passage: Passage) -> Text:
    text = _told(passage)
    return text.append(f" ({passage.caveat})", _QUIET) if passage.caveat else text


def _told(passage: Passage) -> Text:
    told = passage.told
    match told.body:
        case MessagePosted() as said:
            return _said(passage.author, said)
    mark, text = passage.line or ("", "")
    # As a part, not as a whole: rich renders no style of a text that has no parts.
    line = Text.assemble((f"{mark} {text}", _STYLES.get(mark, _QUIET)))
    if passage.by_agent is None:
        return line
    to = f" → {passage.receiver}" if passage.receiver else ""
    answer = Text.assemble((AGENT, _AGENT), f"{to}: ", visible(passage.by_agent))
    return answer.append("\n").append_text(line) if passage.line else answer


def _said(author: str, said: MessagePosted) -> Text:
    between = " " if said.emote else ": "
    text = Text.assemble((author, _PERSON), between, visible(said.text))
    for file in file_lines(said.files):
        text.append(f"\n📎 {file.name}, {file.about}", _QUIET)
    for quote in quote_lines(said.quotes):
        text.append(f"\n❝ from {quote.text}", _QUIET)
    return text
