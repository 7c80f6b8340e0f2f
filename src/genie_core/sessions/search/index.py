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
from contextlib import closing
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import groupby, islice
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from genie_core.room.protocol.events import ApprovalResolved, Event
from genie_core.sessions.catalog import Catalog, Listing
from genie_core.sessions.errors import DamagedSession
from genie_core.sessions.log.format import LoggedEvent, OutOfOrder
from genie_core.sessions.log.reader import LineReader, LogReader
from genie_core.sessions.search.documents import (
    Changes,
    SearchedSession,
    SearchHit,
    Target,
    document,
    is_same_call,
)
from genie_core.sessions.search.folding import folded, one_line
from genie_core.sessions.search.query import Query, room_key
from genie_core.sessions.search.snippet import snippet
from genie_core.sessions.search.store import (
    IndexedDocument,
    IndexedLog,
    IndexEntry,
    Part,
    SearchStore,
    candidates,
    is_busy,
    is_damage,
    remove,
)
from genie_core.sessions.session import LOG_NAME, SavedSession
from genie_core.storage.errors import StorageError

MOST_HITS: Final = 50

MOST_RANKED: Final = 5_000
"""Matches among which the best are chosen: the latest."""

FRESH: Final = 30 * 86_400.0
"""Seconds after which the advantage of a new text halves."""

BATCH: Final = 4_096
"""Events that are indexed at once."""

_TAIL: Final = 64
"""Bytes that identify a log."""

_WEIGHTS: Final = {"title": 3.0, "message": 1.5, "answer": 1.2}

logger = logging.getLogger(__name__)

T = TypeVar("T")
Match: TypeAlias = tuple[float, IndexedLog, IndexEntry]
"""A score, and what matched where."""


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


def index_session(index: Path, folder: Path) -> None:
    """Index what is new in a session. Blocks; a problem waits for the next search.

    Being ended at any time leaves the index as it was before.
    """
    try:
        saved = SavedSession.load(folder)
        record = saved.metadata
        session = SearchedSession(
            saved.id, record.shown_title, saved.log_path, record.last_activity
        )
        SearchIndex(index).add(session)
    except (StorageError, OSError):
        logger.info("a session is not indexed yet", exc_info=True)


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

    def add(self, session: SearchedSession) -> list[str]:
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
    sessions: Sequence[SearchedSession], query: Query, limit: int
) -> list[SearchHit]:
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
    sessions: Sequence[SearchedSession],
    limit: int,
    is_wanted: Callable[[], bool],
) -> list[SearchHit]:
    """Return the best matches: by their place, how well they fit, and age."""
    now = time.time()
    logs = {each.id: each for each in sessions}
    rooms = {room.number: room for room in store.rooms().values() if room.id in logs}
    found = islice(_matches(store, query, rooms, logs, now, is_wanted), MOST_RANKED)
    best = nlargest(limit, found, key=lambda match: match[0])
    texts = _texts(best, logs)
    return [
        SearchHit(
            *(room.id, room.title, entry.seq, entry.message, entry.at, entry.by, entry.kind),
            snippet(query, text),
        )
        for _, room, entry in best
        if (text := texts.get((room.id, entry.seq))) is not None
    ]


def _matches(
    store: SearchStore,
    query: Query,
    rooms: Mapping[int, IndexedLog],
    logs: Mapping[str, SearchedSession],
    now: float,
    is_wanted: Callable[[], bool],
) -> Iterator[Match]:
    keys = {number: room_key(room.title, room.id) for number, room in rooms.items()}
    for number, room in rooms.items():
        title = _title(room, logs[room.id].at)
        text = folded(one_line(room.title))
        if query.matches(title, text, keys[number]):
            yield _score(query, title, text, now), room, title
    for part in store.parts():
        key = keys.get(part.room)
        if not is_wanted():
            return
        if key is not None and query.is_about(key) and part.may_have(query):
            for entry, text in _candidates(store, part, query):
                if query.holds(entry, text, key):
                    yield _score(query, entry, text, now), rooms[part.room], entry


def _candidates(store: SearchStore, part: Part, query: Query) -> Iterator[tuple[IndexEntry, str]]:
    return candidates(store.texts(part.number), lambda: store.entries(part.number), query)


def _title(room: IndexedLog, at: float) -> IndexEntry:
    return IndexEntry(0, 0, at, "", "title", has_file=False, place=0, change=0)


def _score(query: Query, entry: IndexEntry, text: str, now: float) -> float:
    fresh = 1.0 + 1.0 / (1.0 + max(now - entry.at, 0.0) / FRESH)
    return _WEIGHTS.get(entry.kind, 1.0) * query.closeness(text) * fresh


def _texts(
    best: Iterable[Match], logs: Mapping[str, SearchedSession]
) -> dict[tuple[str, int], str]:
    """Read the texts of matches from their logs; a text that has changed meanwhile is left out."""
    found: dict[tuple[str, int], str] = {}
    by_log = sorted(((room.id, entry) for _, room, entry in best), key=lambda each: each[0])
    for id_, group in groupby(by_log, key=lambda each: each[0]):
        with closing(LineReader(logs[id_].log)) as lines:
            for _, entry in group:
                text = _text(lines, entry) if entry.seq else one_line(logs[id_].title)
                if text is not None:
                    found[id_, entry.seq] = text
    return found


def _text(lines: LineReader, entry: IndexEntry) -> str | None:
    event = lines.event_at(entry.place)
    change = lines.event_at(entry.change) if entry.change else None
    if event is None or event.seq != entry.seq or (entry.change and change is None):
        return None
    found = document(event, change)
    return None if found is None else found.text


# Indexing


def _refresh(
    store: SearchStore, sessions: Sequence[SearchedSession], is_wanted: Callable[[], bool]
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


def _take_in(
    store: SearchStore, session: SearchedSession, known: IndexedLog | None
) -> Iterator[str]:
    """Index new events of a session; yields a problem in one line."""
    try:
        _check_name(session)
        now = _look_at(session)
        if known is None or not _same(known, now):
            _read_on(store, session, now)
    except StorageError as error:
        yield str(error)


def _check_name(session: SearchedSession) -> None:
    """Check that a database can store the folder's name, which need not be text."""
    try:
        session.id.encode()
    except UnicodeEncodeError:
        why = "the name of its folder is no text; rename the folder"
        raise DamagedSession(session.log, why) from None


def _read_on(store: SearchStore, session: SearchedSession, now: IndexedLog) -> None:
    with store.writing():
        # Another process may have read further meanwhile.
        known = store.room(session.id) or store.add_room(session.id)
        now = replace(now, number=known.number)
        if _was_appended_to(known, session.log):
            now = replace(now, head=known.head, covered=known.covered)
        else:
            store.clear(known)
        with closing(LineReader(session.log)) as lines:
            try:
                head, covered = _index(store, now, lines)
            except OutOfOrder:
                store.clear(known)
                head, covered = _index(
                    store, replace(now, head=0, covered=0), lines, in_order=False
                )
        store.note(replace(now, head=head, covered=covered))


def _index(
    store: SearchStore, room: IndexedLog, lines: LineReader, *, in_order: bool = True
) -> tuple[int, int]:
    """Add the rest of a log; returns the last event, and where to read on in bytes.

    Raises:
        OutOfOrder: the lines have to be sorted.
    """
    recovered = _Recovered(lines.path)
    events = lines.after(room.head, room.covered) if in_order else lines.in_order()
    while batch := list(islice(events, BATCH)):
        changes, places = Changes(recovered), {}
        for each in batch:
            if changes.note(each.event):
                places[each.event.seq] = each.start
        store.append(room, _documents(batch, changes, places))
        for target, change in changes.rest().items():
            _change(store, room, lines, target, change, places[change.seq])
    return lines.head, lines.covered


def _documents(
    batch: Iterable[LoggedEvent], changes: Changes, places: Mapping[int, int]
) -> Iterator[IndexedDocument]:
    for each in batch:
        change = changes.take(each.event)
        found = document(each.event, change)
        if found is not None:
            place = 0 if change is None else places[change.seq]
            yield IndexedDocument.of(found, each.start, place)


def _change(
    store: SearchStore,
    room: IndexedLog,
    lines: LineReader,
    target: Target,
    change: Event,
    place: int,
) -> None:
    """Change what was indexed before: an edited or deleted message, or the outcome of a call."""
    entry = _entry(store, room, lines, target, change)
    event = lines.event_at(entry.place) if entry is not None else None
    if entry is None or event is None or event.told.by != target[1]:
        return
    found = document(event, change)
    fresh = None if found is None else IndexedDocument.of(found, entry.place, place)
    store.replace(room, entry.seq, fresh)


def _entry(
    store: SearchStore, room: IndexedLog, lines: LineReader, target: Target, change: Event
) -> IndexEntry | None:
    name = target[0]
    if isinstance(name, int):
        return store.entry(room, name)
    body = change.told.body
    if not isinstance(body, ApprovalResolved) or body.sealed:
        return None
    for entry in store.open_calls(room, body.message):
        event = lines.event_at(entry.place)
        if event is not None and is_same_call(event, target):
            return entry
    return None


class _Recovered:
    """The numbers of recovered messages by their former ones; the state is read only if needed."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._numbers: Mapping[int, int] | None = None

    def __call__(self) -> Mapping[int, int]:
        if self._numbers is None:
            with LogReader.open(self._log) as reader:
                self._numbers = reader.state().recovered
        return self._numbers


def _look_at(session: SearchedSession) -> IndexedLog:
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
    """Whether the log still starts with what was indexed."""
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
