"""The rows of a list of sessions: their content, order and filter."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from genie_core.sessions.lock import LockHolder
from genie_core.text.format import counted

ID_PART: Final = 4
"""Minimum letters to match inside an id; fewer occur in many ids by chance."""


class OpenMode(Enum):
    """How a session can be opened."""

    HOST = "resume"
    JOIN = "join again"
    WATCH = "replay"


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session, by its folder's name.

    `people` counts its present and former members and `names` are some of them, `size` is in bytes,
    None if not measured, `last_activity` in seconds since the epoch. `holder` has it open, and then
    nothing is unread. `note` describes its damage, `due` the exceeded limit; both are usually
    empty.
    """

    id: str
    title: str
    way: OpenMode = OpenMode.HOST
    host: str = ""
    people: int = 0
    names: tuple[str, ...] = ()
    last_activity: float = 0.0
    size: int | None = None
    messages: int = 0
    unread: int = 0
    parked: int = 0
    tags: tuple[str, ...] = ()
    preview: str = ""
    holder: LockHolder | None = None
    note: str = ""
    due: str = ""


def past_line(count: int) -> str:
    """Return a line on the sessions past a limit and the remedy; empty for none."""
    if not count:
        return ""
    sessions = counted(count, "session is", "sessions are")
    return f"{sessions} past your limit: genie-tui sessions prune"


class Sort(Enum):
    """A sort order; the value is its display name."""

    ACTIVITY = "activity"
    TITLE = "title"
    SIZE = "size"
    UNREAD = "unread"

    def after(self) -> "Sort":
        every = list(Sort)
        return every[(every.index(self) + 1) % len(every)]


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Return a text without case and accents, for comparison."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


_KEYS: Final[dict[Sort, Callable[[SessionRow], Any]]] = {
    Sort.ACTIVITY: lambda row: -row.last_activity,
    Sort.TITLE: lambda row: fold(row.title),
    Sort.SIZE: lambda row: -(row.size or 0),
    Sort.UNREAD: lambda row: (-row.parked, -row.unread, -row.last_activity),
}


def arrange(rows: Iterable[SessionRow], text: str, sort: Sort) -> list[SessionRow]:
    """Return the rows that match a text, best first, or all in the chosen order.

    Each word must occur in the title, a tag or a name, or at least its letters in order; a longer
    one may also be a part of the id.
    """
    words = fold(text).split()
    ranked = [(rank, row) for row in rows if (rank := _rank(row, words)) is not None]
    key = _KEYS[sort]
    return [row for _, row in sorted(ranked, key=lambda pair: (pair[0], key(pair[1]), pair[1].id))]


def _rank(row: SessionRow, words: Sequence[str]) -> int | None:
    """Return the distance of the worst word; None if one is missing."""
    if not words:
        return 0
    fields = [fold(each) for each in (row.title, row.host, *row.tags, *row.names)]
    ranks = [_fit(word.lstrip("#@"), fields, fold(row.id)) for word in words]
    return None if None in ranks else max(rank for rank in ranks if rank is not None)


def _fit(word: str, fields: Sequence[str], id_: str) -> int | None:
    if any(part.startswith(word) for field in fields for part in field.split()):
        return 0
    if any(word in field for field in fields) or (len(word) >= ID_PART and word in id_):
        return 1
    return 2 if any(_is_scattered(word, field) for field in fields) else None


def _is_scattered(word: str, field: str) -> bool:
    """Whether a word's letters occur in order, the first at the start of a word."""
    place = field.find(word[:1])
    while place >= 0:
        starts = place == 0 or not field[place - 1].isalnum()
        if starts and _follows(word, field[place:]):
            return True
        place = field.find(word[:1], place + 1)
    return False


def _follows(word: str, text: str) -> bool:
    letters = iter(text)
    return all(letter in letters for letter in word)
