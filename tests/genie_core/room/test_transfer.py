import pytest

from genie_core.room.protocol.codec import encode
from genie_core.room.protocol.events import (
    Event,
    FileRef,
    MemberJoined,
    MessagePosted,
    RecoveredEvent,
)
from genie_core.room.protocol.frames import Chunk, Refusal
from genie_core.room.transfer import (
    CHUNK_BYTES,
    LONGEST_PAUSE,
    PAUSE,
    Troubles,
    files_of,
    fitting_chunk,
)


@pytest.mark.parametrize(
    ("code", "times"), [("no_space", 0), ("corrupt", 1), ("out_of_state", 3), ("disk", 6)]
)
def test_some_troubles_are_borne_for_a_while(code: Refusal, times: int) -> None:
    troubles = Troubles()
    assert [troubles.bear(code, 0) for _ in range(times + 1)] == [True] * times + [False]


def test_a_host_that_asks_for_patience_gets_it_at_growing_intervals() -> None:
    troubles = Troubles()
    waits = []
    for _ in range(50):
        assert troubles.bear("too_fast", 100.0)
        waits.append(troubles.wait(100.0))
    assert waits[:3] == [PAUSE, 2 * PAUSE, 4 * PAUSE]
    assert waits[-1] == LONGEST_PAUSE
    assert troubles.wait(200.0) == 0


def test_progress_makes_patient_again_but_not_with_damage() -> None:
    troubles = Troubles()
    for _ in range(20):
        assert troubles.bear("out_of_state", 0)
        troubles.overcome()
    assert troubles.bear("corrupt", 0)
    troubles.overcome()
    assert not troubles.bear("corrupt", 0)


def said(*files: FileRef) -> Event:
    return Event(1, 0.0, "alice", MessagePosted("id", "see", files=files))


def test_files_are_found_in_messages_also_in_those_from_a_copy() -> None:
    first, second = FileRef("1" * 64, "a", 1), FileRef("2" * 64, "b", 1)
    recovered = Event(2, 0.0, "bob", RecoveredEvent(said(second)))
    others = Event(3, 0.0, "bob", MemberJoined("member"))
    assert list(files_of([said(first), recovered, others])) == [first, second]


@pytest.mark.parametrize("frame_bytes", [16 * 1024, 100_000, 128 * 1024, 4 * 1024 * 1024])
def test_a_chunk_fits_into_the_smallest_frames(frame_bytes: int) -> None:
    chunk = Chunk("ab" * 32, 2**40, bytes(fitting_chunk(frame_bytes)))
    assert len(encode(chunk)) <= frame_bytes
    assert fitting_chunk(frame_bytes) <= CHUNK_BYTES
