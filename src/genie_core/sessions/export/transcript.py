"""A session that is written to be read: its heading, its passages, and the notes about each."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from genie_core.room.protocol.events import FileRef
from genie_core.room.security.keys import is_key
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.export.annotations import Annotations, Outline, collect, is_shown
from genie_core.sessions.export.choices import EVERYTHING, Choices, Hide
from genie_core.sessions.export.story import Passage, story
from genie_core.sessions.labels import Labels
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.session import SavedSession
from genie_core.text.format import counted, local_time
from genie_core.text.safe import visible_line

FileAddress: TypeAlias = Callable[[FileRef], str]
"""Returns the address of a file in the export; empty if it is left out."""


def nowhere(_file: FileRef) -> str:
    """Leave all files out."""
    return ""


@dataclass(frozen=True, slots=True)
class Heading:
    """Texts of one line each, safe to show.

    `keys` are people with the words of their keys, `remarks` describe the choices, `problems` the
    unreadable parts.
    """

    title: str
    people: str
    extent: str
    zone: str
    keys: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """The parts of a transcript. `hide` applies to all texts that are written.

    `signed` says whether proven entries have their signatures.
    """

    heading: Heading
    outline: Outline
    found: Annotations
    choices: Choices
    hide: Hide
    signed: bool
    log: LogReader

    def passages(self) -> Iterator[Passage]:
        """Yield the passages that have a place of their own."""
        for passage in _story(self.log, signed=self.signed):
            if is_shown(passage, self.choices):
                yield passage


@contextmanager
def open_transcript(
    saved: SavedSession, choices: Choices = EVERYTHING, *, page: int = 0, signed: bool = False
) -> Iterator[Transcript]:
    """Read a session once to find the needs of its transcript.

    `page` is the messages of a page. Blocks.

    Memory does not grow with the log.

    Raises:
        DamagedSession: the log or the labels are no file.
        DiskFailure: they can't be read.
    """
    wrong = Labels.read(saved.folder).wrong
    signed &= choices.keeps_signatures
    with saved.reader() as log, closing(Annotations()) as found:
        outline = collect(_story(log, signed=signed), found, choices, wrong, page)
        state = log.state()
        hide = choices.hide([*state.people, *outline.names])
        heading = _heading(saved, log, state, outline, choices, hide)
        yield Transcript(heading, outline, found, choices, hide, signed, log)


def _story(log: LogReader, *, signed: bool) -> Iterator[Passage]:
    return story(log.events(), signatures=signed)


def _heading(
    saved: SavedSession,
    log: LogReader,
    state: RoomState,
    outline: Outline,
    choices: Choices,
    hide: Hide,
) -> Heading:
    people = ", ".join(map(visible_line, state.people)) or "no members"
    created = saved.metadata.created
    first, last = outline.span(created)
    ends = " to ".join(f"{local_time(at):%Y-%m-%d %H:%M}" for at in (first, last))
    extent = f"{ends}, {counted(outline.messages, 'message')}"
    title = visible_line(saved.metadata.shown_title or state.title)
    return Heading(
        hide(title),
        hide(people),
        extent,
        zone_words(first, last),
        tuple(_keys(state)) if choices.keeps_signatures else (),
        tuple(choices.told()),
        tuple(map(visible_line, log.problems)),
    )


def _keys(state: RoomState) -> Iterator[tuple[str, str]]:
    """Yield people and the words of their keys; none before the room was founded."""
    from genie_core.room.security.identity import words  # which loads the cryptography

    if state.founding is None:
        return
    for name, key in state.keys.items():
        if is_key(key):
            yield visible_line(name), words(key)


def zone_words(first: float, last: float) -> str:
    """Name the time zone of two moments, and both if it changed with the season."""
    return f"Times are in {' and '.join(dict.fromkeys(map(_zone, (first, last))))}."


def _zone(at: float) -> str:
    moment = local_time(at)
    name, offset = moment.tzname() or "", f"UTC{moment.isoformat(timespec='seconds')[-6:]}"
    return name if name == "UTC" else f"{name} ({offset})"
