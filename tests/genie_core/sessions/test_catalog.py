import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.events import Event, MessagePosted
from genie_core.sessions.catalog import Catalog, extent
from genie_core.sessions.errors import AmbiguousSession, DamagedSession, UnknownSession
from genie_core.sessions.lock import hold
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.metadata import TITLE_CHARS, SessionMetadata
from genie_core.sessions.session import SavedSession
from genie_core.storage.errors import DiskFailure, StorageError

NOW = 1_795_219_200.0  # 2026-11-21 00:00 UTC


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(tmp_path / "data" / "sessions")


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Standup", "standup"),
        ("  Weekly — Déjà vu!  ", "weekly-deja-vu"),
        ("../../etc/passwd", "etc-passwd"),
        ("会議", "room"),
        ("", "room"),
        ("a very long title that goes on and on", "a-very-long-title-that-g"),
    ],
)
def test_ids_tell_day_and_title(catalog: Catalog, title: str, slug: str) -> None:
    saved = catalog.create(title, NOW, host="hana")
    assert saved.id.startswith(f"2026-11-21-{slug}-")
    assert len(saved.id) == len(f"2026-11-21-{slug}-") + 4
    assert (saved.metadata.id, saved.metadata.kind) == (saved.id, "hosted")
    assert saved.metadata.title == title.strip()
    assert catalog.find(saved.id).metadata == saved.metadata
    assert stat.S_IMODE(saved.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(saved.folder.parent.stat().st_mode) == 0o700


def test_an_id_that_is_taken_is_not_given_twice(catalog: Catalog) -> None:
    suffixes = iter(["aaaa", "aaaa", "bbbb"])
    first = catalog.create("Standup", NOW, suffix=lambda: next(suffixes))
    second = catalog.create("Standup", NOW, suffix=lambda: next(suffixes))
    assert (first.id[-4:], second.id[-4:]) == ("aaaa", "bbbb")


def test_latest_comes_first_with_problems(catalog: Catalog) -> None:
    assert catalog.all() == []
    old = catalog.create("Old", NOW - 1000)
    new = catalog.create("New", NOW + 10**9)
    bad = catalog.create("Bad", NOW)
    (bad.folder / "room.json").write_text('{"version": 99}')
    os.utime(bad.folder / "room.json", (1.0, 1.0))
    os.utime(old.folder / "room.json", (1.0, 1.0))
    (old.folder.parent / "stray").mkdir()
    (old.folder.parent / "file").write_text("")
    listings = catalog.all()
    assert [listing.id for listing in listings] == [new.id, old.id, bad.id]
    assert [listing.title for listing in listings] == ["New", "Old", bad.id]
    assert "newer version" in listings[2].note
    assert listings[0].note == ""


def test_missing_record_is_damage(catalog: Catalog) -> None:
    saved = catalog.create("Standup", NOW)
    saved.log_path.write_bytes(b"")
    (saved.folder / "room.json").unlink()
    (listing,) = catalog.all()
    assert listing.id == saved.id
    assert "room.json can't be read" in listing.note
    with pytest.raises(DamagedSession):
        catalog.find(saved.id)


def test_activity_is_time_of_last_event(catalog: Catalog) -> None:
    saved = catalog.create("Standup", 100.0)
    lines = [
        encode_line(Event(seq, 100.0 + seq, "ann", MessagePosted("m", "x" * 9_000)))
        for seq in (1, 2)
    ]
    saved.log_path.write_bytes(b"".join(lines) + lines[0][:-20] + b"\n" + lines[1][:50])
    assert [listing.last_activity for listing in catalog.all()] == [102.0]


def test_unreadable_log_uses_file_times(catalog: Catalog) -> None:
    saved = catalog.create("Standup", 100.0)
    saved.log_path.write_bytes(b"what")
    assert [listing.last_activity for listing in catalog.all()] == [100.0]
    (saved.folder / "room.json").write_text("{")
    os.utime(saved.log_path, (5000.0, 5000.0))
    assert [listing.last_activity for listing in catalog.all()] == [5000.0]


def test_changing_the_record_is_no_activity(catalog: Catalog) -> None:
    saved = catalog.create("Standup", 100.0)
    saved.tag(["work"])
    assert [listing.last_activity for listing in catalog.all()] == [100.0]


def test_rooms_are_found_by_what_they_begin_with(catalog: Catalog) -> None:
    standup = catalog.create("Standup", NOW)
    retro = catalog.create("Retro", NOW)
    assert catalog.find("2026-11-21-st").id == standup.id
    assert catalog.find(retro.id).id == retro.id
    with pytest.raises(AmbiguousSession) as ambiguous:
        catalog.find("2026-11-21")
    assert sorted(ambiguous.value.candidates) == sorted([standup.id, retro.id])
    with pytest.raises(UnknownSession) as unknown:
        catalog.find("2026-11-21-standap")
    assert unknown.value.nearest == (standup.id,)
    assert standup.id in str(unknown.value)
    for wanted in ("", "..", "../sessions", "/"):
        with pytest.raises(UnknownSession):
            catalog.find(wanted)


def test_concurrent_copies_share_folder(catalog: Catalog) -> None:
    many = 8
    start = threading.Barrier(many)

    def make(_: int) -> Path:
        start.wait()
        return catalog.copy_of("r1", "One", "ben", 1.0).folder

    with ThreadPoolExecutor(many) as pool:
        folders = set(pool.map(make, range(many)))
    assert len(folders) == 1
    assert [listing.note for listing in catalog.all()] == [""]


def test_copy_is_kept_apart_from_hosted(catalog: Catalog) -> None:
    hosted = catalog.create("Standup", NOW)
    copy = catalog.copy_of(hosted.id, "Standup", "bob", NOW, address="127.0.0.1:7654")
    assert copy.id == f"{hosted.id}@bob"
    assert (copy.metadata.id, copy.metadata.kind, copy.metadata.name) == (
        hosted.id,
        "joined",
        "bob",
    )
    again = catalog.copy_of(hosted.id, "renamed", "bob", NOW + 5)
    assert again.metadata == copy.metadata
    assert catalog.copy_of(hosted.id, "Standup", "alice", NOW).folder != copy.folder
    assert catalog.find(hosted.id).id == hosted.id


PARTS = st.text(min_size=1, max_size=70).filter(
    lambda text: max(text) < "\ud800" or max(text) > "\udfff"
)


@given(st.lists(st.tuples(PARTS, PARTS), min_size=2, max_size=2, unique=True))
def test_distinct_copies_have_own_folders(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    base = tmp_path_factory.mktemp("sessions")
    folders = [Catalog(base).copy_of(room, "t", name, NOW).folder for room, name in pairs]
    assert folders[0].name.lower() != folders[1].name.lower()
    for folder in folders:
        assert folder.resolve().parent == base.resolve()


@pytest.mark.parametrize(
    ("room", "name"),
    [("../../x", ".."), ("a/b", "c\\d"), ("", ""), ("a\0b", "c"), (".", "x" * 500)],
)
def test_names_from_elsewhere_never_act_as_paths(
    catalog: Catalog, tmp_path: Path, room: str, name: str
) -> None:
    copy = catalog.copy_of(room, "t", name, NOW)
    assert copy.folder.resolve().parent == (tmp_path / "data" / "sessions").resolve()
    assert catalog.copy_of(room, "t", name, NOW).metadata == copy.metadata


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("Caf\udce9", "Caf?"),
        ("one\r\ntwo\tthree", "one two three"),
        ("bell\x07 and \x1b[31mred\x9b", "bell and [31mred"),
        ("x" * 5000, "x" * TITLE_CHARS),
        ("\ud83d" * 5000, "?" * TITLE_CHARS),
    ],
)
def test_title_becomes_one_safe_line(catalog: Catalog, title: str, kept: str) -> None:
    for saved in (catalog.create(title, NOW), catalog.copy_of("r1", title, "bob", NOW)):
        assert saved.metadata.title == kept
        assert catalog.find(saved.id).metadata.title == kept


def test_file_as_folder_is_clear_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    catalog = Catalog(tmp_path / "data" / "sessions")
    for attempt in (
        lambda: catalog.create("Standup", NOW),
        lambda: catalog.copy_of("r1", "Standup", "bob", NOW),
        lambda: catalog.find("2026"),
        catalog.all,
    ):
        with pytest.raises(DiskFailure, match="Not a directory; move away the file") as failure:
            attempt()
        assert str(tmp_path / "data" / "sessions") in str(failure.value)
        assert "\n" not in str(failure.value)


def test_unreadable_room_hides_no_other(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    locked, other = catalog.create("Locked", NOW), catalog.create("Other", NOW)
    stat_of = Path.stat

    def refuse(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if locked.folder in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return stat_of(path, follow_symlinks=follow_symlinks)

    (locked.folder / "room.json").unlink()
    monkeypatch.setattr(Path, "stat", refuse)  # root may read everything
    assert {listing.id: bool(listing.note) for listing in catalog.all()} == {
        locked.id: True,
        other.id: False,
    }
    with pytest.raises(StorageError):
        catalog.find(locked.id)


def test_unknown_id_gets_suggestions(catalog: Catalog) -> None:
    ids = [catalog.create(title, NOW).id for title in ("Standup", "Standby", "Retro", "Budget")]
    for wanted, near in {
        "tandup": {ids[0]},
        "stand": set(ids[:2]),
        "stundup": {ids[0]},
        "2026-11-21-retr0": {ids[2]},
        "2026-12-12-retro": {ids[2]},
        ids[3].replace("budget", "gadget"): {ids[3]},
        "budg": {ids[3]},
    }.items():
        with pytest.raises(UnknownSession, match="did you mean") as unknown:
            catalog.find(wanted)
        assert near <= set(unknown.value.nearest)
        assert len(unknown.value.nearest) <= 3
    with pytest.raises(UnknownSession) as unknown:
        catalog.find("qqqqqqqqqqqqqqqq")
    assert unknown.value.nearest == ()


def test_equal_day_makes_no_suggestion(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = cycle("nhap")  # of which "standap" has three
    monkeypatch.setattr("secrets.choice", lambda _: next(letters))
    standup, _ = (catalog.create(title, NOW).id for title in ("Standup", "Retro"))
    with pytest.raises(UnknownSession) as unknown:
        catalog.find("2026-11-21-standap")
    assert unknown.value.nearest == (standup,)


def test_rooms_are_measured_when_asked_for(catalog: Catalog) -> None:
    saved = catalog.create("Standup", NOW)
    (saved.folder / "blobs").mkdir()
    (saved.folder / "blobs" / "file").write_bytes(b"x" * 100_000)
    (saved.folder / "away").symlink_to("/")
    assert catalog.all()[0].size == 0
    assert 100_000 <= catalog.all(sized=True)[0].size < 150_000
    assert extent(saved.folder / "missing") == 0


def test_folder_without_metadata_is_not_listed(catalog: Catalog) -> None:
    folder = catalog.folder("2026-11-21-standup")
    folder.mkdir(parents=True)
    assert catalog.all() == []
    record = SessionMetadata(id=folder.name, title="Standup", kind="hosted", created=NOW)
    SavedSession(folder, record).write()
    assert [each.id for each in catalog.all()] == [folder.name]
    assert catalog.folder(folder.name) == folder


def test_rooms_are_found_by_their_titles_as_well(catalog: Catalog) -> None:
    standup, other = catalog.create("Weekly standup", NOW), catalog.create("Retro", NOW)
    assert catalog.match("weekly STANDUP") == standup.id
    catalog.create("Retro", NOW)
    with pytest.raises(AmbiguousSession, match=other.id):
        catalog.match("retro")
    (standup.folder / "room.json").write_text("{")
    assert catalog.match(standup.id) == standup.id
    with pytest.raises(DamagedSession):
        catalog.find(standup.id)


def test_copy_put_aside_blocks_nothing(catalog: Catalog) -> None:
    aside = catalog.copy_of("r-1", "Garden", "ann", 1.0).put_aside().name
    assert catalog.match("r-1") == aside
    fresh = catalog.copy_of("r-1", "Garden", "ann", 2.0)
    assert catalog.match("r-1") == fresh.id
    assert catalog.match(aside) == aside


def test_latest_own_room_by_title_is_found(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)

    def made(at: float, title: str = "Garden", **fields: Any) -> SavedSession:
        fields = {"host": "ann", "name": "ann", "messages": 2, **fields}
        return catalog.create(title, at, **fields)

    made(1.0)
    wanted = made(2.0, "garden")
    made(3.0, "Kitchen")
    made(3.0, messages=0, people=1)
    made(3.0, name="bob")
    made(3.0).update(kind="joined")
    new = made(4.0)
    with hold(made(5.0).folder):
        found = catalog.own_titled(" Garden", "Ann", new.id)
    assert found is not None
    assert found.id == wanted.id
    assert catalog.own_titled("Shed", "ann") is None
