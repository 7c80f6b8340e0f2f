"""What people and agents said in a saved room, as a conversation shows it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from genie_core.room.protocol.events import (
    AnswerPosted,
    Event,
    MessagePosted,
    RunCancelled,
    RunFailed,
)

if TYPE_CHECKING:
    from genie_core.archive.reader import LogReader

AGENT: Final = "genie"
"""Who speaks in an agent's answer."""

LOOKED_AT: Final = 10_000
"""So many of the last events are looked through at most for what was said last."""


@dataclass(frozen=True, slots=True)
class Line:
    """A message or an answer: event `seq`; `at` is in seconds since the epoch."""

    seq: int
    at: float
    by: str
    text: str


def spoken(events: Iterable[Event]) -> Iterator[Line]:
    """What was said, in order; of files the names."""
    for event in events:
        told = event.told
        match told.body:
            case MessagePosted(text=text, emote=emote, files=files):
                shown = text if text.strip() else ", ".join(file.name for file in files)
                yield Line(event.seq, told.at, f"* {told.by}" if emote else told.by, shown)
            case AnswerPosted(text=text):
                yield Line(event.seq, told.at, AGENT, text)
            case RunFailed(text=text) | RunCancelled(text=text) if text:  # a part of an answer
                yield Line(event.seq, told.at, AGENT, text)


def last_spoken(log: "LogReader", most: int) -> list[Line]:
    """The last of what was said, at most so many, oldest first. Blocks; errors as of the log."""
    lines: list[Line] = []
    for part in log.backwards():
        lines[:0] = spoken(part)
        if len(lines) >= most or log.head - part[0].seq >= LOOKED_AT:
            break
    return lines[max(len(lines) - most, 0) :]
