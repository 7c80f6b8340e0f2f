"""Where a saved room's files are, and what looks after them."""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from genie_core.archive.blobs import BlobStore
from genie_core.archive.saved import SavedRoom
from genie_core.room.courier import Courier
from genie_core.room.depot import Depot, stock
from genie_core.room.errors import NoSuchFile
from genie_core.room.event import Event, FileRef
from genie_core.room.frame import ClientFrame, Piece, Refused, Stored
from genie_core.room.limits import Limits
from genie_core.room.seat import Transfer
from genie_core.room.transfer import files_of

BLOBS_NAME: Final = "blobs"


def blobs_of(saved: SavedRoom) -> BlobStore:
    """The store of a saved room's files; its folder need not exist yet."""
    return BlobStore(saved.folder / BLOBS_NAME)


async def open_depot(blobs: BlobStore, events: Iterable[Event], limits: Limits) -> Depot:
    """Take stock of a room's files, to hand them out and take more in.

    Raises:
        DiskFailure: the folder can't be used.

    """
    known = await asyncio.to_thread(stock, blobs, files_of(events), time.time())
    return Depot(blobs, known, limits)


def take_over(old: Path, new: SavedRoom) -> None:
    """Move the files from the folder of an old copy to that of a new one. Blocks."""
    with suppress(OSError):  # they can be fetched again
        (old / BLOBS_NAME).rename(new.folder / BLOBS_NAME)


class LateLibrary:
    """A `Library` for a room whose folder is known only once one is in it.

    Until `open` nothing is fetched, and nothing is lost.
    """

    def __init__(self) -> None:
        self._courier: Courier | None = None
        self._start: Callable[[Courier], None] | None = None
        self._waiting: list[Event] = []
        self._limits: Limits | None = None

    def open(self, blobs: BlobStore) -> None:
        """Begin to work in a folder."""
        self._courier = courier = Courier(blobs)
        if self._start is not None:
            self._start(courier)
        for event in self._waiting:
            courier.on_event(event)
        self._waiting.clear()
        if self._limits is not None:
            courier.on_online(self._limits)

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        """Keep in mind whom to ask and to tell."""
        self._start = lambda courier: courier.start(ask, report)
        if self._courier is not None:
            self._start(self._courier)

    async def attach(self, path: Path) -> FileRef:
        """Take a file in and begin to send it; errors as those of `Courier`.

        Raises:
            NoSuchFile: there is no place for it yet.

        """
        if self._courier is None:
            raise NoSuchFile(str(path), "the room is still opening; try again in a moment")
        return await self._courier.attach(path)

    def place(self, digest: str) -> Path:
        """Where a file is, or will be; asked for only in a room that is open."""
        if self._courier is None:
            raise NoSuchFile(digest, "the room is still opening")
        return self._courier.place(digest)

    def has(self, digest: str) -> bool:
        """Whether a file is here, all of it."""
        return self._courier is not None and self._courier.has(digest)

    def is_sent(self, digest: str) -> bool:
        """Whether the room has the whole file, or cannot be expected to."""
        return self._courier is not None and self._courier.is_sent(digest)

    def on_event(self, event: Event) -> None:
        """Take note of an event; fetches what a message brings."""
        if self._courier is not None:
            self._courier.on_event(event)
        elif any(files_of([event])):
            self._waiting.append(event)

    def on_answer(self, answer: Stored | Piece | Refused) -> None:
        """Take in what the room says about a file."""
        if self._courier is not None:
            self._courier.on_answer(answer)

    def on_online(self, limits: Limits) -> None:
        """Go on where the last connection ended."""
        self._limits = limits
        if self._courier is not None:
            self._courier.on_online(limits)

    def on_offline(self) -> None:
        """Take note that nothing can be asked at the moment."""
        self._limits = None
        if self._courier is not None:
            self._courier.on_offline()

    async def aclose(self) -> None:
        """Finish what is being written and stop."""
        if self._courier is not None:
            await self._courier.aclose()
