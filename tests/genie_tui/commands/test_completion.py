from pathlib import Path
from typing import Any

import pytest
from tests.genie_tui.scripted_bench import ScriptedBench
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.pilot import Pilot

from genie_core.room.protocol.events import FileRef, MessagePosted
from genie_core.room.protocol.frames import JoinRequested
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.completion import CompletionList
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.join_requests import JoinRequests


@pytest.fixture
def joined() -> ScriptedJoinedRoom:
    made = ScriptedJoinedRoom()
    made.open_room()
    made.feed(MessagePosted("1", "look", files=(FileRef("d", "my report.pdf", 7),)), by="bob")
    return made


def offered(screen: RoomScreen) -> list[str]:
    choices = screen.query_one(CompletionList)
    return [str(choices.get_option_at_index(n).prompt).strip() for n in range(choices.option_count)]


async def write(screen: RoomScreen, pilot: Pilot[Any], text: str) -> None:
    composer = screen.query_one(Composer)
    composer.draft = ""
    composer.insert(text)
    await pilot.pause()


async def test_names_are_offered_to_commands(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        for text, choices in (
            ("/kick ", ["ann", "bob"]),
            ("/kick b", ["bob"]),
            ("/kick bob ", []),
            ("/who ", []),
            ("/who b", ["bob"]),
            ("/help b", []),
        ):
            await write(screen, pilot, text)
            await until(pilot, lambda: offered(screen) == choices)  # noqa: B023 - awaited within the turn


async def test_tab_accepts_and_enter_does_not(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        await write(screen, pilot, "/mute ")
        await pilot.press("enter")
        await until(pilot, lambda: list(pilot.app._notifications))
        assert joined.moderations == []
        await write(screen, pilot, "/mute b")
        await pilot.press("tab")
        await until(pilot, lambda: composer.draft == "/mute bob ")
        await pilot.press("enter")
        await until(pilot, lambda: joined.moderations == [("mute", "bob", None, "")])


async def test_roles_files_and_callers_are_offered(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await write(screen, pilot, "/role bob g")
        await until(pilot, lambda: [each.split()[0] for each in offered(screen)] == ["guest"])
        await write(screen, pilot, "/save rep")
        await until(pilot, lambda: offered(screen) == ["'my report.pdf'"])
        await write(screen, pilot, "/admit ")
        await until(pilot, lambda: offered(screen) == [])
        joined.emit(JoinRequested(1, "carol", "", ""))
        await until(pilot, lambda: screen.query_one(JoinRequests).callers)
        await write(screen, pilot, "/admit ")
        await until(pilot, lambda: offered(screen) == ["carol"])


async def test_paths_are_completed_folder_by_folder(
    joined: ScriptedJoinedRoom, tmp_path: Path
) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "plan b.txt").write_text("x")
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        composer.focus()
        await until(pilot, lambda: composer.has_focus_within)
        await write(screen, pilot, f"/attach {tmp_path}/pa")
        await until(pilot, lambda: offered(screen) == [f"{tmp_path}/papers/"])
        await pilot.press("tab")
        await until(pilot, lambda: offered(screen) == [f"{tmp_path}/papers/plan b.txt"])
        await pilot.press("tab")
        await until(pilot, lambda: composer.draft.strip().endswith("plan b.txt"))
        await pilot.press("enter")
        await until(pilot, lambda: [path.name for path in joined.attached] == ["plan b.txt"])


async def test_files_are_offered_after_names(
    joined: ScriptedJoinedRoom,
) -> None:
    bench = ScriptedBench(files=("src/app.py", "bobsled.txt"))
    async with in_room(joined) as (screen, pilot):
        await write(screen, pilot, "see @bo")
        await until(pilot, lambda: offered(screen) == ["@bob"])
        joined.workbench = bench
        screen.query_one(Composer).focus()
        await write(screen, pilot, "see @bo")
        await until(pilot, lambda: offered(screen) == ["@bob", "@bobsled.txt"])
        await write(screen, pilot, "see @sapp")
        await pilot.press("tab")
        await until(pilot, lambda: screen.query_one(Composer).draft == "see @src/app.py ")
