"""Finding words by reading every log: slower than an index, and in need of nothing but the logs."""

import heapq
from collections.abc import Iterator, Sequence
from typing import Final

from genie_core.archive.errors import ArchiveError
from genie_core.archive.reader import LogReader
from genie_core.archive.search_entries import Entry, entries
from genie_core.archive.search_hit import Hit, Searched
from genie_core.archive.search_words import Term, find_terms

_WEIGHT: Final = {"title": 3, "message": 2, "answer": 2}


def scan(sessions: Sequence[Searched], looked_for: Sequence[Term], limit: int) -> list[Hit]:
    """The best matches: titles, then what was said, then what was decided; the newest first.

    What can't be read is passed over.
    """
    found = (hit for session in sessions for hit in _found_in(session, tuple(looked_for)))
    return heapq.nlargest(limit, found, key=lambda hit: (_WEIGHT.get(hit.kind, 1), hit.at))


def _found_in(session: Searched, looked_for: tuple[Term, ...]) -> Iterator[Hit]:
    for entry in _entries(session):
        snippet = find_terms(entry.text, looked_for)
        if snippet is not None:
            yield Hit(
                session.id,
                session.title,
                entry.seq,
                entry.message,
                entry.at,
                entry.by,
                entry.kind,
                snippet,
            )


def _entries(session: Searched) -> Iterator[Entry]:
    yield Entry(0, 0, session.at, "", "title", session.title)
    try:
        with LogReader.open(session.log) as reader:
            yield from entries(reader.events())
    except ArchiveError:
        return
