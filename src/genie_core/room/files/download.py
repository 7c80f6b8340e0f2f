"""Files on their way from the room: those that messages of other members name."""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from genie_core.errors import GenieError
from genie_core.room.files.retry import RetryQueue
from genie_core.room.files.transfer import (
    Direction,
    FileChannel,
    Transfer,
    TransferPhase,
    TransferReports,
    TransferState,
    attempt,
    now,
)
from genie_core.room.protocol.errors import NoSuchFile
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.frames import FetchFile, FilePiece, FrameRefused, Refusal
from genie_core.runtime.threads import off_loop
from genie_core.storage.blobs import BlobStore, on_disk
from genie_core.storage.errors import DamagedBlob
from genie_core.storage.filenames import safe_name

FETCHED_AT_ONCE: Final = 3


class Download(TransferState):
    """Requests the missing pieces of one file; `have` bytes are on disk. Uses no disk and no clock.

    Requests one piece at a time, from the end of the file on disk. A broken connection costs one
    piece, and a host can't send more than was requested.

    Call `connected` for each new connection and `take` whenever `due` is over. Hand in each
    `FilePiece`; if it is `to_write`, write it and call `written`; when `to_check`, compare the SHA-256
    and call `checked`.
    """

    def __init__(self, digest: str, size: int, have: int = 0) -> None:
        super().__init__(digest, size)
        self.done = have
        self._online = False
        if have >= size:
            self._phase = TransferPhase.CHECKING

    @property
    def to_write(self) -> bool:
        """Whether an accepted piece has not been written."""
        return self._phase is TransferPhase.WRITING

    @property
    def to_check(self) -> bool:
        """Whether all bytes are here and need to be checked."""
        return self._phase is TransferPhase.CHECKING

    def connected(self) -> None:
        """Reset on a new connection; no request is pending there."""
        self._online, self._owed = True, 0
        if self._phase in (TransferPhase.OFFLINE, TransferPhase.ASKED):
            self._phase = TransferPhase.ASKING

    def disconnected(self) -> None:
        """Wait for the next connection; writing and checking continue."""
        self._online = False
        if self._phase in (TransferPhase.ASKING, TransferPhase.ASKED):
            self._phase = TransferPhase.OFFLINE

    def take(self, now: float) -> FetchFile | None:
        """The next request, if any."""
        if self.due(now) != 0:
            return None
        self._phase = TransferPhase.ASKED
        self._owed += 1
        return FetchFile(self.digest, self.done)

    def due(self, now: float) -> float | None:
        """Seconds until `take` returns a request; None while waiting for something else."""
        asking = self._phase is TransferPhase.ASKING and not self._owed
        return self._retries.wait(now) if asking else None

    def on_piece(self, piece: FilePiece, now: float) -> bool:
        """Accept a piece; return whether to write it."""
        if not self._answered(TransferPhase.ASKED):
            return False
        if piece.size != self.size:
            self.fail("malformed", f"the host's file has {piece.size:,} bytes, not {self.size:,}")
            return False
        if not self._is_next(piece):
            self._retry("out_of_state", "the host sends other parts than it is asked for", now)
            return False
        self._phase, self.why = TransferPhase.WRITING, ""
        self._retries.reset()
        return True

    def on_refused(self, code: Refusal, text: str, now: float) -> None:
        """Retry after a temporary refusal; fail after any other."""
        if self._answered(TransferPhase.ASKED):
            self._retry(code, text, now)

    def written(self, have: int) -> None:
        """Record how many bytes are on disk."""
        if self._phase is TransferPhase.WRITING:
            self.done = have
            self._phase = TransferPhase.CHECKING if have >= self.size else self._ready()

    def checked(self, now: float, *, intact: bool) -> None:
        """Record the result of the check; a damaged file was deleted and is fetched once more."""
        if self._phase is not TransferPhase.CHECKING:
            return
        if intact:
            self._phase, self.done = TransferPhase.DONE, self.size
            return
        self.done = 0
        self._retry("corrupt", "the file arrives damaged; its sender may send it again", now)

    def _ready(self) -> TransferPhase:
        return TransferPhase.ASKING if self._online else TransferPhase.OFFLINE

    def _retry(self, code: Refusal, text: str, now: float) -> None:
        if self._retries.allows(code, now):
            self._phase, self.why = self._ready(), text
        else:
            self.fail(code, text)

    def _is_next(self, piece: FilePiece) -> bool:
        end = piece.offset + len(piece.data)
        return piece.offset == self.done and piece.offset < end <= self.size


@dataclass(slots=True, eq=False)
class _Incoming:
    """A file on its way here, with the piece of it that is still to be written."""

    file: FileRef
    download: Download
    piece: FilePiece | None = None


class Downloads:
    """Fetches files that are wanted, the newest first, a few at a time.

    A failed download is tried again with the next connection, and when it is wanted again; a file
    that the host lacks, at growing intervals. All files together take at most `kept_bytes` on the
    disk. Files in `own` are never fetched. Only `choose` and `advance` wait; both belong to one
    task.
    """

    def __init__(
        self,
        kept_bytes: int,
        channel: FileChannel,
        reports: TransferReports,
        own: Container[str],
    ) -> None:
        self._kept_bytes = kept_bytes
        self._channel = channel
        self._reports = reports
        self._own = own
        self._incoming: dict[str, _Incoming] = {}
        self._wanted: dict[str, FileRef] = {}
        self._retries = RetryQueue()

    def __contains__(self, digest: object) -> bool:
        return digest in self._incoming

    def __iter__(self) -> Iterator[str]:
        return iter(self._incoming)

    def want(self, file: FileRef) -> None:
        """Fetch a file, however often that failed before."""
        self._retries.forget(file.digest)
        self._wanted[file.digest] = file

    def forget(self, digest: str) -> None:
        """Stop fetching a file that is here."""
        self._incoming.pop(digest, None)
        self._wanted.pop(digest, None)
        self._retries.forget(digest)

    def forget_wanted(self, is_here: Callable[[str], bool]) -> None:
        """Stop fetching the files that are here."""
        for digest in list(self._wanted):
            if is_here(digest):
                self.forget(digest)

    def on_piece(self, piece: FilePiece) -> None:
        """Accept a piece of a file, to be written."""
        incoming = self._incoming.get(piece.digest)
        if incoming is not None and incoming.download.on_piece(piece, now()):
            incoming.piece = piece
            self._retries.forget(piece.digest)

    def on_refused(self, refused: FrameRefused) -> None:
        """Record that the room refuses a file, maybe only for now."""
        if (incoming := self._incoming.get(refused.ref)) is not None:
            incoming.download.on_refused(refused.code, refused.text, now())

    def connected(self) -> None:
        """Resume, and retry every failed file."""
        for incoming in self._incoming.values():
            incoming.download.connected()
        self._wanted = {**self._retries.take_all(), **self._wanted}

    def disconnected(self) -> None:
        for incoming in self._incoming.values():
            incoming.download.disconnected()

    async def choose(self, blobs: BlobStore) -> None:
        """Start the newest files, up to the limit of running ones."""
        if self._channel.is_open and (due := self._retries.take(now())):
            self._wanted = {**due, **self._wanted}
        while self._channel.is_open and self._wanted and len(self._incoming) < FETCHED_AT_ONCE:
            digest, file = self._wanted.popitem()
            try:
                prepare = partial(self._prepare, blobs, file, self._awaited())
                have = await off_loop(prepare, "room files")
            except GenieError as error:
                self._retries.add(file, "disk", now())
                self._report(file, 0, str(error))
                continue
            if digest not in self._own:
                download = Download(digest, file.size, have)
                self._incoming[digest] = _Incoming(file, download)
                if self._channel.is_open:
                    download.connected()

    async def advance(self, blobs: BlobStore) -> None:
        """Write the pieces that arrived, and request more."""
        for incoming in list(self._incoming.values()):
            download, file = incoming.download, incoming.file
            await attempt(download, partial(self._advance, blobs, incoming))
            if not self._retries.is_lacked(file.digest) or download.complete:
                problem = (download.why or "it failed") if download.failed else ""
                self._report(file, download.done, problem)

    def discard_finished(self) -> None:
        """Drop ended downloads; failed ones are kept for a retry."""
        for digest, incoming in list(self._incoming.items()):
            if incoming.download.over:
                del self._incoming[digest]
                self._channel.wake()  # another file may follow
                if incoming.download.failed:
                    self._retries.add(incoming.file, incoming.download.code, now())
                else:
                    self._retries.forget(digest)

    def due(self) -> Iterator[float | None]:
        """Seconds until each file needs attention; None for never."""
        yield from (each.download.due(now()) for each in self._incoming.values())
        if self._channel.is_open:
            yield self._retries.due(now())

    def _awaited(self) -> int:
        """Estimate the bytes still to arrive."""
        coming = [(each.file.size, each.download.done) for each in self._incoming.values()]
        return sum(max(0, on_disk(size) - on_disk(done)) for size, done in coming)

    def _prepare(self, blobs: BlobStore, file: FileRef, awaited: int) -> int:
        total = blobs.total() + awaited
        if total + on_disk(file.size) > self._kept_bytes:
            raise NoSuchFile(
                safe_name(file.name), f"not fetched: this room's files take {total:,} bytes here"
            )
        return blobs.begin(file.digest, file.size)

    async def _advance(self, blobs: BlobStore, incoming: _Incoming) -> None:
        download, piece = incoming.download, incoming.piece
        if download.to_write and piece is not None:
            incoming.piece = None
            write = partial(blobs.write, download.digest, piece.offset, piece.data)
            download.written(await off_loop(write, "room files"))
        if download.to_check:
            intact = await off_loop(partial(_is_intact, blobs, incoming.file), "room files")
            download.checked(now(), intact=intact)
        if (frame := download.take(now())) is not None:
            self._channel.send(frame)

    def _report(self, file: FileRef, done: int, problem: str = "") -> None:
        name = safe_name(file.name)
        self._reports.add(Transfer(file.digest, name, Direction.DOWN, done, file.size, problem))


def _is_intact(blobs: BlobStore, file: FileRef) -> bool:
    try:
        blobs.finish(file.digest, file.size)
    except DamagedBlob:
        return False
    return True
