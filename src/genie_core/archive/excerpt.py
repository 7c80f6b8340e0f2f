"""The last messages of a saved room, to be shown in another one. Nothing is locked or changed."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from genie_core.archive.catalogue import Catalogue
from genie_core.archive.errors import AmbiguousRoom, UnknownRoom
from genie_core.archive.saved import SavedRoom
from genie_core.archive.spoken import AGENT
from genie_core.room.protocol.events import AnswerPosted, Event, MessagePosted, Quote, QuotedLine

MOST_MESSAGES: Final = 200
MOST_CHARS: Final = 50_000
"""Characters of an excerpt, names included; older messages give way."""


def find_room(base: Path, wanted: str) -> SavedRoom:
    """The saved room with this id or title, or the only one whose id begins like this. Blocks.

    Raises:
        UnknownRoom: there is none.
        AmbiguousRoom: there are several.
        DamagedRoom: it can't be read.
        NewerVersion: this version can't read it.

    """
    catalogue = Catalogue(base)
    titled = wanted.casefold().strip()
    matches = [each.id for each in catalogue.all() if each.title.casefold() == titled]
    if len(matches) > 1:
        raise AmbiguousRoom(wanted, matches)
    try:
        return catalogue.find(wanted)
    except UnknownRoom:
        if not matches:
            raise
        return catalogue.find(matches[0])


def excerpt(room: SavedRoom, last: int) -> Quote:
    """The last messages and answers, oldest first. Blocks.

    Raises:
        DiskFailure: the log can't be read.
        DamagedRoom: what is there is no file.

    """
    wanted = min(last, MOST_MESSAGES)
    lines: list[QuotedLine] = []
    with room.reader() as log:
        for part in log.backwards():
            lines[:0] = _lines(part)
            if len(lines) >= wanted:
                break
    lines = sorted(lines, key=lambda line: line.at)[-wanted:]
    return Quote(room.record.id, room.record.title, _newest(lines))


def _lines(events: Iterable[Event]) -> Iterator[QuotedLine]:
    for event in events:
        told = event.told
        match told.body:
            case MessagePosted(text=text, emote=emote) if text.strip():
                yield QuotedLine(told.by, f"* {told.by} {text}" if emote else text, told.at)
            case AnswerPosted(text=text):
                yield QuotedLine(AGENT, text, told.at)


def _newest(lines: list[QuotedLine]) -> tuple[QuotedLine, ...]:
    """As many from the end as may be quoted; of a single one that is too long, the beginning."""
    room, first = MOST_CHARS, len(lines)
    while first and (room := room - len(lines[first - 1].text) - len(lines[first - 1].sender)) >= 0:
        first -= 1
    if lines and first == len(lines):
        only = lines[-1]
        return (QuotedLine(only.sender, only.text[: MOST_CHARS - len(only.sender)], only.at),)
    return tuple(lines[first:])
