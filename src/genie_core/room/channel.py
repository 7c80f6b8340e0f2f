"""The way to a room for what is asked about files, as uploads and downloads share it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from genie_core.room.protocol.frames import ClientFrame
from genie_core.room.protocol.limits import Limits
from genie_core.room.receiving import Receiving
from genie_core.room.sending import Sending
from genie_core.room.transfer import CHUNK_BYTES, fitting_chunk
from genie_core.storage.errors import StorageError

logger = logging.getLogger(__name__)


class Channel:
    """Whether something can be asked now, and in which connection.

    `connection` counts them, `chunk` is how many bytes of a file fit into a frame. `wake` has
    somebody look at what there is to do; `lost` is called when something could not be asked.
    """

    def __init__(self, wake: Callable[[], None], lost: Callable[[], None]) -> None:
        self.wake = wake
        self.chunk = CHUNK_BYTES
        self.connection = 0
        self._lost = lost
        self._ask: Callable[[ClientFrame], bool] = _nobody
        self._open = False

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._open

    def start(self, ask: Callable[[ClientFrame], bool]) -> None:
        """Ask by this from now on, which is False where there is no connection."""
        self._ask = ask

    def open(self, limits: Limits) -> bool:
        """Take note of a connection; False if it is the one that was known."""
        self.chunk = fitting_chunk(limits.frame_bytes)
        if self._open:
            return False
        self._open = True
        self.connection += 1
        return True

    def close(self) -> None:
        """Take note that there is none."""
        self._open = False

    def ask(self, frame: ClientFrame) -> None:
        """Send a frame, or take note that the connection is lost."""
        if not self._ask(frame):
            self._lost()


async def attempt(course: Sending | Receiving, step: Callable[[], Awaitable[None]]) -> None:
    """Take a step of a file's transfer; what goes wrong ends this one alone."""
    try:
        await step()
    except StorageError as error:
        course.fail("disk", str(error))
    except Exception:  # the other files must go on
        logger.exception("a file's transfer broke")
        course.fail("disk", "the program failed; its log has more")


def now() -> float:
    """Seconds from the event loop's clock, which all that is due goes by."""
    return asyncio.get_running_loop().time()


def _nobody(_frame: ClientFrame) -> bool:
    return False
