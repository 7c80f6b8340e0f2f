"""The file of the search index: folded texts in SQLite, rebuilt from the logs at any time.

The texts of a session are joined into parts of about `PART_CHARS`, which a search reads through.
That finds words inside words, and takes less space than an index of words or of their letters; see
`docs/decisions`. Texts as they are shown stay in the logs.
"""

import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Final, get_args

import msgspec

from genie_core.sessions.search.documents import Document
from genie_core.sessions.search.folding import folded
from genie_core.sessions.search.query import DocumentKind, Query
from genie_core.storage.atomic import make_private_folder

VERSION: Final = 5
"""Version of the tables and their content; a file of another version is rebuilt."""

PATIENCE: Final = 5.0
"""Seconds to wait for another process that writes."""

PART_CHARS: Final = 64 * 1024
"""Characters after which another part begins."""

_PAUSE: Final = 0.01
"""Seconds between two attempts where SQLite does not wait by itself."""

_SHIFT: Final = 32
_MOST_SEQ: Final = (1 << _SHIFT) - 1
_MOST_INT: Final = (1 << 63) - 1

_SCHEMA: Final = """
CREATE TABLE room (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    head INTEGER NOT NULL, covered INTEGER NOT NULL, size INTEGER NOT NULL,
    inode INTEGER NOT NULL, changed INTEGER NOT NULL, tail BLOB NOT NULL);
CREATE TABLE part (
    number INTEGER PRIMARY KEY, earliest REAL NOT NULL, latest REAL NOT NULL,
    kinds INTEGER NOT NULL, authors TEXT NOT NULL, entries BLOB NOT NULL, texts TEXT NOT NULL);
"""
_PASSING: Final = frozenset(
    {
        *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
        *(sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_AUTH),
    }
)
"""Errors of SQLite that are not caused by the file."""


class IndexDamaged(sqlite3.DatabaseError):
    """A part of the index is not as it was written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


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


class IndexEntry(msgspec.Struct, frozen=True, array_like=True):
    """A document without its text.

    `place` is where the event's line begins in the log, and `change` where that of its last change
    does, or 0.
    """

    seq: int
    message: int
    at: float
    by: str
    kind: DocumentKind
    has_file: bool
    place: int
    change: int


class Entries:
    """The entries of a part in the order of its texts; one is decoded when it is needed."""

    def __init__(self, data: bytes) -> None:
        self._each = _decode_each(data)

    def __len__(self) -> int:
        return len(self._each)

    def __getitem__(self, index: int) -> IndexEntry:
        return _decode_one(self._each[index])

    def __iter__(self) -> Iterator[IndexEntry]:
        return map(_decode_one, self._each)


class IndexedDocument(msgspec.Struct, frozen=True):
    """A document's entry, and its folded text."""

    entry: IndexEntry
    text: str

    @classmethod
    def of(cls, found: Document, place: int, change: int) -> "IndexedDocument":
        return cls(
            IndexEntry(
                found.seq,
                min(max(found.message, 0), _MOST_INT),  # whatever a log claims
                found.at,
                found.by,
                found.kind,
                found.has_file,
                place,
                change,
            ),
            folded(found.text),
        )


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive documents of a session, as far as is known without reading them."""

    number: int
    earliest: float
    latest: float
    kinds: int
    authors: str

    @property
    def room(self) -> int:
        return self.number >> _SHIFT

    def may_have(self, query: Query) -> bool:
        """Whether a document may be of the query's kinds, authors and time."""
        return (
            self.earliest < query.before
            and self.latest >= query.after
            and (not query.kinds or bool(self.kinds & _bits(query.kinds)))
            and (not query.authors or any(f"\n{each}\n" in self.authors for each in query.authors))
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
        span = _row_number(room, 0), _row_number(room, _MOST_SEQ)
        gone = self._connection.execute("DELETE FROM part WHERE number BETWEEN ? AND ?", span)
        self._deleted |= gone.rowcount > 0

    # Texts

    def append(self, room: IndexedLog, documents: Iterable[IndexedDocument]) -> None:
        """Add documents that follow all others of a session."""
        part, waiting, size = self._last_part(room)
        for each in documents:
            if each.entry.seq > _MOST_SEQ:
                continue
            if waiting and size + len(each.text) > PART_CHARS:
                self._write(part, waiting)
                waiting, size = [], 0
            if not waiting:
                part = _row_number(room, each.entry.seq)
            waiting.append(each)
            size += len(each.text) + 1
        if waiting:
            self._write(part, waiting)

    def replace(self, room: IndexedLog, seq: int, document: IndexedDocument | None) -> None:
        """Replace the document of an event, or remove it."""
        part = self._part_with(room, seq)
        if part is None:
            return
        kept = [
            document if each.entry.seq == seq else each
            for each in self.documents(part)
            if each.entry.seq != seq or document is not None
        ]
        self._write(part, [each for each in kept if each is not None])
        self._deleted = True

    def entry(self, room: IndexedLog, seq: int) -> IndexEntry | None:
        """Return the entry of an event, if it has a text."""
        part = self._part_with(room, seq)
        if part is None:
            return None
        return next((each for each in self.entries(part) if each.seq == seq), None)

    def open_calls(self, room: IndexedLog, message: int) -> Iterator[IndexEntry]:
        """Yield the tool calls for a message without a final outcome."""
        kinds: tuple[DocumentKind, ...] = ("approval", "parked")
        rows = self._connection.execute(
            "SELECT number FROM part WHERE number BETWEEN ? AND ? AND kinds & ?",
            (_row_number(room, 0), _row_number(room, _MOST_SEQ), _bits(kinds)),
        ).fetchall()
        for (number,) in rows:
            for each in self.entries(number):
                if each.message == message and each.kind in kinds:
                    yield each

    def parts(self) -> list[Part]:
        """Return all parts, the latest first."""
        rows = self._connection.execute("SELECT number, earliest, latest, kinds, authors FROM part")
        return sorted((Part(*row) for row in rows), key=lambda part: -part.latest)

    def texts(self, part: int) -> str:
        """Return the folded texts of a part, one a line; empty if it is gone."""
        query = "SELECT texts FROM part WHERE number = ?"
        found = self._connection.execute(query, (part,)).fetchone()
        return "" if found is None else str(found[0])

    def entries(self, part: int) -> Entries:
        """Return the entries of a part in the order of its texts."""
        query = "SELECT entries FROM part WHERE number = ?"
        found = self._connection.execute(query, (part,)).fetchone()
        try:
            return Entries(_NO_ENTRIES if found is None else zlib.decompress(found[0]))
        except (zlib.error, msgspec.MsgspecError) as error:
            raise IndexDamaged from error

    def documents(self, part: int) -> list[IndexedDocument]:
        """Return the documents of a part."""
        found = candidates(self.texts(part), lambda: self.entries(part), Query())
        return [IndexedDocument(*each) for each in found]

    def _last_part(self, room: IndexedLog) -> tuple[int, list[IndexedDocument], int]:
        """Return the part to append to, with its documents and their size."""
        part = self._part_with(room, _MOST_SEQ)
        if part is None:
            return 0, [], 0
        size = len(self.texts(part))
        return (part, self.documents(part), size) if size < PART_CHARS else (0, [], 0)

    def _part_with(self, room: IndexedLog, seq: int) -> int | None:
        """Return the part that has an event's document, if there is one."""
        query = "SELECT max(number) FROM part WHERE number BETWEEN ? AND ?"
        span = _row_number(room, 0), _row_number(room, min(seq, _MOST_SEQ))
        found: int | None = self._connection.execute(query, span).fetchone()[0]
        return found

    def _write(self, part: int, documents: list[IndexedDocument]) -> None:
        if not documents:
            self._connection.execute("DELETE FROM part WHERE number = ?", (part,))
            return
        entries = [each.entry for each in documents]
        times = [each.at for each in entries]
        authors = "\n".join(folded(name) for name in {each.by for each in entries})
        self._connection.execute(
            "INSERT OR REPLACE INTO part (number, earliest, latest, kinds, authors, entries, texts)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                *(part, min(times), max(times)),
                *(_bits({each.kind for each in entries}), f"\n{authors}\n"),
                *(zlib.compress(_encode(entries), 1), "\n".join(each.text for each in documents)),
            ),
        )


def candidates(
    texts: str, entries: Callable[[], Entries], query: Query
) -> Iterator[tuple[IndexEntry, str]]:
    """Yield the documents of a part that a query admits and that have all its words.

    `entries` is called only if there is a text with all the words.
    """
    known: Entries | None = None
    for index, text in _with_words(texts, query.words) if query.words else _lines(texts):
        if known is None:
            known = entries()
            if not known:  # the part was removed meanwhile
                return
            if texts.count("\n") != len(known) - 1:
                raise IndexDamaged
        entry = known[index]
        if query.admits(entry):
            yield entry, text


def _lines(texts: str) -> Iterator[tuple[int, str]]:
    return enumerate(texts.split("\n"))


def _with_words(texts: str, words: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the lines with all the words, and their numbers."""
    first = {word: texts.find(word) for word in words}
    if -1 in first.values():
        return
    *others, rare = sorted(first, key=lambda word: first[word])  # it comes last for the first time
    index = start = 0
    while (at := texts.find(rare, start)) >= 0:
        index += texts.count("\n", start, at)
        end = _end(texts, at)
        text = texts[texts.rfind("\n", 0, at) + 1 : end]
        if all(word in text for word in others):
            yield index, text
        index, start = index + 1, end + 1


def _end(texts: str, at: int) -> int:
    """Return where the line at a place ends."""
    end = texts.find("\n", at)
    return len(texts) if end < 0 else end


_BITS: Final = {kind: 1 << place for place, kind in enumerate(get_args(DocumentKind))}
_encode: Final = msgspec.msgpack.Encoder().encode
_decode_each: Final = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_decode_one: Final = msgspec.msgpack.Decoder(IndexEntry).decode
_NO_ENTRIES: Final = _encode([])


def _bits(kinds: Collection[DocumentKind]) -> int:
    return sum(_BITS[kind] for kind in kinds)


def _row_number(room: IndexedLog, seq: int) -> int:
    return room.number << _SHIFT | seq


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
    connection.text_factory = _text
    try:
        _share(connection)
        connection.execute("PRAGMA synchronous = OFF")  # nothing is lost that can't be made again
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is not left in the file
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _text(data: bytes) -> str:
    return data.decode(errors="replace")  # what is damaged is noticed by its length


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
