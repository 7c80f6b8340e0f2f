"""Pieces of texts that show the hits."""

from dataclasses import dataclass
from typing import Final

from genie_core.sessions.search.folding import folded
from genie_core.sessions.search.query import Query

WIDTH: Final = 160
"""Characters of a snippet, roughly."""

LEAD: Final = 40
"""Characters before the first match."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text on one line, and the ranges that matched."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


def snippet(query: Query, text: str) -> Snippet:
    """Cut a text on one line around the first match; raises `SlowExpression`."""
    spans = query.spans(folded(text))
    start = _word_after(text, spans[0][0] - LEAD) if spans else 0
    end = _word_before(text, start + WIDTH)
    lead = "…" if start else ""
    shift = len(lead) - start
    marks = ((max(low, start) + shift, min(high, end) + shift) for low, high in spans)
    cut = f"{lead}{text[start:end]}{'…' if end < len(text) else ''}"
    return Snippet(cut, tuple((low, high) for low, high in marks if low < high))


def _word_after(text: str, at: int) -> int:
    """Return the start of a word shortly after a place, or the place."""
    if at <= 0:
        return 0
    space = text.find(" ", at, at + LEAD)
    return at if space < 0 else space + 1


def _word_before(text: str, at: int) -> int:
    """Return the end of a word shortly before a place, or the place."""
    if at >= len(text):
        return len(text)
    space = text.rfind(" ", at - LEAD, at + 1)
    return at if space < 0 else space
