"""A session: a folder with a room's metadata, log, files, and its owner's engine state."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from genie_core.room.protocol.events import ROOM, Event, Quote, RoomCreated
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.errors import InvalidTag
from genie_core.sessions.excerpts import excerpt
from genie_core.sessions.lock import SessionInUse, hold, holder, in_turn
from genie_core.sessions.log.reader import LogReader, last_logged
from genie_core.sessions.log.writer import EventLog, OpenedLog
from genie_core.sessions.metadata import (
    FORMAT,
    MOST_TAGS,
    SessionMetadata,
    check_tag,
    encode_metadata,
    one_line,
    read_metadata,
    summary_of,
)
from genie_core.storage.atomic import replace_file, unused_path
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import StorageError, disk_access

METADATA_NAME: Final = "room.json"
LOG_NAME: Final = "events.jsonl"
ENGINE_NAME: Final = "engine"
CHANGES_NAME: Final = "changes"
WITHHELD_NAME: Final = "withheld.jsonl"


class SavedSession:
    """The folder of a session. All methods block on the disk.

    Failures of the system are `DiskFailure`.
    """

    def __init__(self, folder: Path, metadata: SessionMetadata) -> None:
        self.folder: Final = folder
        self._metadata = metadata
        self._is_old = False

    @classmethod
    def load(cls, folder: Path) -> "SavedSession":
        """Load the session in a folder.

        Raises:
            NewerVersion: this version does not know the format.
            DamagedSession: `room.json` is missing or can't be parsed.
        """
        metadata, version = read_metadata(folder / METADATA_NAME)
        saved = cls(folder, metadata)
        saved._is_old = version != FORMAT
        return saved

    @property
    def id(self) -> str:
        """The folder's name, by which the session is resumed."""
        return self.folder.name

    @property
    def metadata(self) -> SessionMetadata:
        """The metadata as last read or written."""
        return self._metadata

    @property
    def blobs(self) -> BlobStore:
        """The attached files; their folder need not exist yet."""
        return BlobStore(self.folder / BLOBS_NAME)

    @property
    def log_path(self) -> Path:
        return self.folder / LOG_NAME

    @property
    def engine_path(self) -> Path:
        """The folder of the engine's state; it need not exist yet."""
        return self.folder / ENGINE_NAME

    @property
    def changes_path(self) -> Path:
        """The folder of the changes of tools in files; it need not exist yet."""
        return self.folder / CHANGES_NAME

    def open_log(self) -> OpenedLog:
        """Read the log and keep it open for appending. The caller holds the lock.

        Missing messages are one of the problems. A copy whose first line is lost gets it back, as
        its host won't send it again.
        """
        opened = EventLog.open(self.log_path, self._first)
        if lack := self._lack(opened):
            opened.problems.append(lack)
        return opened

    @property
    def _first(self) -> Event | None:
        """The replacement of a lost first event, in a copy."""
        metadata = self._metadata
        if metadata.kind != "joined" and metadata.founding is None:
            return None
        return Event(
            1, metadata.created, ROOM, RoomCreated(metadata.id, metadata.title, metadata.founding)
        )

    def quote(self, last: int) -> Quote:
        """Quote the last messages and answers; errors as of the log."""
        with self.reader() as log:
            return excerpt(log, self._metadata.id, self._metadata.title, last)

    def reader(self) -> LogReader:
        """Open the log for reading without locking the session; errors as `LogReader.open`."""
        return LogReader.open(self.log_path, self._first)

    @contextmanager
    def held(self, name: str = "") -> Iterator["SavedSession"]:
        """Lock the session while the block runs; `name` is the person's.

        Raises:
            SessionInUse: another process holds the lock.
        """
        with hold(self.folder, name or self._metadata.name):
            if self._is_old:
                self.update()
            yield self

    def update(self, **changes: Any) -> None:
        """Change fields of the metadata and write it if they differ.

        Changes by other processes, such as tags, are kept. Metadata of an earlier version is
        migrated.
        """
        fresh = self._changed(changes)
        if self._is_old or fresh != self._on_disk():
            with in_turn(self.folder):
                fresh = self._changed(changes)
                self._write(fresh)
        self._metadata = fresh

    def summarise(self, state: RoomState, last_activity: float) -> None:
        """Update the metadata's summary from the state; call `note_seen` first."""
        self.update(**self.summary(state, last_activity))

    def summary(self, state: RoomState, last_activity: float) -> dict[str, Any]:
        """Return the fields for `update` that summarize a state. Does not block.

        For a state that changes on an event loop: call it there, and `update` in a thread.
        """
        metadata = self._metadata
        summary = summary_of(state, metadata.seen, metadata.name or state.host)
        summary["host"] = state.host or metadata.host
        summary["title"] = state.title or metadata.title
        summary["last_activity"] = last_activity
        return summary

    def catch_up(self) -> bool:
        """Update the summary after a crash; False if that is not needed or not possible.

        It reads only the end of the log first, so a properly closed room costs next to nothing.

        Raises:
            StorageError: it can't be done, for example because the room is open.
        """
        log = self._changed_at(LOG_NAME)
        if not self._changed_at(METADATA_NAME) or not self._lags:
            return False
        if (other := holder(self.folder)) is not None:
            raise SessionInUse(self.id, other)
        with self.reader() as reader:  # not held yet, as this may take long
            state = reader.state()
        with self.held():
            return self._changed_at(LOG_NAME) == log and self._sum_up(state)

    def as_logged(self) -> SessionMetadata:
        """Return the metadata as the log implies; nothing is written.

        For an open room, whose metadata is updated when it is closed. The unread count stays as
        recorded, as its person is there. Cheap if the log has not grown.

        Raises:
            StorageError: the log can't be read.
        """
        if not self._lags:
            return self._metadata
        with self.reader() as reader:
            told = self._told(reader.state(), self._metadata)
        return msgspec.structs.replace(self._metadata, **{**told, "unread": self._metadata.unread})

    def _sum_up(self, state: RoomState) -> bool:
        told = self._told(state, self._on_disk())
        if told:
            self.update(**told)
        return bool(told)

    def _told(self, state: RoomState, metadata: SessionMetadata) -> dict[str, Any]:
        """Return the fields that a longer log changes; none if it is not longer."""
        if state.head <= metadata.head or state.messages < metadata.messages:
            return {}  # that something is lost must not be forgotten
        told = summary_of(state, metadata.seen, metadata.owner or state.host)
        told["host"] = state.host or metadata.host
        last = last_logged(self.log_path)
        told["last_activity"] = max(metadata.last_activity, 0.0 if last is None else last.at)
        return told

    @property
    def _lags(self) -> bool:
        """Whether the log has events that the summary lacks.

        File times don't show that: tags, and the last seen entry change the metadata alone.
        """
        last = last_logged(self.log_path)
        return last is not None and last.seq > self._metadata.head

    def _changed_at(self, name: str) -> int:
        """Return when a file was changed, in nanoseconds; 0 if it is missing."""
        with disk_access("look at", self.folder):
            path = self.folder / name
            return path.stat().st_mtime_ns if path.exists() else 0

    def note_seen(self, seq: int) -> None:
        """Record that this person has seen all events up to this one; never fewer than before."""
        if seq > self._metadata.seen:
            self.update(seen=seq, **({"unread": 0} if seq >= self._metadata.head else {}))

    def rename(self, title: str) -> None:
        """Rename the room; another host's room only on this machine.

        The caller holds the lock: a host that has it open would restore the old title.
        """
        title = one_line(title)
        self.update(**{"title" if self._metadata.kind == "hosted" else "alias": title})

    def tag(self, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
        """Add and remove tags; returns the resulting ones in order.

        Raises:
            InvalidTag: one of them is invalid; nothing is changed.
        """
        fresh = {tag.casefold(): tag for tag in map(check_tag, add)}
        gone = {check_tag(tag).casefold() for tag in remove}
        kept = {tag.casefold(): tag for tag in self._on_disk().tags}
        tags = {key: tag for key, tag in {**fresh, **kept}.items() if key not in gone}
        if len(tags) > MOST_TAGS:
            raise InvalidTag(next(iter(fresh.values())), f"a room has at most {MOST_TAGS} tags")
        self.update(tags=tuple(tags[key] for key in sorted(tags)))
        return self._metadata.tags

    def put_aside(self) -> Path:
        """Make room for another copy of the same room; return the name of this one."""
        self.update(address="")
        with disk_access("rename the folder", self.folder):
            aside = unused_path(self.folder, "~")
            self.folder.rename(aside)
        return aside

    def write(self) -> None:
        """Write the metadata atomically."""
        self._write(self._metadata)

    def _changed(self, changes: dict[str, Any]) -> SessionMetadata:
        return msgspec.structs.replace(self._on_disk(), **changes)

    def _on_disk(self) -> SessionMetadata:
        """Return the metadata on disk; the last read if it is damaged or gone."""
        try:
            return read_metadata(self.folder / METADATA_NAME)[0]
        except StorageError:
            return self._metadata

    def _lack(self, opened: OpenedLog) -> str:
        """Describe the gaps of the log by the metadata, unless a problem is reported already."""
        known = self._metadata.messages
        if not opened.log.head and (known or self._metadata.address):
            had = {0: "a history", 1: "1 message"}.get(known, f"{known:,} messages")
            return f"{self.log_path} is empty: this room had {had}, and nothing is left of it"
        found = opened.log.messages
        if found >= known or opened.problems:
            return ""
        return f"{self.log_path} has only {found:,} of the {known:,} messages that it had"

    def _write(self, metadata: SessionMetadata) -> None:
        path = self.folder / METADATA_NAME
        with disk_access("write", path):
            replace_file(path, encode_metadata(metadata))
        self._metadata, self._is_old = metadata, False
