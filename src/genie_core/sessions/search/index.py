"""Full-text search over all sessions of one person on this machine.

The index is a file with nothing beyond the logs: it is updated before each search, and rebuilt if
it is missing or damaged. Where it can't be written, a temporary one is built. Needs SQLite with
FTS5.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from genie_core.room.protocol.events import Event
from genie_core.sessions.catalog import Catalog, Listing
from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.search.documents import (
    Document,
    SearchedSession,
    SearchHit,
    changed_document,
    documents,
)
from genie_core.sessions.search.query import Term, marked, terms, whole
from genie_core.sessions.search.store import (
    IndexedLog,
    NoFullTextSearch,
    SearchStore,
    is_busy,
    is_damage,
    remove,
)
from genie_core.sessions.session import LOG_NAME
from genie_core.storage.errors import StorageError

MOST_HITS: Final = 50
_TAIL: Final = 64
"""Bytes that identify a log."""

T = TypeVar("T")


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, best first; `notes` are lines for the person about problems."""

    hits: tuple[SearchHit, ...] = ()
    notes: tuple[str, ...] = ()


class NoIndex(StorageError):
    """The index can't be created, for a reason outside of it."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"there is no search index ({why}), so every session is read instead")
        self.path = path
        self.why = why


class IndexBusy(StorageError):
    """Another process is updating the index and takes long."""

    def __init__(self, path: Path) -> None:
        super().__init__("the search index is being written, so what is newest may be missing")
        self.path = path


def search_sessions(index: Path, base: Path, text: str, limit: int = MOST_HITS) -> SearchResult:
    """Search all sessions below `base` for a typed text. Blocks.

    Raises:
        DiskFailure: the sessions can't be listed.
    """
    return SearchIndex(index).look_up(searched(base, Catalog(base).all()), text, limit)


def searched(base: Path, listings: Iterable[Listing]) -> list[SearchedSession]:
    """Return the sessions of a catalog below `base`, unreadable metadata included."""
    return [
        SearchedSession(each.id, each.title, base / each.id / LOG_NAME, each.last_activity)
        for each in listings
    ]


class SearchIndex:
    """The index at a path; nothing is open between calls. All methods block.

    Any number of processes may use it at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def look_up(
        self,
        sessions: Sequence[SearchedSession],
        text: str,
        limit: int = MOST_HITS,
        *,
        is_wanted: Callable[[], bool] = _always,
    ) -> SearchResult:
        """Refresh and search; without an index, read all logs and note that.

        Raises:
            NoFullTextSearch: SQLite lacks FTS5.
        """
        looked_for = terms(text)
        if not looked_for:
            return SearchResult()
        try:
            notes = self._refreshed(sessions, is_wanted)
            return SearchResult(tuple(self.search(text, limit)), tuple(notes))
        except (NoIndex, IndexBusy) as error:
            hits = _search_afresh(sessions, looked_for, limit)
            return SearchResult(tuple(hits), (str(error),))

    def refresh(
        self, sessions: Sequence[SearchedSession], is_wanted: Callable[[], bool] = _always
    ) -> list[str]:
        """Index new events, and drop deleted sessions.

        Returns problems, one line each. Stops early once `is_wanted` returns False; the next call
        continues.

        Raises:
            NoIndex: it can't be created here.
            IndexBusy: another process is updating it.
        """
        return self._use(lambda store: _refresh(store, sessions, is_wanted))

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
        except (NoIndex, NoFullTextSearch):
            remove(self._path)

    def search(
        self, text: str, limit: int = MOST_HITS, now: float | None = None
    ) -> list[SearchHit]:
        """Return the best matches by the last refresh; none without a word. Errors as `refresh`."""
        looked_for = terms(text)
        if not looked_for:
            return []
        moment = time.time() if now is None else now
        return self._use(lambda store: _hits(store, looked_for, limit, moment))

    def _refreshed(
        self, sessions: Sequence[SearchedSession], is_wanted: Callable[[], bool]
    ) -> list[str]:
        """Refresh, unless another process does; what is indexed can be searched."""
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


def _search_afresh(
    sessions: Sequence[SearchedSession], looked_for: tuple[Term, ...], limit: int
) -> list[SearchHit]:
    """Search with a temporary index; unreadable sessions are left out."""
    store = SearchStore.temporary()
    try:
        _refresh(store, sessions, _always)
        return _hits(store, looked_for, limit, time.time())
    finally:
        store.close()


def _hits(
    store: SearchStore, looked_for: tuple[Term, ...], limit: int, now: float
) -> list[SearchHit]:
    rows = store.find(looked_for, limit, now)
    return [
        SearchHit(
            each.room,
            each.title,
            each.seq,
            each.message,
            each.at,
            each.by,
            each.kind,
            marked(each.snippet),
        )
        for each in rows
    ]


def _refresh(
    store: SearchStore, sessions: Sequence[SearchedSession], is_wanted: Callable[[], bool]
) -> list[str]:
    notes: list[str] = []
    known = store.rooms()
    _forget(store, known.keys() - {session.id for session in sessions})
    for session in sessions:
        if not is_wanted():
            break
        try:
            _check_name(session)
            _take_in(store, session, known.get(session.id))
        except StorageError as error:
            notes.append(str(error))
    return notes


def _forget(store: SearchStore, ids: Collection[str]) -> None:
    """Drop sessions, so that none of their words is left in the files."""
    if not ids:
        return
    with store.writing():
        for id_, room in store.rooms().items():
            if id_ in ids:
                store.forget(room)


def _check_name(session: SearchedSession) -> None:
    """Check that a database can store the folder's name, which need not be text."""
    if whole(session.id) != session.id:
        raise DamagedSession(session.log, "the name of its folder is no text; rename the folder")


def _take_in(store: SearchStore, session: SearchedSession, known: IndexedLog | None) -> None:
    now = _look_at(session)
    if known is not None and _same(known, now):
        return
    with store.writing():
        # Another process may have read further meanwhile.
        known = store.rooms().get(session.id) or store.add_room(session.id)
        now = replace(now, number=known.number)
        with LogReader.open(session.log) as reader:
            head = known.head if _was_appended_to(known, session.log, reader.head) else 0
            if not head:
                store.clear(known)
            changes: dict[tuple[int, str], Event] = {}
            store.add(now, documents(reader.events(after=head), changes))
            _change(store, now, reader, changes)
            now = replace(now, head=reader.head)
        if known.title != now.title or not head:
            store.clear(now, 0, 0)
            store.add(now, [Document(0, 0, session.at, "", "title", session.title)])
        store.note(now)


def _change(
    store: SearchStore, room: IndexedLog, log: LogReader, changes: Mapping[tuple[int, str], Event]
) -> None:
    """Replace the texts of edited messages, and remove those of deleted ones."""
    is_recovered = any(change.told is not change for change in changes.values())
    recovered = log.state().recovered if is_recovered else {}
    for (number, _), change in changes.items():
        seq = number if change.told is change else recovered.get(number, number)
        messages = log.read(seq - 1, 1) if seq > 0 else []
        found = changed_document(change, messages[0]) if messages else None
        if found is not None and found.seq == seq:
            store.clear(room, found.seq, found.seq)
            store.add(room, [found] if found.text.strip() else [])


def _look_at(session: SearchedSession) -> IndexedLog:
    """Describe the log's file as it is now; blank if there is none."""
    blank = IndexedLog(0, session.id, whole(session.title))
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
    return replace(known, number=0, head=0) == replace(now, number=0, head=0)


def _was_appended_to(known: IndexedLog, log: Path, head: int) -> bool:
    """Whether the log still starts with what was indexed."""
    if not known.head or head < known.head:
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
