"""A log as lines of text, for pipes and for terminals without a screen."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final

from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.room.state.room_state import AGENT
from genie_core.room.view.wording import file_lines, quote_lines
from genie_core.sessions.export.story import Passage, story
from genie_core.text.format import duration, local_time
from genie_core.text.safe import visible

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
        first_line, *more = _text(passage)
        below = "".join(f"\n{_INDENT}{line}" if line.strip() else "\n" for line in more)
        yield passage.event.at, f"{head}{first_line}{below}"


def _text(passage: Passage) -> list[str]:
    told = passage.told
    vouched = f" ({passage.caveat})" if passage.caveat else ""
    match told.body:
        case MessagePosted() as said:
            return _said(passage.author, said, vouched)
    mark, text = passage.line or ("", "")
    if passage.by_agent is not None:
        to = f" → {passage.receiver}" if passage.receiver else ""
        took = duration(passage.took) if passage.took is not None else "incomplete"
        answer = f"{AGENT}{to}{vouched}: {visible(passage.by_agent)} ({took})".split("\n")
        return [*answer, f"{mark} {text}"] if passage.line else answer
    if passage.exchange is not None and not passage.is_recovered:
        return [f"{mark} #{passage.exchange.seq} {text}{vouched}"]
    return [f"{mark} {text}{vouched}"]


def _said(author: str, said: MessagePosted, vouched: str) -> list[str]:
    text = visible(said.text)
    first = f"* {author}{vouched} {text}" if said.emote else f"{author}{vouched}: {text}"
    return [
        *first.split("\n"),
        *(f"[file {file.number}: {file.name}, {file.about}]" for file in file_lines(said.files)),
        *(f"[from {quote.text}]" for quote in quote_lines(said.quotes)),
    ]
