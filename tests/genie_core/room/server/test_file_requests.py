import pytest
from tests.genie_core.room.bench import ROOMY, Bench, only_refusal, refusals

from genie_core.room.protocol.events import FILE_NAME_CHARS, FileRef, MessagePosted, is_digest
from genie_core.room.protocol.frames import (
    Chunk,
    ClientFrame,
    FetchFile,
    FilePiece,
    FileStored,
    FrameRefused,
    PostMessage,
    StoreFile,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.server.file_requests import MAX_JOBS, FileJob

KNOWN = FileRef("a" * 64, "report.pdf", 300, "application/pdf")
NEW = "b" * 64


def library(limits: Limits = ROOMY) -> Bench:
    return Bench(limits=limits, files={KNOWN.digest: KNOWN})


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a" * 64, True),
        ("0123456789abcdef" * 4, True),
        ("a" * 63, False),
        ("a" * 65, False),
        ("A" * 64, False),
        ("../" + "a" * 61, False),
        ("١" * 64, False),
        ("", False),
    ],
)
def test_a_digest_is_sixty_four_hex_digits(text: str, good: bool) -> None:
    assert is_digest(text) is good


def test_valid_frame_becomes_one_job() -> None:
    bench = library()
    alice = bench.join("alice")
    frames: list[ClientFrame] = [
        StoreFile(NEW, 5),
        Chunk(NEW, 0, b"hello"),
        FetchFile(KNOWN.digest, 100),
    ]
    assert refusals(bench.tell(alice, *frames)) == []
    jobs = bench.room.files.take_jobs()
    assert jobs == [FileJob(alice.id, "alice", frame) for frame in frames]  # type: ignore[arg-type]
    assert bench.room.files.take_jobs() == []
    bench.room.files.answer(jobs[0], FileStored(NEW, 0))
    bench.room.files.answer(jobs[1], FrameRefused("corrupt", "not what it should be", NEW))
    bench.room.files.answer(jobs[2], FilePiece(KNOWN.digest, 100, b"x", 300))
    kinds = [type(frame) for frame in bench.pull(alice)]
    assert kinds == [FileStored, FrameRefused, FilePiece]


def test_a_file_that_is_there_is_not_sent_again() -> None:
    bench = library()
    alice = bench.join("alice")
    assert bench.tell(alice, StoreFile(KNOWN.digest, 999)) == [FileStored(KNOWN.digest, 300)]
    assert bench.room.files.take_jobs() == []


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (StoreFile("../../etc/passwd", 5), "malformed"),
        (Chunk("A" * 64, 0, b"x"), "malformed"),
        (FetchFile("", 0), "malformed"),
        (StoreFile(NEW, 0), "too_large"),
        (StoreFile(NEW, -1), "too_large"),
        (StoreFile(NEW, 1001), "too_large"),
        (FetchFile(NEW, 0), "unknown_file"),
        (FetchFile(KNOWN.digest, -1), "malformed"),
    ],
)
def test_what_is_not_in_order_is_refused(frame: ClientFrame, code: str) -> None:
    bench = library(Limits(file_bytes=1000))
    alice = bench.join("alice")
    refusal = only_refusal(bench.tell(alice, frame))
    assert (refusal.code, refusal.final) == (code, False)
    assert bench.room.files.take_jobs() == []


def test_a_peer_has_so_many_jobs_and_no_more() -> None:
    bench = library()
    alice, bob = bench.join("alice"), bench.join("bob")
    fetches = [FetchFile(KNOWN.digest, n) for n in range(MAX_JOBS + 3)]
    answers = refusals(bench.tell(alice, *fetches))
    assert [(each.code, each.ref) for each in answers] == [("too_fast", KNOWN.digest)] * 3
    jobs = bench.room.files.take_jobs()
    assert len(jobs) == MAX_JOBS
    assert only_refusal(bench.tell(alice, fetches[0])).code == "too_fast"
    assert refusals(bench.tell(bob, fetches[0])) == []
    bench.room.files.answer(jobs[0], FilePiece(KNOWN.digest, 0, b"x", 300))
    bench.pull(alice)
    assert refusals(bench.tell(alice, fetches[0])) == []
    assert only_refusal(bench.tell(alice, fetches[0])).code == "too_fast"


def test_who_is_gone_wants_nothing_any_more() -> None:
    bench = library()
    alice = bench.join("alice")
    bench.send(alice, FetchFile(KNOWN.digest, 0))
    (job,) = bench.room.files.take_jobs()
    bench.send(alice, FetchFile(KNOWN.digest, 1))
    bench.lose(alice)
    assert bench.room.files.take_jobs() == []
    bench.room.files.answer(job, FilePiece(KNOWN.digest, 0, b"x", 300))
    alice = bench.join("alice")
    fetches = [FetchFile(KNOWN.digest, n) for n in range(MAX_JOBS)]
    assert bench.tell(alice, *fetches) == []


def test_file_facts_come_from_room() -> None:
    bench = library()
    alice = bench.join("alice")
    lie = FileRef(KNOWN.digest, "\ud800" + "n" * 999, 1, "image/png")
    nameless = FileRef(KNOWN.digest, "", 1)
    bench.send(alice, PostMessage("1", "look", files=(lie, nameless)))
    (first, second) = bench.bodies(MessagePosted)[0].files
    assert (first.digest, first.size, first.media) == (KNOWN.digest, 300, "application/pdf")
    assert "\ud800" not in first.name
    assert "n" * 9 in first.name
    assert max(len(first.name), len(second.name)) <= FILE_NAME_CHARS
    assert second.name


def test_unknown_file_refuses_message() -> None:
    bench = library()
    alice = bench.join("alice")
    say = PostMessage("1", "look", files=(FileRef(NEW, "n.txt", 5),))
    refusal = only_refusal(bench.tell(alice, say))
    assert (refusal.code, refusal.ref) == ("unknown_file", "1")
    assert NEW in refusal.text
    bench.room.files.add(FileRef(NEW, "", 5, "text/plain"))
    assert refusals(bench.tell(alice, say)) == []
    assert bench.bodies(MessagePosted)[0].files == (FileRef(NEW, "n.txt", 5, "text/plain"),)


def test_invalid_digest_is_shortened() -> None:
    bench = library()
    alice = bench.join("alice")
    refusal = only_refusal(
        bench.tell(alice, PostMessage("1", "x", files=(FileRef("\ud800" * 9999, "n", 1),)))
    )
    assert refusal.code == "unknown_file"
    assert len(refusal.text) < 200


def test_lost_file_requests_drop_nobody() -> None:
    limits = Limits(replies=20)
    bench = library(limits)
    alice = bench.join("alice")
    for number in range(3 * limits.replies):
        refusal = only_refusal(bench.tell(alice, FetchFile(f"{number:064x}", 0)))
        assert (refusal.code, refusal.final) == ("unknown_file", False)
    bench.send(alice, PostMessage("1", "still here"))
    assert [body.text for body in bench.bodies(MessagePosted)] == ["still here"]


def test_vanished_file_may_be_stored_again() -> None:
    bench = library()
    alice = bench.join("alice")
    bench.send(alice, FetchFile(KNOWN.digest, 0))
    (job,) = bench.room.files.take_jobs()
    bench.room.files.answer(job, FrameRefused("unknown_file", "it is gone", KNOWN.digest))
    assert only_refusal(bench.pull(alice)).code == "unknown_file"
    assert bench.tell(alice, StoreFile(KNOWN.digest, 300)) == []
    assert len(bench.room.files.take_jobs()) == 1
    bench.room.files.add(KNOWN)
    assert bench.tell(alice, StoreFile(KNOWN.digest, 300)) == [FileStored(KNOWN.digest, 300)]


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("../../.ssh/authorized_keys", "authorized_keys"),
        ("\x1b[31mred\u202egpj.exe", "_[31mredgpj.exe"),
        ("C:\\con", "_con"),
        ("\u200b", "file"),
    ],
)
def test_log_has_safe_file_names(raw: str, name: str) -> None:
    bench = library()
    bench.send(bench.join("alice"), PostMessage("1", "x", files=(FileRef(KNOWN.digest, raw, 1),)))
    assert bench.bodies(MessagePosted)[0].files[0].name == name
