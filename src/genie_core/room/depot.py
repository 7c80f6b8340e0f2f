"""The host's store of attached files, and the disk work that peers ask of it.

Each peer's errands are done one after another, with at most a chunk of each in memory; only a few
at once touch the disk, in threads. Whatever is wrong with one of them is answered to its peer.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Final, TypeAlias, TypeVar

from genie_core.room.filing import Errand
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.frames import (
    Chunk,
    FetchFile,
    FilePiece,
    FileStored,
    FrameRefused,
    Refusal,
    ServerFrame,
    StoreFile,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.media import HEAD_BYTES, media_type
from genie_core.room.transfer import CHUNK_BYTES
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.storage.blobs import BlobStore, on_disk
from genie_core.storage.errors import (
    BlobTooLarge,
    DamagedBlob,
    InvalidDigest,
    StorageError,
    UnknownBlob,
)

UPLOADS: Final = 8
"""How many files one person may be sending at once, from all their terminals."""

SHARE: Final = 4
"""One person may fill this fraction of the room's space (a quarter) before it is opened again."""

IDLE: Final = 60.0
"""Seconds without a chunk after which the beginning of a file may have to make room."""

LEFTOVER: Final = 3600.0
"""Seconds for which a file that nothing here names, or the beginning of one, outlives the host."""

DISK_JOBS: Final = 4

logger = logging.getLogger(__name__)

T = TypeVar("T")
Done: TypeAlias = Callable[[Errand, ServerFrame, FileRef | None], None]
_Key: TypeAlias = tuple[str, str]
_Answer: TypeAlias = tuple[ServerFrame, FileRef | None]


def stock(blobs: BlobStore, files: Iterable[FileRef], now: float) -> dict[str, FileRef]:
    """Take stock before a room opens: the complete files that there are, by digest. Blocks.

    What none of the room's `files` is, and was not sent within the last hour before `now` (seconds
    since the epoch), is removed.

    Raises:
        DiskFailure: the folder can't be used.

    """
    named = {file.digest: file for file in files}
    blobs.prune(named.keys(), before=now - LEFTOVER)
    known: dict[str, FileRef] = {}
    for digest, size in blobs.digests().items():
        media = named[digest].media if digest in named else ""
        known[digest] = FileRef(digest, digest[:12], size, media or _sniff(blobs, digest))
    return known


@dataclass(slots=True)
class _Upload:
    """A file that somebody is sending, or was; `at` is when something last came."""

    size: int
    at: float


class Depot:
    """Does what peers ask of the room's files; `known` are those that are complete.

    All methods belong to one event loop. What is refused stays refused only as long as its cause:
    space can be freed, and uploads end.
    """

    def __init__(
        self,
        blobs: BlobStore,
        known: Mapping[str, FileRef],
        limits: Limits | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._blobs = blobs
        self._known = dict(known)
        self._limits = limits or Limits()
        self._clock = clock
        self._used = sum(on_disk(file.size) for file in known.values())
        self._used_by: Counter[str] = Counter()
        self._uploads: dict[_Key, _Upload] = {}
        self._waiting: dict[int, deque[tuple[Errand, Done]]] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._gate = asyncio.Semaphore(DISK_JOBS)
        self._closed = False
        blobs.limit = self._limits.file_bytes

    @property
    def known(self) -> Mapping[str, FileRef]:
        """The complete files, by digest; their names are of no meaning."""
        return self._known

    def take(self, errand: Errand, done: Done) -> None:
        """Do something with a file, without waiting.

        `done` is called once, on the event loop: with what the peer is to be told, and with the
        file if the errand made it complete.
        """
        if self._closed:
            done(errand, _refused(errand, "suspended", "the room is closing"), None)
            return
        queue = self._waiting.get(errand.peer)
        if queue is not None:
            queue.append((errand, done))
            return
        self._waiting[errand.peer] = deque([(errand, done)])
        worker = start_task(self._work(errand.peer), name="room files")
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def aclose(self) -> None:
        """Finish what is under way, refuse what waits, and take nothing more."""
        self._closed = True
        while self._workers:
            await asyncio.wait(self._workers)

    async def _work(self, peer: int) -> None:
        queue = self._waiting[peer]
        try:
            while queue:
                errand, done = queue.popleft()
                answer, file = await self._answer(errand)
                done(errand, answer, file)
        finally:
            del self._waiting[peer]

    async def _answer(self, errand: Errand) -> _Answer:
        if self._closed:
            return _refused(errand, "suspended", "the room is closing"), None
        try:
            return await self._do(errand)
        except BlobTooLarge as error:
            self._forget(errand)
            return _refused(errand, "too_large", str(error)), None
        except DamagedBlob as error:
            self._forget(errand)
            return _refused(errand, "corrupt", str(error)), None
        except UnknownBlob:
            self._lose(errand.frame.digest)
            return _refused(errand, "unknown_file", "the host does not have this file"), None
        except InvalidDigest as error:
            return _refused(errand, "malformed", str(error)), None
        except StorageError:
            logger.warning("an errand with a file failed", exc_info=True)
            return _refused(errand, "disk", "the host's disk does not take or give files"), None
        except Exception:  # one errand must not end the peer's others
            logger.exception("an errand with a file broke")
            return _refused(errand, "disk", "the host's program failed; its log has more"), None

    async def _do(self, errand: Errand) -> _Answer:
        match errand.frame:
            case StoreFile(digest=digest, size=size):
                return await self._begin(errand, digest, size)
            case Chunk(digest=digest, offset=offset, data=data):
                return await self._add(errand, digest, offset, data)
            case FetchFile(digest=digest, offset=offset):
                return await self._piece(errand, digest, offset), None

    # -- files that come

    async def _begin(self, errand: Errand, digest: str, size: int) -> _Answer:
        if digest in self._known:
            return FileStored(digest, self._known[digest].size), None
        key = (errand.name, digest)
        if key not in self._uploads or self._uploads[key].size != size:
            await self._evict(key)
            if refusal := self._objection(errand, size):
                return refusal, None
            self._uploads[key] = _Upload(size, self._clock())
            if not await self._has_room():
                text = f"the room keeps {self._limits.files_bytes:,} bytes of files at most"
                return await self._drop(errand, "no_space", text)
        self._uploads[key].at = self._clock()
        have = await self._on_disk(lambda: self._blobs.begin(digest, size, errand.name))
        if have < size:
            return FileStored(digest, have), None
        return await self._complete(errand, digest, size)

    async def _add(self, errand: Errand, digest: str, offset: int, data: bytes) -> _Answer:
        if digest in self._known:
            return FileStored(digest, self._known[digest].size), None
        upload = self._uploads.get((errand.name, digest))
        if upload is None:
            return _refused(errand, "out_of_state", "say first which file it is a part of"), None
        if not (0 <= offset < offset + len(data) <= upload.size):
            return await self._drop(errand, "malformed", "this is no part of a file of that size")
        upload.at = self._clock()
        have = await self._on_disk(lambda: self._blobs.write(digest, offset, data, errand.name))
        if have < upload.size:
            return FileStored(digest, have), None
        await self._on_disk(lambda: self._blobs.finish(digest, upload.size, errand.name))
        return await self._complete(errand, digest, upload.size)

    async def _complete(self, errand: Errand, digest: str, size: int) -> _Answer:
        media = await self._on_disk(lambda: _sniff(self._blobs, digest))
        self._uploads.pop((errand.name, digest), None)
        if digest in self._known:  # another person has sent it meanwhile
            return FileStored(digest, size), None
        file = self._known[digest] = FileRef(digest, digest[:12], size, media)
        self._used += on_disk(size)
        self._used_by[errand.name] += on_disk(size)
        for key in [key for key in self._uploads if key[1] == digest]:
            await self._evict(key)
        return FileStored(digest, size), file

    def _forget(self, errand: Errand) -> None:
        """Take note that the store has thrown away what had arrived."""
        self._uploads.pop((errand.name, errand.frame.digest), None)

    def _lose(self, digest: str) -> None:
        """Take note that a file that was complete has vanished, so that it may be brought again."""
        file = self._known.pop(digest, None)
        if file is not None:
            self._used -= on_disk(file.size)

    async def _drop(self, errand: Errand, code: Refusal, text: str) -> _Answer:
        await self._evict((errand.name, errand.frame.digest))
        return _refused(errand, code, text), None

    # -- space

    def _objection(self, errand: Errand, size: int) -> FrameRefused | None:
        name, now = errand.name, self._clock()
        most = self._limits.file_bytes
        if not 0 < size <= most:
            return _refused(errand, "too_large", f"this room takes files of 1 to {most:,} bytes")
        mine = [upload for key, upload in self._uploads.items() if key[0] == name]
        if sum(now - upload.at < IDLE for upload in mine) >= UPLOADS:
            return _refused(errand, "too_fast", "you are sending many files; one after another")
        share = max(self._limits.files_bytes // SHARE, on_disk(most))
        if self._used_by[name] + _reserved(mine) + on_disk(size) > share:
            return _refused(errand, "no_space", "your files take up your share of the room's space")
        return None

    async def _has_room(self) -> bool:
        """Whether everything has room that is stored or being sent.

        If not, beginnings of files are removed that nobody goes on with, the oldest first.
        """
        now = self._clock()
        idle = [key for key, upload in self._uploads.items() if now - upload.at >= IDLE]
        for key in sorted(idle, key=lambda key: self._uploads[key].at):
            if self._fits():
                break
            await self._evict(key)
        return self._fits()

    def _fits(self) -> bool:
        return self._used + _reserved(self._uploads.values()) <= self._limits.files_bytes

    async def _evict(self, key: _Key) -> None:
        if self._uploads.pop(key, None) is not None:
            await self._on_disk(lambda: self._blobs.remove(key[1], key[0]))

    # -- files that go

    async def _piece(self, errand: Errand, digest: str, offset: int) -> ServerFrame:
        file = self._known.get(digest)
        if file is None:
            raise UnknownBlob(digest)
        if not 0 <= offset < file.size:
            return _refused(errand, "malformed", f"the file has {file.size:,} bytes")
        data = await self._on_disk(lambda: self._blobs.read(digest, offset, CHUNK_BYTES))
        return FilePiece(digest, offset, data, file.size)

    async def _on_disk(self, call: Callable[[], T]) -> T:
        async with self._gate:
            return await off_loop(call, "room files")


def _reserved(uploads: Iterable[_Upload]) -> int:
    return sum(on_disk(upload.size) for upload in uploads)


def _refused(errand: Errand, code: Refusal, text: str) -> FrameRefused:
    return FrameRefused(code, text, errand.frame.digest)


def _sniff(blobs: BlobStore, digest: str) -> str:
    return media_type(blobs.read(digest, 0, HEAD_BYTES))
