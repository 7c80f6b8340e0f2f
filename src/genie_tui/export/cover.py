"""What stands above the text of a room, in whatever form: what it is, who was there, and when."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from genie_core.room.protocol.events import FileRef
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.session import SavedSession
from genie_tui.amounts import counted
from genie_tui.moments import local_time
from genie_tui.text import visible_line

Place: TypeAlias = Callable[[FileRef], str]
"""Says where a file of the room is to be found, as an address; empty if it is left out."""


def nowhere(_file: FileRef) -> str:
    """Leave all files out."""
    return ""


@dataclass(frozen=True, slots=True)
class Cover:
    """All of it is one line each and safe to show; `problems` say what could not be read."""

    title: str
    people: str
    extent: str
    problems: tuple[str, ...]


def cover_of(saved: SavedSession, log: LogReader) -> Cover:
    """Sum a room up. Blocks."""
    state, record = log.state(), saved.metadata
    people = ", ".join(map(visible_line, state.people)) or "nobody"
    first, last = (local_time(at).strftime("%Y-%m-%d %H:%M") for at in _ends(log, record.created))
    messages = counted(state.messages, "message")
    title = visible_line(record.shown_title or state.title)
    problems = tuple(map(visible_line, log.problems))
    return Cover(title, people, f"{first} to {last}, {messages}", problems)


def _ends(log: LogReader, otherwise: float) -> tuple[float, float]:
    first, last = log.read(0, 1), log.read(log.head - 1, 1)
    return (first[0].at, last[0].at) if first and last else (otherwise, otherwise)
