"""Put a log together from its remains: damaged logs, pieces of files, members' copies."""

import hashlib
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from genie_core.room.protocol.events import ROOM, Event, UnreadableEvent
from genie_core.room.security.chain import link_of
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import staged
from genie_core.sessions.check import doubts_told, read_log
from genie_core.sessions.errors import AlreadySaved, NotSalvaged
from genie_core.sessions.export.importing import put_session
from genie_core.sessions.lock import hold
from genie_core.sessions.log.format import (
    LOST,
    MAX_GAP,
    AllDamages,
    Damaged,
    decode_line,
    encode_line,
    fitting,
)
from genie_core.sessions.log.lines import lines_of
from genie_core.sessions.metadata import SessionMetadata, one_line, read_metadata
from genie_core.sessions.repair import replace_log, update_metadata
from genie_core.sessions.session import LOG_NAME, METADATA_NAME, SavedSession
from genie_core.storage.atomic import (
    create_file,
    make_private_folder,
    reason,
    sync_data,
    sync_folder,
)
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import StorageError, disk_access

_BEGIN: Final = b'{"seq":'
_END: Final = re.compile(rb',"crc":"[0-9a-f]{8}"\}')
_MOST_OPEN: Final = 16
_MOST_TRIES: Final = 1_000
"""Places in one damaged line at which an event may begin."""


@dataclass(slots=True)
class Salvaged:
    """A session that was put together.

    `taken` counts the events of each source. `missing` are the first and last numbers of the events
    that none has. `left_out` counts lines that contradict those that were taken, `damaged` those
    that can't be read. `doubts` say which entries are not proven.
    """

    saved: SavedSession
    taken: dict[str, int] = field(default_factory=dict)
    missing: list[tuple[int, int]] = field(default_factory=list)
    left_out: int = 0
    damaged: int = 0
    doubts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    files: int = 0
    files_missing: int = 0


def salvage(base: Path, sources: Sequence[Path], me: str, now: float) -> Salvaged:
    """Make a session from the remains of one, in files and folders at any depth. Blocks.

    The first source counts most where several have the same event. `base` is the folder of the
    sessions, `me` the name of the person, who can host it.

    Raises:
        NotSalvaged: there is no event in them, or the session is here already.
        DiskFailure: something can't be read or written.
    """
    with disk_access("salvage into", base), staged(base) as folder:
        make_private_folder(folder)
        pieces = _Pieces(sources)
        done = _Log(pieces, folder / LOG_NAME).write()
        _fill_files(done, folder, sources)
        known = _known_metadata(done.state, sources)
        done.note_end(known)
        metadata = known or _fresh_metadata(done, me, now)
        saved = SavedSession(folder, metadata)
        saved.write()
        saved.summarise(done.state, done.last_at or now)
        sync_folder(folder)
        try:
            done.result.saved = put_session(base, saved, as_copy=False)
        except AlreadySaved as error:
            raise NotSalvaged(
                f"the room {error.room} is here already; add --into {error.room}"
            ) from error
        return done.result


def salvage_into(folder: Path, sources: Sequence[Path]) -> Salvaged:
    """Mend the log of a session from other sources; the damaged one is kept beside it. Blocks.

    Raises:
        NotSalvaged: the sources are of another room.
        SessionInUse: a process has the session open.
        DiskFailure: something can't be read or written; nothing is changed.
    """
    fresh = folder / f"{LOG_NAME}.new"
    with hold(folder), disk_access("write", fresh):
        fresh.unlink(missing_ok=True)
        before = read_log(folder / LOG_NAME)
        done = _Log(_Pieces([folder / LOG_NAME, *sources]), fresh).write()
        metadata = _metadata_in(folder)
        known = {before.state.room, *_ids_of(metadata)} - {""}
        if known and not known & done.rooms:
            fresh.unlink()
            raise NotSalvaged(
                f"what was found is of the room {done.state.room}, not of {folder.name}"
            )
        done.note_end(metadata)
        replace_log(folder, fresh)
        done.result.problems += update_metadata(folder)
        _fill_files(done, folder, sources)
        done.result.saved = SavedSession.load(folder)
        return done.result


@dataclass(frozen=True, slots=True)
class _Found:
    """An event in a file: its line without a line feed."""

    event: Event
    line: bytes
    place: int


class _Pieces:
    """The places of all events in files; the events stay on disk."""

    def __init__(self, sources: Sequence[Path]) -> None:
        self.damaged = 0
        self.problems: list[str] = []
        self._files: list[tuple[Path, Path]] = []  # each with its source
        self._first = sources[0]
        self._open: dict[int, BinaryIO] = {}
        self._seqs, self._starts, self._ends = array("q"), array("q"), array("q")
        self._file = array("l")
        for source in sources:
            for path in _files_in(source):
                self._scan(path, source)

    def __len__(self) -> int:
        return len(self._seqs)

    def by_number(self) -> Iterator[tuple[int, list[_Found]]]:
        """Yield the different events of each number, those of the first source first."""
        order = sorted(range(len(self._seqs)), key=self._seqs.__getitem__)
        for seq, places in groupby(order, key=self._seqs.__getitem__):
            found: dict[bytes, _Found] = {}
            for place in places:
                line = self._line(place)
                with suppress(Damaged):
                    found.setdefault(line, _Found(decode_line(line, first=True), line, place))
            yield seq, list(found.values())

    def source_of(self, place: int) -> str:
        """Return the name of the source that has an event."""
        return str(self._files[self._file[place]][1])

    def is_first(self, place: int) -> bool:
        """Whether the first source has an event."""
        return self._files[self._file[place]][1] == self._first

    def _scan(self, path: Path, source: Path) -> None:
        self._files.append((path, source))
        try:
            with path.open("rb") as file:
                for line in lines_of(file.fileno()):
                    self._note(line.start, line.data)
        except OSError as error:
            self.problems.append(f"{path} can't be read to its end: {reason(error)}")

    def _note(self, start: int, line: bytes) -> None:
        found = list(_events_in(line))
        self.damaged += not found and _BEGIN in line
        for event, begin, end in found:
            self._seqs.append(event.seq)
            self._starts.append(start + begin)
            self._ends.append(start + end)
            self._file.append(len(self._files) - 1)

    def _line(self, place: int) -> bytes:
        start, end = self._starts[place], self._ends[place]
        try:
            return os.pread(self._opened(self._file[place]).fileno(), end - start, start)
        except OSError:  # the disk gets worse
            return b""

    def _opened(self, number: int) -> BinaryIO:
        """Return a file; those that were read lately are still open."""
        if number not in self._open:
            if len(self._open) == _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[number] = self._files[number][0].open("rb")
        return self._open[number]

    def close(self) -> None:
        """Close the files."""
        while self._open:
            self._open.popitem()[1].close()


class _Log:
    """The log that is put together."""

    def __init__(self, pieces: _Pieces, path: Path) -> None:
        self._pieces = pieces
        self._path = path
        self._damages = AllDamages()
        self.state = RoomState()
        self.result = Salvaged(SavedSession(path.parent, _NO_METADATA))
        self.rooms: set[str] = set()
        self.first_at = self.last_at = 0.0

    def write(self) -> "_Log":
        """Write it; raises `NotSalvaged` if there is nothing."""
        with os.fdopen(create_file(self._path), "wb") as out:
            for found, others in self._chosen():
                self._lose(out, found.event)
                self.result.left_out += others
                self._take(out, found)
            out.flush()
            sync_data(out.fileno())
        self._pieces.close()
        self.result.damaged = self._pieces.damaged
        if not self.state.head:
            self._path.unlink()
            raise NotSalvaged("there is no event of a room in what was named")
        self.result.doubts = doubts_told(self.state)
        self.result.problems = [*self._pieces.problems, *self._damages.told()]
        return self

    def note_end(self, metadata: SessionMetadata | None) -> None:
        """Count the events at the end that the metadata tells of."""
        if metadata is not None and metadata.head > self.state.head:
            self.result.missing.append((self.state.head + 1, metadata.head))

    def _chosen(self) -> Iterator[tuple[_Found, int]]:
        """Yield the event of each number that fits best, and how many others there are."""
        numbers = self._pieces.by_number()
        ahead = next(numbers, None)
        while ahead is not None:
            (seq, candidates), ahead = ahead, next(numbers, None)
            if seq < 1 or seq - self.state.head - 1 > len(self._pieces) + MAX_GAP:
                self.result.left_out += len(candidates)
                continue
            parents = (
                {each.event.parent for each in ahead[1]} if ahead and ahead[0] == seq + 1 else set()
            )
            ranked = sorted(candidates, key=lambda each: -self._fit(each, parents))
            if ranked and self._fit(ranked[0], parents) >= 0:
                yield ranked[0], len(ranked) - 1
            else:
                self.result.left_out += len(ranked)

    def _fit(self, found: _Found, parents: set[bytes]) -> int:
        """Rate how well an event continues the log, and the next ones this one.

        One that contradicts the log before it counts only if the first source has it, or if a later
        event follows it.
        """
        event, head = found.event, self.state.head
        is_next = event.seq == head + 1 and bool(self.state.link)
        follows = is_next and event.parent == self.state.link
        is_followed = bool(parents - {b""}) and link_of(event) in parents
        contradicts = is_next and bool(event.parent) and not follows
        is_foreign = contradicts and not (is_followed or self._pieces.is_first(found.place))
        return -1 if is_foreign else 2 * follows + is_followed

    def _lose(self, out: BinaryIO, until: Event) -> None:
        """Write placeholders for the events before the next one."""
        first, last = self.state.head + 1, until.seq - 1
        if first > last:
            return
        self.result.missing.append((first, last))
        for seq in range(first, last + 1):
            lost = Event(seq, self.last_at or until.at, ROOM, UnreadableEvent(LOST))
            out.write(encode_line(lost))
            self.state.apply(lost)

    def _take(self, out: BinaryIO, found: _Found) -> None:
        out.write(found.line + b"\n")
        fitting(self.state, found.event, self._damages)
        self.rooms.add(self.state.room)
        self.first_at = self.first_at or found.event.at
        self.last_at = max(self.last_at, found.event.at)
        name = self._pieces.source_of(found.place)
        self.result.taken[name] = self.result.taken.get(name, 0) + 1


_NO_METADATA: Final = SessionMetadata(id="", title="", kind="hosted", created=0.0)


def _files_in(source: Path) -> Iterator[Path]:
    """Yield a file, or the ordinary files in a folder at any depth; logs come first."""
    if not source.is_dir():
        if source.is_file():  # nothing that could block
            yield source
        return
    found = [each for each in source.rglob("*") if each.is_file() and not each.is_symlink()]
    yield from sorted(found, key=lambda path: (path.name != LOG_NAME, path))


def _events_in(line: bytes) -> Iterator[tuple[Event, int, int]]:
    """Yield the events in a line with their places; in a damaged one, those between the damage."""
    with suppress(Damaged):
        whole = line.removesuffix(b"\r")
        yield decode_line(whole, first=False), 0, len(whole)
        return
    start = line.find(_BEGIN)
    for _ in range(_MOST_TRIES):
        end = _END.search(line, start) if start >= 0 else None
        if end is None:
            return
        try:
            yield decode_line(line[start : end.end()], first=False), start, end.end()
            start = line.find(_BEGIN, end.end())
        except Damaged:
            start = line.find(_BEGIN, start + 1)


def _metadata_in(folder: Path) -> SessionMetadata | None:
    with suppress(StorageError):
        return read_metadata(folder / METADATA_NAME)[0]
    return None


def _ids_of(metadata: SessionMetadata | None) -> set[str]:
    """Return the ids that a room may have in its log: an imported one keeps its former id there."""
    if metadata is None:
        return set()
    return {metadata.id, metadata.origin} if metadata.copied == "import" else {metadata.id}


def _known_metadata(state: RoomState, sources: Sequence[Path]) -> SessionMetadata | None:
    """Return the metadata of the room among the sources, if it is there."""
    for path in (each for source in sources for each in _files_in(source)):
        metadata = _metadata_in(path.parent) if path.name == METADATA_NAME else None
        if metadata is not None and metadata.id == state.room:
            return msgspec.structs.replace(metadata, address="", addresses=())
    return None


def _fresh_metadata(done: _Log, me: str, now: float) -> SessionMetadata:
    state = done.state
    room = state.room or "salvaged"
    return SessionMetadata(
        id=room,
        title=one_line(state.title) or room,
        kind="hosted",
        created=done.first_at or now,
        name=me,
        copied="import",
        origin=state.room,
    )


def _fill_files(done: _Log, folder: Path, sources: Sequence[Path]) -> None:
    """Take over the attached files that messages name, by their content, under any name."""
    wanted, sizes = done.state.files, {file.size for file in done.state.files.values()}
    blobs = BlobStore(folder / BLOBS_NAME, limit=max(sizes, default=0))
    here = blobs.digests()
    for path in (each for source in sources for each in _files_in(source)):
        digest = _digest(path, sizes)
        if digest in wanted and digest not in here:
            blobs.add(path)
            here = blobs.digests()
    done.result.files = sum(digest in here for digest in wanted)
    done.result.files_missing = len(wanted) - done.result.files


def _digest(path: Path, sizes: set[int]) -> str:
    """Return the SHA-256 of a file of one of the sizes; empty for others, and if it can't be read."""
    with suppress(OSError):
        if path.stat().st_size in sizes:
            with path.open("rb") as content:
                return hashlib.file_digest(content, "sha256").hexdigest()
    return ""
