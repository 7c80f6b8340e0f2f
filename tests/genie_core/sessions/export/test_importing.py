"""Exported sessions come back as they were, or not at all."""

import io
import json
import stat
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.genie_core.room.founded import founded
from tests.genie_core.sessions.sample import BORN, DIGEST, FILE, ID, log_bytes, saved_room

from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.sessions.catalog import Catalog, staged
from genie_core.sessions.errors import AlreadySaved, NotImportable
from genie_core.sessions.export.importing import Imported, import_room
from genie_core.sessions.export.jsonl import write_bundle, write_lines
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.metadata import SessionMetadata
from genie_core.sessions.session import SavedSession
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import DiskFailure


def lines_of(saved: SavedSession) -> bytes:
    out = io.BytesIO()
    write_lines(saved, out)
    return out.getvalue()


def bundle_of(saved: SavedSession) -> bytes:
    out = io.BytesIO()
    write_bundle(saved, out)
    return out.getvalue()


def taken_in(base: Path, data: bytes, *, as_copy: bool = False) -> Imported:
    return import_room(base, io.BytesIO(data), "room.jsonl", as_copy=as_copy)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "there"


def as_imported(saved: SavedSession) -> SessionMetadata:
    """The record of a room after its import elsewhere."""
    return msgspec.structs.replace(saved.metadata, copied="import", origin=saved.metadata.id)


@pytest.mark.parametrize("kind", ["hosted", "joined"])
def test_what_is_exported_comes_back_the_same(here: Path, there: Path, kind: str) -> None:
    name = "bob" if kind == "joined" else ""
    saved = saved_room(here, kind=kind, name=name, tags=("work", "old"), alias="Mine")
    fresh, notes = (imported := taken_in(there, lines_of(saved))).saved, imported.notes
    assert (fresh.id, fresh.metadata) == (saved.id, as_imported(saved))
    assert fresh.log_path.read_bytes() == log_bytes()
    labels = "labels.jsonl"
    assert (fresh.folder / labels).read_bytes() == (saved.folder / labels).read_bytes()
    assert lines_of(fresh) == lines_of(saved)
    assert notes == ["1 attached file does not come along"]
    ((mine,), (theirs,)) = (Catalog(base).all() for base in (there, here))
    assert replace(mine, metadata=theirs.metadata) == theirs  # also when they were last active


def test_renamed_room_keeps_its_title(here: Path, there: Path) -> None:
    saved = saved_room(here)
    saved.rename("What we said")
    assert taken_in(there, lines_of(saved)).saved.metadata == as_imported(saved)


def test_attached_files_come_along_in_a_bundle(here: Path, there: Path) -> None:
    saved = saved_room(here)
    imported = taken_in(there, bundle_of(saved))
    assert imported.notes == []
    blobs = BlobStore(imported.saved.folder / BLOBS_NAME)
    assert blobs.digests() == {DIGEST: len(FILE)}
    assert blobs.read(DIGEST, 0, len(FILE)) == FILE
    assert bundle_of(imported.saved) == bundle_of(saved)


def test_what_is_taken_in_is_its_owners_alone(here: Path, there: Path) -> None:
    fresh = taken_in(there, bundle_of(saved_room(here))).saved
    for path in (fresh.folder, *fresh.folder.rglob("*")):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_a_room_that_is_there_is_not_touched(here: Path) -> None:
    saved = saved_room(here)
    data = lines_of(saved)
    with pytest.raises(AlreadySaved, match="--as-copy"):
        taken_in(here, data)
    assert names_in(here) == [ID]
    ids = {taken_in(here, data, as_copy=True).saved.id for _ in range(3)}
    assert len(ids | {ID}) == 4
    assert all(id_.startswith("2026-11-21-standup-") for id_ in ids)
    assert all(SavedSession.load(here / id_).metadata.id == id_ for id_ in ids)


def test_second_copy_stands_beside_first(here: Path) -> None:
    saved = saved_room(here, kind="joined", name="bob")
    fresh = taken_in(here, lines_of(saved), as_copy=True).saved
    assert fresh.id == f"{saved.id}~1"
    assert fresh.metadata == as_imported(saved)


def test_earlier_damage_is_kept_and_noted(here: Path, there: Path) -> None:
    saved = saved_room(here)
    lines = log_bytes().splitlines(keepends=True)
    lines[4] = b"\xff\x00 junk\r\n"
    saved.log_path.write_bytes(b"".join(lines))
    imported = taken_in(there, lines_of(saved))
    assert imported.saved.log_path.read_bytes() == b"".join(lines)
    assert any("line 5" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: b"", "no session"),
        (lambda data: b"# Notes\n\nof a meeting\n", "no session that was exported as jsonl or zip"),
        (lambda data: b"[" * 100_000 + b"\n", "no session"),
        (lambda data: data[:300], "no session"),
        (lambda data: data.replace(b'"genie-session":1', b'"genie-session":2'), "newer version"),
        (lambda data: data.replace(b'"version":3', b'"version":99'), "newer version"),
        (lambda data: data.replace(b'"version":3', b'"version":0'), "no format"),
        (lambda data: data.replace(b'"kind":"hosted"', b'"kind":"sold"'), "kind"),
        (lambda data: data.replace(f'"id":"{ID}"'.encode(), b'"id":7'), "id"),
        (lambda data: data.replace(f'"id":"{ID}"'.encode(), b'"id":"-rf"'), "its id is none"),
        (lambda data: data[:-10], "ends early"),
        (lambda data: data + b"{}\n", "behind its end"),
        (lambda data: data.replace(b"391", b"931"), "line 8 is damaged"),
        (lambda data: data.replace(b"\n", b"\r\n"), "changed after"),
        (lambda data: data.replace(b'"label":"wrong"', b'"label":"right"'), "changed after"),
        (lambda data: data.replace(b'"size":', b'"size":-'), "impossible"),
        (lambda data: b"PK\x03\x04" + data, "archive is damaged"),
    ],
)
def test_what_is_not_as_it_was_is_refused(
    here: Path, there: Path, change: Callable[[bytes], bytes], why: str
) -> None:
    data = lines_of(saved_room(here))
    with pytest.raises(NotImportable, match=why):
        taken_in(there, change(data))
    assert names_in(there) == []


def with_header(data: bytes, **fields: object) -> bytes:
    """The export with other words about the room."""
    first, _, rest = data.partition(b"\n")
    header = json.loads(first)
    header["record"].update(fields)
    return json.dumps(header).encode() + b"\n" + rest


@pytest.mark.parametrize(
    "id_", ["../../escaped", "/etc/escaped", "..", ".", "~root", "a/b", "x\0y", "Con", ".x"]
)
@pytest.mark.parametrize("kind", ["hosted", "joined"])
def test_no_id_leads_out_of_the_folder(here: Path, there: Path, id_: str, kind: str) -> None:
    data = with_header(lines_of(saved_room(here)), id=id_, kind=kind, name="../../bob")
    fresh = taken_in(there, data).saved
    assert fresh.folder.parent == there
    assert names_in(there) == [fresh.id]
    assert fresh.metadata.id == id_
    assert not fresh.id.startswith((".", "-", "~"))


def test_record_of_other_room_is_refused(tmp_path: Path) -> None:
    log = founded("bob")
    made = Catalog(tmp_path / "here").create("Team", 1.0, host="ann", name="ann")
    made.log_path.write_bytes(b"".join(map(encode_line, log.events)))
    room, other = log.state.room, f"other-{'a' * 24}"
    made.update(id=room)
    data = lines_of(made)
    taken_in(tmp_path / "there", data)
    copy = taken_in(tmp_path / "there", data, as_copy=True).saved
    taken_in(tmp_path / "elsewhere", lines_of(copy))
    with pytest.raises(NotImportable, match=f"{other}, and its log is of {room}"):
        taken_in(tmp_path / "other", data.replace(room.encode(), other.encode(), 1))
    assert names_in(tmp_path / "other") == []


def test_foreign_settings_are_dropped(here: Path, there: Path) -> None:
    data = with_header(
        lines_of(saved_room(here)),
        workspace="/",
        template="../../evil.md",
        address="evil.example:1",
        addresses=["evil.example:1"],
        pin="evil",
        title="a\ntitle\x1b[31m",
        seen=9,
    )
    record = taken_in(there, data).saved.metadata
    assert (record.workspace, record.template, record.address) == ("", "", "")
    assert (record.addresses, record.pin, record.seen) == ((), "", 0)
    assert record.title.isprintable()


def test_a_log_that_is_nearly_all_gap_is_refused(here: Path, there: Path) -> None:
    saved = saved_room(here)
    far = [Event(n * 90_000, BORN, "ann", MessagePosted(f"m{n}", "far")) for n in range(1, 40)]
    saved.log_path.write_bytes(b"".join(map(encode_line, far)))
    with pytest.raises(NotImportable, match="most of its log is missing"):
        taken_in(there, lines_of(saved))
    assert names_in(there) == []


def test_mostly_damaged_log_is_refused(here: Path, there: Path) -> None:
    saved = saved_room(here)
    saved.log_path.write_bytes(log_bytes() + b"\n" * 3_000)
    with pytest.raises(NotImportable, match="most of its log is damaged"):
        taken_in(there, lines_of(saved))
    assert names_in(there) == []


def test_labels_without_end_are_refused(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.sessions.export.importing.LABELS_BYTES", 10)
    with pytest.raises(NotImportable, match="its labels are too many"):
        taken_in(there, lines_of(saved_room(here)))
    assert names_in(there) == []


def test_an_endless_line_is_refused(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.sessions.export.importing.LINE_BYTES", 300_000)
    saved = saved_room(here)
    saved.log_path.write_bytes(b"x" * 900_000 + b"\n")
    with pytest.raises(NotImportable, match="bytes long"):
        taken_in(there, lines_of(saved))


def packed(*entries: tuple[str, bytes], mode: int = 0, name: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a name that comes twice
        for entry, data in entries:
            info = zipfile.ZipInfo(entry)
            info.external_attr = (mode if entry == name else 0) << 16
            archive.writestr(info, data)
    return out.getvalue()


@pytest.mark.parametrize(
    "stray",
    [
        "../session.jsonl",
        "/etc/passwd",
        "blobs/../../escaped",
        f"blobs/{DIGEST}/x",
        f"blobs/{DIGEST.upper()}",
        f"blobs\\{DIGEST}",
        "blobs/con",
        "engine/memory.json",
        "passes.json",
        "room.json",
        "session.jsonl/",
        "SESSION.JSONL",
        "C:\\escaped",
    ],
)
def test_archive_with_stray_is_refused(here: Path, there: Path, stray: str) -> None:
    data = packed(("session.jsonl", lines_of(saved_room(here))), (stray, FILE))
    with pytest.raises(NotImportable, match="no exported session has a file"):
        taken_in(there, data)
    assert names_in(there) == []
    assert sorted(path.name for path in there.parent.iterdir()) == ["here", "there"]


def test_repacked_archive_is_accepted(here: Path, there: Path) -> None:
    lines = lines_of(saved_room(here))
    data = packed(
        (f"{BLOBS_NAME}/", b""), (f"{BLOBS_NAME}/{DIGEST}", FILE), ("session.jsonl", lines)
    )
    assert taken_in(there, data).notes == []


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        ([("session.jsonl", None), ("session.jsonl", None)], "twice"),
        ([("session.jsonl", None), (f"blobs/{DIGEST}", FILE), (f"blobs/{DIGEST}", FILE)], "twice"),
        ([(f"blobs/{DIGEST}", FILE)], "without session.jsonl"),
        ([], "without session.jsonl"),
        ([("session.jsonl", None), (f"blobs/{DIGEST}", FILE[:-1])], "belongs to no message"),
        ([("session.jsonl", None), (f"blobs/{DIGEST}", FILE[::-1])], "is damaged"),
        ([("session.jsonl", None), (f"blobs/{'0' * 64}", FILE)], "belongs to no message"),
        ([("session.jsonl", b"PK")], "no session"),
    ],
)
def test_impossible_archive_is_refused(
    here: Path, there: Path, entries: list[tuple[str, bytes | None]], why: str
) -> None:
    lines = lines_of(saved_room(here))
    data = packed(*((name, lines if data is None else data) for name, data in entries))
    with pytest.raises(NotImportable, match=why):
        taken_in(there, data)
    assert names_in(there) == []


@pytest.mark.parametrize("mode", [stat.S_IFLNK | 0o777, stat.S_IFCHR | 0o600, stat.S_IFIFO])
def test_links_and_devices_are_refused(here: Path, there: Path, mode: int) -> None:
    blob = f"blobs/{DIGEST}"
    lines = lines_of(saved_room(here))
    data = packed(("session.jsonl", lines), (blob, b"/etc/passwd"), mode=mode, name=blob)
    with pytest.raises(NotImportable, match="not an ordinary file"):
        taken_in(there, data)


def test_an_archive_that_swells_is_refused(here: Path, there: Path) -> None:
    """A few kilobytes that unpack to more than they say, or than any message speaks of."""
    swollen = packed(
        ("session.jsonl", lines_of(saved_room(here))), (f"blobs/{DIGEST}", b"\0" * 50_000_000)
    )
    lied = swollen.replace((50_000_000).to_bytes(4, "little"), len(FILE).to_bytes(4, "little"))
    for data in (swollen, lied):
        with pytest.raises(NotImportable):
            taken_in(there, data)
        assert names_in(there) == []


def test_oversized_unpacking_is_refused(
    here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.sessions.export.parcel.SLACK", 1_000_000)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("session.jsonl", lines_of(saved_room(here)) + b"\n" * 4_000_000)
    data = out.getvalue()
    with pytest.raises(NotImportable, match="unpacks to far more"):
        taken_in(there, data)
    assert names_in(there) == []


def test_truncated_archive_is_named(here: Path, there: Path) -> None:
    data = packed(("session.jsonl", lines_of(saved_room(here))))
    with pytest.raises(NotImportable, match="damaged: its end is missing"):
        taken_in(there, data[: len(data) // 2])
    assert names_in(there) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-6] + b"\xff" + data[-5:],  # where the list of files begins
        lambda data: data.replace(b"session.jsonl", b"session.json\x8b").replace(
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x00\x08"
        ),  # a name that is told to be UTF-8, and is not
    ],
)
def test_contradictory_archive_is_refused(
    here: Path, there: Path, change: Callable[[bytes], bytes]
) -> None:
    data = packed(("session.jsonl", lines_of(saved_room(here))))
    assert change(data) != data
    with pytest.raises(NotImportable, match="archive is damaged"):
        taken_in(there, change(data))
    assert names_in(there) == []


def test_next_import_sweeps_killed_one(here: Path, there: Path) -> None:
    with staged(there) as under_way:
        (under_way.parent.with_name(".importing-killed") / "room").mkdir(parents=True)
        assert Catalog(there).all() == []
        taken_in(there, lines_of(saved_room(here)))
        assert names_in(there) == [under_way.parent.name, ID]


def test_import_needs_free_space(here: Path, there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = bundle_of(saved_room(here))
    monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": 100})())
    with pytest.raises(DiskFailure, match="free some space"):
        taken_in(there, data)
    assert names_in(there) == []


@settings(max_examples=60)
@given(data=st.data())
def test_any_damage_leaves_nothing_behind(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    base = tmp_path_factory.mktemp("damage")
    saved = saved_room(base)
    whole = data.draw(st.sampled_from([lines_of(saved), bundle_of(saved)]))
    place = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(0, 255))
    changed = whole[:place] + bytes([other]) + whole[place + 1 :]
    there = base / "there"
    try:
        fresh = taken_in(there, changed).saved
    except (NotImportable, AlreadySaved):
        assert names_in(there) == []
    else:  # what is told of the room, or a zip's own fields that say nothing of the content
        assert fresh.log_path.read_bytes() == log_bytes()
        assert isinstance(fresh.metadata, SessionMetadata)
