"""The messages and answers of a session, and excerpts of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from genie_core.room.protocol.events import (
    Event,
    Quote,
    QuotedLine,
)
from genie_core.room.state.members import Members
from genie_core.room.view.spoken import spoken_in
from genie_core.room.view.wording import author_line
from genie_core.sessions.changes import LatestTexts
from genie_core.sessions.log.reader import LogReader

LOOKED_AT: Final = 10_000
"""How many of the last events are searched for messages."""


MOST_MESSAGES: Final = 200
MOST_CHARS: Final = 50_000
"""Characters of an excerpt, names included; older messages are dropped."""


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A message or an answer: event `seq`; `at` is in seconds since the epoch."""

    seq: int
    at: float
    by: str
    text: str


def spoken(events: Iterable[Event]) -> Iterator[TranscriptLine]:
    """Yield the messages and answers in order; file names for a message without text.

    Private ones are left out, here and in excerpts.
    """
    for event in events:
        said = spoken_in(event)
        if said is not None and not said.is_private:
            text = said.text if said.text.strip() else ", ".join(each.name for each in said.files)
            by = f"* {said.by}" if said.emote else said.by
            yield TranscriptLine(said.seq, said.at, by, text)


def last_spoken(log: LogReader, most: int) -> list[TranscriptLine]:
    """Return the last messages and answers, oldest first. Blocks; errors as of the log."""
    lines: list[TranscriptLine] = []
    state = log.state()
    latest = LatestTexts(state.recovered, state.is_proven)
    for part in log.backwards():
        lines[:0] = spoken(latest.of(part))
        if len(lines) >= most or log.head - part[0].seq >= LOOKED_AT:
            break
    return lines[max(len(lines) - most, 0) :]


def excerpt(log: LogReader, room: str, title: str, last: int) -> Quote:
    """Quote the last messages and answers of a log, oldest first. Blocks.

    Raises:
        DiskFailure: the log can't be read.
        DamagedSession: it is no file.
    """
    wanted = min(last, MOST_MESSAGES)
    lines: list[QuotedLine] = []
    state = log.state()
    latest = LatestTexts(state.recovered, state.is_proven)
    for part in log.backwards():
        lines[:0] = _lines(latest.of(part), state.members)
        if len(lines) >= wanted:
            break
    lines = sorted(lines, key=lambda line: line.at)[-wanted:]
    return Quote(room, title, _newest(lines))


def _lines(events: Iterable[Event], members: Members) -> Iterator[QuotedLine]:
    for said in filter(None, map(spoken_in, events)):
        if said.is_private or not (said.is_whole and said.text.strip()):
            continue
        by = author_line(said.by, by_agent=not said.is_answer and members.is_agent(said.by))
        yield QuotedLine(by, f"* {by} {said.text}" if said.emote else said.text, said.at)


def _newest(lines: list[QuotedLine]) -> tuple[QuotedLine, ...]:
    """Return as many from the end as fit; the start of a single one that is too long."""
    room, first = MOST_CHARS, len(lines)
    while first and (room := room - len(lines[first - 1].text) - len(lines[first - 1].sender)) >= 0:
        first -= 1
    if lines and first == len(lines):
        only = lines[-1]
        return (QuotedLine(only.sender, only.text[: MOST_CHARS - len(only.sender)], only.at),)
    return tuple(lines[first:])
