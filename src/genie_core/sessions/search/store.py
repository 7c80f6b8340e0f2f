"""The file of the search index: an FTS5 table that can be rebuilt from the logs at any time.

Rows are numbered by session and sequence number, so that those of a session are adjacent.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from genie_core.sessions.search.documents import Document, DocumentKind
from genie_core.sessions.search.query import CLOSE, OPEN, Term, match_query, spaced, whole
from genie_core.storage.atomic import make_private_folder
from genie_core.storage.errors import StorageError

VERSION: Final = 4
"""Version of the tables and their content; a file of another version is rebuilt."""

PATIENCE: Final = 5.0
"""Seconds to wait for another process that writes."""

_PAUSE: Final = 0.01
"""Seconds between two attempts where SQLite does not wait by itself."""

FRESH: Final = 30 * 86_400.0
"""Seconds after which the advantage of a new text halves."""

_SHIFT: Final = 32
_MOST_SEQ: Final = (1 << _SHIFT) - 1
_TOKENS: Final = 24
"""Words in a snippet."""

_SCHEMA: Final = """
CREATE TABLE room (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    head INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    changed INTEGER NOT NULL, tail BLOB NOT NULL);
CREATE VIRTUAL TABLE entry USING fts5(
    message UNINDEXED, at UNINDEXED, by UNINDEXED, kind UNINDEXED, text,
    tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');
"""
_FIND: Final = """
WITH ranked AS MATERIALIZED (
    SELECT rowid, bm25(entry)
        * CASE kind WHEN 'title' THEN 3.0 WHEN 'message' THEN 1.5 WHEN 'answer' THEN 1.2 ELSE 1.0 END
        * (1.0 + 1.0 / (1.0 + max(:now - at, 0.0) / :fresh)) AS score
    FROM entry WHERE entry MATCH :query ORDER BY score LIMIT :limit)
SELECT room.id, room.title, entry.rowid, message, at, by, kind,
    snippet(entry, 4, :open, :close, '…', :tokens)
FROM ranked CROSS JOIN entry ON entry.rowid = ranked.rowid
    JOIN room ON room.number = entry.rowid >> 32
WHERE entry MATCH :query ORDER BY score
"""
_PASSING: Final = frozenset(
    {
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
        *(sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH),
    }
)
"""Errors of SQLite that are not caused by the file."""


class NoFullTextSearch(StorageError):
    """Python's SQLite lacks FTS5."""

    def __init__(self) -> None:
        super().__init__(
            f"searching sessions needs full-text search (FTS5), which the SQLite {sqlite3.sqlite_version} "
            "of this Python lacks; use a Python whose SQLite has it"
        )


@dataclass(frozen=True, slots=True)
class IndexedLog:
    """How far a session's log has been read, and its file then.

    `tail` is the last bytes read. A log was only appended to if it is the same file, not shorter,
    and still has them there.
    """

    number: int
    id: str
    title: str
    head: int = 0
    size: int = 0
    inode: int = 0
    changed: int = 0
    tail: bytes = b""


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A match; `snippet` has `OPEN` and `CLOSE` around matching words."""

    room: str
    title: str
    seq: int
    message: int
    at: float
    by: str
    kind: DocumentKind
    snippet: str


class SearchStore:
    """One connection to the file. All methods block and raise `sqlite3.Error`.

    Use it in the thread that opened it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._deleted = False

    @classmethod
    def open(cls, path: Path) -> "SearchStore":
        """Open the file; rebuild it if it is missing, damaged or of another version.

        Raises:
            NoFullTextSearch: SQLite lacks FTS5.
            OSError: the file can't be written or removed.
            sqlite3.Error: nor can a new one.
        """
        check_full_text()
        make_private_folder(path.parent)
        try:
            return cls(_connect(path))
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            remove(path)
            return cls(_connect(path))

    @classmethod
    def temporary(cls) -> "SearchStore":
        """Create an index that is deleted when closed; errors as `open`."""
        check_full_text()
        connection = sqlite3.connect("", isolation_level=None)
        _prepare(connection)
        return cls(connection)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock out other writers; the block's changes apply as a whole or not at all.

        Deleted text is overwritten in all files: FTS5 keeps the words of deleted rows until it
        merges, and the write-ahead log keeps old pages until it is emptied.
        """
        self._connection.execute("BEGIN IMMEDIATE")
        self._deleted = False
        try:
            yield
            if self._deleted:
                self._connection.execute("INSERT INTO entry (entry) VALUES ('optimize')")
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        if self._deleted:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def rooms(self) -> dict[str, IndexedLog]:
        """Return the state of every indexed session, by id."""
        fields = "number, id, title, head, size, inode, changed, tail"
        rows = self._connection.execute(f"SELECT {fields} FROM room")  # noqa: S608 - constant
        return {row[1]: IndexedLog(*row) for row in rows}

    def add_room(self, id_: str) -> IndexedLog:
        """Add a session that has not been read."""
        place = self._connection.execute(
            "INSERT INTO room (id, title, head, size, inode, changed, tail)"
            " VALUES (?, '', 0, 0, 0, 0, x'')",
            (id_,),
        )
        return IndexedLog(place.lastrowid or 0, id_, "")

    def note(self, room: IndexedLog) -> None:
        """Save how far a session has been read."""
        self._connection.execute(
            "UPDATE room SET title = ?, head = ?, size = ?, inode = ?, changed = ?, tail = ?"
            " WHERE number = ?",
            (
                room.title,
                room.head,
                room.size,
                room.inode,
                room.changed,
                room.tail,
                room.number,
            ),
        )

    def add(self, room: IndexedLog, texts: Iterable[Document]) -> None:
        """Add texts of a session to the index."""
        self._connection.executemany(
            "INSERT INTO entry (rowid, text, message, at, by, kind) VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    _row_number(room, each.seq),
                    spaced(whole(each.text)),
                    min(max(each.message, 0), _MOST_SEQ),  # whatever a log claims
                    each.at,
                    whole(each.by),
                    each.kind,
                )
                for each in texts
                if each.seq <= _MOST_SEQ
            ),
        )

    def clear(self, room: IndexedLog, first: int = 0, last: int = _MOST_SEQ) -> None:
        """Remove texts of a session from the index."""
        span = (_row_number(room, first), _row_number(room, last))
        gone = self._connection.execute("DELETE FROM entry WHERE rowid BETWEEN ? AND ?", span)
        self._deleted |= gone.rowcount > 0

    def forget(self, room: IndexedLog) -> None:
        self.clear(room)
        self._connection.execute("DELETE FROM room WHERE number = ?", (room.number,))
        self._deleted = True

    def find(self, looked_for: tuple[Term, ...], limit: int, now: float) -> list[SearchRow]:
        """Return the best matches: by how rare the words are, their place, and age."""
        rows = self._connection.execute(
            _FIND,
            {
                "query": match_query(looked_for),
                "limit": limit,
                "now": now,
                "fresh": FRESH,
                "open": OPEN,
                "close": CLOSE,
                "tokens": _TOKENS,
            },
        )
        return [SearchRow(row[0], row[1], row[2] & _MOST_SEQ, *row[3:]) for row in rows]


def check_full_text() -> None:
    """Raise `NoFullTextSearch` if SQLite lacks FTS5."""
    with closing(sqlite3.connect(":memory:")) as memory:
        try:
            memory.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        except sqlite3.OperationalError as error:
            raise NoFullTextSearch from error


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is damaged, so that a new one would help."""
    code = getattr(error, "sqlite_errorcode", None)  # only what SQLite itself says has one
    return code is not None and code & 0xFF not in _PASSING


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process locked the file for too long."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def remove(path: Path) -> None:
    """Remove the file, and those that SQLite keeps beside it."""
    for ending in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    # SQLite gives what it keeps beside the file the same permissions.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    path.chmod(0o600)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        _share(connection)
        connection.execute("PRAGMA synchronous = OFF")  # nothing is lost that can't be made again
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is not left in the file
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _share(connection: sqlite3.Connection) -> None:
    """Let others read while one writes.

    If several processes create the file at once, SQLite refuses this without waiting.
    """
    end = monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or monotonic() > end:
                raise
            sleep(_PAUSE)
        else:
            return


def _prepare(connection: sqlite3.Connection) -> None:
    if _version(connection) == VERSION:
        connection.execute("SELECT count(*) FROM room").fetchone()
        return
    connection.execute("BEGIN IMMEDIATE")
    if _version(connection) != VERSION:  # no other process has made it meanwhile
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)  # fails if there is anything of another version
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _row_number(room: IndexedLog, seq: int) -> int:
    return room.number << _SHIFT | seq
