"""A log as lines of text, for pipes and for terminals without a screen."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final

from genie_core.room.protocol.events import Event
from genie_core.room.view.entries import AnswerEntry, Entry
from genie_core.room.view.plain import plain_text
from genie_core.sessions.export.story import story
from genie_core.text.format import duration, local_time

_NUMBER: Final = 5
_INDENT: Final = " " * (_NUMBER + 2 + len("00:00:00") + 2)


def lines(events: Iterable[Event], first: int = 1) -> Iterator[tuple[float, str]]:
    """Yield when something happened and how it reads, from event `first` on.

    A text is safe to show and may have several lines, without a line feed at its end. The events
    should begin with the log's first one, also if `first` is a later one; memory is bounded.
    """
    day: date | None = None
    for passage in story(events, first):
        now = local_time(passage.event.at)
        if now.date() != day:
            day = now.date()
            yield passage.event.at, f"── {day:%A}, {day.day} {day:%B %Y} ──"
        head = f"{passage.event.seq:>{_NUMBER}}  {now:%H:%M:%S}  "
        first_line, *more = _text(passage.entry).split("\n")
        below = "".join(f"\n{_INDENT}{line}" if line.strip() else "\n" for line in more)
        yield passage.event.at, f"{head}{first_line}{below}"


def _text(entry: Entry) -> str:
    text = plain_text(entry, marked=True)
    if isinstance(entry, AnswerEntry) and entry.elapsed:
        return f"{text} ({duration(entry.elapsed)})"
    return text
