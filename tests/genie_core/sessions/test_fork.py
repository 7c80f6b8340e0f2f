import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from genie_core.room.protocol.events import (
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.errors import DamagedSession, NoSuchEvent
from genie_core.sessions.fork import fork
from genie_core.sessions.labels import Label, Labels
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import DiskFailure

NOW = 1_795_219_200.0
FILES = {hashlib.sha256(data).hexdigest(): data for data in (b"one", b"two", b"three")}
ONE, TWO, THREE = FILES
UNKNOWN = b'{"seq":9,"at":109.0,"by":"bob","body":{"type":"waved","hand":"left"}'


def said(id_: str, text: str, *files: str) -> MessagePosted:
    return MessagePosted(
        id_,
        text,
        handler="ann",
        files=tuple(FileRef(digest, f"{digest[:4]}.txt", len(FILES[digest])) for digest in files),
    )


BODIES: list[tuple[str, AnyBody]] = [
    ("", RoomCreated("r1", "Standup")),
    ("", HostStarted("ann")),
    ("ann", MemberJoined("host", key="k1")),
    ("bob", said("1", "look at these", ONE, TWO)),
    ("ann", DecisionMade(4, "delegate", query="look")),
    ("ann", ApprovalRequested(4, "a1", "files", "read_file", {"path": "x"})),
    ("ann", ApprovalResolved(4, "a1", "parked")),
    ("bob", said("2", "and this", THREE)),
]


def line(data: bytes) -> bytes:
    import zlib

    return b'%b,"crc":"%08x"}\n' % (data, zlib.crc32(data))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path / "sessions")


@pytest.fixture
def saved(catalog: Catalog) -> SavedSession:
    """Ann's room, in which the last event is of a kind that is not known here."""
    saved = catalog.create("Standup", NOW, name="ann", host="ann", template="quiet")
    events = [Event(seq, 100.0 + seq, by, body) for seq, (by, body) in enumerate(BODIES, 1)]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)) + line(UNKNOWN))
    for name, data in (("one", b"one"), ("three", b"three")):  # the second one never came
        source = saved.folder.parent / name
        source.write_bytes(data)
        BlobStore(saved.folder / BLOBS_NAME).add(source)
        source.unlink()
    (saved.engine_path).mkdir()
    (saved.engine_path / "memory.json").write_text("{}")
    (saved.folder / "passes.json").write_text("[]")
    return saved


def everything_in(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_fork_is_new_room_with_same_past(catalog: Catalog, saved: SavedSession) -> None:
    before = everything_in(saved.folder)
    made = fork(catalog, saved, NOW + 86_400)
    assert (made.head, made.lacking) == (9, 1)
    assert made.saved.id.startswith("2026-11-22-standup-fork-")
    record = catalog.find(made.saved.id).metadata
    assert (record.id, record.title, record.kind) == (made.saved.id, "Standup (fork)", "hosted")
    assert (record.name, record.template) == ("ann", "quiet")
    assert (record.copied, record.origin) == ("fork", saved.id)
    assert (record.people, record.messages, record.parked, record.unread) == (1, 2, 1, 0)
    assert made.saved.log_path.read_bytes() == saved.log_path.read_bytes()
    assert BlobStore(made.saved.folder / BLOBS_NAME).digests() == {ONE: 3, THREE: 5}
    assert everything_in(saved.folder) == before
    assert sorted(everything_in(made.saved.folder)) == sorted(
        ["room.json", "events.jsonl", f"blobs/{ONE}", f"blobs/{THREE}"]
    )
    for path in (made.saved.log_path, made.saved.folder / "room.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("at", "digests"), [(1, set()), (3, set()), (4, {ONE}), (8, {ONE, THREE})])
def test_a_fork_at_an_event_ends_with_it(
    catalog: Catalog, saved: SavedSession, at: int, digests: set[str]
) -> None:
    made = fork(catalog, saved, NOW, at)
    lines = made.saved.log_path.read_bytes().splitlines()
    assert [json.loads(each)["seq"] for each in lines] == list(range(1, at + 1))
    assert lines == saved.log_path.read_bytes().splitlines()[:at]
    assert set(BlobStore(made.saved.folder / BLOBS_NAME).digests()) == digests
    with (opened := made.saved.open_log()).log:
        assert opened.problems == []


@pytest.mark.parametrize("at", [0, -1, 10])
def test_unknown_event_refuses_fork(catalog: Catalog, saved: SavedSession, at: int) -> None:
    with pytest.raises(NoSuchEvent, match="its last one is 9"):
        fork(catalog, saved, NOW, at)
    assert [each.id for each in catalog.all()] == [saved.id]


def test_an_empty_room_cannot_be_forked(catalog: Catalog) -> None:
    with pytest.raises(NoSuchEvent, match="it has none"):
        fork(catalog, catalog.create("Empty", NOW), NOW)


@pytest.mark.timeout(60)
def test_log_that_is_a_pipe_is_not_forked(catalog: Catalog, saved: SavedSession) -> None:
    saved.log_path.unlink()
    os.mkfifo(saved.log_path)
    with pytest.raises(DamagedSession):
        fork(catalog, saved, NOW)


def test_labels_follow_their_messages(catalog: Catalog, saved: SavedSession) -> None:
    labels = Labels.read(saved.folder)
    for seq in (4, 8):
        labels.put(Label(seq, "wrong", "delegate", 200.0, "ann"))
    made = fork(catalog, saved, NOW, 5)
    assert set(Labels.read(made.saved.folder).wrong) == {4}


def test_open_room_is_forked_without_tail(catalog: Catalog, saved: SavedSession) -> None:
    intact = saved.log_path.read_bytes()
    with saved.log_path.open("ab") as log:
        log.write(b'{"seq":10,')
    with saved.held():
        made = fork(catalog, saved, NOW)
    assert made.saved.log_path.read_bytes() == intact


def test_fork_of_fork_is_titled_once(catalog: Catalog, saved: SavedSession) -> None:
    again = fork(catalog, fork(catalog, saved, NOW).saved, NOW)
    assert again.saved.metadata.title == "Standup (fork)"
    saved.rename("x" * 500)
    assert len(fork(catalog, saved, NOW).saved.metadata.title) == 120


def test_files_are_copied_without_links(
    catalog: Catalog, saved: SavedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_self: Path, _target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    made = fork(catalog, saved, NOW)
    assert (made.saved.folder / BLOBS_NAME / THREE).read_bytes() == b"three"


def test_nothing_is_left_of_a_fork_that_failed(
    catalog: Catalog, saved: SavedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(saved.folder.parent.iterdir())

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdatasync", full)
    with pytest.raises(DiskFailure, match="No space left"):
        fork(catalog, saved, NOW)
    assert sorted(saved.folder.parent.iterdir()) == before


def test_killed_fork_leaves_nothing(catalog: Catalog, saved: SavedSession) -> None:
    before = sorted(saved.folder.parent.iterdir())
    program = (
        "import os, sys; from pathlib import Path; from genie_core.sessions import fork\n"
        "from genie_core.sessions.catalog import Catalog\n"
        "fork.link_files = lambda *_: os.kill(os.getpid(), 9)\n"
        "rooms = Catalog(Path(sys.argv[1]))\n"
        "fork.fork(rooms, rooms.find(sys.argv[2]), 0.0)\n"
    )
    arguments = [sys.executable, "-c", program, str(saved.folder.parent), saved.id]
    assert subprocess.run(arguments, check=False).returncode == -9
    assert len(list(saved.folder.parent.iterdir())) == len(before) + 1
    assert [each.id for each in catalog.all()] == [saved.id]
    catalog.catch_up()
    assert sorted(saved.folder.parent.iterdir()) == before


def test_disordered_log_is_forked_in_order(catalog: Catalog, saved: SavedSession) -> None:
    lines = saved.log_path.read_bytes().splitlines(keepends=True)
    saved.log_path.write_bytes(b"".join([lines[5], *lines[:5], *lines[6:]]))
    assert fork(catalog, saved, NOW).saved.log_path.read_bytes() == b"".join(lines)
