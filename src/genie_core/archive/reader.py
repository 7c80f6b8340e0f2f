"""A room's log, read only: nothing is locked or changed, and it may grow meanwhile."""

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from genie_core.archive.errors import check_ordinary, disk_access
from genie_core.archive.lines import put_in_order, read_lines
from genie_core.room.event import Event
from genie_core.room.fold import RoomState


class LogReader:
    """Reads a log as far as it went when it was opened or last refreshed. All methods block."""

    def __init__(self, path: Path, events: list[Event], problems: list[str]) -> None:
        self._path = path
        self._events = events
        self.problems = problems

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read a log; one that is missing is empty.

        Raises:
            DamagedRoom: what is there is no file.
            DiskFailure: the file can't be read.

        """
        content = read_lines(b"")
        with disk_access("read", path):
            if path.exists():
                check_ordinary(path)
                content = read_lines(path.read_bytes())
        put_in_order(content)
        return cls(path, content.events, content.told())

    @property
    def head(self) -> int:
        """Sequence number of the last event that is known."""
        return self._events[-1].seq if self._events else 0

    def state(self) -> RoomState:
        """The room after the last event; each call makes another one."""
        state = RoomState()
        for event in self._events:
            state.apply(event)
        return state

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """The events from the one behind `after` up to `upto`, that one included, in order."""
        yield from self._events[after:upto]

    def read(self, after: int, most: int) -> list[Event]:
        """The events that follow `after`, at most so many."""
        return self._events[after : after + most]

    def refresh(self) -> int:
        """Take in what was appended since; returns the head by then."""
        fresh = LogReader.open(self._path)
        self._events, self.problems = fresh._events, fresh.problems
        return self.head

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
