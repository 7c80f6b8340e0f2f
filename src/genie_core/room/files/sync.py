"""Keeps the files of a room on this machine, in step with the host.

One task does all disk work and decides about the requests to the room, a few files at a time.
Nothing is asked without a connection; the next connection goes on where a lost one ended.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from genie_core.room.files.download import Downloads
from genie_core.room.files.reseed import ReseedQueue
from genie_core.room.files.transfer import (
    Direction,
    FileChannel,
    Transfer,
    TransferReports,
    files_of,
    now,
)
from genie_core.room.files.upload import Uploads
from genie_core.room.protocol.errors import NoSuchFile
from genie_core.room.protocol.events import Event, FileRef
from genie_core.room.protocol.frames import ClientFrame, FilePiece, FileStored, FrameRefused
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.media import HEAD_BYTES, media_type
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.storage.blobs import BlobStore
from genie_core.storage.errors import StorageError
from genie_core.storage.filenames import safe_name

KEPT_BYTES: Final = 2 * 1024 * 1024 * 1024
"""How much of one room is kept here; a host could fill the disk otherwise."""

ELSEWHERE: Final = "kept at your other terminal"
GONE: Final = "it is no longer on this machine"
NOT_HERE: Final = (
    "files are attached at your other terminal, which keeps them; this one is a second one"
)


class FileSync:
    """Takes in the person's files and sends them, and fetches those that messages name.

    Files are fetched without being asked for, the newest first. A failed download is tried again
    with the next connection, and when another message names the file; a file that the host lacks,
    at growing intervals.

    A room's folder may be known only after joining: without `blobs` nothing is transferred, and
    nothing lost, until `open`. With `reseed`, files of old messages are sent to a new host, and
    to one that lacks some. The host itself has nothing to reseed.
    `read_only` is for a second terminal of the person: the files of the first can be opened here,
    and nothing is attached, sent or fetched.

    Only `attach` and `aclose` wait; all methods belong to one event loop.
    """

    def __init__(
        self,
        blobs: BlobStore | None = None,
        kept_bytes: int = KEPT_BYTES,
        *,
        reseed: bool = True,
        read_only: bool = False,
        chance: random.Random | None = None,
    ) -> None:
        self._blobs = blobs
        self._read_only = read_only
        self._limits: Limits | None = None
        self._early: list[FileRef] = []
        self._wake = asyncio.Event()
        self._channel = FileChannel(self._wake.set, self.on_offline)
        self._reports = TransferReports(now)
        queue = ReseedQueue(chance) if reseed else None
        self._uploads = Uploads(self._channel, self._reports, queue)
        self._downloads = Downloads(kept_bytes, self._channel, self._reports, own=self._uploads)
        self._started = False
        self._closing = False
        self._worker: asyncio.Task[None] | None = None

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        """Start: `ask` sends a frame if connected, `report` receives progress."""
        self._channel.start(ask)
        self._reports.start(report)
        self._started = True
        self._begin_work()

    def open(self, blobs: BlobStore) -> None:
        """Use a folder; report files to resend that are missing in it."""
        self._blobs = blobs
        if self._limits is not None:
            blobs.limit = self._limits.file_bytes
        self._downloads.forget_wanted(self.has)
        early, self._early = self._early, []
        gone = [file for file in early if not self.resend(file)]
        for file in gone:  # all others are under way by now, so that messages may go that waited
            name = safe_name(file.name)
            self._reports.add(Transfer(file.digest, name, Direction.UP, 0, file.size, GONE))
        self._begin_work()

    async def aclose(self) -> None:
        """Finish writing and stop."""
        self._closing = True
        self._wake.set()
        if self._worker is not None:
            await self._worker

    # -- requests of the person

    async def attach(self, path: Path) -> FileRef:
        """Take a file in and begin to send it.

        Raises:
            NoSuchFile: no files can be attached here, or not yet.
            NoAttachment: it can't be read, or is no ordinary file.
            BlobTooLarge: it is larger than the room takes.
            DiskFailure: there is no place for it.
        """
        if self._read_only:
            raise NoSuchFile(path.name, NOT_HERE)
        blobs = self._blobs
        if blobs is None:
            raise NoSuchFile(str(path), "the room is still opening; try again in a moment")
        digest, size = await off_loop(lambda: blobs.add(path), "room files")
        head = await off_loop(lambda: blobs.read(digest, 0, HEAD_BYTES), "room files")
        file = FileRef(digest, safe_name(path.name), size, media_type(head))
        self._send(file)
        return file

    def resend(self, file: FileRef) -> bool:
        """Send a file attached in an earlier session; False if it is gone."""
        if self._blobs is None and not self._read_only:
            self._early.append(file)
            return True
        if self._size(file.digest) != file.size:
            return False
        if not self._read_only:
            self._send(file)
        return True

    def cancel(self, digest: str) -> None:
        """Stop sending a file, unless a message names it."""
        self._uploads.cancel(digest)

    def path(self, digest: str) -> Path | None:
        """Return the path of a file on this machine; None if it has not arrived."""
        return self._blobs.path(digest) if self._blobs is not None and self.has(digest) else None

    def has(self, digest: str) -> bool:
        return self._size(digest) is not None

    def is_sent(self, digest: str) -> bool:
        """Whether the room has the whole file, or will never get it."""
        return self._read_only or (self._blobs is not None and self._uploads.is_sent(digest))

    # -- news from the room

    def expect(self, files: Iterable[FileRef]) -> None:
        """Register the files of messages, and fetch the missing ones."""
        for file in files:
            digest = file.digest
            self._uploads.name(file)
            if digest in self._uploads or digest in self._downloads or self.has(digest):
                continue
            if self._read_only:
                name = safe_name(file.name)
                self._reports.add(Transfer(digest, name, Direction.DOWN, 0, file.size, ELSEWHERE))
            else:
                self._downloads.want(file)
        self._wake.set()

    def on_event(self, event: Event) -> None:
        """Fetch the files of a new message, and find files that a host may lack."""
        self._uploads.on_event(event)
        self.expect(files_of([event]))

    def on_answer(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        match answer:
            case FileStored():
                self._uploads.on_stored(answer)
            case FilePiece():
                self._downloads.on_piece(answer)
            case FrameRefused():
                self._uploads.on_refused(answer)
                self._downloads.on_refused(answer)
        self._wake.set()

    def on_online(self, limits: Limits) -> None:
        """Resume transfers; repeated calls change nothing."""
        self._limits = limits
        if self._blobs is not None:
            self._blobs.limit = limits.file_bytes
        if self._channel.open(limits):
            self._uploads.connected()
            self._downloads.connected()
            self._wake.set()

    def on_offline(self) -> None:
        self._channel.close()
        self._uploads.disconnected()
        self._downloads.disconnected()

    # -- the work

    def _size(self, digest: str) -> int | None:
        with suppress(StorageError):  # a host may send anything as a digest
            return self._blobs.size(digest) if self._blobs is not None else None
        return None

    def _send(self, file: FileRef) -> None:
        self._downloads.forget(file.digest)
        self._uploads.begin(file)

    def _begin_work(self) -> None:
        if self._started and self._blobs is not None and not self._read_only:
            self._worker = start_task(self._work(self._blobs), name="room files")

    async def _work(self, blobs: BlobStore) -> None:
        while not self._closing:
            self._wake.clear()
            await self._downloads.choose(blobs)
            await self._uploads.reseed(blobs)
            await self._uploads.advance(blobs)
            await self._downloads.advance(blobs)
            self._downloads.discard_finished()
            self._uploads.discard_finished()
            self._reports.keep_only({*self._uploads, *self._downloads})
            waits = chain(self._uploads.due(), self._downloads.due())
            with suppress(TimeoutError):
                async with asyncio.timeout(min((w for w in waits if w is not None), default=None)):
                    await self._wake.wait()
