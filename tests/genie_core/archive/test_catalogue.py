import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.archive.catalogue import Catalogue, extent
from genie_core.archive.errors import (
    AmbiguousRoom,
    ArchiveError,
    DamagedRoom,
    DiskFailure,
    UnknownRoom,
)
from genie_core.archive.lines import encode_line
from genie_core.archive.record import TITLE_CHARS, RoomRecord
from genie_core.room.protocol.events import Event, MessagePosted

NOW = 1_795_219_200.0  # 2026-11-21 00:00 UTC


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    return Catalogue(tmp_path / "data" / "sessions")


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
def test_ids_tell_day_and_title(catalogue: Catalogue, title: str, slug: str) -> None:
    saved = catalogue.create(title, NOW, host="hana")
    assert saved.id.startswith(f"2026-11-21-{slug}-")
    assert len(saved.id) == len(f"2026-11-21-{slug}-") + 4
    assert (saved.record.id, saved.record.kind) == (saved.id, "hosted")
    assert saved.record.title == title.strip()
    assert catalogue.find(saved.id).record == saved.record
    assert stat.S_IMODE(saved.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(saved.folder.parent.stat().st_mode) == 0o700


def test_an_id_that_is_taken_is_not_given_twice(catalogue: Catalogue) -> None:
    suffixes = iter(["aaaa", "aaaa", "bbbb"])
    first = catalogue.create("Standup", NOW, suffix=lambda: next(suffixes))
    second = catalogue.create("Standup", NOW, suffix=lambda: next(suffixes))
    assert (first.id[-4:], second.id[-4:]) == ("aaaa", "bbbb")


def test_a_list_has_the_latest_first_and_what_is_wrong(catalogue: Catalogue) -> None:
    assert catalogue.all() == []
    old = catalogue.create("Old", NOW - 1000)
    new = catalogue.create("New", NOW + 10**9)
    bad = catalogue.create("Bad", NOW)
    (bad.folder / "room.json").write_text('{"version": 99}')
    os.utime(bad.folder / "room.json", (1.0, 1.0))
    os.utime(old.folder / "room.json", (1.0, 1.0))
    (old.folder.parent / "stray").mkdir()
    (old.folder.parent / "file").write_text("")
    listings = catalogue.all()
    assert [listing.id for listing in listings] == [new.id, old.id, bad.id]
    assert [listing.title for listing in listings] == ["New", "Old", bad.id]
    assert "newer version" in listings[2].note
    assert listings[0].note == ""


def test_a_room_without_its_record_is_listed_as_damaged(catalogue: Catalogue) -> None:
    saved = catalogue.create("Standup", NOW)
    saved.log_path.write_bytes(b"")
    (saved.folder / "room.json").unlink()
    (listing,) = catalogue.all()
    assert listing.id == saved.id
    assert "room.json can't be read" in listing.note
    with pytest.raises(DamagedRoom):
        catalogue.find(saved.id)


def test_activity_is_that_of_the_last_event_whatever_the_files_say(catalogue: Catalogue) -> None:
    saved = catalogue.create("Standup", 100.0)
    lines = [
        encode_line(Event(seq, 100.0 + seq, "ann", MessagePosted("m", "x" * 9_000)))
        for seq in (1, 2)
    ]
    saved.log_path.write_bytes(b"".join(lines) + lines[0][:-20] + b"\n" + lines[1][:50])
    assert [listing.last_activity for listing in catalogue.all()] == [102.0]


def test_without_anything_to_read_activity_is_that_of_the_files(catalogue: Catalogue) -> None:
    saved = catalogue.create("Standup", 100.0)
    saved.log_path.write_bytes(b"what")
    assert [listing.last_activity for listing in catalogue.all()] == [100.0]
    (saved.folder / "room.json").write_text("{")
    os.utime(saved.log_path, (5000.0, 5000.0))
    assert [listing.last_activity for listing in catalogue.all()] == [5000.0]


def test_changing_the_record_is_no_activity(catalogue: Catalogue) -> None:
    saved = catalogue.create("Standup", 100.0)
    saved.tag(["work"])
    assert [listing.last_activity for listing in catalogue.all()] == [100.0]


def test_rooms_are_found_by_what_they_begin_with(catalogue: Catalogue) -> None:
    standup = catalogue.create("Standup", NOW)
    retro = catalogue.create("Retro", NOW)
    assert catalogue.find("2026-11-21-st").id == standup.id
    assert catalogue.find(retro.id).id == retro.id
    with pytest.raises(AmbiguousRoom) as ambiguous:
        catalogue.find("2026-11-21")
    assert sorted(ambiguous.value.candidates) == sorted([standup.id, retro.id])
    with pytest.raises(UnknownRoom) as unknown:
        catalogue.find("2026-11-21-standap")
    assert unknown.value.nearest == (standup.id,)
    assert standup.id in str(unknown.value)
    for wanted in ("", "..", "../sessions", "/"):
        with pytest.raises(UnknownRoom):
            catalogue.find(wanted)


def test_a_copy_is_made_once_by_all_who_make_it_at_the_same_moment(catalogue: Catalogue) -> None:
    many = 8
    start = threading.Barrier(many)

    def make(_: int) -> Path:
        start.wait()
        return catalogue.copy_of("r1", "One", "ben", 1.0).folder

    with ThreadPoolExecutor(many) as pool:
        folders = set(pool.map(make, range(many)))
    assert len(folders) == 1
    assert [listing.note for listing in catalogue.all()] == [""]


def test_a_copy_is_made_once_and_kept_apart_from_the_hosts(catalogue: Catalogue) -> None:
    hosted = catalogue.create("Standup", NOW)
    copy = catalogue.copy_of(hosted.id, "Standup", "bob", NOW, address="127.0.0.1:7654")
    assert copy.id == f"{hosted.id}@bob"
    assert (copy.record.id, copy.record.kind, copy.record.name) == (hosted.id, "joined", "bob")
    again = catalogue.copy_of(hosted.id, "renamed", "bob", NOW + 5)
    assert again.record == copy.record
    assert catalogue.copy_of(hosted.id, "Standup", "alice", NOW).folder != copy.folder
    assert catalogue.find(hosted.id).id == hosted.id


PARTS = st.text(min_size=1, max_size=70).filter(
    lambda text: max(text) < "\ud800" or max(text) > "\udfff"
)


@given(st.lists(st.tuples(PARTS, PARTS), min_size=2, max_size=2, unique=True))
def test_distinct_copies_have_distinct_folders_below_the_base(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    base = tmp_path_factory.mktemp("sessions")
    folders = [Catalogue(base).copy_of(room, "t", name, NOW).folder for room, name in pairs]
    assert folders[0].name.lower() != folders[1].name.lower()
    for folder in folders:
        assert folder.resolve().parent == base.resolve()


@pytest.mark.parametrize(
    ("room", "name"),
    [("../../x", ".."), ("a/b", "c\\d"), ("", ""), ("a\0b", "c"), (".", "x" * 500)],
)
def test_names_from_elsewhere_never_act_as_paths(
    catalogue: Catalogue, tmp_path: Path, room: str, name: str
) -> None:
    copy = catalogue.copy_of(room, "t", name, NOW)
    assert copy.folder.resolve().parent == (tmp_path / "data" / "sessions").resolve()
    assert catalogue.copy_of(room, "t", name, NOW).record == copy.record


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
def test_a_title_becomes_one_line_that_can_be_written(
    catalogue: Catalogue, title: str, kept: str
) -> None:
    for saved in (catalogue.create(title, NOW), catalogue.copy_of("r1", title, "bob", NOW)):
        assert saved.record.title == kept
        assert catalogue.find(saved.id).record.title == kept


def test_a_file_where_the_folder_should_be_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    catalogue = Catalogue(tmp_path / "data" / "sessions")
    for attempt in (
        lambda: catalogue.create("Standup", NOW),
        lambda: catalogue.copy_of("r1", "Standup", "bob", NOW),
        lambda: catalogue.find("2026"),
        catalogue.all,
    ):
        with pytest.raises(DiskFailure, match="Not a directory; move away the file") as failure:
            attempt()
        assert str(tmp_path / "data" / "sessions") in str(failure.value)
        assert "\n" not in str(failure.value)


def test_one_room_that_cannot_be_looked_at_does_not_hide_the_others(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked, other = catalogue.create("Locked", NOW), catalogue.create("Other", NOW)
    stat_of = Path.stat

    def refuse(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if locked.folder in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return stat_of(path, follow_symlinks=follow_symlinks)

    (locked.folder / "room.json").unlink()
    monkeypatch.setattr(Path, "stat", refuse)  # root may read everything
    assert {listing.id: bool(listing.note) for listing in catalogue.all()} == {
        locked.id: True,
        other.id: False,
    }
    with pytest.raises(ArchiveError):
        catalogue.find(locked.id)


def test_several_ids_are_proposed_for_one_that_there_is_not(catalogue: Catalogue) -> None:
    ids = [catalogue.create(title, NOW).id for title in ("Standup", "Standby", "Retro", "Budget")]
    for wanted, near in {
        "tandup": {ids[0]},
        "stand": set(ids[:2]),
        "stundup": {ids[0]},
        "2026-11-21-retr0": {ids[2]},
        "2026-12-12-retro": {ids[2]},
        ids[3].replace("budget", "gadget"): {ids[3]},
        "budg": {ids[3]},
    }.items():
        with pytest.raises(UnknownRoom, match="did you mean") as unknown:
            catalogue.find(wanted)
        assert near <= set(unknown.value.nearest)
        assert len(unknown.value.nearest) <= 3
    with pytest.raises(UnknownRoom) as unknown:
        catalogue.find("qqqqqqqqqqqqqqqq")
    assert unknown.value.nearest == ()


def test_the_day_makes_no_room_the_like_of_another(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = cycle("nhap")  # of which "standap" has three
    monkeypatch.setattr("secrets.choice", lambda _: next(letters))
    standup, _ = (catalogue.create(title, NOW).id for title in ("Standup", "Retro"))
    with pytest.raises(UnknownRoom) as unknown:
        catalogue.find("2026-11-21-standap")
    assert unknown.value.nearest == (standup,)


def test_rooms_are_measured_when_asked_for(catalogue: Catalogue) -> None:
    saved = catalogue.create("Standup", NOW)
    (saved.folder / "blobs").mkdir()
    (saved.folder / "blobs" / "file").write_bytes(b"x" * 100_000)
    (saved.folder / "away").symlink_to("/")
    assert catalogue.all()[0].size == 0
    assert 100_000 <= catalogue.all(sized=True)[0].size < 150_000
    assert extent(saved.folder / "missing") == 0


def test_an_empty_folder_is_in_no_list_before_its_room_is_entered(catalogue: Catalogue) -> None:
    folder = catalogue.new_folder("Standup", NOW)
    assert catalogue.all() == []
    record = RoomRecord(id=folder.name, title="Standup", kind="hosted", created=NOW)
    assert catalogue.enter(folder, record).id == folder.name
    assert [each.id for each in catalogue.all()] == [folder.name]
    assert catalogue.folder(folder.name) == folder


def test_rooms_are_found_by_their_titles_as_well(catalogue: Catalogue) -> None:
    standup, other = catalogue.create("Weekly standup", NOW), catalogue.create("Retro", NOW)
    assert catalogue.match("weekly STANDUP") == standup.id
    catalogue.create("Retro", NOW)
    with pytest.raises(AmbiguousRoom, match=other.id):
        catalogue.match("retro")
    (standup.folder / "room.json").write_text("{")
    assert catalogue.match(standup.id) == standup.id
    with pytest.raises(DamagedRoom):
        catalogue.find(standup.id)


def test_a_copy_that_was_put_aside_is_not_in_the_way(catalogue: Catalogue) -> None:
    aside = catalogue.copy_of("r-1", "Garden", "ann", 1.0).put_aside().name
    assert catalogue.match("r-1") == aside
    fresh = catalogue.copy_of("r-1", "Garden", "ann", 2.0)
    assert catalogue.match("r-1") == fresh.id
    assert catalogue.match(aside) == aside
