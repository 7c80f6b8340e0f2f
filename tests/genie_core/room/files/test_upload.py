from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.files.upload import ChunkRange, Upload
from genie_core.room.protocol.frames import Refusal, StoreFile

DIGEST = "d" * 64
SIZE, CHUNK, WINDOW = 100, 7, 3


def upload() -> Upload:
    return Upload(DIGEST, SIZE, chunk=CHUNK, window=WINDOW)


@dataclass
class Host:
    """Keeps of a file what continues it, and answers each frame in order."""

    have: int = 0
    answers: deque[int | Refusal] = field(default_factory=deque)
    refusing: Refusal | None = None

    def take(self, frame: StoreFile | ChunkRange) -> None:
        if self.refusing is not None:
            self.answers.append(self.refusing)
            return
        if isinstance(frame, ChunkRange) and frame.offset <= self.have:
            self.have = max(self.have, frame.offset + frame.length)
        self.answers.append(self.have)


def pump(it: Upload, host: Host, now: float = 0.0) -> None:
    while (frame := it.take(now)) is not None:
        host.take(frame)


def hear(it: Upload, host: Host, now: float = 0.0) -> None:
    answer = host.answers.popleft()
    if isinstance(answer, int):
        it.on_stored(answer, now)
    else:
        it.on_refused(answer, "no", now)


def run(it: Upload, host: Host, now: float = 0.0) -> None:
    pump(it, host, now)
    while host.answers:
        hear(it, host, now)
        pump(it, host, now)


def test_file_is_announced_then_chunked() -> None:
    it = upload()
    assert it.take(0) is None
    it.connected()
    assert it.take(0) == StoreFile(DIGEST, SIZE)
    assert it.take(0) is None
    assert not it.over
    it.on_stored(0, 0)
    assert [it.take(0) for _ in range(4)] == [
        ChunkRange(0, 7),
        ChunkRange(7, 7),
        ChunkRange(14, 7),
        None,
    ]
    it.on_stored(7, 0)
    assert it.done == 7
    assert it.take(0) == ChunkRange(21, 7)


def test_only_what_the_host_lacks_is_sent() -> None:
    it = upload()
    it.connected()
    it.take(0)
    it.on_stored(98, 0)
    assert [it.take(0), it.take(0)] == [ChunkRange(98, 2), None]
    it.on_stored(SIZE, 0)
    assert it.complete

    it = upload()
    it.connected()
    it.take(0)
    it.on_stored(SIZE, 0)
    assert it.over
    assert it.take(0) is None


def test_parts_sent_elsewhere_are_skipped() -> None:
    it = upload()
    it.connected()
    it.take(0)
    it.on_stored(0, 0)
    it.take(0)
    it.on_stored(50, 0)
    assert it.take(0) == ChunkRange(50, 7)


def test_reconnect_resumes_at_host_offset() -> None:
    it, host = upload(), Host()
    it.connected()
    pump(it, host)
    hear(it, host)
    pump(it, host)
    host.answers.clear()  # the answers to three chunks are lost with the connection
    it.disconnected()
    assert it.take(0) is None
    it.connected()
    assert it.take(0) == StoreFile(DIGEST, SIZE)
    it.on_stored(host.have, 0)
    assert it.take(0) == ChunkRange(21, 7)


@pytest.mark.parametrize("code", ["no_space", "too_large", "not_allowed", "muted"])
def test_some_refusals_are_for_good(code: Refusal) -> None:
    it = upload()
    it.connected()
    it.take(0)
    it.on_refused(code, "there is no room", 0)
    assert (it.failed, it.why) == (True, "there is no room")
    assert it.code == code
    it.connected()
    assert it.take(0) is None
    it.on_stored(SIZE, 0)
    assert it.failed


def test_others_pass_after_a_while() -> None:
    it, host = upload(), Host()
    it.connected()
    pump(it, host)
    hear(it, host)
    pump(it, host)
    it.on_refused("disk", "the disk is full", 5.0)
    host.answers.clear()
    assert it.due(5.0) is None  # two answers are still to come
    it.on_refused("disk", "the disk is full", 5.0)
    it.on_refused("disk", "the disk is full", 5.0)
    assert it.why == "the disk is full"
    assert it.due(5.0) == 1.0
    assert it.take(5.5) is None
    run(it, host, 6.0)
    assert (it.complete, it.why) == (True, "")


def test_damaged_upload_is_sent_twice_only() -> None:
    it, host = upload(), Host()
    it.connected()
    arrivals = 0
    pump(it, host)
    while host.answers:
        if host.answers[0] == SIZE:
            host.have, host.answers[0] = 0, "corrupt"
            arrivals += 1
        hear(it, host)
        pump(it, host)
    assert arrivals == 2
    assert (it.failed, it.code) == (True, "corrupt")


def test_stuck_host_is_given_up() -> None:
    it = upload()
    it.connected()
    for _ in range(100):
        while it.take(0) is not None:
            pass
        if it.over:
            break
        it.on_stored(3, 0)
    assert it.code == "out_of_state"


@pytest.mark.parametrize("have", [-1, SIZE + 1])
def test_a_host_that_miscounts_is_given_up(have: int) -> None:
    it = upload()
    it.connected()
    it.take(0)
    it.on_stored(have, 0)
    assert (it.failed, it.code) == (True, "malformed")


def test_unasked_answer_changes_nothing() -> None:
    it = upload()
    it.on_stored(5, 0)
    it.on_refused("no_space", "", 0)
    it.connected()
    it.on_stored(5, 0)
    it.on_refused("no_space", "", 0)
    assert it.take(0) == StoreFile(DIGEST, SIZE)


STEP = st.sampled_from(["take", "hear", "cut", "lose", "forget", "busy", "free"])


@given(st.lists(STEP, max_size=200))
def test_file_arrives_despite_any_faults(steps: list[str]) -> None:
    it, host = upload(), Host()
    it.connected()
    now = 0.0
    for step in steps:
        now += 0.3
        match step:
            case "take" if (frame := it.take(now)) is not None:
                host.take(frame)
            case "hear" if host.answers:
                hear(it, host, now)
            case "cut":  # answers on their way are lost
                host.answers.clear()
                it.disconnected()
                assert it.take(now) is None
                it.connected()
            case "lose" if it.take(now) is not None:  # a frame is lost, and so is the connection
                host.answers.clear()
                it.disconnected()
                it.connected()
            case "forget" if not it.over and host.have < SIZE:  # the host was started anew
                host.have = 0
                host.answers.clear()
                it.connected()
            case "busy":
                host.refusing = "too_fast"
            case "free":
                host.refusing = None
        assert len(host.answers) <= WINDOW
        assert it.done <= SIZE
    host.refusing = None
    for _ in range(60):
        now += 60
        run(it, host, now)
    assert it.complete
    assert host.have == SIZE


ANSWER = st.one_of(
    st.integers(-5, SIZE + 5), st.sampled_from(["corrupt", "disk", "too_fast", "no_space"])
)


@given(st.lists(st.one_of(st.just("take"), st.just("cut"), ANSWER), max_size=150))
def test_arbitrary_answers_break_nothing(steps: list[str | int]) -> None:
    it = upload()
    it.connected()
    on_their_way = 0
    for now, step in enumerate(steps):
        over = it.over
        if step == "take":
            frame = it.take(now * 50)
            assert frame is None or not over
            on_their_way += frame is not None
            if isinstance(frame, ChunkRange):
                assert 0 <= frame.offset < frame.offset + frame.length <= SIZE
        elif step == "cut":
            it.disconnected()
            it.connected()
            on_their_way = 0
        else:
            on_their_way = max(0, on_their_way - 1)
            if isinstance(step, int):
                it.on_stored(step, now)
            else:
                it.on_refused(step, "", now)  # type: ignore[arg-type]
        assert on_their_way <= WINDOW
        assert it.over >= over
