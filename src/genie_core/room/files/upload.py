"""Files on their way to the room: the person's own, and those that the host may lack."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from genie_core.room.files.reseed import ReseedQueue
from genie_core.room.files.transfer import (
    Direction,
    FileChannel,
    Transfer,
    TransferPhase,
    TransferReports,
    TransferState,
    attempt,
    files_of,
    now,
)
from genie_core.room.protocol.events import Event, FileRef, HostStarted, RecoveredEvent
from genie_core.room.protocol.frames import Chunk, FileStored, FrameRefused, Refusal, StoreFile
from genie_core.room.protocol.limits import CHUNK_BYTES
from genie_core.runtime.threads import off_loop
from genie_core.storage.blobs import BlobStore
from genie_core.storage.filenames import safe_name

WINDOW: Final = 2
"""How many chunks of one file may be on their way."""

SENT_AT_ONCE: Final = 2
"""With two chunks each, and with the downloads, fewer frames than a room lets one connection ask."""


@dataclass(frozen=True, slots=True)
class ChunkRange:
    """A part of the file to be read and sent as a `Chunk`."""

    offset: int
    length: int


class Upload(TransferState):
    """Decides about the parts of one file, and their times. Pure: no disk, no clock, no waiting.

    Asks the host how much of the file it has and sends the rest in chunks, a few at a time. Each
    frame gets exactly one answer, in order; after anything unexpected, asks again once all answers
    have come. So a broken connection costs at most the chunks under way.

    Call `connected` for each new connection, `take` until it returns None, and then again after
    each answer, or when `due` is over.
    """

    def __init__(
        self, digest: str, size: int, *, window: int = WINDOW, chunk: int = CHUNK_BYTES
    ) -> None:
        super().__init__(digest, size)
        self._window = window
        self._chunk = chunk
        self._next = 0

    def connected(self) -> None:
        """Reset on a new connection; no request is pending there."""
        self._owed = 0
        self._ask_again()

    def disconnected(self) -> None:
        if not self.over:
            self._phase = TransferPhase.OFFLINE

    def take(self, now: float) -> StoreFile | ChunkRange | None:
        """The next frame to send, if any."""
        if self.due(now) != 0:
            return None
        self._owed += 1
        if self._phase is TransferPhase.ASKING:
            self._phase = TransferPhase.ASKED
            return StoreFile(self.digest, self.size)
        part = ChunkRange(self._next, min(self._chunk, self.size - self._next))
        self._next += part.length
        return part

    def due(self, now: float) -> float | None:
        """Seconds until `take` returns a frame; None while waiting for an answer or connection."""
        match self._phase:
            case TransferPhase.ASKING if not self._owed:
                return self._retries.wait(now)
            case TransferPhase.SENDING if self._owed < self._window and self._next < self.size:
                return 0.0
        return None

    def on_stored(self, have: int, now: float) -> None:
        """Process an answer; an unexpected one counts only if the file is complete."""
        awaited = self._answered(TransferPhase.ASKED, TransferPhase.SENDING)
        if have == self.size and not self.over:
            self.done, self._phase, self.why = have, TransferPhase.DONE, ""
        elif not awaited:
            return
        elif not 0 <= have < self.size:
            self.fail("malformed", "the host miscounts what it has of the file")
        elif self._phase is TransferPhase.ASKED:
            self._phase, self.why = TransferPhase.SENDING, ""
            self.done = self._next = have
        else:
            self._advance(have, now)

    def on_refused(self, code: Refusal, text: str, now: float) -> None:
        """Retry after a temporary refusal; fail after any other."""
        if not self._answered(TransferPhase.ASKED, TransferPhase.SENDING):
            return
        if self._retries.allows(code, now):
            self.why = text
            self._ask_again()
        else:
            self.fail(code, text)

    def _advance(self, have: int, now: float) -> None:
        if have > self.done:
            self._retries.reset()
        self.done = have
        self._next = max(self._next, have)  # another terminal of ours may send the same file
        if not self._owed and have < self._next:  # the host has less than was sent
            if self._retries.allows("out_of_state", now):
                self._ask_again()
            else:
                self.fail("out_of_state", "the host does not take in what is sent")

    def _ask_again(self) -> None:
        if not self.over:
            self._phase = TransferPhase.ASKING


@dataclass(slots=True, eq=False)
class _Outgoing:
    """A file on its way to the room, until a message there names it.

    `again` says that a room had it already, but perhaps not the one that is hosted now; `reseed`
    that a message names it already and it is sent in case the host lacks it.
    """

    file: FileRef
    upload: Upload
    named: bool = False
    again: bool = False
    reseed: bool = False


class Uploads:
    """Sends files, a few at a time; reseeding comes last.

    A file stays on its way, also once the room has it, until a message names it. Only `reseed` and
    `advance` wait; both belong to one task. Without a `queue` nothing is reseeded.
    """

    def __init__(
        self, channel: FileChannel, reports: TransferReports, queue: ReseedQueue | None
    ) -> None:
        self._channel = channel
        self._reports = reports
        self._queue = queue
        self._named: dict[str, FileRef] = {}
        self._lacked: set[str] | None = set()
        self._all_queued = False
        self._outgoing: dict[str, _Outgoing] = {}

    def __contains__(self, digest: object) -> bool:
        return digest in self._outgoing

    def __iter__(self) -> Iterator[str]:
        return iter(self._outgoing)

    def begin(self, file: FileRef) -> None:
        """Send a file before those that no person waits for."""
        outgoing = self._outgoing.get(file.digest)
        if outgoing is None or outgoing.upload.over:
            self._send(file)
        elif outgoing.reseed:  # from now on the person waits for it
            self._outgoing[file.digest] = _Outgoing(file, outgoing.upload)

    def cancel(self, digest: str) -> None:
        """Stop sending a file, unless a message names it."""
        outgoing = self._outgoing.get(digest)
        if outgoing is not None and not outgoing.named:
            outgoing.upload.fail("out_of_state", "it was taken back")
            del self._outgoing[digest]

    def is_sent(self, digest: str) -> bool:
        """Whether the room has the whole file, or will never get it."""
        outgoing = self._outgoing.get(digest)
        return outgoing is None or outgoing.upload.over

    def name(self, file: FileRef) -> None:
        """Record that a message names a file."""
        self._named[file.digest] = file
        if (outgoing := self._outgoing.get(file.digest)) is not None:
            outgoing.named = True

    def on_event(self, event: Event) -> None:
        """Find files that a host may lack: all for a new host, else those of recovered messages."""
        if isinstance(event.body, HostStarted):
            self._lacked = None
        elif isinstance(event.body, RecoveredEvent) and self._lacked is not None:
            self._lacked.update(file.digest for file in files_of([event]))

    def on_stored(self, answer: FileStored) -> None:
        """Record how much of a file the room has."""
        if (outgoing := self._outgoing.get(answer.digest)) is not None:
            outgoing.upload.on_stored(answer.have, now())
            self._report(outgoing)

    def on_refused(self, refused: FrameRefused) -> None:
        """Process a refusal; a host that lacks one file may lack others."""
        if refused.code == "unknown_file" and not self._all_queued:
            self._lacked = None
        if (outgoing := self._outgoing.get(refused.ref)) is not None:
            outgoing.upload.on_refused(refused.code, refused.text, now())
            self._report(outgoing)

    def connected(self) -> None:
        for outgoing in list(self._outgoing.values()):
            if outgoing.upload.complete:
                self._send(outgoing.file, again=True)  # another host may lack it
            else:
                outgoing.upload.connected()
        self._all_queued = False
        if self._queue is not None:
            self._queue.connected()

    def disconnected(self) -> None:
        for outgoing in self._outgoing.values():
            outgoing.upload.disconnected()

    async def reseed(self, blobs: BlobStore) -> None:
        """Start a file that the host may lack, up to the limit of running ones."""
        queue = self._queue
        if queue is None or not self._channel.is_open:
            return
        if self._lacked is None or self._lacked:
            digests, self._lacked = self._lacked, set()
            self._all_queued |= digests is None
            queue.add(await off_loop(partial(self._held, blobs, digests), "room files"), now())
        file = queue.take(now()) if len(self._current()) < SENT_AT_ONCE else None
        if file is not None and file.digest not in self._outgoing:
            upload = Upload(file.digest, file.size, chunk=self._channel.chunk)
            self._outgoing[file.digest] = _Outgoing(file, upload, named=True, reseed=True)
            upload.connected()

    async def advance(self, blobs: BlobStore) -> None:
        """Send the frames that are due."""
        for outgoing in self._current():
            await attempt(outgoing.upload, partial(self._advance, blobs, outgoing.upload))
            self._report(outgoing)

    def discard_finished(self) -> None:
        """Drop files that need not be sent again."""
        for digest, outgoing in list(self._outgoing.items()):
            if outgoing.named and outgoing.upload.over:
                del self._outgoing[digest]
                if outgoing.reseed and outgoing.upload.failed and self._queue is not None:
                    self._queue.refused(outgoing.upload.code)

    def due(self) -> Iterator[float | None]:
        """Seconds until each file needs attention; None for never."""
        current = self._current()
        yield from (each.upload.due(now()) for each in current)
        if self._channel.is_open and self._queue is not None and len(current) < SENT_AT_ONCE:
            yield self._queue.due(now())

    def _held(self, blobs: BlobStore, digests: Collection[str] | None) -> dict[str, FileRef]:
        """Return the files that are here and named by messages; all for None."""
        return {
            digest: FileRef(digest, digest[:12], size)
            for digest, size in blobs.digests().items()
            if digest in (self._named if digests is None else digests) and size <= blobs.limit
        }

    def _send(self, file: FileRef, *, again: bool = False) -> None:
        upload = Upload(file.digest, file.size, chunk=self._channel.chunk)
        self._outgoing[file.digest] = _Outgoing(file, upload, again=again)
        if self._channel.is_open:
            upload.connected()
        self._channel.wake()

    def _current(self) -> list[_Outgoing]:
        unfinished = [each for each in self._outgoing.values() if not each.upload.over]
        return sorted(unfinished, key=lambda each: each.reseed)[:SENT_AT_ONCE]

    async def _advance(self, blobs: BlobStore, upload: Upload) -> None:
        connection = self._channel.connection
        while (step := upload.take(now())) is not None:
            frame: StoreFile | Chunk
            if isinstance(step, StoreFile):
                frame = step
            else:
                read = partial(blobs.read, upload.digest, step.offset, step.length)
                frame = Chunk(upload.digest, step.offset, await off_loop(read, "room files"))
                if connection != self._channel.connection or upload.over:
                    return  # a new connection has not asked for it
            self._channel.send(frame)

    def _report(self, outgoing: _Outgoing) -> None:
        upload, file = outgoing.upload, outgoing.file
        if outgoing.reseed or (outgoing.again and not upload.failed):
            return
        problem = (upload.why or "it failed") if upload.failed else ""
        name = safe_name(file.name)
        self._reports.add(
            Transfer(file.digest, name, Direction.UP, upload.done, file.size, problem)
        )
