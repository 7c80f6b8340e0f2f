"""The requests of peers for the room's files; `FileWorker` does the disk work."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from genie_core.room.protocol.events import DIGEST_CHARS, FILE_NAME_CHARS, FileRef, is_digest
from genie_core.room.protocol.frames import (
    Chunk,
    FetchFile,
    FilePiece,
    FileStored,
    FrameRefused,
    ServerFrame,
    StoreFile,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.server.peers import Peer, PeerRegistry
from genie_core.storage.filenames import safe_name

MAX_JOBS: Final = 8
"""How many jobs of one peer may wait, or as pieces wait to be read. A client that asks one by one
needs one."""

FileFrame: TypeAlias = StoreFile | Chunk | FetchFile


@dataclass(frozen=True, slots=True)
class FileJob:
    """Work on the room's files that a peer asked for."""

    peer: int
    name: str
    frame: FileFrame


class FileRequests:
    """Checks requests of peers for the room's files, and knows which files are complete.

    Each job is answered later by exactly one frame.
    """

    def __init__(self, peers: PeerRegistry, limits: Limits, files: Mapping[str, FileRef]) -> None:
        self._peers = peers
        self._limits = limits
        self._files = dict(files)
        self._waiting: deque[FileJob] = deque()
        self._open: dict[int, int] = {}

    def ask(self, peer: Peer, frame: FileFrame) -> None:
        """Queue a request, or refuse an invalid one immediately."""
        objection = self._objection(peer, frame)
        if objection is not None:
            self._refuse(peer, objection)
        elif isinstance(frame, StoreFile) and frame.digest in self._files:
            self._peers.reply(peer, FileStored(frame.digest, self._files[frame.digest].size))
        else:
            self._open[peer.id] = self._open.get(peer.id, 0) + 1
            self._waiting.append(FileJob(peer.id, peer.name, frame))

    def take_jobs(self) -> list[FileJob]:
        """Take the queued jobs."""
        jobs = list(self._waiting)
        self._waiting.clear()
        return jobs

    def answer(self, job: FileJob, answer: ServerFrame) -> None:
        """Send a job's result to its peer."""
        left = self._open.get(job.peer, 0) - 1
        if left > 0:
            self._open[job.peer] = left
        else:
            self._open.pop(job.peer, None)
        peer = self._peers.get(job.peer)
        if peer is None or not peer.name:
            return
        if isinstance(answer, FrameRefused):
            if answer.code == "unknown_file":  # it was there; a member may send it again
                self._files.pop(answer.ref, None)
            self._refuse(peer, answer)
        else:
            peer.strikes = 0
            self._peers.reply(peer, answer)

    def forget(self, peer: Peer) -> None:
        """Drop the requests of a peer that left."""
        self._open.pop(peer.id, None)
        self._waiting = deque(each for each in self._waiting if each.peer != peer.id)

    def add(self, file: FileRef) -> None:
        """Record a complete file."""
        self._files[file.digest] = file

    def as_stored(self, files: tuple[FileRef, ...]) -> tuple[FileRef, ...] | str:
        """The files of a message as the room knows them, or the digest of one it lacks.

        Only the name is the sender's word; size and type are those of the content.
        """
        found: list[FileRef] = []
        for file in files:
            known = self._files.get(file.digest)
            if known is None:
                return file.digest[:DIGEST_CHARS]
            name = safe_name(file.name[:FILE_NAME_CHARS])
            found.append(FileRef(known.digest, name, known.size, known.media))
        return tuple(found)

    def _refuse(self, peer: Peer, refused: FrameRefused) -> None:
        """Refuse a request; without a strike if the host lacks a file that old messages name."""
        if refused.code == "unknown_file":
            self._peers.reply(peer, refused)
        else:
            self._peers.refuse(peer, refused.code, refused.text, refused.ref)

    def _objection(self, peer: Peer, frame: FileFrame) -> FrameRefused | None:
        digest = frame.digest
        if not is_digest(digest):
            return FrameRefused("malformed", "a file is named by its SHA-256 in hex")
        unread = sum(isinstance(reply, FilePiece) for reply in peer.replies)
        if self._open.get(peer.id, 0) + unread >= MAX_JOBS:
            return FrameRefused("too_fast", "wait for the answers about files", digest)
        if isinstance(frame, FetchFile):
            if digest not in self._files:
                return FrameRefused("unknown_file", "the host does not have this file", digest)
            if frame.offset < 0:
                return FrameRefused("malformed", "no part of a file begins there", digest)
            return None
        if isinstance(frame, Chunk):
            return None
        most = self._limits.file_bytes
        if not 0 < frame.size <= most:
            why = f"a file of {frame.size:,} bytes; this room takes 1 to {most:,}"
            return FrameRefused("too_large", why, digest)
        return None
