"""What sending and receiving a file have in common. Pure."""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final

from genie_core.room.protocol.events import Event, FileRef, MessagePosted
from genie_core.room.protocol.frames import Refusal

CHUNK_BYTES: Final = 96 * 1024
"""How much of a file travels at once; in a frame it takes a third more."""

_ENVELOPE: Final = 1024
"""Bytes of a frame that are not the chunk: names, digest, offset."""

PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0

_PATIENCE: Final[dict[Refusal, int | None]] = {
    "too_fast": None,  # the other end asks for patience, which costs nothing
    "disk": 6,
    "out_of_state": 3,
    "corrupt": 1,
}
"""How often in a row a trouble is borne; None for always. All others are for good."""


class Progress(Enum):
    """Where the transfer of a file is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Troubles:
    """Decides whether to go on after a refusal, and when. `now` is in seconds from any clock."""

    def __init__(self) -> None:
        self._borne: dict[Refusal, int] = {}
        self._until = 0.0

    def bear(self, code: Refusal, now: float) -> bool:
        """Take note of a trouble; False if it is time to give up."""
        if code not in _PATIENCE:
            return False
        times = self._borne[code] = self._borne.get(code, 0) + 1
        most = _PATIENCE[code]
        if most is not None and times > most:
            return False
        if code in ("too_fast", "disk"):
            self._until = now + min(LONGEST_PAUSE, PAUSE * 2 ** min(times - 1, 10))
        return True

    def overcome(self) -> None:
        """Take note of progress. A file that arrived damaged may do so again, however far it got."""
        damaged = self._borne.get("corrupt")
        self._borne = {} if damaged is None else {"corrupt": damaged}

    def wait(self, now: float) -> float:
        """How many seconds to wait before the next attempt."""
        return max(0.0, self._until - now)


def fitting_chunk(frame_bytes: int) -> int:
    """How many bytes of a file fit into a frame, where they take a third more as base64."""
    return min(CHUNK_BYTES, (frame_bytes - _ENVELOPE) * 3 // 4)


def files_of(events: Iterable[Event]) -> Iterator[FileRef]:
    """The files that a room's messages name."""
    for event in events:
        body = event.told.body
        if isinstance(body, MessagePosted):
            yield from body.files
