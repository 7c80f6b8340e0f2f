"""A participant's files on their way to the room: own ones, and those that the host may lack."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from genie_core.room.channel import Channel, attempt, now
from genie_core.room.offers import Offers
from genie_core.room.protocol.events import Event, FileRef, HostStarted, RecoveredEvent
from genie_core.room.protocol.frames import Chunk, FileStored, FrameRefused, StoreFile
from genie_core.room.seat import Transfer, Way
from genie_core.room.sending import Sending
from genie_core.room.telling import Telling
from genie_core.room.transfer import Progress, files_of
from genie_core.runtime.threads import off_loop
from genie_core.storage.blobs import BlobStore
from genie_core.storage.filenames import safe_name

SENT_AT_ONCE: Final = 2
"""With two chunks each, and what is fetched, less than a room lets one connection ask at once."""


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


class Uploads:
    """Sends files, a few at a time; what is only offered comes last.

    A file counts as on its way, also once it is there, until a message names it. Nothing but
    `offer` and `go_on` waits; those two belong to one task. Without `offers` nothing is offered.
    """

    def __init__(
        self, blobs: BlobStore, channel: Channel, telling: Telling, offers: Offers | None
    ) -> None:
        self._blobs = blobs
        self._channel = channel
        self._telling = telling
        self._offers = offers
        self._named: dict[str, FileRef] = {}
        self._lacked: set[str] | None = set()
        self._all_offered = False
        self._outgoing: dict[str, _Outgoing] = {}

    def __contains__(self, digest: object) -> bool:
        """Whether a file is on its way."""
        return digest in self._outgoing

    def __iter__(self) -> Iterator[str]:
        """The digests of the files that are on their way."""
        return iter(self._outgoing)

    def begin(self, file: FileRef) -> None:
        """Send a file for which the person waits."""
        under_way = self._outgoing.get(file.digest)
        if under_way is None or under_way.course.over:
            self._send(file)
        elif under_way.offered:  # from now on the person waits for it
            self._outgoing[file.digest] = _Outgoing(file, under_way.course)

    def drop(self, digest: str) -> None:
        """Stop to send a file, unless a message names it."""
        outgoing = self._outgoing.get(digest)
        if outgoing is not None and not outgoing.named:
            outgoing.course.fail("out_of_state", "it was taken back")
            del self._outgoing[digest]

    def is_sent(self, digest: str) -> bool:
        """Whether the room has told that it has the whole file, or cannot be expected to."""
        outgoing = self._outgoing.get(digest)
        return outgoing is None or outgoing.course.over

    def name(self, file: FileRef) -> None:
        """Take note that a message names a file."""
        self._named[file.digest] = file
        if (outgoing := self._outgoing.get(file.digest)) is not None:
            outgoing.named = True

    def on_event(self, event: Event) -> None:
        """Take note of what a host may lack: all, if it hosts anew; what was recovered."""
        if isinstance(event.body, HostStarted):
            self._lacked = None
        elif isinstance(event.body, RecoveredEvent) and self._lacked is not None:
            self._lacked.update(file.digest for file in files_of([event]))

    def on_stored(self, answer: FileStored) -> None:
        """Take in how much of a file the room has."""
        if (outgoing := self._outgoing.get(answer.digest)) is not None:
            outgoing.course.on_stored(answer.have, now())
            self._tell_of(outgoing)

    def on_refused(self, refused: FrameRefused) -> None:
        """Take in what the room does not do; that it lacks a file means it may lack others."""
        if refused.code == "unknown_file" and not self._all_offered:
            self._lacked = None
        if (outgoing := self._outgoing.get(refused.ref)) is not None:
            outgoing.course.on_refused(refused.code, refused.text, now())
            self._tell_of(outgoing)

    def connected(self) -> None:
        """Go on where the last connection ended."""
        for outgoing in list(self._outgoing.values()):
            if outgoing.course.progress is Progress.DONE:
                self._send(outgoing.file, again=True)  # the host may be another one, and lack it
            else:
                outgoing.course.connected()
        self._all_offered = False
        if self._offers is not None:
            self._offers.connected()

    def disconnected(self) -> None:
        """Take note that nothing can be asked at the moment."""
        for outgoing in self._outgoing.values():
            outgoing.course.disconnected()

    async def offer(self) -> None:
        """Begin to offer a file that the host may lack, unless enough is being sent."""
        offers = self._offers
        if offers is None or not self._channel.is_open:
            return
        if self._lacked is None or self._lacked:
            digests, self._lacked = self._lacked, set()
            self._all_offered |= digests is None
            offers.add(await off_loop(partial(self._to_offer, digests), "room files"), now())
        file = offers.take(now()) if len(self._sent_now()) < SENT_AT_ONCE else None
        if file is not None and file.digest not in self._outgoing:
            course = Sending(file.digest, file.size, chunk=self._channel.chunk)
            outgoing = _Outgoing(file, course, named=True, offered=True)
            self._outgoing[file.digest] = outgoing
            course.connected()

    async def go_on(self) -> None:
        """Send what is due of each file whose turn it is."""
        for outgoing in self._sent_now():
            await attempt(outgoing.course, partial(self._go_on, outgoing))
            self._tell_of(outgoing)

    def put_away(self) -> None:
        """Forget what has ended and needs not be brought again."""
        for digest, outgoing in list(self._outgoing.items()):
            if outgoing.named and outgoing.course.over:
                del self._outgoing[digest]
                failed = outgoing.course.progress is Progress.FAILED
                if outgoing.offered and failed and self._offers is not None:
                    self._offers.refused(outgoing.course.code)

    def due(self) -> Iterator[float | None]:
        """In how many seconds each thing is to be looked at again; None for never."""
        sent = self._sent_now()
        yield from (each.course.due(now()) for each in sent)
        if self._channel.is_open and self._offers is not None and len(sent) < SENT_AT_ONCE:
            yield self._offers.due(now())

    def _to_offer(self, digests: Collection[str] | None) -> dict[str, FileRef]:
        """Those of the files that are here and that messages name; all for None."""
        return {
            digest: FileRef(digest, digest[:12], size)
            for digest, size in self._blobs.digests().items()
            if digest in (self._named if digests is None else digests) and size <= self._blobs.limit
        }

    def _send(self, file: FileRef, *, again: bool = False) -> None:
        course = Sending(file.digest, file.size, chunk=self._channel.chunk)
        self._outgoing[file.digest] = _Outgoing(file, course, again=again)
        if self._channel.is_open:
            course.connected()
        self._channel.wake()

    def _sent_now(self) -> list[_Outgoing]:
        unfinished = [each for each in self._outgoing.values() if not each.course.over]
        return sorted(unfinished, key=lambda each: each.offered)[:SENT_AT_ONCE]

    async def _go_on(self, outgoing: _Outgoing) -> None:
        course, connection = outgoing.course, self._channel.connection
        while (step := course.take(now())) is not None:
            frame: StoreFile | Chunk
            if isinstance(step, StoreFile):
                frame = step
            else:
                read = partial(self._blobs.read, course.digest, step.offset, step.length)
                frame = Chunk(course.digest, step.offset, await off_loop(read, "room files"))
                if connection != self._channel.connection or course.over:
                    return  # it would be an answer to nothing there
            self._channel.ask(frame)

    def _tell_of(self, outgoing: _Outgoing) -> None:
        course, file = outgoing.course, outgoing.file
        failed = course.progress is Progress.FAILED
        if outgoing.offered or (outgoing.again and not failed):
            return
        problem = (course.why or "it failed") if failed else ""
        name = safe_name(file.name)
        self._telling.tell(Transfer(file.digest, name, Way.UP, course.done, file.size, problem))
