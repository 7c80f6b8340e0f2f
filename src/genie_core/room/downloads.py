"""A participant's files on their way from the room: those that messages of others brought."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from genie_core.errors import GenieError
from genie_core.room.channel import Channel, attempt, now
from genie_core.room.missed import Missed
from genie_core.room.protocol.errors import NoSuchFile
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.frames import FilePiece, FrameRefused
from genie_core.room.receiving import Receiving
from genie_core.room.seat import Transfer, Way
from genie_core.room.telling import Telling
from genie_core.room.transfer import Progress
from genie_core.runtime.threads import off_loop
from genie_core.storage.blobs import BlobStore, on_disk
from genie_core.storage.errors import DamagedBlob
from genie_core.storage.filenames import safe_name

FETCHED_AT_ONCE: Final = 3


@dataclass(slots=True, eq=False)
class _Incoming:
    """A file on its way here, with the piece of it that is still to be written."""

    file: FileRef
    course: Receiving
    piece: FilePiece | None = None


class Downloads:
    """Fetches files that are wanted, the newest first, a few at a time.

    What fails is tried again with the next connection, and when it is wanted again; what the host
    lacks, now and then. All files together take at most `kept_bytes` on the disk. Files in `own`
    are here, whoever names them. Nothing but `choose` and `go_on` waits; those two belong to one
    task.
    """

    def __init__(
        self,
        blobs: BlobStore,
        kept_bytes: int,
        channel: Channel,
        telling: Telling,
        own: Container[str],
    ) -> None:
        self._blobs = blobs
        self._kept_bytes = kept_bytes
        self._channel = channel
        self._telling = telling
        self._own = own
        self._incoming: dict[str, _Incoming] = {}
        self._wanted: dict[str, FileRef] = {}
        self._missed = Missed()

    def __contains__(self, digest: object) -> bool:
        """Whether a file is being fetched."""
        return digest in self._incoming

    def __iter__(self) -> Iterator[str]:
        """The digests of the files that are being fetched."""
        return iter(self._incoming)

    def want(self, file: FileRef) -> None:
        """Fetch a file, however often that failed."""
        self._missed.forget(file.digest)
        self._wanted[file.digest] = file

    def forget(self, digest: str) -> None:
        """Do not fetch a file: it is here."""
        self._incoming.pop(digest, None)
        self._wanted.pop(digest, None)
        self._missed.forget(digest)

    def on_piece(self, piece: FilePiece) -> None:
        """Take in a piece of a file, to be written."""
        incoming = self._incoming.get(piece.digest)
        if incoming is not None and incoming.course.on_piece(piece, now()):
            incoming.piece = piece
            self._missed.forget(piece.digest)

    def on_refused(self, refused: FrameRefused) -> None:
        """Take in that the room does not give a file, or not now."""
        if (incoming := self._incoming.get(refused.ref)) is not None:
            incoming.course.on_refused(refused.code, refused.text, now())

    def connected(self) -> None:
        """Go on where the last connection ended, and ask for all again that was missed."""
        for incoming in self._incoming.values():
            incoming.course.connected()
        self._wanted = {**self._missed.take_all(), **self._wanted}

    def disconnected(self) -> None:
        """Take note that nothing can be asked at the moment."""
        for incoming in self._incoming.values():
            incoming.course.disconnected()

    async def choose(self) -> None:
        """Begin to fetch the newest files, unless enough are under way."""
        if self._channel.is_open and (due := self._missed.take(now())):
            self._wanted = {**due, **self._wanted}
        while self._channel.is_open and self._wanted and len(self._incoming) < FETCHED_AT_ONCE:
            digest, file = self._wanted.popitem()
            try:
                step = partial(self._prepare, file, self._awaited())
                have = await off_loop(step, "room files")
            except GenieError as error:
                self._missed.add(file, "disk", now())
                self._tell(file, 0, str(error))
                continue
            if digest not in self._own:
                course = Receiving(digest, file.size, have)
                self._incoming[digest] = _Incoming(file, course)
                if self._channel.is_open:
                    course.connected()

    async def go_on(self) -> None:
        """Write what has arrived of each file, and ask for more."""
        for incoming in list(self._incoming.values()):
            await attempt(incoming.course, partial(self._go_on, incoming))
            self._tell_of(incoming)

    def put_away(self) -> None:
        """Forget what has ended; what failed is kept in mind."""
        for digest, incoming in list(self._incoming.items()):
            if incoming.course.over:
                del self._incoming[digest]
                self._channel.wake()  # it made room for another one
                if incoming.course.progress is Progress.FAILED:
                    self._missed.add(incoming.file, incoming.course.code, now())
                else:
                    self._missed.forget(digest)

    def due(self) -> Iterator[float | None]:
        """In how many seconds each thing is to be looked at again; None for never."""
        yield from (each.course.due(now()) for each in self._incoming.values())
        if self._channel.is_open:
            yield self._missed.due(now())

    def _awaited(self) -> int:
        """How many bytes are still to come of the files that are being fetched, about."""
        coming = [(each.file.size, each.course.done) for each in self._incoming.values()]
        return sum(max(0, on_disk(size) - on_disk(done)) for size, done in coming)

    def _prepare(self, file: FileRef, awaited: int) -> int:
        total = self._blobs.total() + awaited
        if total + on_disk(file.size) > self._kept_bytes:
            raise NoSuchFile(
                safe_name(file.name), f"not fetched: this room's files take {total:,} bytes here"
            )
        return self._blobs.begin(file.digest, file.size)

    async def _go_on(self, incoming: _Incoming) -> None:
        course, piece = incoming.course, incoming.piece
        if course.to_write and piece is not None:
            incoming.piece = None
            write = partial(self._blobs.write, course.digest, piece.offset, piece.data)
            course.written(await off_loop(write, "room files"))
        if course.to_check:
            intact = await off_loop(partial(self._is_intact, incoming.file), "room files")
            course.checked(now(), intact=intact)
        if (frame := course.take(now())) is not None:
            self._channel.ask(frame)

    def _is_intact(self, file: FileRef) -> bool:
        try:
            self._blobs.finish(file.digest, file.size)
        except DamagedBlob:
            return False
        return True

    def _tell_of(self, incoming: _Incoming) -> None:
        course, file = incoming.course, incoming.file
        if self._missed.is_known(file.digest) and course.progress is not Progress.DONE:
            return  # it is told that the host lacks it
        failed = course.progress is Progress.FAILED
        self._tell(file, course.done, (course.why or "it failed") if failed else "")

    def _tell(self, file: FileRef, done: int, problem: str = "") -> None:
        name = safe_name(file.name)
        self._telling.tell(Transfer(file.digest, name, Way.DOWN, done, file.size, problem))
