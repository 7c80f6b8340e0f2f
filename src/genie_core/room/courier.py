"""A participant's files: takes own ones in and sends them, fetches what the others attach.

One task does all disk work and decides what to ask the room, a few files at a time. Nothing is
asked without a connection, and what a lost one leaves behind goes on with the next.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from genie_core.archive.blobs import BlobStore, on_disk
from genie_core.archive.errors import ArchiveError, DamagedBlob, InvalidDigest
from genie_core.blocking import off_loop
from genie_core.errors import GenieError
from genie_core.file_names import safe_name
from genie_core.room.errors import NoSuchFile
from genie_core.room.event import Event, FileRef, Hosted, Recovered
from genie_core.room.frame import Chunk, ClientFrame, Piece, Refused, Store, Stored
from genie_core.room.limits import Limits
from genie_core.room.media import HEAD_BYTES, media_type
from genie_core.room.missed import Missed
from genie_core.room.offers import Offers
from genie_core.room.receiving import Receiving
from genie_core.room.seat import Transfer, Way
from genie_core.room.sending import Sending
from genie_core.room.transfer import CHUNK_BYTES, Progress, files_of, fitting_chunk

FETCHED_AT_ONCE: Final = 3
SENT_AT_ONCE: Final = 2
"""With two chunks each, all together ask less than a room lets one connection ask at once."""

KEPT_BYTES: Final = 2 * 1024 * 1024 * 1024
"""How much of one room is kept here; a host could fill the disk otherwise."""

REPORT_INTERVAL: Final = 0.1

NOWHERE: Final = "nowhere"
"""A name in the folder that no file ever has."""

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Outgoing:
    """A file on its way to the room, until a message there names it.

    `again` says that a room had it already, but perhaps not the one that is hosted now; `offered`
    that a message names it already and it is brought in case the host lacks it.
    """

    file: FileRef
    course: Sending
    named: bool = False
    again: bool = False
    offered: bool = False


@dataclass(slots=True, eq=False)
class _Incoming:
    """A file on its way here, with the piece of it that is still to be written."""

    file: FileRef
    course: Receiving
    piece: Piece | None = None


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
        self._kept_bytes = kept_bytes
        self._offers = Offers(chance) if offers else None
        self._named: dict[str, FileRef] = {}
        self._lacked: set[str] | None = set()
        self._all_offered = False
        self._ask: Callable[[ClientFrame], bool] = _nobody
        self._report: Callable[[Transfer], None] = _nothing
        self._outgoing: dict[str, _Outgoing] = {}
        self._incoming: dict[str, _Incoming] = {}
        self._wanted: dict[str, FileRef] = {}
        self._missed = Missed()
        self._told: dict[str, tuple[Transfer, float]] = {}
        self._chunk = CHUNK_BYTES
        self._connection = 0
        self._online = False
        self._closing = False
        self._wake = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        """Begin: `ask` sends a frame if there is a connection, `report` tells how far files are."""
        self._ask, self._report = ask, report
        self._worker = asyncio.create_task(self._work(), name="room files")

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
        with suppress(ArchiveError):
            if self._blobs.size(file.digest) == file.size:
                self._begin_to_send(file)
                return True
        return False

    def _begin_to_send(self, file: FileRef) -> None:
        digest = file.digest
        self._incoming.pop(digest, None)
        self._wanted.pop(digest, None)
        self._missed.forget(digest)
        under_way = self._outgoing.get(digest)
        if under_way is None or under_way.course.over:
            self._send(file)
        elif under_way.offered:  # from now on the person waits for it
            self._outgoing[digest] = _Outgoing(file, under_way.course)

    def drop(self, digest: str) -> None:
        """Stop to send a file, unless a message names it."""
        outgoing = self._outgoing.get(digest)
        if outgoing is not None and not outgoing.named:
            outgoing.course.fail("out_of_state", "it was taken back")
            del self._outgoing[digest]

    def place(self, digest: str) -> Path:
        """Where a file is, or will be once it has arrived; never beyond the folder of files."""
        try:
            return self._blobs.path(digest)
        except InvalidDigest:  # a host may send anything
            return self._blobs.folder / NOWHERE

    def has(self, digest: str) -> bool:
        """Whether a file is here, all of it."""
        with suppress(ArchiveError):
            return self._blobs.size(digest) is not None
        return False

    def is_sent(self, digest: str) -> bool:
        """Whether the room has told that it has the whole file, or cannot be expected to."""
        outgoing = self._outgoing.get(digest)
        return outgoing is None or outgoing.course.over

    # -- what comes from the room

    def recall(self, files: Iterable[FileRef]) -> None:
        """Take note of files that the own copy names; fetches what has never arrived."""
        for file in files:
            self._named[file.digest] = file
            if (outgoing := self._outgoing.get(file.digest)) is not None:
                outgoing.named = True
            elif file.digest not in self._incoming and not self.has(file.digest):
                self._missed.forget(file.digest)
                self._wanted[file.digest] = file
        self._wake.set()

    def on_event(self, event: Event) -> None:
        """Take note of an event that is new; fetches what a message brings."""
        if isinstance(event.body, Hosted):
            self._lacked = None
        elif isinstance(event.body, Recovered) and self._lacked is not None:
            self._lacked.update(file.digest for file in files_of([event]))
        self.recall(files_of([event]))

    def on_answer(self, answer: Stored | Piece | Refused) -> None:
        """Take in what the room says about a file."""
        digest = answer.ref if isinstance(answer, Refused) else answer.digest
        outgoing, incoming = self._outgoing.get(digest), self._incoming.get(digest)
        match answer:
            case Stored(have=have) if outgoing is not None:
                outgoing.course.on_stored(have, _now())
            case Piece() if incoming is not None:
                if incoming.course.on_piece(answer, _now()):
                    incoming.piece = answer
                    self._missed.forget(digest)
            case Refused(code=code, text=text):
                if code == "unknown_file" and not self._all_offered:
                    self._lacked = None
                for each in (outgoing, incoming):
                    if each is not None:
                        each.course.on_refused(code, text, _now())
        if outgoing is not None:
            self._tell_of(outgoing)
        self._wake.set()

    def on_online(self, limits: Limits) -> None:
        """Go on where the last connection ended; repeated during one it changes nothing."""
        self._blobs.limit = limits.file_bytes
        self._chunk = fitting_chunk(limits.frame_bytes)
        if self._online:
            return
        self._online = True
        self._connection += 1
        for outgoing in list(self._outgoing.values()):
            if outgoing.course.progress is Progress.DONE:
                self._send(
                    outgoing.file, again=True
                )  # the host may be another one now, and lack it
            else:
                outgoing.course.connected()
        for incoming in self._incoming.values():
            incoming.course.connected()
        self._wanted = {**self._missed.take_all(), **self._wanted}
        self._all_offered = False
        if self._offers is not None:
            self._offers.connected()
        self._wake.set()

    def on_offline(self) -> None:
        """Take note that nothing can be asked at the moment."""
        self._online = False
        for outgoing in self._outgoing.values():
            outgoing.course.disconnected()
        for incoming in self._incoming.values():
            incoming.course.disconnected()

    # -- the work

    async def _work(self) -> None:
        while not self._closing:
            self._wake.clear()
            await self._choose()
            await self._offer()
            for outgoing in self._sent_now():
                await self._attempt(outgoing, partial(self._go_on_sending, outgoing))
            for incoming in list(self._incoming.values()):
                await self._attempt(incoming, partial(self._go_on_fetching, incoming))
            self._put_away()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._due()):
                    await self._wake.wait()

    async def _choose(self) -> None:
        """Begin to fetch the newest files, unless enough are under way."""
        if self._online and (due := self._missed.take(_now())):
            self._wanted = {**due, **self._wanted}
        while self._online and self._wanted and len(self._incoming) < FETCHED_AT_ONCE:
            digest, file = self._wanted.popitem()
            try:
                step = partial(self._prepare, file, self._awaited())
                have = await off_loop(step, "room files")
            except GenieError as error:
                self._missed.add(file, "disk", _now())
                name = safe_name(file.name)
                self._tell(Transfer(digest, name, Way.DOWN, 0, file.size, str(error)))
                continue
            if digest not in self._outgoing:
                course = Receiving(digest, file.size, have)
                self._incoming[digest] = _Incoming(file, course)
                if self._online:
                    course.connected()

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

    async def _offer(self) -> None:
        """Begin to offer a file that the host may lack, unless enough is being sent."""
        offers = self._offers
        if offers is None or not self._online:
            return
        if self._lacked is None or self._lacked:
            digests, self._lacked = self._lacked, set()
            self._all_offered |= digests is None
            offers.add(await off_loop(partial(self._to_offer, digests), "room files"), _now())
        sent = self._sent_now()
        file = offers.take(_now()) if len(sent) < SENT_AT_ONCE else None
        if file is not None and file.digest not in self._outgoing:
            course = Sending(file.digest, file.size, chunk=self._chunk)
            outgoing = _Outgoing(file, course, named=True, offered=True)
            self._outgoing[file.digest] = outgoing
            course.connected()

    def _to_offer(self, digests: Collection[str] | None) -> dict[str, FileRef]:
        """Those of the files that are here and that messages name; all for None."""
        return {
            digest: FileRef(digest, digest[:12], size)
            for digest, size in self._blobs.digests().items()
            if digest in (self._named if digests is None else digests) and size <= self._blobs.limit
        }

    def _send(self, file: FileRef, *, again: bool = False) -> None:
        course = Sending(file.digest, file.size, chunk=self._chunk)
        self._outgoing[file.digest] = _Outgoing(file, course, again=again)
        if self._online:
            course.connected()
        self._wake.set()

    def _sent_now(self) -> list[_Outgoing]:
        """What to send now; what is only offered comes last."""
        unfinished = [each for each in self._outgoing.values() if not each.course.over]
        return sorted(unfinished, key=lambda each: each.offered)[:SENT_AT_ONCE]

    async def _attempt(
        self, each: _Outgoing | _Incoming, step: Callable[[], Awaitable[None]]
    ) -> None:
        try:
            await step()
        except ArchiveError as error:
            each.course.fail("disk", str(error))
        except Exception:  # the other files must go on
            logger.exception("a file's transfer broke")
            each.course.fail("disk", "the program failed; its log has more")
        self._tell_of(each)

    async def _go_on_sending(self, outgoing: _Outgoing) -> None:
        course, connection = outgoing.course, self._connection
        while (step := course.take(_now())) is not None:
            frame: Store | Chunk
            if isinstance(step, Store):
                frame = step
            else:
                read = partial(self._blobs.read, course.digest, step.offset, step.length)
                frame = Chunk(course.digest, step.offset, await off_loop(read, "room files"))
                if connection != self._connection or course.over:
                    return  # it would be an answer to nothing there
            if not self._ask(frame):
                self.on_offline()

    async def _go_on_fetching(self, incoming: _Incoming) -> None:
        course, piece = incoming.course, incoming.piece
        if course.to_write and piece is not None:
            incoming.piece = None
            write = partial(self._blobs.write, course.digest, piece.offset, piece.data)
            course.written(await off_loop(write, "room files"))
        if course.to_check:
            intact = await off_loop(partial(self._is_intact, incoming.file), "room files")
            course.checked(_now(), intact=intact)
        frame = course.take(_now())
        if frame is not None and not self._ask(frame):
            self.on_offline()

    def _is_intact(self, file: FileRef) -> bool:
        try:
            self._blobs.finish(file.digest, file.size)
        except DamagedBlob:
            return False
        return True

    def _put_away(self) -> None:
        """Forget what has ended."""
        for digest, incoming in list(self._incoming.items()):
            if incoming.course.over:
                del self._incoming[digest]
                self._wake.set()  # it made room for another one
                if incoming.course.progress is Progress.FAILED:
                    self._missed.add(incoming.file, incoming.course.code, _now())
                else:
                    self._missed.forget(digest)
        for digest, outgoing in list(self._outgoing.items()):
            if outgoing.named and outgoing.course.over:
                del self._outgoing[digest]
                failed = outgoing.course.progress is Progress.FAILED
                if outgoing.offered and failed and self._offers is not None:
                    self._offers.refused(outgoing.course.code)
        under_way = self._incoming.keys() | self._outgoing.keys()
        self._told = {each: told for each, told in self._told.items() if each in under_way}

    def _due(self) -> float | None:
        now = _now()
        sent = self._sent_now()
        waits = [each.course.due(now) for each in sent]
        waits += [each.course.due(now) for each in self._incoming.values()]
        if self._online:
            waits.append(self._missed.due(now))
            if self._offers is not None and len(sent) < SENT_AT_ONCE:
                waits.append(self._offers.due(now))
        return min((wait for wait in waits if wait is not None), default=None)

    # -- what the person hears

    def _tell_of(self, each: _Outgoing | _Incoming) -> None:
        course, file = each.course, each.file
        way = Way.UP if isinstance(each, _Outgoing) else Way.DOWN
        failed = course.progress is Progress.FAILED
        if isinstance(each, _Outgoing) and (each.offered or (each.again and not failed)):
            return
        waits = isinstance(each, _Incoming) and self._missed.is_known(file.digest)
        if waits and course.progress is not Progress.DONE:
            return  # it is told that the host lacks it
        problem = (course.why or "it failed") if failed else ""
        name = safe_name(file.name)
        self._tell(Transfer(file.digest, name, way, course.done, file.size, problem))

    def _tell(self, transfer: Transfer) -> None:
        """Report, but not the same twice, nor more often than anybody can read."""
        last, at = self._told.get(transfer.digest, (None, 0.0))
        ended = transfer.complete or transfer.problem
        if transfer != last and (ended or last is None or _now() - at >= REPORT_INTERVAL):
            self._told[transfer.digest] = (transfer, _now())
            self._report(transfer)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _nobody(_frame: ClientFrame) -> bool:
    return False


def _nothing(_transfer: Transfer) -> None:
    pass
