"""Files of a room, as a person saves and opens them."""

import os
import stat
from pathlib import Path

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until

from genie_core.errors import FileNotSaved
from genie_core.room.commands.files import (
    NotOpened,
    copy_to_show,
    save_to,
    show,
)
from genie_core.room.protocol.events import FileRef, MessagePosted
from genie_tui.commands.handlers.files import NOTHING_TO_OPEN
from genie_tui.screens.dialogs.pick import PickScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.timeline.timeline import Timeline


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "blob"
    path.write_bytes(b"%PDF-1.7 content")
    return path


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DOWNLOAD_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_save_numbers_duplicate_downloads(source: Path, tmp_path: Path) -> None:
    first = save_to(source, "a.pdf", "")
    second = save_to(source, "a.pdf", "")
    assert first == tmp_path / "home" / "Downloads" / "a.pdf"
    assert second.name == "a (2).pdf"
    assert second.read_bytes() == source.read_bytes()
    assert not second.stat().st_mode & stat.S_IXUSR


def test_save_goes_to_chosen_folder(source: Path, tmp_path: Path) -> None:
    assert save_to(source, "a.pdf", str(tmp_path)) == tmp_path / "a.pdf"
    assert save_to(source, "a.pdf", f"{tmp_path}/b.pdf") == tmp_path / "b.pdf"
    for to in (f"{tmp_path}/none/", f"{tmp_path}/none/b.pdf"):
        with pytest.raises(FileNotSaved, match="no such folder"):
            save_to(source, "a.pdf", to)


def test_a_name_from_others_is_no_way_out(source: Path, tmp_path: Path) -> None:
    assert save_to(source, "../../evil", str(tmp_path)) == tmp_path / "evil"


def test_a_copy_to_look_at_is_private(source: Path) -> None:
    copy = copy_to_show(source, "../Report.PDF")
    assert copy.name == "Report.PDF"
    assert copy.parent.stat().st_mode & 0o777 == 0o700
    assert copy.read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    "name",
    ["a.sh", "a.exe", "a.desktop", "a.py", "a.html", "a.svg", "a.pdf.exe", "a", ".pdf", "a.x"],
)
def test_what_could_run_is_refused_by_its_name(source: Path, name: str) -> None:
    with pytest.raises(NotOpened, match="/save"):
        copy_to_show(source, name)


@pytest.mark.parametrize(
    "head", [b"#!/bin/sh", b"\x7fELF", b"MZ\x90", b"\xef\xbb\xbf[Desktop Entry]", b"\n#!/bin/sh"]
)
def test_disguised_program_is_refused(source: Path, head: bytes) -> None:
    source.write_bytes(head)
    with pytest.raises(NotOpened, match="program"):
        copy_to_show(source, "a.txt")


async def test_the_systems_program_shows_it(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/shown\n')
    opener.chmod(0o700)
    monkeypatch.setenv("PATH", f"{opener.parent}{os.pathsep}{os.environ['PATH']}")
    await show(source)
    assert (tmp_path / "shown").read_text().strip() == str(source)
    opener.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(NotOpened, match="code 3"):
        await show(source)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotOpened, match="xdg-open"):
        await show(source)


OLD = FileRef("old", "old.txt", 3)
FIRST, SECOND = FileRef("first", "first.sh", 5), FileRef("second", "second.txt", 6)


@pytest.fixture
def joined(tmp_path: Path) -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom()
    made.open_room()
    made.feed(MessagePosted("1", "the old one", files=(OLD,)), by="bob")
    made.feed(MessagePosted("2", "two more", files=(FIRST, SECOND)), by="bob")
    made.feed(MessagePosted("3", "nothing"), by="bob")
    for file in (OLD, FIRST, SECOND):
        made.places[file.digest] = tmp_path / file.digest
        made.places[file.digest].write_text(file.digest)
    return made


def order(screen: RoomScreen, text: str) -> None:
    screen.query_one(Composer).post_message(Composer.Submitted(text))


@pytest.mark.parametrize(
    ("text", "saved"),
    [("", "first"), ("2", "second"), ("old.txt", "old"), ("SECOND.txt", "second")],
)
async def test_a_file_is_saved_by_number_or_name(
    joined: ScriptedJoinedRoom, tmp_path: Path, text: str, saved: str
) -> None:
    target = tmp_path / "kept"
    target.mkdir()
    async with in_room(joined) as (screen, pilot):
        order(screen, f"/save {text} {target}")
        await until(pilot, lambda: "Saved as" in notes(pilot))
        (path,) = target.iterdir()
        assert path.read_text() == saved
        assert str(path) in notes(pilot).replace("\n", "")


async def test_the_selected_message_comes_first(joined: ScriptedJoinedRoom, tmp_path: Path) -> None:
    target = tmp_path / "kept"
    target.mkdir()
    async with in_room(joined) as (screen, pilot):
        screen.query_one(Timeline).focus()
        await pilot.press("up", "up", "up")
        order(screen, f"/save {target}")
        await until(pilot, lambda: "Saved as" in notes(pilot))
        assert (target / "old.txt").exists()


async def test_what_is_not_here_is_told(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        order(screen, "/save 3")
        await until(pilot, lambda: "no file called 3" in notes(pilot))
        del joined.places["first"]
        order(screen, "/open 1")
        await until(pilot, lambda: "first.sh has not arrived yet" in notes(pilot))


async def test_without_files_there_is_none() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        order(screen, "/open")
        await until(pilot, lambda: "no file here" in notes(pilot))


async def test_what_could_run_is_not_opened(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        order(screen, "/open first.sh")
        await until(pilot, lambda: "could run" in notes(pilot))


async def test_a_file_is_opened_by_the_system(
    joined: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/shown\n')
    opener.chmod(0o700)
    monkeypatch.setenv("PATH", str(opener.parent))
    async with in_room(joined) as (screen, pilot):
        order(screen, "/open second.txt")
        shown = tmp_path / "shown"
        await until(pilot, lambda: shown.exists() and shown.read_text())
        assert Path(shown.read_text().strip()).name == "second.txt"


async def test_link_of_selected_message_opens(
    joined: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/shown\n')
    opener.chmod(0o700)
    monkeypatch.setenv("PATH", str(opener.parent))
    shown, clock = tmp_path / "shown", HandClock()
    async with in_room(joined, clock=clock) as (_, pilot):
        await pilot.press("f5", "o")
        await until(pilot, lambda: NOTHING_TO_OPEN in notes(pilot))
        joined.feed(MessagePosted("4", "see https://x.example/a."), by="bob")
        await pilot.press("end", "up", "o")
        await until(pilot, lambda: shown.exists() and shown.read_text() == "https://x.example/a\n")
        joined.feed(MessagePosted("5", "mailto:a@x.example or https://y.example"), by="bob")
        await pilot.press("end", "up", "o")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        clock.rest()
        await pilot.press("down", "enter")
        await until(pilot, lambda: shown.read_text().endswith("https://y.example\n"))
        opener.unlink()
        clock.rest()
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        clock.rest()
        await pilot.press("enter")
        told = "Can't open mailto:a@x.example: xdg-open not found. It is copied instead"
        await until(pilot, lambda: told in notes(pilot))
        assert pilot.app.clipboard == "mailto:a@x.example"


async def test_a_folder_that_is_not_there_is_told(
    joined: ScriptedJoinedRoom, tmp_path: Path
) -> None:
    async with in_room(joined) as (screen, pilot):
        order(screen, f"/save {tmp_path}/none/")
        await until(pilot, lambda: "no such folder" in notes(pilot))
