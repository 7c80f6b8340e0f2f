"""Import an exported session: verify it completely, then add all of it or nothing."""

import os
import re
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, BinaryIO, Final

import msgspec

from genie_core.datastore import path_name
from genie_core.room.security.founding import hash_in
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import staged, unused_id
from genie_core.sessions.check import doubts_told
from genie_core.sessions.errors import AlreadySaved, NotImportable
from genie_core.sessions.export.header import (
    HEADER_BYTES,
    MARK,
    ExportPart,
    decode_header,
    record_of,
)
from genie_core.sessions.export.jsonl import SESSION_NAME
from genie_core.sessions.export.parcel import Parcel, open_parcel
from genie_core.sessions.labels import LABELS_NAME, Labels
from genie_core.sessions.lock import in_turn
from genie_core.sessions.log.format import LogScan
from genie_core.sessions.log.lines import LINE_BYTES, lines_of
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.metadata import SessionMetadata
from genie_core.sessions.session import LOG_NAME, SavedSession
from genie_core.storage.archives import BROKEN_ARCHIVE, check_space, copy_pieces, pieces_of
from genie_core.storage.atomic import create_file, sync_folder, unused_path, write_whole
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import StorageError, disk_access
from genie_core.text.format import counted
from genie_core.text.safe import visible_line

LABELS_BYTES: Final = 16 * 1024 * 1024
"""The largest file of labels."""

LOST: Final = 1_000
"""How many more lines or events than present may be damaged or missing in a log."""

_HOSTED: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")
_SUFFIX: Final = re.compile(r"-[a-z0-9]{4}\Z")


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported session. `notes` are lines for the person, usually none."""

    saved: SavedSession
    notes: list[str]


def import_room(base: Path, source: BinaryIO, name: str, *, as_copy: bool = False) -> Imported:
    """Import a session from a seekable file. Blocks.

    `base` is the folder of the saved sessions and `name` the file's name in errors. If the session
    is here already, `as_copy` imports it under another id. After an error, nothing is left.

    Raises:
        NotImportable: it is no exported session, or was changed after the export.
        AlreadySaved: the session is here, and `as_copy` is not set.
        DiskFailure: it can't be read or written.
    """
    with disk_access("import into", base), staged(base) as folder:
        with open_parcel(source, name) as parcel:
            check_space(base, parcel.size)
            fresh = _Import(folder, parcel, name)
            fresh.receive()
        return Imported(put_session(base, fresh.room, as_copy=as_copy), fresh.notes)


def is_export(path: Path) -> bool:
    """Whether to take a path for an exported session: also a damaged one, or one without access."""
    try:
        if path.is_dir():
            return False
        if not path.is_file():
            return True  # missing, or a pipe, which can be read once
        with path.open("rb") as file:
            start = file.read(len(MARK))
            return start == MARK or (start.startswith(b"PK") and _is_bundle(file))
    except OSError:
        return True


def _is_bundle(file: BinaryIO) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return SESSION_NAME in archive.namelist()
    except BROKEN_ARCHIVE:
        return True


class _Import:
    """A session that is built in a folder that no list includes."""

    def __init__(self, folder: Path, parcel: Parcel, name: str) -> None:
        self._folder = folder
        self._parcel = parcel
        self._name = name
        self.notes: list[str] = []
        self.room: SavedSession

    def receive(self) -> None:
        """Read and check everything."""
        self._folder.mkdir(0o700)
        lines = self._parcel.lines
        header = decode_header(lines.readline(HEADER_BYTES), self._name)
        given = record_of(header, self._name)
        record = msgspec.structs.replace(given, copied="import", origin=given.id)
        self._take(header.log, LOG_NAME)
        if header.labels.size > LABELS_BYTES:
            raise self._refusal("its labels are too many")
        if header.labels.size:
            self._take(header.labels, LABELS_NAME)
        if lines.read(1):
            raise self._refusal("it goes on behind its end")
        self._check_labels()
        state = self._check_log()
        self._check_id(given, state)
        self._take_files(state)
        self.room = SavedSession(self._folder, record)
        self.room.write()
        summary = self.room.summary(state, record.last_activity)
        self.room.update(**{**summary, "title": record.title})  # its log may know another one
        sync_folder(self._folder)

    def _take(self, part: ExportPart, file: str) -> None:
        """Copy this many bytes of the lines; they must match the export's checksum."""
        target = create_file(self._folder / file)
        try:
            found = copy_pieces(
                pieces_of(self._parcel.lines, part.size), partial(write_whole, target)
            )
            os.fsync(target)
        finally:
            os.close(target)
        if found.size < part.size:
            missing = part.size - found.size
            raise self._refusal(f"it ends early: {missing:,} bytes are missing")
        if (found.sha256, found.lines) != (part.sha256, part.lines):
            raise self._refusal(f"it was changed after it was exported{self._damage(file)}")

    def _damage(self, file: str) -> str:
        """Return where the export was changed, if that can be determined."""
        if file != LOG_NAME:
            return ""
        told = self._survey().damages.told()
        return f": in its log, {told[0]}" if told else ""

    def _check_labels(self) -> None:
        self.notes += Labels.read(self._folder).problems

    def _check_log(self) -> RoomState:
        """Read the log as it will be read later; older damage is only reported."""
        self._survey()
        with LogReader.open(self._folder / LOG_NAME) as log:
            self.notes += log.problems
            state = log.state()
        self.notes += doubts_told(state)
        return state

    def _check_id(self, record: SessionMetadata, state: RoomState) -> None:
        """Refuse a record that has the id of another founded room; forks have ids without a hash."""
        if state.founding is None or record.id == state.room:
            return
        names = f"its record is of the room {visible_line(record.id)}"
        log = f"its log is of {visible_line(state.room)}"
        if hash_in(record.id):
            raise self._refusal(f"{names}, and {log}; export the session again")
        self.notes.append(f"{names}, a copy: {log}")

    def _survey(self) -> LogScan:
        """Read the log, limiting memory."""
        scan, lost = LogScan(ordered=True), 0
        with (self._folder / LOG_NAME).open("rb") as file:
            for line in lines_of(file.fileno()):
                lost += sum(found.lost for found in scan.take(line))
                if lost > scan.lines + LOST:
                    raise self._refusal("most of its log is missing")
                if 2 * scan.damages.damaged > scan.lines + LOST:
                    raise self._refusal("most of its log is damaged")
                if line.end - line.start > LINE_BYTES:
                    raise self._refusal(f"a line of its log is over {LINE_BYTES:,} bytes long")
        return scan

    def _take_files(self, state: RoomState) -> None:
        """Copy the files, which must be those that messages name."""
        for digest, size in self._parcel.files.items():
            named = state.files.get(digest)
            if named is None or named.size != size:
                raise self._refusal(f"the file {digest[:12]}… in it belongs to no message")
            blobs = BlobStore(self._folder / BLOBS_NAME, limit=size)
            with self._parcel.file(digest) as entry:
                self._take_file(blobs, digest, size, entry)
        missing = len(state.files) - len(self._parcel.files)
        if missing:
            files = counted(missing, "attached file does", "attached files do")
            self.notes.append(f"{files} not come along")

    def _take_file(self, blobs: BlobStore, digest: str, size: int, entry: IO[bytes]) -> None:
        place = 0
        try:
            blobs.begin(digest, size)
            for data in pieces_of(entry, size):
                place = blobs.write(digest, place, data)
            blobs.finish(digest, size)
        except StorageError as error:
            if isinstance(error.__cause__, OSError):
                raise
            raise self._refusal(f"the file {digest[:12]}… in it is damaged") from error

    def _refusal(self, why: str) -> NotImportable:
        return NotImportable(self._name, why)


def put_session(base: Path, room: SavedSession, *, as_copy: bool) -> SavedSession:
    """Move a complete session into place among the others.

    Raises:
        AlreadySaved: the session is here, and `as_copy` is not set.
        OSError: it can't be moved.
    """
    with in_turn(base):
        record = room.metadata
        folder = _folder_of(record)
        if (base / folder).exists():
            if not as_copy:
                raise AlreadySaved(folder)
            if record.kind == "hosted":  # the id of a hosted room names its folder
                folder = unused_id(base, _SUFFIX.sub("", folder))
                room.update(id=folder)
            else:
                folder = unused_path(base / folder, "~").name
        room.folder.rename(base / folder)
        sync_folder(base)
    return SavedSession.load(base / folder)


def _folder_of(record: SessionMetadata) -> str:
    """Return a safe folder name for a session with any metadata."""
    if record.kind == "hosted":
        return record.id if _HOSTED.fullmatch(record.id) else path_name(record.id)
    return f"{path_name(record.id)}@{path_name(record.name)}"
