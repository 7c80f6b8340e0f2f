import asyncio
import hashlib
import random
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.room.files.download import FETCHED_AT_ONCE
from genie_core.room.files.sync import ELSEWHERE, GONE, FileSync
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.files.upload import SENT_AT_ONCE
from genie_core.room.protocol.errors import NoSuchFile
from genie_core.room.protocol.events import (
    Event,
    FileRef,
    HostStarted,
    MessagePosted,
    RecoveredEvent,
)
from genie_core.room.protocol.frames import (
    Chunk,
    ClientFrame,
    FetchFile,
    FilePiece,
    FileStored,
    FrameRefused,
    ServerFrame,
    StoreFile,
)
from genie_core.room.protocol.limits import CHUNK_BYTES, Limits
from genie_core.room.server.file_requests import MAX_JOBS, FileJob
from genie_core.room.server.file_worker import FileWorker
from genie_core.storage.blobs import BlobStore
from genie_core.storage.errors import BlobTooLarge, NoAttachment

LIMITS = Limits()
DATA = random.Random(7).randbytes(1_000_000)
DIGEST = hashlib.sha256(DATA).hexdigest()


class Prompt(random.Random):
    """Chance that lets everybody begin at once."""

    def random(self) -> float:
        return 0.0


class Line:
    """A sync's connection to a worker, which can be cut, and what the person is told."""

    def __init__(self, folder: Path, worker: FileWorker, name: str) -> None:
        self.name = name
        self.blobs = BlobStore(folder / name)
        self.sync = FileSync(self.blobs, chance=Prompt())
        self.worker = worker
        self.asked: list[ClientFrame] = []
        self.told: list[Transfer] = []
        self.up = False
        self.open = 0
        self.cut_after = -1
        self.change: Callable[[ServerFrame], ServerFrame] = lambda frame: frame
        self._connection = 0
        self._news = asyncio.Event()
        self.sync.start(self.ask, self.tell)

    def ask(self, frame: ClientFrame) -> bool:
        if not self.up:
            return False
        assert isinstance(frame, StoreFile | Chunk | FetchFile)
        self.asked.append(frame)
        self.open += 1
        assert self.open <= MAX_JOBS
        connection = self._connection

        def done(_job: FileJob, answer: ServerFrame, _file: FileRef | None) -> None:
            if connection == self._connection:
                self.open -= 1
                self._deliver(answer)

        self.worker.take(FileJob(1, self.name, frame), done)
        self.cut_after -= 1
        if self.cut_after == 0:
            self.cut()
        return True

    def _deliver(self, answer: ServerFrame) -> None:
        answer = self.change(answer)
        assert isinstance(answer, FileStored | FilePiece | FrameRefused)
        self.sync.on_answer(answer)
        self._news.set()

    def cut(self) -> None:
        self._connection += 1
        self.open = 0
        self.up = False
        self.sync.on_offline()
        self._news.set()

    def connect(self, limits: Limits = LIMITS) -> None:
        self.up = True
        self.sync.on_online(limits)

    def tell(self, transfer: Transfer) -> None:
        self.told.append(transfer)
        self._news.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(scaled(60)):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    def ended(self, digest: str) -> bool:
        return any(each.digest == digest and (each.complete or each.problem) for each in self.told)

    def say(self, *files: FileRef) -> None:
        self.sync.on_event(Event(1, 0.0, "alice", MessagePosted("id", "see", files=files)))

    def expect(self, *files: FileRef) -> None:
        self.sync.expect(files)

    def hosted(self) -> None:
        self.sync.on_event(Event(2, 0.0, "", HostStarted("heir")))

    def recovered(self, *files: FileRef) -> None:
        said = Event(1, 0.0, "alice", MessagePosted("id", "see", files=files))
        self.sync.on_event(Event(3, 0.0, "bob", RecoveredEvent(said)))

    def sends(self, digest: str) -> list[ClientFrame]:
        """What was asked to bring a file."""
        return [
            frame
            for frame in self.asked
            if isinstance(frame, StoreFile | Chunk) and frame.digest == digest
        ]


class House:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.blobs = BlobStore(folder / "host")
        self.worker = FileWorker(self.blobs, {})
        self.lines: list[Line] = []

    def line(self, name: str) -> Line:
        line = Line(self.folder, self.worker, name)
        self.lines.append(line)
        return line

    def file(self, name: str = "data.bin", data: bytes = DATA) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def keep(self, name: str, *contents: bytes) -> list[FileRef]:
        """Let somebody have files from before."""
        blobs = BlobStore(self.folder / name)
        added = [blobs.add(self.file(data=each)) for each in contents]
        return [FileRef(digest, "data.bin", size) for digest, size in added]

    async def stock(self, *contents: bytes) -> list[FileRef]:
        """Bring files to the host as somebody else would."""
        line = self.line(f"helper{len(self.lines)}")
        line.connect()
        files = [await line.sync.attach(self.file(data=each)) for each in contents]
        for file in files:
            await line.until(lambda file=file: line.ended(file.digest))  # type: ignore[misc]
        return files


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    house = House(tmp_path)
    yield house
    for line in house.lines:
        await line.sync.aclose()
    await house.worker.aclose()


async def test_a_file_goes_from_one_person_to_another(house: House) -> None:
    alice, bob = house.line("alice"), house.line("bob")
    alice.connect()
    bob.connect()
    file = await alice.sync.attach(house.file("\u202e..evil name.bin"))
    assert file == FileRef(DIGEST, "evil name.bin", len(DATA), "application/octet-stream")
    assert not alice.sync.is_sent(DIGEST)
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    assert alice.told[-1] == Transfer(DIGEST, file.name, Direction.UP, len(DATA), len(DATA))
    assert house.worker.known.keys() == {DIGEST}

    assert not bob.sync.has(DIGEST)
    bob.say(file)
    await bob.until(lambda: bob.ended(DIGEST))
    assert bob.sync.has(DIGEST)
    path = bob.sync.path(DIGEST)
    assert path is not None
    assert path.read_bytes() == DATA
    assert bob.told[-1] == Transfer(DIGEST, file.name, Direction.DOWN, len(DATA), len(DATA))
    assert [each.done for each in bob.told] == sorted(each.done for each in bob.told)


async def test_file_completes_only_after_check(house: House) -> None:
    (file,) = await house.stock(DATA)
    bob = house.line("bob")
    bob.connect()
    bob.say(file)
    await bob.until(lambda: bob.ended(DIGEST))
    assert [each.complete for each in bob.told].count(True) == 1


async def test_offline_attachment_is_sent_later(house: House) -> None:
    alice = house.line("alice")
    await alice.sync.attach(house.file())
    assert alice.asked == []
    assert alice.sync.has(DIGEST)
    alice.connect()
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    assert house.worker.known.keys() == {DIGEST}


@pytest.mark.parametrize("every", [1, 2, 3, 5])
async def test_repeated_cuts_resend_little(house: House, every: int) -> None:
    alice = house.line("alice")
    await alice.sync.attach(house.file())
    for cuts in range(60):
        alice.cut_after = every + cuts // 10
        alice.connect()
        await alice.until(lambda: not alice.up or alice.sync.is_sent(DIGEST))
        if alice.sync.is_sent(DIGEST):
            break
    assert house.blobs.read(DIGEST, 0, len(DATA)) == DATA

    bob = house.line("bob")
    bob.say(FileRef(DIGEST, "a", len(DATA)))
    for _ in range(60):
        bob.cut_after = every + 1
        bob.connect()
        await bob.until(lambda: not bob.up or bob.ended(DIGEST))
        if bob.ended(DIGEST):
            break
    path = bob.sync.path(DIGEST)
    assert path is not None
    assert path.read_bytes() == DATA
    chunks = -(-len(DATA) // CHUNK_BYTES)
    assert sum(isinstance(frame, FetchFile) for frame in bob.asked) <= 3 * chunks


async def test_restart_resumes_download(house: House) -> None:
    (file,) = await house.stock(DATA)
    before = house.line("bob")
    before.say(file)
    before.cut_after = 5
    before.connect()
    await before.until(lambda: not before.up)
    await before.sync.aclose()
    after = house.line("bob")
    after.say(file)
    after.connect()
    await after.until(lambda: after.ended(DIGEST))
    first = next(frame for frame in after.asked if isinstance(frame, FetchFile))
    assert first.offset >= 3 * CHUNK_BYTES
    path = after.sync.path(DIGEST)
    assert path is not None
    assert path.read_bytes() == DATA


class PausedStore(BlobStore):
    """A store that reads, for the second time, only when it is told to."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(folder)
        self.paused = asyncio.Event()
        self.go_on = threading.Event()
        self._loop = loop
        self._reads = 0

    def read(self, digest: str, offset: int, length: int) -> bytes:
        self._reads += 1
        if self._reads == 2:  # the first one is for the type
            self._loop.call_soon_threadsafe(self.paused.set)
            self.go_on.wait(30)
        return super().read(digest, offset, length)


async def test_chunk_of_old_connection_is_unsent(house: House) -> None:
    alice = house.line("alice")
    await alice.sync.aclose()
    blobs = PausedStore(house.folder / "alice", asyncio.get_running_loop())
    alice.sync = FileSync(blobs)
    alice.sync.start(alice.ask, alice.tell)
    alice.connect()
    await alice.sync.attach(house.file())
    async with asyncio.timeout(scaled(60)):
        await blobs.paused.wait()
    alice.cut()
    before = len(alice.asked)
    alice.connect()
    blobs.go_on.set()
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    assert isinstance(alice.asked[before], StoreFile)


async def test_newest_files_come_first(house: House) -> None:
    files = await house.stock(*(f"{number}".encode() * 200_000 for number in range(7)))
    bob = house.line("bob")
    for file in files:
        bob.say(file)
    bob.connect()
    await bob.until(lambda: all(bob.ended(file.digest) for file in files))
    order = list(dict.fromkeys(frame.digest for frame in bob.asked if isinstance(frame, FetchFile)))
    assert set(order[:FETCHED_AT_ONCE]) == {file.digest for file in files[-FETCHED_AT_ONCE:]}
    assert order[-1] == files[0].digest


async def test_a_file_that_is_here_is_not_fetched(house: House) -> None:
    alice = house.line("alice")
    alice.connect()
    file = await alice.sync.attach(house.file())
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    alice.say(file)
    alice.say(file)
    alice.cut()
    alice.connect()
    second = await alice.sync.attach(house.file("other", b"other"))
    await alice.until(lambda: alice.sync.is_sent(second.digest))
    assert not any(isinstance(frame, FetchFile) for frame in alice.asked)


async def test_new_host_gets_unnamed_attachment(house: House) -> None:
    alice = house.line("alice")
    alice.connect()
    await alice.sync.attach(house.file())
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    alice.cut()
    alice.worker = FileWorker(BlobStore(house.folder / "heir"), {})
    original = len(alice.told)
    alice.connect()
    assert not alice.sync.is_sent(DIGEST)
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    assert alice.worker.known.keys() == {DIGEST}
    assert alice.told[original:] == []
    await alice.worker.aclose()


async def test_refused_file_unblocks_its_message(house: House) -> None:
    house.worker = FileWorker(house.blobs, {}, Limits(files_bytes=0))
    alice = house.line("alice")
    alice.connect()
    await alice.sync.attach(house.file())
    await alice.until(lambda: alice.ended(DIGEST))
    assert "space" in alice.told[-1].problem or "keeps" in alice.told[-1].problem
    assert alice.sync.is_sent(DIGEST)


async def test_missing_file_is_noted_and_retried(house: House) -> None:
    bob = house.line("bob")
    bob.connect()
    bob.say(FileRef(DIGEST, "a", len(DATA)))
    await bob.until(lambda: bob.ended(DIGEST))
    assert bob.told[-1].problem == "the host does not have this file"
    await house.stock(DATA)
    bob.cut()
    bob.connect()
    await bob.until(lambda: bob.sync.has(DIGEST))


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (FileRef("../../.ssh/id", "a", 5), "SHA-256"),
        (FileRef("d" * 64, "a", 0), "empty"),
        (FileRef("d" * 64, "a", -5), "empty"),
        (FileRef("d" * 64, "a", LIMITS.file_bytes + 1), "bytes"),
    ],
)
async def test_invalid_file_is_not_fetched(house: House, file: FileRef, why: str) -> None:
    bob = house.line("bob")
    bob.connect()
    bob.say(file)
    await bob.until(lambda: bob.ended(file.digest))
    assert why in bob.told[-1].problem
    assert bob.asked == []
    assert not bob.sync.has(file.digest)
    assert bob.sync.path(file.digest) is None


async def test_a_host_cannot_fill_the_disk(house: House) -> None:
    files = await house.stock(b"1" * 50_000, b"2" * 50_000)
    bob = house.line("bob")
    await bob.sync.aclose()
    bob.sync = FileSync(bob.blobs, kept_bytes=90_000)
    bob.sync.start(bob.ask, bob.tell)
    bob.connect()
    for file in files:
        bob.say(file)
        await bob.until(lambda file=file: bob.ended(file.digest))  # type: ignore[misc]
    assert [bool(each.problem) for each in bob.told if each.complete or each.problem] == [
        False,
        True,
    ]


async def test_running_fetches_count_to_limit(house: House) -> None:
    files = await house.stock(b"1" * 50_000, b"2" * 50_000, b"3" * 50_000)
    bob = house.line("bob")
    await bob.sync.aclose()
    bob.sync = FileSync(bob.blobs, kept_bytes=90_000)
    bob.sync.start(bob.ask, bob.tell)
    bob.connect()
    bob.say(*files)
    await bob.until(lambda: all(bob.ended(file.digest) for file in files))
    ends = [bool(each.problem) for each in bob.told if each.complete or each.problem]
    assert sorted(ends) == [False, True, True]
    assert bob.blobs.total() <= 90_000


async def test_missing_files_delay_no_others(house: House) -> None:
    (file,) = await house.stock(DATA)
    lacking = [FileRef(f"{number:064x}", "gone", 9) for number in range(100)]
    bob = house.line("bob")
    bob.connect()
    bob.say(file, *lacking)  # the last one is fetched first
    await bob.until(lambda: bob.ended(DIGEST))


async def test_host_sending_wrong_file_fails(house: House) -> None:
    (file,) = await house.stock(DATA)

    def change(frame: ServerFrame) -> ServerFrame:
        if isinstance(frame, FilePiece):
            return FilePiece(frame.digest, frame.offset, bytes(len(frame.data)), frame.size)
        return frame

    bob = house.line("bob")
    bob.change = change
    bob.connect()
    bob.say(file)
    await bob.until(lambda: bob.ended(DIGEST))
    assert "damaged" in bob.told[-1].problem
    assert not bob.sync.has(DIGEST)
    assert bob.blobs.total() == 0


async def test_refused_attachment_is_not_sent(house: House) -> None:
    alice = house.line("alice")
    alice.connect(Limits(file_bytes=1000))
    with pytest.raises(BlobTooLarge):
        await alice.sync.attach(house.file())
    with pytest.raises(NoAttachment):
        await alice.sync.attach(house.folder)
    assert (alice.asked, alice.told) == ([], [])


async def test_unasked_answers_change_nothing(house: House) -> None:
    bob = house.line("bob")
    bob.connect()
    bob.sync.on_answer(FileStored(DIGEST, 5))
    bob.sync.on_answer(FilePiece(DIGEST, 0, b"x", 1))
    bob.sync.on_answer(FrameRefused("disk", "", "0123"))
    bob.sync.on_online(LIMITS)
    assert bob.sync.is_sent(DIGEST)
    assert not bob.sync.has("nonsense")


async def test_stored_file_is_resent_on_request(house: House) -> None:
    file, gone = house.keep("alice", DATA, b"second")
    alice = house.line("alice")
    alice.blobs.remove(gone.digest)
    other = FileRef(file.digest, file.name, file.size + 1)
    for lost in (gone, other, FileRef("no digest", "x", 1)):
        assert not alice.sync.resend(lost)
        assert alice.sync.is_sent(lost.digest)
    assert alice.sync.resend(file)
    assert not alice.sync.is_sent(file.digest)
    alice.connect()
    await alice.until(lambda: alice.sync.is_sent(file.digest))
    assert house.worker.known.keys() == {file.digest}


async def test_new_host_is_offered_named_files(house: House) -> None:
    files = house.keep("alice", DATA, b"second", b"third")
    (unnamed,) = house.keep("alice", b"nobody has ever said this")
    (there,) = await house.stock(b"second")
    alice = house.line("alice")
    alice.expect(*files)
    alice.hosted()
    alice.connect()
    await alice.until(lambda: all(alice.sends(file.digest) for file in files))
    await alice.until(lambda: all(file.digest in house.worker.known for file in files))
    bob = house.line("bob")
    bob.connect()
    for file in files:
        bob.say(file)
    await bob.until(lambda: all(bob.sync.has(file.digest) for file in files))
    assert alice.sends(unnamed.digest) == []
    assert alice.sends(there.digest) == [StoreFile(there.digest, there.size)]
    assert alice.told == []
    assert all(alice.sync.is_sent(file.digest) for file in files)


async def test_a_host_who_stays_is_offered_nothing(house: House) -> None:
    files = house.keep("alice", DATA, b"second")
    alice = house.line("alice")
    alice.expect(*files)
    for _ in range(3):
        alice.connect()
        fresh = await alice.sync.attach(house.file("fresh", b"fresh"))
        await alice.until(lambda: alice.sync.is_sent(fresh.digest))  # noqa: B023
        alice.cut()
    assert {frame.digest for frame in alice.asked if isinstance(frame, StoreFile)} == {fresh.digest}


async def test_host_lacking_one_gets_other_files(house: House) -> None:
    (file,) = house.keep("alice", DATA)
    lost = FileRef("d" * 64, "lost", 5)
    alice = house.line("alice")
    alice.expect(lost, file)
    alice.connect()
    await alice.until(lambda: DIGEST in house.worker.known)
    assert alice.ended(lost.digest)


async def test_recovered_file_is_sent_by_holder(house: House) -> None:
    file, other = house.keep("alice", DATA, b"other")
    alice = house.line("alice")
    alice.expect(other)
    alice.connect()
    alice.recovered(file)
    await alice.until(lambda: DIGEST in house.worker.known)
    assert house.blobs.read(DIGEST, 0, len(DATA)) == DATA
    assert alice.sends(other.digest) == []


async def test_refused_offer_stays_silent(house: House) -> None:
    house.worker = FileWorker(house.blobs, {}, Limits(files_bytes=0))
    (file,) = house.keep("alice", DATA)
    alice = house.line("alice")
    alice.expect(file)
    alice.hosted()
    alice.connect()
    await alice.until(lambda: alice.sends(DIGEST) != [])
    alice.hosted()
    fresh = await alice.sync.attach(house.file("fresh", b"fresh"))
    await alice.until(lambda: alice.ended(fresh.digest))
    assert alice.sends(DIGEST) == [StoreFile(DIGEST, len(DATA))]
    assert {each.digest for each in alice.told} == {fresh.digest}


async def test_the_hosts_own_courier_offers_nothing(house: House) -> None:
    (file,) = house.keep("host", DATA)
    hana = house.line("hana")
    await hana.sync.aclose()
    hana.sync = FileSync(house.blobs, reseed=False)
    hana.sync.start(hana.ask, hana.tell)
    hana.say(file)
    hana.hosted()
    hana.connect()
    fresh = await hana.sync.attach(house.file("fresh", b"fresh"))
    await hana.until(lambda: hana.sync.is_sent(fresh.digest))
    assert {frame.digest for frame in hana.asked if isinstance(frame, StoreFile)} == {fresh.digest}


async def test_cuts_during_reseed_cost_little(house: House) -> None:
    (file,) = house.keep("alice", DATA)
    alice = house.line("alice")
    alice.expect(file)
    alice.hosted()
    for _ in range(60):
        alice.cut_after = 4
        alice.connect()
        await alice.until(lambda: not alice.up or DIGEST in house.worker.known)
        if DIGEST in house.worker.known:
            break
    assert house.blobs.read(DIGEST, 0, len(DATA)) == DATA
    chunks = -(-len(DATA) // CHUNK_BYTES)
    assert sum(isinstance(frame, Chunk) for frame in alice.asked) <= 3 * chunks


async def test_offered_file_reports_attaching(house: House) -> None:
    (file,) = house.keep("alice", DATA)
    alice = house.line("alice")
    alice.expect(file)
    alice.hosted()
    alice.cut_after = 3
    alice.connect()
    await alice.until(lambda: not alice.up)
    await alice.sync.attach(house.file())
    assert not alice.sync.is_sent(DIGEST)
    alice.connect()
    await alice.until(lambda: alice.ended(DIGEST))
    assert alice.told[-1].complete


async def test_lacking_file_is_reported_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.room.files.retry.FIRST_PAUSE", 0.001)
    bob = house.line("bob")
    bob.connect()
    bob.say(FileRef(DIGEST, "../\x1b[31ma", len(DATA)))

    def tries() -> int:
        return sum(isinstance(frame, FetchFile) for frame in bob.asked)

    await bob.until(lambda: tries() >= 4)
    assert [each.problem for each in bob.told if each.problem] == [
        "the host does not have this file"
    ]
    original = len(bob.told)
    await house.stock(DATA)
    await bob.until(lambda: bob.sync.has(DIGEST) and bob.told[-1].complete)
    assert not any(each.problem for each in bob.told[original:])
    assert {each.name for each in bob.told} == {"_[31ma"}


async def test_what_is_taken_back_is_sent_no_further(house: House) -> None:
    alice = house.line("alice")
    alice.cut_after = 3
    alice.connect()
    file = await alice.sync.attach(house.file())
    await alice.until(lambda: not alice.up)
    alice.sync.cancel(DIGEST)
    alice.sync.cancel("nonsense")
    assert alice.sync.is_sent(DIGEST)
    before = len(alice.asked)
    alice.connect()
    fresh = await alice.sync.attach(house.file("fresh", b"fresh"))
    await alice.until(lambda: alice.sync.is_sent(fresh.digest))
    assert {frame.digest for frame in alice.asked[before:] if isinstance(frame, StoreFile)} == {
        fresh.digest
    }
    again = await alice.sync.attach(house.file())
    assert again == file
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    assert house.blobs.read(DIGEST, 0, len(DATA)) == DATA


async def test_cancelled_file_can_be_reattached(house: House) -> None:
    alice = house.line("alice")
    alice.connect()
    await alice.sync.attach(house.file())
    await alice.until(lambda: any(each.done for each in alice.told))
    alice.sync.cancel(DIGEST)
    await alice.sync.attach(house.file())
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    assert house.blobs.read(DIGEST, 0, len(DATA)) == DATA


async def test_what_a_message_names_is_not_taken_back(house: House) -> None:
    alice = house.line("alice")
    alice.connect()
    file = await alice.sync.attach(house.file())
    alice.say(file)
    alice.sync.cancel(DIGEST)
    await alice.until(lambda: alice.sync.is_sent(DIGEST))
    assert DIGEST in house.worker.known


async def test_own_attachment_precedes_offers(house: House) -> None:
    files = house.keep("alice", *(bytes([number]) * 8_000_000 for number in range(3)))
    alice = house.line("alice")
    alice.expect(*files)
    alice.hosted()
    alice.connect()
    await alice.until(lambda: sum(isinstance(frame, Chunk) for frame in alice.asked) > 4)
    fresh = await alice.sync.attach(house.file("fresh", b"fresh"))
    await alice.until(lambda: alice.sync.is_sent(fresh.digest))
    assert house.worker.known.keys() == {fresh.digest}


async def test_next_host_is_offered_all_files(house: House) -> None:
    files = house.keep("alice", DATA, b"second")
    alice = house.line("alice")
    alice.expect(*files)
    alice.hosted()
    alice.connect()
    await alice.until(lambda: all(file.digest in house.worker.known for file in files))
    alice.cut()
    alice.worker = FileWorker(BlobStore(house.folder / "heir"), {})
    alice.hosted()
    alice.connect()
    await alice.until(lambda: all(file.digest in alice.worker.known for file in files))
    await alice.worker.aclose()


async def test_not_allowed_ends_all_offers(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.room.files.reseed.INTERVAL", 0.0)

    def change(frame: ServerFrame) -> ServerFrame:
        assert isinstance(frame, FileStored)
        return FrameRefused("not_allowed", "you may read here", frame.digest)

    files = house.keep("alice", *(f"{number}".encode() for number in range(20)))
    alice = house.line("alice")
    alice.change = change
    alice.expect(*files)
    alice.hosted()
    alice.connect()
    await alice.until(lambda: alice.asked != [])
    for number in range(5):
        fresh = await alice.sync.attach(house.file("fresh", f"fresh {number}".encode()))
        await alice.until(lambda: alice.ended(fresh.digest))  # noqa: B023
    assert sum(alice.sends(file.digest) != [] for file in files) <= 2 * SENT_AT_ONCE


class CountingStore(BlobStore):
    """A store that counts how often it is looked through."""

    looks = 0

    def digests(self) -> dict[str, int]:
        self.looks += 1
        return super().digests()


async def test_own_files_are_listed_once(
    house: House,
) -> None:
    alice = house.line("alice")
    await alice.sync.aclose()
    blobs = CountingStore(house.folder / "alice")
    alice.sync = FileSync(blobs)
    alice.sync.start(alice.ask, alice.tell)
    lost = [FileRef(f"{number:064x}", "lost", 5) for number in range(10)]
    alice.expect(*lost)
    alice.connect()
    await alice.until(lambda: all(alice.ended(file.digest) for file in lost))
    assert blobs.looks == 1


async def test_file_cancelled_in_read_is_unsent(house: House) -> None:
    alice = house.line("alice")
    await alice.sync.aclose()
    blobs = PausedStore(house.folder / "alice", asyncio.get_running_loop())
    alice.sync = FileSync(blobs)
    alice.sync.start(alice.ask, alice.tell)
    alice.connect()
    await alice.sync.attach(house.file())
    async with asyncio.timeout(scaled(60)):
        await blobs.paused.wait()
    alice.sync.cancel(DIGEST)
    blobs.go_on.set()
    fresh = await alice.sync.attach(house.file("fresh", b"fresh"))
    await alice.until(lambda: alice.sync.is_sent(fresh.digest))
    assert alice.sends(DIGEST) == [StoreFile(DIGEST, len(DATA))]


async def test_file_at_other_terminal_is_named(tmp_path: Path) -> None:
    shared = FileSync(BlobStore(tmp_path), read_only=True)
    told: list[Transfer] = []
    shared.start(lambda _: True, told.append)
    shared.on_online(Limits())
    there = FileRef("c" * 64, "../\x1b[31mplan", 9)
    shared.on_event(Event(1, 0.0, "alice", MessagePosted("1", "x", files=(there,))))
    assert [(each.digest, each.name, each.problem) for each in told] == [
        (there.digest, "_[31mplan", ELSEWHERE)
    ]
    assert not shared.has("nonsense")
    assert shared.is_sent(there.digest)
    shared.on_offline()
    await shared.aclose()


async def test_late_folder_makes_no_news_of_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.room.files.reseed.SPREAD", 0.0)
    blobs = BlobStore(tmp_path / "blobs")
    (tmp_path / "old").write_bytes(b"old")
    old = FileRef(blobs.add(tmp_path / "old")[0], "old", 3)
    late, asked, told = FileSync(), list[ClientFrame](), asyncio.Event()

    def ask(frame: ClientFrame) -> bool:
        asked.append(frame)
        assert isinstance(frame, StoreFile)
        late.on_answer(FileStored(frame.digest, frame.size))
        return True

    late.start(ask, lambda transfer: told.set() if transfer.complete else None)
    late.expect([old])
    with pytest.raises(NoSuchFile, match="still opening"):
        await late.attach(tmp_path / "source")
    late.cancel(old.digest)
    late.on_online(Limits())
    late.open(blobs)
    (tmp_path / "fresh").write_bytes(b"fresh")
    fresh = await late.attach(tmp_path / "fresh")
    async with asyncio.timeout(scaled(60)):
        await told.wait()
    await late.aclose()
    assert asked == [StoreFile(fresh.digest, 5)]


async def test_late_folder_reports_lost_file(
    tmp_path: Path,
) -> None:
    lost, told = FileRef("ab" * 32, "plan.bin", 5), list[Transfer]()
    late = FileSync()
    late.start(lambda _: False, told.append)
    assert late.resend(lost)
    assert not late.is_sent(lost.digest)
    late.open(BlobStore(tmp_path / "blobs"))
    assert late.is_sent(lost.digest)
    assert told == [Transfer(lost.digest, "plan.bin", Direction.UP, 0, 5, GONE)]
    await late.aclose()
