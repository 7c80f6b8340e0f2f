import hashlib
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.check import check
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.journal import encode_line as encode_journal_line

NOW = 1_795_219_200.0
DIGEST = hashlib.sha256(b"content").hexdigest()
FILES = (FileRef(DIGEST, "a.txt", len(b"content")),)
BODIES: list[tuple[str, AnyBody]] = [
    ("", RoomCreated("r1", "Standup")),
    ("", HostStarted("ann")),
    ("ann", MemberJoined("host")),
    ("bob", MessagePosted("1", "hello", files=FILES)),
    ("bob", MessagePosted("2", "anybody here?")),
]
EVENTS = [Event(seq, 100.0 + seq, by, body) for seq, (by, body) in enumerate(BODIES, 1)]
LINES = [encode_line(event) for event in EVENTS]


@pytest.fixture
def saved(tmp_path: Path) -> SavedSession:
    """A room in which all is in order."""
    saved = Catalog(tmp_path / "sessions").create("Standup", NOW, name="ann", host="ann")
    saved.log_path.write_bytes(b"".join(LINES))
    source = tmp_path / "a.txt"
    source.write_bytes(b"content")
    BlobStore(saved.folder / BLOBS_NAME).add(source)
    saved.summarise(saved.reader().state(), 105.0)
    return saved


def test_nothing_is_wrong_with_a_room_in_order(saved: SavedSession) -> None:
    before = sorted(saved.folder.rglob("*"))
    found = check(saved.folder)
    assert (found.problems, found.remarks, found.skipped) == ([], [], "")
    assert found.log is not None
    assert (found.log.state.head, found.files) == (5, 1)
    assert sorted(saved.folder.rglob("*")) == before


def unknown_line(seq: int, kind: str) -> bytes:
    data = b'{"seq":%d,"at":105.0,"by":"bob","body":{"type":"%b"}' % (seq, kind.encode())
    return b'%b,"crc":"%08x"}\n' % (data, zlib.crc32(data))


CASES: dict[str, tuple[bytes, list[str]]] = {
    "a torn end": (
        b"".join(LINES) + b'{"seq":6',
        ["the last line is unfinished: --repair, or the next opening, cuts 8 bytes off"],
    ),
    "a damaged line": (
        b"".join([*LINES[:3], b"rubbish\n", LINES[4]]),
        [
            "line 4 is damaged: its checksum does not match",
            "event 4 before line 5 can't be read",
            "room.json tells of 2 messages, and the log has 1",
        ],
    ),
    "many damaged lines": (
        LINES[0] + b"x\n" * 9 + b"".join(LINES[1:]),
        [f"line {number} is damaged" for number in range(2, 11)],
    ),
    "a line of the text is changed": (
        b"".join(LINES).replace(b"anybody", b"nobody!"),
        ["line 5 is damaged: its checksum", "room.json tells of 2 messages, and the log has 1"],
    ),
    "a line comes again": (
        b"".join([*LINES, LINES[2]]),
        ["line 6 repeats event 3 and is left out"],
    ),
    "an event is missing": (
        b"".join([*LINES[:2], *LINES[3:]]),
        ["event 3 before line 3 can't be read"],
    ),
    "all is gone": (
        b"",
        ["tells of 2 messages, and the log has 0", "tells of 5 events, and the log has 0"],
    ),
    "the end is gone": (
        b"".join(LINES[:4]),
        ["tells of 2 messages, and the log has 1", "tells of 5 events, and the log has 4"],
    ),
}


@pytest.mark.parametrize(("content", "problems"), CASES.values(), ids=CASES)
def test_log_problems_are_listed_by_line(
    saved: SavedSession, content: bytes, problems: list[str]
) -> None:
    saved.log_path.write_bytes(content)
    found = check(saved.folder)
    assert len(found.problems) == len(problems)
    for said, expected in zip(found.problems, problems, strict=True):
        assert expected in said
    assert saved.log_path.read_bytes() == content


def test_outdated_summary_is_no_problem(saved: SavedSession) -> None:
    with saved.log_path.open("ab") as log:
        log.write(encode_line(Event(6, 106.0, "bob", MessagePosted("3", "hello?"))))
    found = check(saved.folder)
    assert found.problems == []
    assert found.remarks == ["room.json is behind the log, by 1 event"]


JOURNAL = encode_journal_line({"role": "user"})


@pytest.mark.parametrize(
    ("name", "intact", "damaged", "why"),
    [
        ("engine/a/ann/system.jsonl", JOURNAL * 2, JOURNAL + b"junk\n" + JOURNAL, "line 2"),
        ("engine/a/ann/reasoner.json", JOURNAL, JOURNAL.replace(b"user", b"used"), "checksum"),
        (
            "withheld.jsonl",
            b'{"approval":"1"}\n{"appr',
            b'{"approval"\n{"approval":"1"}\n',
            "line 1",
        ),
        ("view.json", b'{"draft":"hello"}', b'{"draft":', "line 1"),
        ("changes/changes.jsonl", b"", b'\0\n{"id":"1"}\n', "line 1"),
    ],
)
def test_damaged_files_are_named(
    saved: SavedSession, name: str, intact: bytes, damaged: bytes, why: str
) -> None:
    path = saved.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(intact)
    assert check(saved.folder).problems == []
    path.write_bytes(damaged)
    (problem,) = check(saved.folder).problems
    assert problem.startswith(f"{name} is damaged: ")
    assert why in problem


def test_events_of_a_later_version_are_no_damage(saved: SavedSession) -> None:
    with saved.log_path.open("ab") as log:
        log.writelines([unknown_line(6, "waved"), unknown_line(7, "waved")])
    saved.update(head=7)
    found = check(saved.folder)
    assert found.problems == []
    assert found.remarks == [
        "2 events can't be shown: this version does not know events like 'waved'"
    ]


def remove(path: Path) -> None:
    path.chmod(0o600)
    path.unlink()


def spoil(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(b"CONTENT")


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (remove, "1 file is not on this machine"),
        (spoil, f"the file {DIGEST[:12]}… is damaged: its SHA-256 is another"),
    ],
)
def test_files_are_checked(saved: SavedSession, harm: Callable[[Path], None], problem: str) -> None:
    harm(saved.folder / BLOBS_NAME / DIGEST)
    assert check(saved.folder).problems == [problem]


def test_damaged_files_are_told_in_order(saved: SavedSession, tmp_path: Path) -> None:
    store, digests = BlobStore(saved.folder / BLOBS_NAME), []
    for number in range(9):
        (source := tmp_path / "more.txt").write_text(f"content {number}")
        digests.append(store.add(source)[0])
    files = tuple(FileRef(each, "more.txt", len("content 1")) for each in digests)
    with saved.log_path.open("ab") as log:
        log.write(encode_line(Event(6, 106.0, "bob", MessagePosted("3", "more", files=files))))
    for each in digests:
        spoil(store.path(each))
    told = [problem.split()[2] for problem in check(saved.folder).problems[-9:]]
    assert told == [f"{each[:12]}…" for each in digests]


def test_a_copy_need_not_have_all_files(saved: SavedSession) -> None:
    remove(saved.folder / BLOBS_NAME / DIGEST)
    saved.update(kind="joined")
    found = check(saved.folder)
    assert (found.problems, found.remarks) == ([], ["1 file is not on this machine"])


@pytest.mark.parametrize("content", ["", "{", '{"version": 2}'])
def test_bad_record_and_log_are_reported(saved: SavedSession, content: str) -> None:
    (saved.folder / "room.json").write_text(content)
    with saved.log_path.open("ab") as log:
        log.write(b"torn")
    first, second = check(saved.folder).problems
    assert "room.json can't be read" in first
    assert "unfinished" in second


def test_a_room_that_is_open_is_passed_over(saved: SavedSession) -> None:
    with saved.held():
        found = check(saved.folder)
    assert "it is open in process" in found.skipped
    assert "ann" in found.skipped
    assert check(saved.folder).skipped == ""


def test_newer_room_is_skipped(saved: SavedSession) -> None:
    (saved.folder / "room.json").write_text('{"version": 99}')
    assert "newer version" in check(saved.folder).skipped


def test_folder_as_log_is_one_problem(saved: SavedSession) -> None:
    saved.log_path.unlink()
    saved.log_path.mkdir()
    (problem,) = check(saved.folder).problems
    assert "Is a directory" in problem
