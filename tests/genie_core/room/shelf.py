"""A participant's files and the host's, without a disk."""

from collections.abc import Callable, Iterable
from pathlib import Path

from genie_core.room.files.sync import FileSync
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.protocol.events import Event, FileRef
from genie_core.room.protocol.frames import (
    ClientFrame,
    FilePiece,
    FileStored,
    FrameRefused,
    ServerFrame,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.server.file_requests import FileJob
from genie_core.room.server.file_worker import FileWorker
from genie_core.storage.blobs import BlobStore


class Shelf(FileSync):
    """A library whose files arrive at the host when the test says so."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.brought: list[str] = []
        self.dropped: list[str] = []
        self.sent: set[str] = set()
        self.gone: set[str] = set()
        self.report: Callable[[Transfer], None] = lambda _: None

    def arrive(self, digest: str) -> None:
        self.sent.add(digest)
        self.report(Transfer(digest, "f", Direction.UP, 5, 5))

    def start(self, ask: Callable[[ClientFrame], bool], report: Callable[[Transfer], None]) -> None:
        self.report = report

    async def attach(self, path: Path) -> FileRef:
        raise NotImplementedError

    def resend(self, file: FileRef) -> bool:
        self.brought.append(file.digest)
        return file.digest not in self.gone

    def path(self, digest: str) -> Path | None:
        return self.folder / digest if self.has(digest) else None

    def has(self, digest: str) -> bool:
        return digest in self.sent

    def is_sent(self, digest: str) -> bool:
        return digest in self.sent

    def cancel(self, digest: str) -> None:
        self.dropped.append(digest)

    def expect(self, files: Iterable[FileRef]) -> None: ...
    def on_event(self, event: Event) -> None: ...
    def on_answer(self, answer: FileStored | FilePiece | FrameRefused) -> None: ...
    def on_online(self, limits: Limits) -> None: ...
    def on_offline(self) -> None: ...
    async def aclose(self) -> None: ...


class Store(FileWorker):
    """The host's files: all that are ever named are there."""

    def __init__(self, *files: FileRef) -> None:
        super().__init__(BlobStore(Path()), {file.digest: file for file in files})

    def take(
        self, job: FileJob, done: Callable[[FileJob, ServerFrame, FileRef | None], None]
    ) -> None:
        raise NotImplementedError

    async def aclose(self) -> None: ...
