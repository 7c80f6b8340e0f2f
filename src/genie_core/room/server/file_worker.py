"""The host's store of attached files, and the disk work that peers ask for.

Each peer's jobs run one after another, with at most a chunk of each in memory; only a few together
touch the disk, in threads. An error in a job becomes the answer to its peer.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Final, Protocol, TypeAlias, TypeVar

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
from genie_core.room.protocol.limits import CHUNK_BYTES, Limits
from genie_core.room.protocol.media import HEAD_BYTES, media_type
from genie_core.room.server.file_requests import FileJob
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.storage.atomic import make_private_folder
from genie_core.storage.blobs import LEFTOVER, BlobStore, on_disk
from genie_core.storage.errors import (
    BlobTooLarge,
    DamagedBlob,
    InvalidDigest,
    StorageError,
    UnknownBlob,
)

UPLOADS: Final = 8
"""How many files one person may be sending side by side, from all their terminals."""

SHARE: Final = 4
"""One person may fill one part in so many of the room's space until it is opened again."""

IDLE: Final = 60.0
"""Seconds without a chunk after which an unfinished upload may be removed for space."""

DISK_JOBS: Final = 4

logger = logging.getLogger(__name__)

T = TypeVar("T")
Done: TypeAlias = Callable[[FileJob, ServerFrame, FileRef | None], None]


@dataclass(frozen=True, slots=True)
class SharedFiles:
    """Where the files of a room are kept too, so that another machine can serve them.

    Both calls take a digest and a path of this machine: `put` stores the file at the path, `get`
    writes the file there, or returns False if the store does not have it. They raise an `OSError`
    if the store does not answer.
    """

    put: Callable[[str, str], Awaitable[None]]
    get: Callable[[str, str], Awaitable[bool]]


_Key: TypeAlias = tuple[str, str]
_Answer: TypeAlias = tuple[ServerFrame, FileRef | None]


def complete_files(blobs: BlobStore, files: Iterable[FileRef], now: float) -> dict[str, FileRef]:
    """The complete files of a room by digest, after removing old leftovers. Blocks.

    Leftovers are none of the room's `files`, and older than an hour at `now` (seconds since the
    epoch).

    Raises:
        DiskFailure: the folder can't be used.
    """
    named = {file.digest: file for file in files}
    blobs.prune(named.keys(), before=now - LEFTOVER)
    known: dict[str, FileRef] = {}
    for digest, size in blobs.digests().items():
        media = named[digest].media if digest in named else ""
        known[digest] = FileRef(digest, digest[:12], size, media or _media_of(blobs, digest))
    return known


class FileSpace(Protocol):
    """A limit on the files of a room beside its own ones; sizes are in bytes."""

    def note_files(self, size: int) -> None:
        """Record the size of all files, of those that are being sent, too."""

    def fits(self, files: int) -> bool:
        """Whether all files may take so much."""


async def open_file_worker(
    blobs: BlobStore,
    named: Iterable[FileRef],
    limits: Limits,
    space: FileSpace | None = None,
    shared: SharedFiles | None = None,
) -> "FileWorker":
    """Open the store of a room's files; `named` are those of messages and drafts.

    Named files that are not on this machine are fetched from the `shared` ones, if there are such,
    when a member asks for them.

    Raises:
        DiskFailure: the folder can't be used.
    """
    named = list(named)
    known = await asyncio.to_thread(complete_files, blobs, named, time.time())
    lacking = {file.digest: file for file in named if file.digest not in known}
    elsewhere = lacking if shared is not None else {}
    return FileWorker(
        blobs, {**elsewhere, **known}, limits, space=space, shared=shared, elsewhere=elsewhere
    )


@dataclass(slots=True)
class _Unfinished:
    """A file that a member is sending, or was; `at` is when the last chunk came."""

    size: int
    at: float


class FileWorker:
    """Does the jobs of peers; `known` are the complete files, `space` limits them further.

    A file is complete for members once the `shared` store has it, if there is one; those
    `elsewhere` are only there.

    All methods belong to one event loop. A refusal lasts only as long as its cause: space can be
    freed, and uploads end.
    """

    def __init__(
        self,
        blobs: BlobStore,
        known: Mapping[str, FileRef],
        limits: Limits | None = None,
        clock: Callable[[], float] = monotonic,
        space: FileSpace | None = None,
        shared: SharedFiles | None = None,
        elsewhere: Iterable[str] = (),
    ) -> None:
        self._blobs = blobs
        self._shared = shared
        self._elsewhere = set(elsewhere)
        self._known = dict(known)
        self._limits = limits or Limits()
        self._clock = clock
        self._used = sum(on_disk(file.size) for file in known.values())
        self._used_by: Counter[str] = Counter()
        self._uploads: dict[_Key, _Unfinished] = {}
        self._waiting: dict[int, deque[tuple[FileJob, Done]]] = {}
        self._workers: set[asyncio.Task[None]] = set()
        self._gate = asyncio.Semaphore(DISK_JOBS)
        self._fetching = asyncio.Lock()
        self._closed = False
        self._space = space
        self._note_size()
        blobs.limit = self._limits.file_bytes

    @property
    def known(self) -> Mapping[str, FileRef]:
        """The complete files by digest; ignore their names."""
        return self._known

    def take(self, job: FileJob, done: Done) -> None:
        """Begin a job, without waiting.

        `done` is called once, on the event loop: with the answer to the peer, and with the file if
        the job completed it.
        """
        if self._closed:
            done(job, _refused(job, "suspended", "the room is closing"), None)
            return
        queue = self._waiting.get(job.peer)
        if queue is not None:
            queue.append((job, done))
            return
        self._waiting[job.peer] = deque([(job, done)])
        worker = start_task(self._work(job.peer), name="room files")
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)

    async def aclose(self) -> None:
        """Finish running jobs, refuse waiting ones, and accept no more."""
        self._closed = True
        while self._workers:
            await asyncio.wait(self._workers)

    async def _work(self, peer: int) -> None:
        queue = self._waiting[peer]
        try:
            while queue:
                job, done = queue.popleft()
                answer, file = await self._answer(job)
                done(job, answer, file)
        finally:
            del self._waiting[peer]

    async def _answer(self, job: FileJob) -> _Answer:
        if self._closed:
            return _refused(job, "suspended", "the room is closing"), None
        try:
            return await self._do(job)
        except BlobTooLarge as error:
            self._forget(job)
            return _refused(job, "too_large", str(error)), None
        except DamagedBlob as error:
            self._forget(job)
            return _refused(job, "corrupt", str(error)), None
        except UnknownBlob:
            self._lose(job.frame.digest)
            return _refused(job, "unknown_file", "the host does not have this file"), None
        except InvalidDigest as error:
            return _refused(job, "malformed", str(error)), None
        except (StorageError, OSError):
            logger.warning("a file job failed", exc_info=True)
            return _refused(job, "disk", "the host's disk does not take or give files"), None
        except Exception:  # one job must not end the peer's others
            logger.exception("a file job broke")
            return _refused(job, "disk", "the host's program failed; its log has more"), None

    async def _do(self, job: FileJob) -> _Answer:
        match job.frame:
            case StoreFile(digest=digest, size=size):
                return await self._begin(job, digest, size)
            case Chunk(digest=digest, offset=offset, data=data):
                return await self._add(job, digest, offset, data)
            case FetchFile(digest=digest, offset=offset):
                return await self._piece(job, digest, offset), None

    # -- files that come

    async def _begin(self, job: FileJob, digest: str, size: int) -> _Answer:
        if digest in self._known:
            return FileStored(digest, self._known[digest].size), None
        key = (job.name, digest)
        if key not in self._uploads or self._uploads[key].size != size:
            await self._evict(key)
            if refusal := self._objection(job, size):
                return refusal, None
            self._uploads[key] = _Unfinished(size, self._clock())
            if not await self._has_space():
                text = f"the room keeps {self._limits.files_bytes:,} bytes of files at most"
                if self._space is not None and self._size <= self._limits.files_bytes:
                    text = "the host has no more space for files"
                return await self._drop(job, "no_space", text)
            self._note_size()
        self._uploads[key].at = self._clock()
        have = await self._on_disk(lambda: self._blobs.begin(digest, size, job.name))
        if have < size:
            return FileStored(digest, have), None
        return await self._complete(job, digest, size)

    async def _add(self, job: FileJob, digest: str, offset: int, data: bytes) -> _Answer:
        if digest in self._known:
            return FileStored(digest, self._known[digest].size), None
        upload = self._uploads.get((job.name, digest))
        if upload is None:
            return _refused(job, "out_of_state", "say first which file it is a part of"), None
        if not (0 <= offset < offset + len(data) <= upload.size):
            return await self._drop(job, "malformed", "this is no part of a file of that size")
        upload.at = self._clock()
        have = await self._on_disk(lambda: self._blobs.write(digest, offset, data, job.name))
        if have < upload.size:
            return FileStored(digest, have), None
        await self._on_disk(lambda: self._blobs.finish(digest, upload.size, job.name))
        return await self._complete(job, digest, upload.size)

    async def _complete(self, job: FileJob, digest: str, size: int) -> _Answer:
        media = await self._on_disk(lambda: _media_of(self._blobs, digest))
        if self._shared is not None:
            await self._shared.put(digest, str(self._blobs.path(digest)))
        self._uploads.pop((job.name, digest), None)
        if digest in self._known:  # another person has sent it meanwhile
            return FileStored(digest, size), None
        file = self._known[digest] = FileRef(digest, digest[:12], size, media)
        self._used += on_disk(size)
        self._used_by[job.name] += on_disk(size)
        self._note_size()
        for key in [key for key in self._uploads if key[1] == digest]:
            await self._evict(key)
        return FileStored(digest, size), file

    def _forget(self, job: FileJob) -> None:
        """Forget a partial file that the store deleted."""
        self._uploads.pop((job.name, job.frame.digest), None)
        self._note_size()

    def _lose(self, digest: str) -> None:
        """Forget a complete file that vanished, so that it can be sent again."""
        file = self._known.pop(digest, None)
        if file is not None:
            self._used -= on_disk(file.size)
            self._note_size()

    async def _drop(self, job: FileJob, code: Refusal, text: str) -> _Answer:
        await self._evict((job.name, job.frame.digest))
        return _refused(job, code, text), None

    # -- space

    def _objection(self, job: FileJob, size: int) -> FrameRefused | None:
        name, now = job.name, self._clock()
        most = self._limits.file_bytes
        if not 0 < size <= most:
            return _refused(job, "too_large", f"this room takes files of 1 to {most:,} bytes")
        mine = [upload for key, upload in self._uploads.items() if key[0] == name]
        if sum(now - upload.at < IDLE for upload in mine) >= UPLOADS:
            return _refused(job, "too_fast", "you are sending many files; one after another")
        share = max(self._limits.files_bytes // SHARE, on_disk(most))
        if self._used_by[name] + _reserved(mine) + on_disk(size) > share:
            return _refused(job, "no_space", "your files take up your share of the room's space")
        return None

    async def _has_space(self) -> bool:
        """Whether there is space for all files that are stored or being sent.

        If not, remove unfinished uploads that are idle, the oldest first.
        """
        now = self._clock()
        idle = [key for key, upload in self._uploads.items() if now - upload.at >= IDLE]
        for key in sorted(idle, key=lambda key: self._uploads[key].at):
            if self._fits():
                break
            await self._evict(key)
        return self._fits()

    def _fits(self) -> bool:
        if self._size > self._limits.files_bytes:
            return False
        return self._space is None or self._space.fits(self._size)

    @property
    def _size(self) -> int:
        return self._used + _reserved(self._uploads.values())

    def _note_size(self) -> None:
        if self._space is not None:
            self._space.note_files(self._size)

    async def _evict(self, key: _Key) -> None:
        if self._uploads.pop(key, None) is not None:
            self._note_size()
            await self._on_disk(lambda: self._blobs.remove(key[1], key[0]))

    # -- files that go

    async def _piece(self, job: FileJob, digest: str, offset: int) -> ServerFrame:
        file = self._known.get(digest)
        if file is None:
            raise UnknownBlob(digest)
        if not 0 <= offset < file.size:
            return _refused(job, "malformed", f"the file has {file.size:,} bytes")
        if digest in self._elsewhere:
            await self._fetch(digest)
        data = await self._on_disk(lambda: self._blobs.read(digest, offset, CHUNK_BYTES))
        return FilePiece(digest, offset, data, file.size)

    async def _fetch(self, digest: str) -> None:
        """Bring a file to this machine; one that is not there is unknown from now on."""
        path = self._blobs.path(digest)
        async with self._fetching:
            if digest in self._elsewhere and self._shared is not None:
                await self._on_disk(lambda: make_private_folder(path.parent))
                if not await self._shared.get(digest, str(path)):
                    raise UnknownBlob(digest)
                self._elsewhere.discard(digest)

    async def _on_disk(self, call: Callable[[], T]) -> T:
        async with self._gate:
            return await off_loop(call, "room files")


def _reserved(uploads: Iterable[_Unfinished]) -> int:
    return sum(on_disk(upload.size) for upload in uploads)


def _refused(job: FileJob, code: Refusal, text: str) -> FrameRefused:
    return FrameRefused(code, text, job.frame.digest)


def _media_of(blobs: BlobStore, digest: str) -> str:
    return media_type(blobs.read(digest, 0, HEAD_BYTES))
