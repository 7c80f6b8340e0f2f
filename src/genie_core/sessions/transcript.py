"""The messages and answers of a session, and excerpts of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from genie_core.room.protocol.events import (
    Event,
    MessageDeleted,
    MessageEdited,
    Quote,
    QuotedLine,
)
from genie_core.room.state.members import Members
from genie_core.room.view.spoken import spoken_in
from genie_core.room.view.wording import author_line
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


class LatestTexts:
    """Returns messages of a log as their authors left them.

    Call `of` with the parts of a log, the last part first: changes come after their messages.
    `recovered` has the numbers of recovered messages by their former ones, and `is_proven` says
    whether an event counts; see `RoomState`.
    """

    def __init__(
        self,
        recovered: Mapping[int, int] = MappingProxyType({}),
        is_proven: Callable[[int], bool] = lambda _seq: True,
    ) -> None:
        self._recovered = recovered
        self._is_proven = is_proven
        self._texts: dict[tuple[int, str], str | None] = {}  # by message and author

    def of(self, events: Iterable[Event]) -> list[Event]:
        """Return the events, without deleted messages and with the last texts of edited ones."""
        part = list(events)
        for event in reversed(part):
            if self._is_proven(event.seq):
                self._note(event)
        return [shown for event in part if (shown := self._shown(event)) is not None]

    def _note(self, event: Event) -> None:
        told, change = event.told, event.told.body
        if not isinstance(change, MessageEdited | MessageDeleted):
            return
        number = change.message
        if told is not event:
            number = self._recovered.get(number, number)
        if isinstance(change, MessageDeleted):
            self._texts[number, told.by] = None
        else:
            self._texts.setdefault((number, told.by), change.text)

    def _shown(self, event: Event) -> Event | None:
        told, posted = event.told, event.posted
        if posted is None:
            return event
        text = self._texts.pop((event.seq, told.by), posted.text)
        if text is None or text == posted.text:
            return event if text is not None else None
        return Event(event.seq, told.at, told.by, replace(posted, text=text))


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
