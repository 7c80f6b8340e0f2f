"""Search over all sessions of one person on this machine.

The index is a file with nothing beyond the logs: it is updated before each search and after a room
is closed, and rebuilt if it is missing or damaged. Where it can't be written, a temporary one is
built.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from genie_core.room.protocol.events import Event
from genie_core.sessions.catalog import Catalog, Listing
from genie_core.sessions.changes import target_of
from genie_core.sessions.errors import DamagedSession, check_ordinary
from genie_core.sessions.log.format import Damages, LogScan, OutOfOrder
from genie_core.sessions.log.lines import lines_of
from genie_core.sessions.log.reader import LogReader, logged
from genie_core.sessions.search.documents import (
    Document,
    SearchHit,
    document,
)
from genie_core.sessions.search.folding import folded, one_line
from genie_core.sessions.search.query import Query, room_key
from genie_core.sessions.search.snippet import snippet
from genie_core.sessions.search.store import IndexedLog, SearchStore, is_busy, is_damage, remove
from genie_core.sessions.session import SavedSession
from genie_core.storage.errors import StorageError, disk_access

MOST_HITS: Final = 50

MOST_RANKED: Final = 5_000
"""Matches among which the best are chosen: the latest."""

FRESH: Final = 30 * 86_400.0
"""Seconds after which the advantage of a new text halves."""

_TAIL: Final = 64
"""Bytes that identify a log."""

_WEIGHTS: Final = {"title": 3.0, "message": 1.5, "answer": 1.2}

logger = logging.getLogger(__name__)

T = TypeVar("T")
Match: TypeAlias = tuple[IndexedLog, Document, str]
"""The session, the document and its folded text."""


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, best first; `notes` are lines for the person about problems."""

    hits: tuple[SearchHit, ...] = ()
    notes: tuple[str, ...] = ()


class NoIndex(StorageError):
    """The index can't be created, for a reason outside of it."""

    template = "there is no search index ({why}), so every session is read instead"
    path: Path
    why: str


class IndexBusy(StorageError):
    """Another process is updating the index and takes long."""

    template = "the search index is being written, so what is newest may be missing"
    path: Path


def search_sessions(index: Path, base: Path, text: str, limit: int = MOST_HITS) -> SearchResult:
    """Search all sessions below `base` for a typed text. Blocks.

    Raises:
        DiskFailure: the sessions can't be listed.
    """
    return SearchIndex(index).look_up(Catalog(base).all(), text, limit)


def index_session(index: Path, folder: Path) -> None:
    """Index the news of a session. Blocks; a problem waits for the next search.

    Being ended at any time leaves the index as it was before.
    """
    try:
        SavedSession.load(folder)  # an unreadable one waits for its repair
        SearchIndex(index).add(Catalog(folder.parent).listing(folder.name))
    except (StorageError, OSError):
        logger.info("a session is not indexed yet", exc_info=True)


class SearchIndex:
    """The index at a path; nothing is open between calls. All methods block.

    Any number of processes may use it together.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def look_up(
        self,
        sessions: Sequence[Listing],
        text: str,
        limit: int = MOST_HITS,
        *,
        is_wanted: Callable[[], bool] = _always,
    ) -> SearchResult:
        """Refresh and search; without an index, read all logs and note that.

        Raises:
            WrongQuery: the text is no query.
            SlowExpression: a regular expression takes too long.
        """
        query = Query.parse(text)
        if not query:
            return SearchResult()
        try:
            notes = self._refreshed(sessions, is_wanted)
            hits = self._use(lambda store: _hits(store, query, sessions, limit, is_wanted))
            return SearchResult(tuple(hits), tuple(notes))
        except (NoIndex, IndexBusy) as error:
            hits = _search_afresh(sessions, query, limit)
            return SearchResult(tuple(hits), (str(error),))

    def refresh(
        self, sessions: Sequence[Listing], is_wanted: Callable[[], bool] = _always
    ) -> list[str]:
        """Index new events, and drop deleted sessions.

        Returns problems, one line each. Stops early once `is_wanted` returns False; the next call
        continues.

        Raises:
            NoIndex: it can't be created here.
            IndexBusy: another process is updating it.
        """
        return self._use(lambda store: _refresh(store, sessions, is_wanted))

    def add(self, session: Listing) -> list[str]:
        """Index new events of one session; returns problems. Errors as `refresh`."""
        return self._use(lambda store: list(_take_in(store, session, store.room(session.id))))

    def forget(self, ids: Iterable[str]) -> None:
        """Remove the texts of these sessions, also from the files' bytes.

        A file that can't be changed is deleted; the next refresh creates another.

        Raises:
            IndexBusy: another process is updating it; the next refresh removes the texts.
            OSError: it can't be deleted either.
        """
        if not self._path.exists():
            return
        try:
            self._use(lambda store: _forget(store, set(ids)))
        except NoIndex:
            remove(self._path)

    def _refreshed(self, sessions: Sequence[Listing], is_wanted: Callable[[], bool]) -> list[str]:
        """Refresh, unless another process does; the indexed part can be searched."""
        try:
            return self.refresh(sessions, is_wanted)
        except IndexBusy as error:
            return [str(error)]

    def _use(self, work: Callable[[SearchStore], T]) -> T:
        """Work with the index; create a new one if it is damaged."""
        try:
            try:
                return self._once(work)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
                remove(self._path)
                return self._once(work)
        except sqlite3.Error as error:
            if is_busy(error):
                raise IndexBusy(self._path) from error
            raise NoIndex(self._path, f"{self._path}: {error}") from error
        except OSError as error:
            raise NoIndex(self._path, f"{self._path}: {error.strerror or error}") from error

    def _once(self, work: Callable[[SearchStore], T]) -> T:
        store = SearchStore.open(self._path)
        try:
            return work(store)
        finally:
            store.close()


def _search_afresh(sessions: Sequence[Listing], query: Query, limit: int) -> list[SearchHit]:
    """Search with a temporary index; unreadable sessions are left out."""
    store = SearchStore.temporary()
    try:
        _refresh(store, sessions, _always)
        return _hits(store, query, sessions, limit, _always)
    finally:
        store.close()


# Searching


def _hits(
    store: SearchStore,
    query: Query,
    sessions: Sequence[Listing],
    limit: int,
    is_wanted: Callable[[], bool],
) -> list[SearchHit]:
    """Return the best matches: by their place, how well they fit, and age."""
    now = time.time()
    matches = islice(_matches(store, query, sessions, is_wanted), MOST_RANKED)
    scored = ((_score(query, found, text, now), room, found) for room, found, text in matches)
    return [
        SearchHit(
            *(room.id, room.title, found.seq, found.message, found.at, found.by, found.kind),
            snippet(query, found.text),
        )
        for _, room, found in nlargest(limit, scored, key=lambda each: each[0])
    ]


def _matches(
    store: SearchStore,
    query: Query,
    sessions: Sequence[Listing],
    is_wanted: Callable[[], bool],
) -> Iterator[Match]:
    """Yield matching titles, then texts, those in the session with the latest activity first."""
    rooms = store.rooms()
    ordered = sorted(sessions, key=lambda session: -session.last_activity)
    wanted = [(rooms[each.id], each.last_activity) for each in ordered if each.id in rooms]
    titles = [
        (room, iter([Document(0, 0, at, "", "title", one_line(room.title))])) for room, at in wanted
    ]
    texts = [(room, store.found(query, room)) for room, _at in wanted]
    for room, documents in (*titles, *texts):
        key = room_key(room.title, room.id)
        if not query.is_about(key):
            continue
        for found in documents if is_wanted() else ():
            text = folded(found.text)
            if query.matches(found, text, key):
                yield room, found, text


def _score(query: Query, found: Document, text: str, now: float) -> float:
    fresh = 1.0 + 1.0 / (1.0 + max(now - found.at, 0.0) / FRESH)
    return _WEIGHTS.get(found.kind, 1.0) * query.closeness(text) * fresh


# Indexing


def _refresh(
    store: SearchStore, sessions: Sequence[Listing], is_wanted: Callable[[], bool]
) -> list[str]:
    notes: list[str] = []
    known = store.rooms()
    _forget(store, known.keys() - {session.id for session in sessions})
    for session in sessions:
        if not is_wanted():
            break
        notes += _take_in(store, session, known.get(session.id))
    return notes


def _forget(store: SearchStore, ids: Collection[str]) -> None:
    """Drop sessions, so that none of their words is left in the files."""
    if not ids:
        return
    with store.writing():
        for id_, room in store.rooms().items():
            if id_ in ids:
                store.forget(room)


def _take_in(store: SearchStore, session: Listing, known: IndexedLog | None) -> Iterator[str]:
    """Index new events of a session; yields a problem in one line."""
    try:
        _check_name(session)
        now = _look_at(session)
        if known is None or not _same(known, now):
            _read_on(store, session, now)
    except StorageError as error:
        yield str(error)


def _check_name(session: Listing) -> None:
    """Check that a database can store the folder's name, which need not be text."""
    try:
        session.id.encode()
    except UnicodeEncodeError:
        why = "the name of its folder is no text; rename the folder"
        raise DamagedSession(session.log, why) from None


def _read_on(store: SearchStore, session: Listing, now: IndexedLog) -> None:
    with store.writing():
        # Another process may have read further meanwhile.
        known = store.room(session.id) or store.add_room(session.id)
        now = replace(now, number=known.number)
        if _was_appended_to(known, session.log):
            now = replace(now, head=known.head, covered=known.covered)
        else:
            store.clear(known)
        try:
            head, covered = _index(store, now, session.log)
        except OutOfOrder:
            store.clear(known)
            head, covered, recovered = 0, 0, _recovered(session.log)
            for each in logged(session.log, Damages()):
                head = each.event.seq
                _take(store, now, each.event, recovered)
        store.note(replace(now, head=head, covered=covered))


def _index(store: SearchStore, room: IndexedLog, log: Path) -> tuple[int, int]:
    """Add the rest of a log; returns the last event, and where to read on in bytes.

    Raises:
        OutOfOrder: the lines have to be sorted.
    """
    if not log.exists():
        return 0, 0
    recovered = _recovered(log)
    scan = LogScan(room.head, lines=min(room.head, 1), intact=room.covered)
    with disk_access("read", log):
        check_ordinary(log)
        with log.open("rb") as file:
            for each in scan.events(lines_of(file.fileno(), room.covered)):
                _take(store, room, each.event, recovered)
    is_whole = not (scan.damages.damaged or scan.damages.holes)
    return scan.head, scan.intact if is_whole else 0


def _take(
    store: SearchStore, room: IndexedLog, event: Event, recovered: Callable[[], Mapping[int, int]]
) -> None:
    target = target_of(event, recovered)
    if target is not None:
        store.change(room, target, event)
    elif (found := document(event)) is not None:
        store.add(room, found)


def _recovered(log: Path) -> Callable[[], Mapping[int, int]]:
    """Return the numbers of recovered messages by former ones; the state is read once if needed."""

    @cache
    def numbers() -> Mapping[int, int]:
        with LogReader.open(log) as reader:
            return reader.state().recovered

    return numbers


def _look_at(session: Listing) -> IndexedLog:
    """Describe the log's file as it is now; blank if there is none."""
    blank = IndexedLog(0, session.id, one_line(session.title))
    try:
        status = session.log.stat()
        tail = _bytes_before(session.log, status.st_size)
    except OSError:  # reading the log reports the cause
        return blank
    return replace(
        blank,
        size=status.st_size,
        inode=status.st_ino,
        changed=status.st_mtime_ns,
        tail=tail,
    )


def _same(known: IndexedLog, now: IndexedLog) -> bool:
    return replace(known, number=0, head=0, covered=0) == now


def _was_appended_to(known: IndexedLog, log: Path) -> bool:
    """Whether the log still starts with the indexed part."""
    if not known.covered:
        return False
    try:
        return log.stat().st_ino == known.inode and _bytes_before(log, known.size) == known.tail
    except OSError:
        return False


def _bytes_before(log: Path, end: int) -> bytes:
    if not log.is_file():
        return b""
    descriptor = os.open(log, os.O_RDONLY)
    try:
        start = max(end - _TAIL, 0)
        return os.pread(descriptor, end - start, start)
    finally:
        os.close(descriptor)
