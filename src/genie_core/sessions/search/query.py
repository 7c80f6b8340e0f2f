"""Parse a typed query, and normalise the texts that it is compared with.

Words match regardless of case and accents. All must occur, in any order; words in quotes must be
consecutive; the last word may be a prefix. No other syntax.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

MOST_CHARS: Final = 1_000
MOST_TERMS: Final = 32
"""Characters of a query, and words as terms, that are used; the rest is ignored."""

SPLIT: Final = "\x1f"
OPEN: Final = "\ufdd1"
CLOSE: Final = "\ufdd2"
"""Private code points: between letters, and around matches."""

_TYPED: Final = re.compile(r'"([^"]*)("?)|(\S+?)(?=["\s]|\Z)')
_WORD: Final = re.compile(r"[^\W_]+")
_OURS: Final = re.compile(f"[{SPLIT}{OPEN}{CLOSE}\0]")
_UNSPACED: Final = (
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Letters of scripts without spaces between words."""

_APART: Final = re.compile(f"(?<=[{_UNSPACED}])(?=\\w)|(?<=\\w)(?=[{_UNSPACED}])")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text on one line, and the ranges that matched."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Term:
    """Consecutive words; with `prefix` the last one is a prefix."""

    words: tuple[str, ...]
    prefix: bool = False


def terms(text: str) -> tuple[Term, ...]:
    """Parse a typed text into terms; none if it has no word."""
    found: list[Term] = []
    text = whole(text[:MOST_CHARS])
    for match in _TYPED.finditer(text):
        quoted, closed, bare = match.groups()
        words = tuple(split_words(bare if quoted is None else quoted)[:MOST_TERMS])
        if words:
            open_end = match.end() == len(text) and not closed
            found.append(Term(words, prefix=open_end))
    return tuple(found[:MOST_TERMS])


def match_query(looked_for: tuple[Term, ...]) -> str:
    """Return an FTS5 query; each word is a quoted string, so that none is an operator."""
    return " AND ".join(
        f'"{" ".join(term.words)}"' + (" *" if term.prefix else "") for term in looked_for
    )


def whole(text: str) -> str:
    """Return a text without the code points that have a meaning here."""
    text = _OURS.sub(" ", text)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def spaced(text: str) -> str:
    """Return a text in which letters of unspaced scripts are separate words."""
    return text if text.isascii() else _APART.sub(SPLIT, text)


def split_words(text: str) -> list[str]:
    """Return the words of a text."""
    return _WORD.findall(spaced(text))


def marked(snippet: str) -> Snippet:
    """Parse a snippet in which matches stand between `OPEN` and `CLOSE`."""
    snippet = " ".join(snippet.replace(SPLIT, "").split())
    parts: list[str] = []
    marks: list[tuple[int, int]] = []
    length = start = 0
    for part in re.split(f"([{OPEN}{CLOSE}])", snippet):
        if part == OPEN:
            start = length
        elif part == CLOSE:
            marks.append((start, length))
        else:
            parts.append(part)
            length += len(part)
    return Snippet("".join(parts), tuple(_joined(marks)))


def _joined(marks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge ranges that touch."""
    if not marks:
        return []
    joined = [marks[0]]
    for (_, end), (start, stop) in pairwise(marks):
        if start <= end:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
    return joined
