"""The log of a room, as the room uses it: a file, or one that another machine can continue."""

from collections.abc import Sequence
from typing import Protocol

from genie_core.room.protocol.errors import RoomError
from genie_core.room.protocol.events import Event


class Superseded(RoomError):
    """Another process writes this log now; this one may not write to it again.

    Unlike an `OSError`, it never passes.
    """

    template = "event {seq} of this room was written by another process"
    seq: int


class Log(Protocol):
    """Events numbered from 1 without gaps, written by one process at a time.

    `genie_testing.contract.log` checks an implementation.
    """

    @property
    def head(self) -> int:
        """The number of the last event that is durable; 0 before the first."""

    async def append(self, events: Sequence[Event]) -> None:
        """Write events that follow those written before; they are durable when it returns.

        Events up to `head` are passed over, so repeating is harmless, also after being cancelled.

        Raises:
            Superseded: another process has written there. Nothing is written, now or later.
            OSError: they may not be written; the same call can be tried again.
            ValueError: they leave a gap, contradict the last event, or the log is closed.
        """

    def read(self, after: int, most: int) -> list[Event]:
        """Return the events that follow `after`, at most so many, also while others are written.

        Blocks for as long as reading a part of a file takes; of a closed log there are none.

        Raises:
            OSError: they can't be read.
        """

    def close(self) -> None:
        """Release the log after pending writes. Blocks."""
