import hashlib
from pathlib import Path

import pytest

from genie_core.room.files.download import FETCHED_AT_ONCE, Downloads
from genie_core.room.files.transfer import FileChannel, Transfer, TransferReports, now
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.frames import ClientFrame, FetchFile, FilePiece, FrameRefused
from genie_core.room.protocol.limits import Limits
from genie_core.storage.blobs import BlobStore


class Desk:
    """Downloads, what they ask the room, and what the person is told."""

    def __init__(self, folder: Path) -> None:
        self.blobs = BlobStore(folder / "blobs")
        self.asked: list[ClientFrame] = []
        self.told: list[Transfer] = []
        self.own: set[str] = set()
        reports = TransferReports(now)
        reports.start(self.told.append)
        self.channel = FileChannel(lambda: None, self._lost)
        self.channel.start(self._ask)
        self.downloads = Downloads(10**9, self.channel, reports, self.own)

    def _ask(self, frame: ClientFrame) -> bool:
        self.asked.append(frame)
        return True

    def _lost(self) -> None:
        raise AssertionError("nothing is lost here")

    def fetched(self) -> list[str]:
        return [frame.digest for frame in self.asked if isinstance(frame, FetchFile)]

    async def work(self) -> None:
        await self.downloads.choose(self.blobs)
        await self.downloads.advance(self.blobs)
        self.downloads.discard_finished()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def file_of(data: bytes) -> FileRef:
    return FileRef(hashlib.sha256(data).hexdigest(), "a.txt", len(data))


FILES = [file_of(bytes([number]) * 10) for number in range(5)]


async def test_nothing_is_fetched_without_a_connection(desk: Desk) -> None:
    desk.downloads.want(FILES[0])
    await desk.work()
    assert (desk.asked, list(desk.downloads)) == ([], [])
    assert [*desk.downloads.due()] == []


async def test_the_newest_are_fetched_a_few_at_a_time(desk: Desk) -> None:
    desk.channel.open(Limits())
    for file in FILES:
        desk.downloads.want(file)
    await desk.work()
    newest = [file.digest for file in reversed(FILES[-FETCHED_AT_ONCE:])]
    assert desk.fetched() == newest == list(desk.downloads)
    desk.downloads.forget(newest[0])
    await desk.work()
    assert desk.fetched() == [*newest, FILES[-FETCHED_AT_ONCE - 1].digest]


async def test_file_already_here_is_not_fetched(desk: Desk) -> None:
    desk.channel.open(Limits())
    desk.own.add(FILES[0].digest)
    desk.downloads.want(FILES[0])
    await desk.work()
    assert (desk.asked, list(desk.downloads)) == ([], [])


async def test_a_piece_is_written_checked_and_told(desk: Desk) -> None:
    data = b"seven!!"
    file = file_of(data)
    desk.channel.open(Limits())
    desk.downloads.want(file)
    await desk.work()
    desk.downloads.on_piece(FilePiece(file.digest, 0, data, len(data)))
    await desk.work()
    assert desk.blobs.read(file.digest, 0, 100) == data
    assert [each.done for each in desk.told if each.complete] == [len(data)]
    assert file.digest not in desk.downloads


async def test_what_the_room_lacks_is_asked_for_later(desk: Desk) -> None:
    (file, *_) = FILES
    desk.channel.open(Limits())
    desk.downloads.want(file)
    await desk.work()
    desk.downloads.on_refused(FrameRefused("unknown_file", "there is no such file", file.digest))
    await desk.work()
    assert file.digest not in desk.downloads
    assert len(desk.fetched()) == 1
    assert [wait is not None for wait in desk.downloads.due()] == [True]
    desk.channel.close()
    desk.downloads.disconnected()
    desk.channel.open(Limits())
    desk.downloads.connected()
    await desk.work()
    assert len(desk.fetched()) == 2
