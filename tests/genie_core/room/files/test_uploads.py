import random
from pathlib import Path

import pytest

from genie_core.room.files.reseed import ReseedQueue
from genie_core.room.files.transfer import FileChannel, Transfer, TransferReports, now
from genie_core.room.files.upload import SENT_AT_ONCE, Uploads
from genie_core.room.protocol.events import Event, FileRef, HostStarted
from genie_core.room.protocol.frames import Chunk, ClientFrame, FileStored, FrameRefused, StoreFile
from genie_core.room.protocol.limits import Limits
from genie_core.storage.blobs import BlobStore


class Prompt(random.Random):
    """Chance that lets everybody begin at once."""

    def random(self) -> float:
        return 0.0


class Desk:
    """Uploads of files that are on the disk, what they send, and what the person is told."""

    def __init__(self, folder: Path) -> None:
        self.blobs = BlobStore(folder / "blobs")
        self.files = [self._added(folder, number) for number in range(4)]
        self.sent: list[ClientFrame] = []
        self.told: list[Transfer] = []
        reports = TransferReports(now)
        reports.start(self.told.append)
        self.channel = FileChannel(lambda: None, self._lost)
        self.channel.start(self._ask)
        self.uploads = Uploads(self.channel, reports, ReseedQueue(Prompt()))

    def _added(self, folder: Path, number: int) -> FileRef:
        (folder / "source").write_bytes(bytes([number]) * 10)
        digest, size = self.blobs.add(folder / "source")
        return FileRef(digest, f"{number}.txt", size)

    def _ask(self, frame: ClientFrame) -> bool:
        self.sent.append(frame)
        return True

    def _lost(self) -> None:
        raise AssertionError("nothing is lost here")

    def asked(self) -> list[str]:
        return [frame.digest for frame in self.sent if isinstance(frame, StoreFile)]

    def connect(self) -> None:
        if self.channel.open(Limits()):
            self.uploads.connected()

    def disconnect(self) -> None:
        self.channel.close()
        self.uploads.disconnected()

    async def work(self) -> None:
        await self.uploads.reseed(self.blobs)
        await self.uploads.advance(self.blobs)
        self.uploads.discard_finished()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


async def test_file_is_sent_once_stored_and_named(desk: Desk) -> None:
    file = desk.files[0]
    assert desk.uploads.is_sent(file.digest)
    desk.uploads.begin(file)
    await desk.work()
    assert desk.sent == []  # nobody to send to
    desk.connect()
    await desk.work()
    desk.uploads.on_stored(FileStored(file.digest, 0))
    await desk.work()
    assert desk.sent[-1] == Chunk(file.digest, 0, bytes(10))
    assert not desk.uploads.is_sent(file.digest)
    desk.uploads.on_stored(FileStored(file.digest, 10))
    await desk.work()
    assert desk.uploads.is_sent(file.digest)
    assert file.digest in desk.uploads
    assert [each.done for each in desk.told if each.complete] == [10]
    desk.uploads.name(file)
    await desk.work()
    assert list(desk.uploads) == []


async def test_a_few_are_sent_at_a_time(desk: Desk) -> None:
    desk.connect()
    for file in desk.files:
        desk.uploads.begin(file)
    await desk.work()
    assert desk.asked() == [file.digest for file in desk.files[:SENT_AT_ONCE]]
    desk.uploads.cancel(desk.files[0].digest)
    await desk.work()
    assert desk.asked()[SENT_AT_ONCE:] == [desk.files[SENT_AT_ONCE].digest]


async def test_what_a_message_names_is_not_taken_back(desk: Desk) -> None:
    file = desk.files[0]
    desk.uploads.begin(file)
    desk.uploads.name(file)
    desk.uploads.cancel(file.digest)
    assert not desk.uploads.is_sent(file.digest)


async def test_reconnect_asks_about_unnamed_file(desk: Desk) -> None:
    file = desk.files[0]
    desk.connect()
    desk.uploads.begin(file)
    await desk.work()
    desk.uploads.on_stored(FileStored(file.digest, 10))
    desk.disconnect()
    desk.connect()
    await desk.work()
    assert desk.asked() == [file.digest] * 2
    assert not desk.uploads.is_sent(file.digest)


async def test_new_host_gets_silent_offers(desk: Desk) -> None:
    for file in desk.files[1:]:
        desk.uploads.name(file)
    desk.connect()
    await desk.work()
    assert desk.asked() == []
    desk.uploads.on_event(Event(1, 0.0, "", HostStarted("bob")))
    await desk.work()
    (offered,) = desk.asked()  # the next one is offered in a while
    assert offered in {file.digest for file in desk.files[1:]}
    assert any(wait is not None and wait > 0 for wait in desk.uploads.due())
    desk.uploads.begin(desk.files[0])  # for which somebody waits
    await desk.work()
    assert desk.asked()[-1] == desk.files[0].digest
    assert {each.digest for each in desk.told} == {desk.files[0].digest}


async def test_what_the_room_does_not_take_is_told(desk: Desk) -> None:
    file = desk.files[0]
    desk.connect()
    desk.uploads.begin(file)
    await desk.work()
    desk.uploads.on_refused(FrameRefused("not_allowed", "observers send no files", file.digest))
    await desk.work()
    assert [each.problem for each in desk.told if each.problem] == ["observers send no files"]
    assert desk.uploads.is_sent(file.digest)
