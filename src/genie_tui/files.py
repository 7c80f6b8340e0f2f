"""Where a saved room's files are, and what looks after them."""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from genie_core.errors import GenieError
from genie_core.room.courier import Courier
from genie_core.room.depot import LEFTOVER, Depot, stock
from genie_core.room.protocol.errors import NoSuchFile
from genie_core.room.protocol.events import Event, FileRef, HostStarted
from genie_core.room.protocol.frames import ClientFrame, FilePiece, FileStored, FrameRefused
from genie_core.room.protocol.limits import Limits
from genie_core.room.seat import Transfer, Way
from genie_core.room.transfer import files_of
from genie_core.sessions.session import SavedSession
from genie_core.storage.atomic import make_private_folder
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import DiskFailure, StorageError
from genie_core.storage.filenames import safe_name

ELSEWHERE: Final = "kept at your other terminal"
GONE: Final = "it is no longer on this machine"
NOT_HERE: Final = (
    "files are attached at your other terminal, which keeps them; this one is a second one"
)


def blobs_of(saved: SavedSession) -> BlobStore:
    """The store of a saved room's files; its folder need not exist yet."""
    return BlobStore(saved.folder / BLOBS_NAME)


async def open_depot(blobs: BlobStore, named: Iterable[FileRef], limits: Limits) -> Depot:
    """Take stock of a room's files, to hand them out and take more in.

    What is none of those that are `named`, by messages or a draft, is removed after an hour.

    Raises:
        DiskFailure: the folder can't be used.

    """
    known = await asyncio.to_thread(stock, blobs, named, time.time())
    return Depot(blobs, known, limits)


def take_over(old: Path, new: SavedSession) -> None:
    """Let a new copy have the files of an old one, which keeps them, too. Blocks.

    Where the disk knows no second names for files, the new copy gets them alone.
    """
    source, target = BlobStore(old / BLOBS_NAME), blobs_of(new)
    with suppress(OSError, GenieError):  # they can be fetched again
        make_private_folder(target.folder)
        for digest in source.digests():
            path = target.path(digest)
            try:
                path.hardlink_to(source.path(digest))
            except FileExistsError:
                continue
            except OSError:
                source.path(digest).rename(path)


async def open_store(saved: SavedSession, keep: Iterable[FileRef]) -> BlobStore:
    """The files of an own copy, without those that are none of `keep` and older than an hour.

    Only for whoever holds the copy.
    """
    blobs, digests = blobs_of(saved), {file.digest for file in keep}
    with suppress(DiskFailure):  # what can't be removed only takes space
        await asyncio.to_thread(blobs.prune, digests, time.time() - LEFTOVER)
    return blobs


class SharedLibrary:
    """A `Library` for a second terminal of the person who keeps the room's files.

    What the first one has can be opened here; nothing is attached, sent or fetched.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._report: Callable[[Transfer], None] = _nothing

    def start(
        self, _ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]
    ) -> None:
        """Keep in mind whom to tell."""
        self._report = report

    async def attach(self, path: Path) -> FileRef:
        """Refuse to take a file in: raises `NoSuchFile`."""
        raise NoSuchFile(path.name, NOT_HERE)

    def bring(self, file: FileRef) -> bool:
        """Whether the room has a file anyway: nothing is sent from here."""
        return self.has(file.digest)

    def drop(self, digest: str) -> None:
        """Nothing is sent that could be dropped."""

    def place(self, digest: str) -> Path:
        """Where a file is, if the other terminal has it; raises `InvalidDigest`."""
        return self._blobs.path(digest)

    def has(self, digest: str) -> bool:
        """Whether the other terminal has a file, all of it."""
        with suppress(StorageError):
            return self._blobs.size(digest) is not None
        return False

    def is_sent(self, _digest: str) -> bool:
        """Whether a message need not wait for a file, which is so for all."""
        return True

    def recall(self, files: Iterable[FileRef]) -> None:
        """Take note of files; tells that they are at the other terminal."""
        for file in files:
            if not self.has(file.digest):
                name = safe_name(file.name)
                self._report(Transfer(file.digest, name, Way.DOWN, 0, file.size, ELSEWHERE))

    def on_event(self, event: Event) -> None:
        """Do the same for the files of an event that is new."""
        self.recall(files_of([event]))

    def on_answer(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        """Nothing is asked that could be answered."""

    def on_online(self, limits: Limits) -> None:
        """Nothing waits for a connection."""

    def on_offline(self) -> None:
        """Nothing needs a connection."""

    async def aclose(self) -> None:
        """Nothing is under way."""


class LateLibrary:
    """A `Library` for a room whose folder is known only once one is in it.

    Until `open` nothing is fetched, and nothing is lost. What was brought and turns out to be gone is
    told of then, for nothing to wait for it.
    """

    def __init__(self) -> None:
        self._courier: Courier | None = None
        self._start: Callable[[Courier], None] | None = None
        self._recalled: list[FileRef] = []
        self._brought: list[FileRef] = []
        self._waiting: list[Event] = []
        self._limits: Limits | None = None
        self._report: Callable[[Transfer], None] = _nothing

    def open(self, blobs: BlobStore) -> None:
        """Begin to work in a folder."""
        self._courier = courier = Courier(blobs)
        if self._start is not None:
            self._start(courier)
        courier.recall(self._recalled)
        lost = [file for file in self._brought if not courier.bring(file)]
        for event in self._waiting:
            courier.on_event(event)
        self._recalled.clear()
        self._brought.clear()
        self._waiting.clear()
        if self._limits is not None:
            courier.on_online(self._limits)
        for file in lost:  # once all are under way that can be: messages may go then that waited
            self._report(Transfer(file.digest, safe_name(file.name), Way.UP, 0, file.size, GONE))

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        """Keep in mind whom to ask and to tell."""
        self._report = report
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

    def bring(self, file: FileRef) -> bool:
        """Begin to send a file that was taken in before; where there is no place yet, later on."""
        if self._courier is not None:
            return self._courier.bring(file)
        self._brought.append(file)
        return True

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

    def drop(self, digest: str) -> None:
        """Stop to send a file, unless a message names it."""
        if self._courier is not None:
            self._courier.drop(digest)

    def recall(self, files: Iterable[FileRef]) -> None:
        """Take note of files that the own copy names; fetches what has never arrived."""
        if self._courier is not None:
            self._courier.recall(files)
        else:
            self._recalled += files

    def on_event(self, event: Event) -> None:
        """Take note of an event that is new; fetches what a message brings."""
        if self._courier is not None:
            self._courier.on_event(event)
        elif isinstance(event.body, HostStarted) or any(files_of([event])):
            self._waiting.append(event)

    def on_answer(self, answer: FileStored | FilePiece | FrameRefused) -> None:
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


def _nothing(_transfer: Transfer) -> None:
    pass
