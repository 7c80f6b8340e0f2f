"""The messages and answers of a session, and excerpts of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from genie_core.room.protocol.events import (
    AnswerPosted,
    Event,
    MessagePosted,
    Quote,
    QuotedLine,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.members import Members
from genie_core.room.text.events import author_line
from genie_core.sessions.log.reader import LogReader

AGENT: Final = "genie"
"""The author's name of agents' answers."""

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
        told = event.told
        match told.body:
            case MessagePosted(to=to) if to:
                pass
            case MessagePosted(text=text, emote=emote, files=files):
                shown = text if text.strip() else ", ".join(file.name for file in files)
                yield TranscriptLine(
                    event.seq, told.at, f"* {told.by}" if emote else told.by, shown
                )
            case AnswerPosted(text=text, sealed=()):
                yield TranscriptLine(event.seq, told.at, AGENT, text)
            case RunFailed(text=text) | RunCancelled(text=text) if text:  # a part of an answer
                yield TranscriptLine(event.seq, told.at, AGENT, text)


def last_spoken(log: LogReader, most: int) -> list[TranscriptLine]:
    """Return the last messages and answers, oldest first. Blocks; errors as of the log."""
    lines: list[TranscriptLine] = []
    for part in log.backwards():
        lines[:0] = spoken(part)
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
    members = log.state().members
    for part in log.backwards():
        lines[:0] = _lines(part, members)
        if len(lines) >= wanted:
            break
    lines = sorted(lines, key=lambda line: line.at)[-wanted:]
    return Quote(room, title, _newest(lines))


def _lines(events: Iterable[Event], members: Members) -> Iterator[QuotedLine]:
    for event in events:
        told = event.told
        by = author_line(told.by, by_agent=members.is_agent(told.by))
        match told.body:
            case MessagePosted(text=text, emote=emote, to="") if text.strip():
                yield QuotedLine(by, f"* {by} {text}" if emote else text, told.at)
            case AnswerPosted(text=text, sealed=()):
                yield QuotedLine(AGENT, text, told.at)


def _newest(lines: list[QuotedLine]) -> tuple[QuotedLine, ...]:
    """Return as many from the end as fit; the start of a single one that is too long."""
    room, first = MOST_CHARS, len(lines)
    while first and (room := room - len(lines[first - 1].text) - len(lines[first - 1].sender)) >= 0:
        first -= 1
    if lines and first == len(lines):
        only = lines[-1]
        return (QuotedLine(only.sender, only.text[: MOST_CHARS - len(only.sender)], only.at),)
    return tuple(lines[first:])
