import logging

import pytest

from genie_core.room.files.transfer import (
    LONGEST_PAUSE,
    PAUSE,
    REPORT_INTERVAL,
    Direction,
    FileChannel,
    Retries,
    Transfer,
    TransferReports,
    attempt,
    files_of,
    fitting_chunk,
)
from genie_core.room.files.upload import Upload
from genie_core.room.protocol.codec import encode
from genie_core.room.protocol.events import (
    Event,
    FileRef,
    MemberJoined,
    MessagePosted,
    RecoveredEvent,
)
from genie_core.room.protocol.frames import Chunk, ClientFrame, Refusal, StoreFile
from genie_core.room.protocol.limits import CHUNK_BYTES, Limits
from genie_core.storage.errors import DamagedBlob


@pytest.mark.parametrize(
    ("code", "times"), [("no_space", 0), ("corrupt", 1), ("out_of_state", 3), ("disk", 6)]
)
def test_some_troubles_are_borne_for_a_while(code: Refusal, times: int) -> None:
    retries = Retries()
    assert [retries.allows(code, 0) for _ in range(times + 1)] == [True] * times + [False]


def test_busy_host_gets_growing_waits() -> None:
    retries = Retries()
    waits = []
    for _ in range(50):
        assert retries.allows("too_fast", 100.0)
        waits.append(retries.wait(100.0))
    assert waits[:3] == [PAUSE, 2 * PAUSE, 4 * PAUSE]
    assert waits[-1] == LONGEST_PAUSE
    assert retries.wait(200.0) == 0


def test_progress_resets_all_but_damage() -> None:
    retries = Retries()
    for _ in range(20):
        assert retries.allows("out_of_state", 0)
        retries.reset()
    assert retries.allows("corrupt", 0)
    retries.reset()
    assert not retries.allows("corrupt", 0)


def said(*files: FileRef) -> Event:
    return Event(1, 0.0, "alice", MessagePosted("id", "see", files=files))


def test_files_are_found_in_recovered_too() -> None:
    first, second = FileRef("1" * 64, "a", 1), FileRef("2" * 64, "b", 1)
    recovered = Event(2, 0.0, "bob", RecoveredEvent(said(second)))
    others = Event(3, 0.0, "bob", MemberJoined("member"))
    assert list(files_of([said(first), recovered, others])) == [first, second]


@pytest.mark.parametrize("frame_bytes", [16 * 1024, 100_000, 128 * 1024, 4 * 1024 * 1024])
def test_a_chunk_fits_into_the_smallest_frames(frame_bytes: int) -> None:
    chunk = Chunk("ab" * 32, 2**40, bytes(fitting_chunk(frame_bytes)))
    assert len(encode(chunk)) <= frame_bytes
    assert fitting_chunk(frame_bytes) <= CHUNK_BYTES


QUESTION = StoreFile("d" * 64, 5)


def made(lost: list[str]) -> FileChannel:
    return FileChannel(lambda: None, lambda: lost.append("lost"))


def test_a_connection_is_taken_note_of_once() -> None:
    channel = made([])
    assert (channel.is_open, channel.connection, channel.chunk) == (False, 0, CHUNK_BYTES)
    small = Limits(frame_bytes=16 * 1024)
    assert channel.open(small)
    assert not channel.open(small)
    assert (channel.is_open, channel.connection) == (True, 1)
    assert channel.chunk == fitting_chunk(small.frame_bytes)
    channel.close()
    assert not channel.is_open
    assert channel.open(Limits())
    assert channel.connection == 2


def test_failed_request_loses_connection() -> None:
    lost: list[str] = []
    channel = made(lost)
    channel.send(QUESTION)  # to nobody yet
    assert lost == ["lost"]
    asked: list[ClientFrame] = []

    def ask(frame: ClientFrame) -> bool:
        asked.append(frame)
        return len(asked) == 1

    channel.start(ask)
    channel.send(QUESTION)
    assert lost == ["lost"]
    channel.send(QUESTION)
    assert (asked, lost) == ([QUESTION] * 2, ["lost"] * 2)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DamagedBlob("d" * 64, "its end is missing"), "its end is missing"),
        (ZeroDivisionError("of nobody's interest"), "its log"),
    ],
)
async def test_failed_step_ends_own_transfer(
    error: Exception, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    course = Upload("d" * 64, 5)

    async def step() -> None:
        raise error

    with caplog.at_level(logging.CRITICAL + 1):
        await attempt(course, step)
    assert course.failed
    assert told in course.why
    assert "of nobody's interest" not in course.why


SIZE = 100


class Person:
    """Hears of transfers, at times that the test sets."""

    def __init__(self) -> None:
        self.time = 0.0
        self.heard: list[Transfer] = []
        self.reports = TransferReports(lambda: self.time)
        self.reports.start(self.heard.append)

    def tell(self, done: int, problem: str = "", digest: str = "a") -> None:
        self.reports.add(Transfer(digest, "a.txt", Direction.UP, done, SIZE, problem))


def test_progress_reports_are_throttled() -> None:
    person = Person()
    for done in (0, 1, 2):
        person.tell(done)
    person.time = REPORT_INTERVAL
    person.tell(3)
    assert [each.done for each in person.heard] == [0, 3]


def test_end_and_problem_are_reported_once() -> None:
    person = Person()
    person.tell(0)
    person.tell(5, "the disk is full")
    person.tell(5, "the disk is full")
    person.tell(SIZE)
    person.tell(SIZE)
    assert [(each.done, each.problem) for each in person.heard] == [
        (0, ""),
        (5, "the disk is full"),
        (SIZE, ""),
    ]


def test_what_is_forgotten_may_be_told_again() -> None:
    person = Person()
    for digest in ("a", "b"):
        person.tell(SIZE, digest=digest)
    person.reports.keep_only({"b"})
    for digest in ("a", "b"):
        person.tell(SIZE, digest=digest)
    assert [each.digest for each in person.heard] == ["a", "b", "a"]


def test_unheard_report_is_dropped() -> None:
    reports = TransferReports(lambda: 0.0)
    reports.add(Transfer("a", "a.txt", Direction.UP, 0, SIZE, ""))
