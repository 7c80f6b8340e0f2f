"""The common part of uploads and downloads: progress, retries, and the connection they use."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from genie_core.room.protocol.events import Event, FileRef
from genie_core.room.protocol.frames import ClientFrame, Refusal
from genie_core.room.protocol.limits import CHUNK_BYTES, Limits
from genie_core.storage.errors import StorageError

_ENVELOPE: Final = 1024
"""Bytes of a frame that are not the chunk: names, digest, offset."""

PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 30.0

REPORT_INTERVAL: Final = 0.1
"""Seconds between two reports about one file."""

_ATTEMPTS: Final[dict[Refusal, int | None]] = {
    "too_fast": None,  # the host asks to slow down, which costs nothing
    "disk": 6,
    "out_of_state": 3,
    "corrupt": 1,
}
"""Retries in a row by cause; None for no limit. All other causes are final."""

logger = logging.getLogger(__name__)


class Direction(Enum):
    """Whether a file goes to the room or comes from it."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Transfer:
    """Progress of one file in bytes; `problem` says why it stopped, if it did."""

    digest: str
    name: str
    direction: Direction
    done: int
    size: int
    problem: str = ""

    @property
    def complete(self) -> bool:
        return self.done >= self.size and not self.problem


class Retries:
    """Decides whether and when to retry after a refusal. `now` is in seconds from any clock."""

    def __init__(self) -> None:
        self._attempts: dict[Refusal, int] = {}
        self._until = 0.0

    def allows(self, code: Refusal, now: float) -> bool:
        """Count a refusal; False if it is time to give up."""
        if code not in _ATTEMPTS:
            return False
        times = self._attempts[code] = self._attempts.get(code, 0) + 1
        most = _ATTEMPTS[code]
        if most is not None and times > most:
            return False
        if code in ("too_fast", "disk"):
            self._until = now + min(LONGEST_PAUSE, PAUSE * 2 ** min(times - 1, 10))
        return True

    def reset(self) -> None:
        """Restart the count after progress, except for files that arrived damaged."""
        damaged = self._attempts.get("corrupt")
        self._attempts = {} if damaged is None else {"corrupt": damaged}

    def wait(self, now: float) -> float:
        """Seconds until the next attempt."""
        return max(0.0, self._until - now)


class TransferPhase(Enum):
    """Where the transfer of one file stands."""

    OFFLINE = "offline"
    ASKING = "asking"
    ASKED = "asked"
    SENDING = "sending"
    WRITING = "writing"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"


class TransferState:
    """One file's transfer. Pure: no disk, no clock, no waiting.

    `done` counts the bytes that have arrived. `why` names the obstacle, or why the transfer failed;
    `code` says the latter to programs.
    """

    def __init__(self, digest: str, size: int) -> None:
        self.digest: Final = digest
        self.size: Final = size
        self.done = 0
        self.code: Refusal = "malformed"
        self.why = ""
        self._phase = TransferPhase.OFFLINE
        self._owed = 0
        self._retries = Retries()

    @property
    def complete(self) -> bool:
        return self._phase is TransferPhase.DONE

    @property
    def failed(self) -> bool:
        return self._phase is TransferPhase.FAILED

    @property
    def over(self) -> bool:
        return self.complete or self.failed

    def fail(self, code: Refusal, why: str) -> None:
        if not self.over:
            self._phase, self.code, self.why = TransferPhase.FAILED, code, why

    def _answered(self, *awaiting: TransferPhase) -> bool:
        """Count an answer; False if none was expected in this phase."""
        if not self._owed:
            return False
        self._owed -= 1
        return self._phase in awaiting


class FileChannel:
    """The connection to the room, as uploads and downloads share it.

    `connection` counts the connections so far; `chunk` is how many bytes of a file fit into a
    frame. `wake` runs the next round of work; `lost` is called when a frame could not be sent.
    """

    def __init__(self, wake: Callable[[], None], lost: Callable[[], None]) -> None:
        self.wake = wake
        self.chunk = CHUNK_BYTES
        self.connection = 0
        self.is_open = False
        self._lost = lost
        self._send: Callable[[ClientFrame], bool] = lambda _: False

    def start(self, send: Callable[[ClientFrame], bool]) -> None:
        """Use `send` from now on; it returns False if not connected."""
        self._send = send

    def open(self, limits: Limits) -> bool:
        """Mark as connected; False if it already was."""
        self.chunk = fitting_chunk(limits.frame_bytes)
        if self.is_open:
            return False
        self.is_open = True
        self.connection += 1
        return True

    def close(self) -> None:
        self.is_open = False

    def send(self, frame: ClientFrame) -> None:
        """Send a frame, or report the lost connection."""
        if not self._send(frame):
            self._lost()


class TransferReports:
    """Reports transfers: none twice in a row, and each at a readable rate.

    `clock` gives seconds, from any beginning.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._report: Callable[[Transfer], None] = lambda _: None
        self._last: dict[str, tuple[Transfer, float]] = {}

    def start(self, report: Callable[[Transfer], None]) -> None:
        self._report = report

    def add(self, transfer: Transfer) -> None:
        """Report a transfer at intervals; always report its end and its problems."""
        last, at = self._last.get(transfer.digest, (None, 0.0))
        ended = transfer.complete or transfer.problem
        time = self._clock()
        if transfer != last and (ended or last is None or time - at >= REPORT_INTERVAL):
            self._last[transfer.digest] = (transfer, time)
            self._report(transfer)

    def keep_only(self, digests: Container[str]) -> None:
        """Forget the reports about all other files."""
        self._last = {digest: last for digest, last in self._last.items() if digest in digests}


async def attempt(state: TransferState, step: Callable[[], Awaitable[None]]) -> None:
    """Run a step of one transfer; an error ends only that transfer."""
    try:
        await step()
    except StorageError as error:
        state.fail("disk", str(error))
    except Exception:  # the other files must go on
        logger.exception("a file's transfer broke")
        state.fail("disk", "the program failed; its log has more")


def now() -> float:
    """The event loop's clock, which times all transfers."""
    return asyncio.get_running_loop().time()


def fitting_chunk(frame_bytes: int) -> int:
    """Return how many bytes of a file fit into a frame; base64 adds a third."""
    return min(CHUNK_BYTES, (frame_bytes - _ENVELOPE) * 3 // 4)


def files_of(events: Iterable[Event]) -> Iterator[FileRef]:
    """Yield the files that messages name."""
    for event in events:
        if event.posted is not None:
            yield from event.posted.files
