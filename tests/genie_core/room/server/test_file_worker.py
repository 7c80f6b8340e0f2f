import asyncio
import errno
import hashlib
import os
import random
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from genie_core.room.files.transfer import files_of
from genie_core.room.protocol.events import Event, FileRef, MessagePosted
from genie_core.room.protocol.frames import (
    Chunk,
    FetchFile,
    FilePiece,
    FileStored,
    FrameRefused,
    ServerFrame,
    StoreFile,
)
from genie_core.room.protocol.limits import CHUNK_BYTES, Limits
from genie_core.room.server.file_requests import FileFrame, FileJob
from genie_core.room.server.file_worker import IDLE, UPLOADS, FileWorker, complete_files
from genie_core.storage.blobs import LEFTOVER, BlobStore, on_disk

KIB = 1024
LIMITS = Limits(file_bytes=400 * KIB, files_bytes=1600 * KIB)
TEXT = b"hello\n"


def some(seed: int, size: int = 250 * KIB) -> tuple[str, bytes]:
    data = random.Random(seed).randbytes(size)
    return hashlib.sha256(data).hexdigest(), data


class Desk:
    """Hands jobs to a worker as the room would, and waits for what comes of them."""

    def __init__(self, folder: Path, limits: Limits = LIMITS) -> None:
        self.now = 0.0
        self.blobs = BlobStore(folder)
        known = complete_files(self.blobs, (), 0.0)
        self.worker = FileWorker(self.blobs, known, limits, clock=lambda: self.now)
        self.arrived: list[FileRef] = []

    def ask(
        self, frame: FileFrame, peer: int = 1, name: str = "alice"
    ) -> "asyncio.Future[ServerFrame]":
        answer: asyncio.Future[ServerFrame] = asyncio.get_running_loop().create_future()

        def done(_job: FileJob, frame: ServerFrame, file: FileRef | None) -> None:
            if file is not None:
                self.arrived.append(file)
            answer.set_result(frame)

        self.worker.take(FileJob(peer, name, frame), done)
        return answer

    async def send(self, digest: str, data: bytes, name: str = "alice") -> ServerFrame:
        answer = await self.ask(StoreFile(digest, len(data)), name=name)
        while isinstance(answer, FileStored) and answer.have < len(data):
            at = answer.have
            answer = await self.ask(Chunk(digest, at, data[at : at + CHUNK_BYTES]), name=name)
        return answer

    async def fetch(self, digest: str) -> bytes:
        data = b""
        while True:
            piece = await self.ask(FetchFile(digest, len(data)), name="bob")
            assert isinstance(piece, FilePiece)
            data += piece.data
            if len(data) == piece.size:
                return data


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path / "blobs")
    yield desk
    await desk.worker.aclose()


def code(answer: ServerFrame) -> str:
    assert isinstance(answer, FrameRefused)
    return answer.code


async def test_file_is_stored_checked_and_served(desk: Desk) -> None:
    digest, data = some(1)
    assert await desk.send(digest, data) == FileStored(digest, len(data))
    assert desk.arrived == [FileRef(digest, digest[:12], len(data), "application/octet-stream")]
    assert desk.worker.known == {digest: desk.arrived[0]}
    assert await desk.fetch(digest) == data


async def test_media_type_follows_content(desk: Desk) -> None:
    await desk.send(hashlib.sha256(TEXT).hexdigest(), TEXT)
    assert [file.media for file in desk.arrived] == ["text/plain"]


async def test_a_file_that_is_there_is_not_sent_again(desk: Desk) -> None:
    digest, data = some(1)
    await desk.send(digest, data)
    assert await desk.ask(StoreFile(digest, len(data)), name="bob") == FileStored(digest, len(data))
    assert await desk.ask(Chunk(digest, 0, b"junk"), name="bob") == FileStored(digest, len(data))
    assert len(desk.arrived) == 1


async def test_file_already_in_folder_is_stored(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    digest, size = desk.blobs.add(tmp_path / "a.txt")  # as the host's own terminal does
    assert await desk.ask(StoreFile(digest, size)) == FileStored(digest, size)
    assert [file.digest for file in desk.arrived] == [digest]


async def test_upload_resumes_after_cut(desk: Desk) -> None:
    digest, data = some(1)
    await desk.ask(StoreFile(digest, len(data)))
    await desk.ask(Chunk(digest, 0, data[:CHUNK_BYTES]))
    assert await desk.ask(StoreFile(digest, len(data)), peer=2) == FileStored(digest, CHUNK_BYTES)
    assert await desk.send(digest, data) == FileStored(digest, len(data))


async def test_damaged_file_can_be_resent(desk: Desk) -> None:
    digest, data = some(1)
    assert code(await desk.send(digest, data[:-1] + b"!")) == "corrupt"
    assert desk.arrived == []
    assert desk.blobs.total() == 0
    assert await desk.send(digest, data) == FileStored(digest, len(data))


async def test_nobody_spoils_what_somebody_else_sends(desk: Desk) -> None:
    digest, data = some(1)
    await desk.ask(StoreFile(digest, len(data)))
    await desk.ask(Chunk(digest, 0, data[:CHUNK_BYTES]))
    assert code(await desk.send(digest, b"junk" * 9, name="mallory")) == "corrupt"
    assert await desk.ask(StoreFile(digest, len(data))) == FileStored(digest, CHUNK_BYTES)
    assert await desk.send(digest, data) == FileStored(digest, len(data))


async def test_two_senders_both_get_stored(desk: Desk) -> None:
    digest, data = some(1)
    answers = await asyncio.gather(desk.send(digest, data), desk.send(digest, data, name="bob"))
    assert list(answers) == [FileStored(digest, len(data))] * 2
    assert len(desk.arrived) == 1
    assert list(desk.blobs.digests()) == [digest]


async def test_complete_file_drops_partials(desk: Desk) -> None:
    digest, data = some(1)
    await desk.ask(StoreFile(digest, len(data)), name="bob")
    await desk.ask(Chunk(digest, 0, data[:CHUNK_BYTES]), name="bob")
    await desk.send(digest, data)
    assert desk.blobs.total() == on_disk(len(data))


@pytest.mark.parametrize(
    ("offset", "data"), [(-1, b"x"), (0, b""), (0, b"x" * 11), (10, b"x"), (2**62, b"x")]
)
async def test_chunk_out_of_bounds_ends_upload(desk: Desk, offset: int, data: bytes) -> None:
    digest, _ = some(1)
    await desk.ask(StoreFile(digest, 10))
    assert code(await desk.ask(Chunk(digest, offset, data))) == "malformed"
    assert code(await desk.ask(Chunk(digest, 0, b"x"))) == "out_of_state"


async def test_senseless_frames_are_refused(desk: Desk) -> None:
    digest, data = some(1)
    await desk.send(digest, data)
    other = "0" * 64
    cases: list[tuple[FileFrame, str]] = [
        (StoreFile("../../etc/passwd", 10), "malformed"),
        (StoreFile("A" * 64, 10), "malformed"),
        (StoreFile(other, 0), "too_large"),
        (StoreFile(other, -1), "too_large"),
        (StoreFile(other, 400 * KIB + 1), "too_large"),
        (Chunk(other, 0, b"x"), "out_of_state"),
        (FetchFile(other, 0), "unknown_file"),
        (FetchFile(digest, -1), "malformed"),
        (FetchFile(digest, len(data)), "malformed"),
        (FetchFile("/dev/zero", 0), "unknown_file"),
    ]
    for frame, refusal in cases:
        answer = await desk.ask(frame)
        assert code(answer) == refusal
        assert isinstance(answer, FrameRefused)
        assert answer.ref == frame.digest
        assert not answer.final
    assert list(desk.blobs.digests()) == [digest]


async def test_nobody_sends_too_many_files_at_once(desk: Desk) -> None:
    for number in range(UPLOADS):
        assert await desk.ask(StoreFile(f"{number:064x}", 100)) == FileStored(f"{number:064x}", 0)
    assert code(await desk.ask(StoreFile("f" * 64, 100))) == "too_fast"
    assert isinstance(await desk.ask(StoreFile("f" * 64, 100), name="bob"), FileStored)
    assert await desk.ask(StoreFile(f"{0:064x}", 100)) == FileStored(f"{0:064x}", 0)
    desk.now += IDLE
    assert isinstance(await desk.ask(StoreFile("f" * 64, 100)), FileStored)


async def test_one_person_fills_their_share_only(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert isinstance(await desk.send(*some(1)), FileStored)
    assert code(await desk.send(*some(2))) == "no_space"
    assert isinstance(await desk.send(*some(2), name="bob"), FileStored)
    await desk.worker.aclose()


async def test_full_room_refuses_all_files(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Limits(file_bytes=400 * KIB, files_bytes=700 * KIB))
    assert isinstance(await desk.send(*some(1), name="alice"), FileStored)
    assert isinstance(await desk.send(*some(2), name="bob"), FileStored)
    assert code(await desk.send(*some(3), name="carol")) == "no_space"
    await desk.worker.aclose()
    again = Desk(tmp_path, Limits(file_bytes=400 * KIB, files_bytes=700 * KIB))
    assert code(await again.send(*some(3), name="carol")) == "no_space"
    assert isinstance(await again.send(*some(4, 100 * KIB), name="carol"), FileStored)
    await again.worker.aclose()


async def test_idle_partials_make_way(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, Limits(file_bytes=400 * KIB, files_bytes=1000 * KIB))
    for number, name in enumerate(("alice", "bob", "carol")):
        digest, data = some(number)
        await desk.ask(StoreFile(digest, len(data)), name=name)
        await desk.ask(Chunk(digest, 0, data[:CHUNK_BYTES]), name=name)
    digest, data = some(9, 300 * KIB)
    assert code(await desk.send(digest, data, name="hana")) == "no_space"
    desk.now += IDLE - 1
    await desk.ask(StoreFile(some(0)[0], 250 * KIB), name="alice")
    desk.now += 2
    assert isinstance(await desk.send(digest, data, name="hana"), FileStored)
    again = [
        await desk.ask(StoreFile(some(n)[0], 250 * KIB), name=name)
        for n, name in [(0, "alice"), (2, "carol")]
    ]
    assert [answer.have for answer in again if isinstance(answer, FileStored)] == [CHUNK_BYTES] * 2
    assert desk.blobs.have(some(1)[0], from_="bob") == 0
    await desk.worker.aclose()


async def test_a_full_disk_is_told_and_breaks_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest, data = some(1)
    await desk.ask(StoreFile(digest, len(data)))

    def write(_descriptor: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        assert code(await desk.ask(Chunk(digest, 0, data[:CHUNK_BYTES]))) == "disk"
    assert await desk.send(digest, data) == FileStored(digest, len(data))


async def test_vanished_file_is_unknown(desk: Desk) -> None:
    digest, data = some(1)
    await desk.send(digest, data)
    desk.blobs.remove(digest)
    assert code(await desk.ask(FetchFile(digest, 0))) == "unknown_file"


async def test_a_file_that_vanished_is_brought_again(desk: Desk) -> None:
    digest, data = some(1)
    assert await desk.send(digest, data) == FileStored(digest, len(data))
    desk.blobs.remove(digest)
    assert await desk.ask(StoreFile(digest, len(data))) == FileStored(digest, len(data))
    assert code(await desk.ask(FetchFile(digest, 0))) == "unknown_file"
    assert digest not in desk.worker.known
    assert await desk.send(digest, data, name="bob") == FileStored(digest, len(data))
    assert await desk.fetch(digest) == data


class SlowStore(BlobStore):
    """A store whose reading of one file takes until it is told to go on."""

    def __init__(self, folder: Path, slow: str) -> None:
        super().__init__(folder)
        self.go_on = threading.Event()
        self._slow = slow
        self.reading = 0

    def read(self, digest: str, offset: int, length: int) -> bytes:
        if digest == self._slow:
            self.reading += 1
            self.go_on.wait(30)
        return super().read(digest, offset, length)


async def test_slow_job_blocks_only_its_peer(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").write_bytes(TEXT)
    (tmp_path / "b").write_bytes(b"other")
    plain = BlobStore(tmp_path / "blobs")
    (slow, _), (quick, _) = plain.add(tmp_path / "a"), plain.add(tmp_path / "b")
    desk = Desk(tmp_path / "blobs")
    blobs = SlowStore(tmp_path / "blobs", slow)
    desk.worker = FileWorker(blobs, desk.worker.known, LIMITS)
    waiting = [desk.ask(FetchFile(slow, 0)) for _ in range(5)]
    assert isinstance(await desk.ask(FetchFile(quick, 0), peer=2), FilePiece)
    assert blobs.reading == 1
    closing = asyncio.create_task(desk.worker.aclose())
    await asyncio.sleep(0)
    blobs.go_on.set()
    await closing
    answers = await asyncio.gather(*waiting)
    assert isinstance(answers[0], FilePiece)
    assert [code(answer) for answer in answers[1:]] == ["suspended"] * 4
    assert code(await desk.ask(FetchFile(quick, 0))) == "suspended"


def message(*files: FileRef) -> Event:
    return Event(1, 0.0, "alice", MessagePosted("id", "see", files=files))


def test_unreferenced_files_are_removed(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")

    def put(text: str) -> FileRef:
        (tmp_path / "file").write_text(text)
        digest, size = blobs.add(tmp_path / "file")
        return FileRef(digest, text, size, "image/png")

    named, recent, old = put("named"), put("recent"), put("old")
    blobs.write("0" * 64, 0, b"x", from_="alice")
    missing = FileRef("f" * 64, "missing", 7)
    now = (blobs.path(recent.digest)).stat().st_mtime + 10
    for file in (named.digest, old.digest):
        os.utime(blobs.path(file), (0, now - LEFTOVER - 1))
    known = complete_files(blobs, files_of([message(named, missing)]), now)
    assert {digest: file.media for digest, file in known.items()} == {
        named.digest: "image/png",
        recent.digest: "text/plain",
    }
    assert blobs.have("0" * 64, from_="alice") == 1
    assert complete_files(blobs, (), now + 2 * LEFTOVER) == {}
    assert list((tmp_path / "blobs").iterdir()) == []


def test_missing_folder_has_no_files(tmp_path: Path) -> None:
    assert complete_files(BlobStore(tmp_path / "blobs"), (), 0.0) == {}
    assert not (tmp_path / "blobs").exists()
