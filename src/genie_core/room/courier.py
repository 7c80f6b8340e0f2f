"""A participant's files: takes own ones in and sends them, fetches what the others attach.

One task does all disk work and decides what to ask the room, a few files at a time. Nothing is
asked without a connection, and what a lost one leaves behind goes on with the next.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from genie_core.room.channel import Channel, now
from genie_core.room.downloads import Downloads
from genie_core.room.offers import Offers
from genie_core.room.protocol.events import Event, FileRef
from genie_core.room.protocol.frames import ClientFrame, FilePiece, FileStored, FrameRefused
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.media import HEAD_BYTES, media_type
from genie_core.room.seat import Transfer
from genie_core.room.telling import Telling
from genie_core.room.transfer import files_of
from genie_core.room.uploads import Uploads
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.storage.blobs import BlobStore
from genie_core.storage.errors import InvalidDigest, StorageError
from genie_core.storage.filenames import safe_name

KEPT_BYTES: Final = 2 * 1024 * 1024 * 1024
"""How much of one room is kept here; a host could fill the disk otherwise."""

NOWHERE: Final = "nowhere"
"""A name in the folder that no file ever has."""


class Courier:
    """Keeps the room's files on this machine.

    `attach` and `aclose` aside, nothing waits; all methods belong to one event loop. Files that
    messages name are fetched by themselves, the newest first. What fails is tried again with the
    next connection, and when another message names it; what the host lacks, now and then.

    With `offers`, the files of old messages are offered to whoever hosts the room anew: also to the
    same host, who may have lost some. The host's own courier works where the room itself does and
    has nothing to offer.
    """

    def __init__(
        self,
        blobs: BlobStore,
        kept_bytes: int = KEPT_BYTES,
        *,
        offers: bool = True,
        chance: random.Random | None = None,
    ) -> None:
        self._blobs = blobs
        self._wake = asyncio.Event()
        self._channel = Channel(self._wake.set, self.on_offline)
        self._telling = Telling(now)
        self._uploads = Uploads(
            blobs, self._channel, self._telling, Offers(chance) if offers else None
        )
        self._downloads = Downloads(
            blobs, kept_bytes, self._channel, self._telling, own=self._uploads
        )
        self._closing = False
        self._worker: asyncio.Task[None] | None = None

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        """Begin: `ask` sends a frame if there is a connection, `report` tells how far files are."""
        self._channel.start(ask)
        self._telling.start(report)
        self._worker = start_task(self._work(), name="room files")

    async def aclose(self) -> None:
        """Finish what is being written and stop."""
        self._closing = True
        self._wake.set()
        if self._worker is not None:
            await self._worker

    # -- what the person and the screen want

    async def attach(self, path: Path) -> FileRef:
        """Take a file in and begin to send it.

        Raises:
            NoAttachment: it can't be read, or is no ordinary file.
            BlobTooLarge: it is larger than the room takes.
            DiskFailure: there is no place for it.

        """
        digest, size = await off_loop(lambda: self._blobs.add(path), "room files")
        head = await off_loop(lambda: self._blobs.read(digest, 0, HEAD_BYTES), "room files")
        file = FileRef(digest, safe_name(path.name), size, media_type(head))
        self._begin_to_send(file)
        return file

    def bring(self, file: FileRef) -> bool:
        """Begin to send a file that was taken in before this began; False if it is gone."""
        with suppress(StorageError):
            if self._blobs.size(file.digest) == file.size:
                self._begin_to_send(file)
                return True
        return False

    def _begin_to_send(self, file: FileRef) -> None:
        self._downloads.forget(file.digest)
        self._uploads.begin(file)

    def drop(self, digest: str) -> None:
        """Stop to send a file, unless a message names it."""
        self._uploads.drop(digest)

    def place(self, digest: str) -> Path:
        """Where a file is, or will be once it has arrived; never beyond the folder of files."""
        try:
            return self._blobs.path(digest)
        except InvalidDigest:  # a host may send anything
            return self._blobs.folder / NOWHERE

    def has(self, digest: str) -> bool:
        """Whether a file is here, all of it."""
        with suppress(StorageError):
            return self._blobs.size(digest) is not None
        return False

    def is_sent(self, digest: str) -> bool:
        """Whether the room has told that it has the whole file, or cannot be expected to."""
        return self._uploads.is_sent(digest)

    # -- what comes from the room

    def recall(self, files: Iterable[FileRef]) -> None:
        """Take note of files that the own copy names; fetches what has never arrived."""
        for file in files:
            self._uploads.name(file)
            under_way = file.digest in self._uploads or file.digest in self._downloads
            if not under_way and not self.has(file.digest):
                self._downloads.want(file)
        self._wake.set()

    def on_event(self, event: Event) -> None:
        """Take note of an event that is new; fetches what a message brings."""
        self._uploads.on_event(event)
        self.recall(files_of([event]))

    def on_answer(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        """Take in what the room says about a file."""
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
        """Go on where the last connection ended; repeated during one it changes nothing."""
        self._blobs.limit = limits.file_bytes
        if self._channel.open(limits):
            self._uploads.connected()
            self._downloads.connected()
            self._wake.set()

    def on_offline(self) -> None:
        """Take note that nothing can be asked at the moment."""
        self._channel.close()
        self._uploads.disconnected()
        self._downloads.disconnected()

    # -- the work

    async def _work(self) -> None:
        while not self._closing:
            self._wake.clear()
            await self._downloads.choose()
            await self._uploads.offer()
            await self._uploads.go_on()
            await self._downloads.go_on()
            self._put_away()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._due()):
                    await self._wake.wait()

    def _put_away(self) -> None:
        self._downloads.put_away()
        self._uploads.put_away()
        self._telling.forget_all_but({*self._uploads, *self._downloads})

    def _due(self) -> float | None:
        waits = chain(self._uploads.due(), self._downloads.due())
        return min((wait for wait in waits if wait is not None), default=None)
