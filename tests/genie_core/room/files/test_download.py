import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.files.download import Download
from genie_core.room.protocol.frames import FetchFile, FilePiece, Refusal

DIGEST = "d" * 64
DATA = bytes(range(100))
SIZE, PIECE = len(DATA), 7


def piece(offset: int, data: bytes | None = None, size: int = SIZE) -> FilePiece:
    return FilePiece(DIGEST, offset, DATA[offset : offset + PIECE] if data is None else data, size)


def online(have: int = 0) -> Download:
    it = Download(DIGEST, SIZE, have)
    it.connected()
    return it


def test_next_piece_is_asked_after_write() -> None:
    it = Download(DIGEST, SIZE)
    assert it.take(0) is None
    it.connected()
    assert it.take(0) == FetchFile(DIGEST, 0)
    assert it.take(0) is None
    assert it.on_piece(piece(0), 0)
    assert it.to_write
    assert it.take(0) is None
    it.written(7)
    assert it.done == 7
    assert it.take(0) == FetchFile(DIGEST, 7)


def test_resumed_file_is_checked_at_end() -> None:
    it = online(have=98)
    assert it.take(0) == FetchFile(DIGEST, 98)
    assert it.on_piece(piece(98), 0)
    it.written(SIZE)
    assert it.to_check
    assert not it.over
    it.checked(0, intact=True)
    assert it.complete


def test_what_is_all_here_only_needs_a_check() -> None:
    it = Download(DIGEST, SIZE, SIZE)
    assert it.to_check
    it.connected()
    assert it.take(0) is None
    it.checked(0, intact=True)
    assert it.over


def test_damaged_file_is_refetched_once() -> None:
    it = online(have=SIZE)
    it.checked(0, intact=False)
    assert it.take(0) == FetchFile(DIGEST, 0)
    it.on_piece(FilePiece(DIGEST, 0, DATA, SIZE), 0)
    it.written(SIZE)
    it.checked(0, intact=False)
    assert (it.failed, it.code) == (True, "corrupt")


def test_a_lost_connection_costs_one_piece() -> None:
    it = online()
    it.take(0)
    it.disconnected()
    assert not it.over
    assert not it.on_piece(piece(0), 0)
    it.connected()
    assert it.take(0) == FetchFile(DIGEST, 0)
    it.on_piece(piece(0), 0)
    it.disconnected()  # while it is being written
    it.written(7)
    assert it.take(0) is None
    it.connected()
    assert it.take(0) == FetchFile(DIGEST, 7)


def test_new_connection_asks_again() -> None:
    it = online()
    it.take(0)
    it.connected()
    assert it.take(0) == FetchFile(DIGEST, 0)


@pytest.mark.parametrize(
    "wrong", [piece(7), piece(0, b""), piece(0, DATA + b"x"), piece(-7, b"abc")]
)
def test_unasked_piece_is_refused(wrong: FilePiece) -> None:
    it = online()
    for _ in range(3):
        assert it.take(0) == FetchFile(DIGEST, 0)
        assert not it.on_piece(wrong, 0)
        assert not it.over
    it.take(0)
    it.on_piece(wrong, 0)
    assert (it.failed, it.code) == (True, "out_of_state")


def test_a_file_of_another_size_is_another_file() -> None:
    it = online()
    it.take(0)
    assert not it.on_piece(piece(0, size=SIZE + 1), 0)
    assert (it.failed, it.code) == (True, "malformed")


@pytest.mark.parametrize(("code", "over"), [("unknown_file", True), ("disk", False)])
def test_some_refusals_are_for_good(code: Refusal, over: bool) -> None:
    it = online()
    it.take(0)
    it.on_refused(code, "not now", 0)
    assert it.over is over
    assert it.why == "not now"
    assert it.due(0) == (None if over else 1.0)
    assert it.take(1.0) == (None if over else FetchFile(DIGEST, 0))


STEPS = st.lists(st.sampled_from(["take", "answer", "write", "cut", "twice", "busy"]), max_size=200)


@given(STEPS, st.integers(0, SIZE))
def test_file_arrives_despite_any_faults(steps: list[str], have: int) -> None:
    it, here = online(have), bytearray(DATA[:have])
    asked: list[FetchFile] = []
    accepted: FilePiece | None = None
    now = 0.0

    def write() -> None:
        nonlocal accepted
        if accepted is not None:
            here.extend(accepted.data)
            accepted = None
            it.written(len(here))

    def answer() -> None:
        nonlocal accepted
        if asked:
            answering = piece(asked.pop(0).offset)
            accepted = answering if it.on_piece(answering, now) else accepted

    for step in steps:
        now += 0.3
        match step:
            case "take" if (frame := it.take(now)) is not None:
                asked.append(frame)
            case "answer":
                answer()
            case "write":
                write()
            case "cut":
                asked.clear()
                it.disconnected()
                it.connected()
            case "twice":  # a piece that nobody asked for
                assert asked or not it.on_piece(piece(0), now)
            case "busy" if asked:
                asked.pop(0)
                it.on_refused("too_fast", "wait", now)
        assert len(asked) <= 1
    for _ in range(SIZE):
        now += 60
        write()
        if (frame := it.take(now)) is not None:
            asked.append(frame)
        answer()
    write()
    assert it.to_check
    it.checked(now, intact=True)
    assert it.over
    assert bytes(here) == DATA


@given(
    st.lists(
        st.tuples(st.integers(-10, 110), st.binary(max_size=20), st.sampled_from([SIZE, SIZE + 1])),
        max_size=60,
    )
)
def test_oversized_pieces_are_not_written(
    pieces: list[tuple[int, bytes, int]],
) -> None:
    it, have = online(), 0
    for offset, data, size in pieces:
        it.take(0)
        if it.on_piece(FilePiece(DIGEST, offset, data, size), 0):
            assert (offset, size) == (have, SIZE)
            have += len(data)
            assert have <= SIZE
            it.written(have)
    assert it.done == have
