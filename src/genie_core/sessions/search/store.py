"""The file of the search index: texts in SQLite, rebuilt from the logs at any time.

A search reads all texts. That finds words inside words, and takes less space than an index of words
or of their letters; see `docs/decisions`. `folded` is NULL where it is the text in lower case.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Final

import msgspec

from genie_core.room.protocol.events import Event
from genie_core.sessions.changes import Target
from genie_core.sessions.search.documents import Document, changed
from genie_core.sessions.search.folding import folded
from genie_core.sessions.search.query import Query
from genie_core.storage.atomic import make_private_folder

VERSION: Final = 6
"""Version of the tables and their content; a file of another version is rebuilt."""

PATIENCE: Final = 5.0
"""Seconds to wait for another process that writes."""

_PAUSE: Final = 0.01
"""Seconds between two attempts where SQLite does not wait by itself."""

_MOST_INT: Final = (1 << 63) - 1

_SCHEMA: Final = """
CREATE TABLE room (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    head INTEGER NOT NULL, covered INTEGER NOT NULL, size INTEGER NOT NULL,
    inode INTEGER NOT NULL, changed INTEGER NOT NULL, tail BLOB NOT NULL);
CREATE TABLE document (
    room INTEGER NOT NULL, seq INTEGER NOT NULL, message INTEGER NOT NULL, at REAL NOT NULL,
    by TEXT NOT NULL, kind TEXT NOT NULL, has_file INTEGER NOT NULL, call TEXT NOT NULL,
    text TEXT NOT NULL, folded TEXT, fixed TEXT NOT NULL,
    PRIMARY KEY (room, seq)) WITHOUT ROWID;
CREATE INDEX call ON document (room, call) WHERE call != '';
"""
_PASSING: Final = frozenset(
    {
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
        *(sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH),
    }
)
"""Errors of SQLite that are not caused by the file."""


_ROOMS: Final = "SELECT number, id, title, head, covered, size, inode, changed, tail FROM room"


@dataclass(frozen=True, slots=True)
class IndexedLog:
    """How far a session's log has been read, and its file then.

    `covered` is where to read on, in bytes; 0 means from the start. `tail` is the last bytes. A log
    was only appended to if it is the same file, not shorter, and still has them there.
    """

    number: int
    id: str
    title: str
    head: int = 0
    covered: int = 0
    size: int = 0
    inode: int = 0
    changed: int = 0
    tail: bytes = b""


_DOCUMENTS: Final = (
    "SELECT seq, message, at, by, kind, text, has_file, fixed, call FROM document WHERE room = ?"
)
_FILTER: Final = (
    " AND at >= ? AND at < ? AND has_file >= ?"
    " AND (? = '[]' OR kind IN (SELECT value FROM json_each(?)))"
)
_WORD: Final = " AND instr(ifnull(folded, lower(text)), ?)"
_INSERT: Final = (
    "INSERT INTO document"
    " (room, folded, seq, message, at, by, kind, text, has_file, fixed, call)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


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
            OSError: the file can't be written or removed.
            sqlite3.Error: nor can a new one.
        """
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
        connection = sqlite3.connect("", isolation_level=None)
        _prepare(connection)
        return cls(connection)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock out other writers; the block's changes apply as a whole or not at all.

        Deleted text is overwritten in all files: the write-ahead log keeps old pages until it is
        emptied.
        """
        self._connection.execute("BEGIN IMMEDIATE")
        self._deleted = False
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        if self._deleted:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    # Sessions

    def rooms(self) -> dict[str, IndexedLog]:
        """Return the state of every indexed session, by id."""
        return {row[1]: IndexedLog(*row) for row in self._connection.execute(_ROOMS)}

    def room(self, id_: str) -> IndexedLog | None:
        """Return the state of a session, if it is indexed."""
        row = self._connection.execute(f"{_ROOMS} WHERE id = ?", (id_,)).fetchone()
        return None if row is None else IndexedLog(*row)

    def add_room(self, id_: str) -> IndexedLog:
        """Add a session that has not been read."""
        place = self._connection.execute(
            "INSERT INTO room (id, title, head, covered, size, inode, changed, tail)"
            " VALUES (?, '', 0, 0, 0, 0, 0, x'')",
            (id_,),
        )
        return IndexedLog(place.lastrowid or 0, id_, "")

    def note(self, room: IndexedLog) -> None:
        """Save how far a session has been read."""
        self._connection.execute(
            "UPDATE room SET title = ?, head = ?, covered = ?, size = ?, inode = ?, changed = ?,"
            " tail = ? WHERE number = ?",
            (
                *(room.title, room.head, room.covered, room.size),
                *(room.inode, room.changed, room.tail, room.number),
            ),
        )

    def forget(self, room: IndexedLog) -> None:
        self.clear(room)
        self._connection.execute("DELETE FROM room WHERE number = ?", (room.number,))
        self._deleted = True

    def clear(self, room: IndexedLog) -> None:
        """Remove all texts of a session."""
        gone = self._connection.execute("DELETE FROM document WHERE room = ?", (room.number,))
        self._deleted |= gone.rowcount > 0

    # Documents

    def add(self, room: IndexedLog, found: Document) -> None:
        """Add the document of an event that has none yet."""
        message = min(max(found.message, 0), _MOST_INT)  # against any claim of a log
        found = msgspec.structs.replace(found, message=message)
        text = None if found.text.isascii() else folded(found.text)
        values = (room.number, text, *msgspec.structs.astuple(found))
        self._connection.execute(_INSERT, values)

    def change(self, room: IndexedLog, target: Target, event: Event) -> None:
        """Change the document of a message or tool call as an event does, or remove it."""
        name, by = target
        if isinstance(name, int) and not 0 < name <= _MOST_INT:  # against any claim of a log
            return
        place = "seq = ?" if isinstance(name, int) else "call != '' AND call = ?"
        known = self._connection.execute(
            f"{_DOCUMENTS} AND {place} AND by = ? AND kind IN ('message', 'approval', 'parked')",
            (room.number, name, by),
        ).fetchone()
        if known is None:
            return
        found = Document(*known)
        where = room.number, found.seq
        self._connection.execute("DELETE FROM document WHERE room = ? AND seq = ?", where)
        self._deleted = True
        fresh = changed(found, event)
        if fresh is not None:
            self.add(room, fresh)

    def found(self, query: Query, room: IndexedLog) -> Iterator[Document]:
        """Yield the documents of a session that may match, the latest first."""
        kinds = msgspec.json.encode(sorted(query.kinds)).decode()
        rows = self._connection.execute(
            f"{_DOCUMENTS}{_FILTER}{_WORD * len(query.words)} ORDER BY seq DESC",
            (room.number, query.after, query.before, query.has_file, kinds, kinds, *query.words),
        )
        yield from (Document(*row) for row in rows)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is damaged, so that a new one would help."""
    code = getattr(error, "sqlite_errorcode", None)  # only SQLite's own errors have one
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
    # SQLite gives its other files the same permissions.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    path.chmod(0o600)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    connection.text_factory = _text
    try:
        _share(connection)
        connection.execute("PRAGMA synchronous = OFF")  # nothing is lost that can't be made again
        connection.execute("PRAGMA secure_delete = ON")  # deleted texts are not left in the file
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _text(data: bytes) -> str:
    return data.decode(errors="replace")  # damage is noticed by its length


def _share(connection: sqlite3.Connection) -> None:
    """Let others read while one writes.

    If several processes create the file together, SQLite refuses this without waiting.
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
