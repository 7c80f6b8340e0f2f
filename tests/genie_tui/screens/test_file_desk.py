"""Files that came with messages, as a person keeps and opens them from the room screen."""

from pathlib import Path

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_seat import ScriptedSeat, in_room, until

from genie_core.room.protocol.events import FileRef, MessagePosted
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.timeline.timeline import Timeline

OLD = FileRef("old", "old.txt", 3)
FIRST, SECOND = FileRef("first", "first.sh", 5), FileRef("second", "second.txt", 6)


@pytest.fixture
def seat(tmp_path: Path) -> ScriptedSeat:
    made = ScriptedSeat()
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
    seat: ScriptedSeat, tmp_path: Path, text: str, saved: str
) -> None:
    target = tmp_path / "kept"
    target.mkdir()
    async with in_room(seat) as (screen, pilot):
        order(screen, f"/save {text} {target}")
        await until(pilot, lambda: "Saved as" in notes(pilot))
        (path,) = target.iterdir()
        assert path.read_text() == saved
        assert str(path) in notes(pilot).replace("\n", "")


async def test_the_selected_message_comes_first(seat: ScriptedSeat, tmp_path: Path) -> None:
    target = tmp_path / "kept"
    target.mkdir()
    async with in_room(seat) as (screen, pilot):
        screen.query_one(Timeline).focus()
        await pilot.press("up", "up", "up")
        order(screen, f"/save {target}")
        await until(pilot, lambda: "Saved as" in notes(pilot))
        assert (target / "old.txt").exists()


async def test_what_is_not_here_is_told(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (screen, pilot):
        order(screen, "/save 3")
        await until(pilot, lambda: "no file called 3" in notes(pilot))
        del seat.places["first"]
        order(screen, "/open 1")
        await until(pilot, lambda: "first.sh has not arrived yet" in notes(pilot))


async def test_without_files_there_is_none() -> None:
    seat = ScriptedSeat()
    seat.open_room()
    async with in_room(seat) as (screen, pilot):
        order(screen, "/open")
        await until(pilot, lambda: "no file here" in notes(pilot))


async def test_what_could_run_is_not_opened(seat: ScriptedSeat) -> None:
    async with in_room(seat) as (screen, pilot):
        order(screen, "/open first.sh")
        await until(pilot, lambda: "could run" in notes(pilot))


async def test_a_file_is_opened_by_the_system(
    seat: ScriptedSeat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/shown\n')
    opener.chmod(0o700)
    monkeypatch.setenv("PATH", str(opener.parent))
    async with in_room(seat) as (screen, pilot):
        order(screen, "/open second.txt")
        shown = tmp_path / "shown"
        await until(pilot, lambda: shown.exists() and shown.read_text())
        assert Path(shown.read_text().strip()).name == "second.txt"


async def test_a_folder_that_is_not_there_is_told(seat: ScriptedSeat, tmp_path: Path) -> None:
    async with in_room(seat) as (screen, pilot):
        order(screen, f"/save {tmp_path}/none/")
        await until(pilot, lambda: "no such folder" in notes(pilot))
