"""A saved room: a folder with its particulars, its log and its owner's engine state."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from genie_core.archive.errors import DamagedRoom, NewerVersion, check_ordinary, disk_access
from genie_core.archive.lock import hold
from genie_core.archive.log import EventLog, OpenedLog
from genie_core.archive.reader import LogReader
from genie_core.durable import replace_file
from genie_core.room.event import ROOM, Event, Opened, Recovered, Said, Unreadable
from genie_core.room.fold import RoomState

FORMAT: Final = 1
"""Version of the folder's layout and of `room.json`."""

RECORD_NAME: Final = "room.json"
LOG_NAME: Final = "events.jsonl"
ENGINE_NAME: Final = "engine"

Kind: TypeAlias = Literal["hosted", "joined"]


class RoomRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What `room.json` says.

    `id` is the room's, which for a joined one differs from its folder's name. `address` is where
    it was last hosted or joined, `addresses` all that may lead there, and `pin` that of the host's
    certificate. Times are in seconds since the epoch. The last four fields
    summarise the log, so that a list of rooms need not read it.
    """

    version: int = FORMAT
    id: str
    title: str
    kind: Kind
    created: float
    host: str = ""
    name: str = ""
    address: str = ""
    addresses: tuple[str, ...] = ()
    pin: str = ""
    model: str = ""
    template: str = ""
    workspace: str = ""
    last_activity: float = 0.0
    people: int = 0
    messages: int = 0


class _Versioned(msgspec.Struct):
    version: int


class SavedRoom:
    """A folder that holds a room. All methods block for as long as the disk takes.

    Whatever the system refuses to do in the folder is a `DiskFailure`.
    """

    def __init__(self, folder: Path, record: RoomRecord) -> None:
        self.folder: Final = folder
        self._record = record

    @classmethod
    def load(cls, folder: Path) -> "SavedRoom":
        """Read a folder.

        Raises:
            NewerVersion: this version does not know the format.
            DamagedRoom: `room.json` is missing or can't be understood.

        """
        path = folder / RECORD_NAME
        try:
            check_ordinary(path)
            data = path.read_bytes()
            version = msgspec.json.decode(data, type=_Versioned).version
            if version > FORMAT:
                raise NewerVersion(path, version, FORMAT)
            return cls(folder, msgspec.json.decode(data, type=RoomRecord))
        except (OSError, ValueError, RecursionError) as error:
            raise DamagedRoom(path, _reason(error)) from error

    @property
    def id(self) -> str:
        """The folder's name, by which the room is resumed."""
        return self.folder.name

    @property
    def record(self) -> RoomRecord:
        """What is known about the room without reading its log."""
        return self._record

    @property
    def log_path(self) -> Path:
        """The room's log."""
        return self.folder / LOG_NAME

    @property
    def engine_path(self) -> Path:
        """Where the engine keeps its state; the folder need not exist yet."""
        return self.folder / ENGINE_NAME

    def open_log(self) -> OpenedLog:
        """Read the log and keep it open for appending. Hold the room meanwhile.

        That messages are missing altogether is one of the problems, too. A copy whose first line
        is lost gets it back, as its host won't send it again.
        """
        opened = EventLog.open(self.log_path)
        if lack := self._lack(opened):
            opened.problems.append(lack)
        if self._record.kind == "joined" and len(opened.events) > 1:
            first = opened.events[0]
            if isinstance(first.body, Unreadable):
                said = Opened(self._record.id, self._record.title)
                opened.events[0] = Event(first.seq, first.at, ROOM, said)
        return opened

    def reader(self) -> LogReader:
        """Read the log without holding the room; errors as `LogReader.open`."""
        return LogReader.open(self.log_path)

    @contextmanager
    def held(self, name: str = "") -> Iterator["SavedRoom"]:
        """Keep other processes out for as long as the block lasts; `name` is the person's.

        Raises:
            RoomInUse: another process holds the room.

        """
        with hold(self.folder, name or self._record.name):
            yield self

    def update(self, **changes: Any) -> None:
        """Change fields of the record and write it, if that makes a difference."""
        record = msgspec.structs.replace(self._record, **changes)
        if record != self._record:
            self._write(record)

    def summarise(self, state: RoomState, last_activity: float) -> None:
        """Bring the record's summary up to the room's state."""
        self.update(
            title=state.title or self._record.title,
            host=state.host or self._record.host,
            last_activity=last_activity,
            people=len(state.people),
            messages=len(state.exchanges),
        )

    def put_aside(self) -> Path:
        """Make room for another copy of the same room; this one stays, under the name returned."""
        self.update(address="")
        with disk_access("rename the folder", self.folder):
            number = 1
            while (aside := self.folder.with_name(f"{self.folder.name}~{number}")).exists():
                number += 1
            self.folder.rename(aside)
        return aside

    def write(self) -> None:
        """Write the record; a reader sees the old one or the new one, whatever happens."""
        self._write(self._record)

    def _lack(self, opened: OpenedLog) -> str:
        """What the log should hold by the record and does not, unless it is told already."""
        known = self._record.messages
        if not opened.events and (known or self._record.address):
            had = {0: "a history", 1: "1 message"}.get(known, f"{known:,} messages")
            return f"{self.log_path} is empty: this room had {had}, and nothing is left of it"
        found = sum(_is_message(event) for event in opened.events)
        if found >= known or opened.problems:
            return ""
        return f"{self.log_path} has only {found:,} of the {known:,} messages that it had"

    def _write(self, record: RoomRecord) -> None:
        data = msgspec.json.format(msgspec.json.encode(record), indent=2)
        path = self.folder / RECORD_NAME
        with disk_access("write", path):
            replace_file(path, data + b"\n")
        self._record = record


def _is_message(event: Event) -> bool:
    body = event.body.event.body if isinstance(event.body, Recovered) else event.body
    return isinstance(body, Said)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
