import asyncio
import logging
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    in_room,
    until,
)
from textual.app import ComposeResult
from textual.widgets import Static
from textual.widgets._toast import Toast

from genie_core.errors import GenieError
from genie_core.room.client.model import NextStep, SessionEnded
from genie_core.room.open.requests import JoinRoom, NewRoom
from genie_core.room.protocol.errors import OtherHost
from genie_core.room.protocol.events import MemberLeft
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_tui.app import AppOptions, GenieApp
from genie_tui.external_editor import EditorFailed, ExternalEditor
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.help import HelpScreen
from genie_tui.screens.lobby import LobbyScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.screens.settings import SettingsForm
from genie_tui.themes import DARK, LIGHT
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.approvals.card import ApprovalCard
from genie_tui.widgets.key_footer import KeyFooter


def test_importing_the_app_loads_no_engine() -> None:
    engine = ("genie_core.agent", "pydantic_ai", "group_sense", "agents", "openai")
    heavy = (*engine, "websockets", "cryptography")
    code = f"import sys, genie_tui.app; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_broken_driver_exits_with_error(
    joined: ScriptedJoinedRoom, caplog: pytest.LogCaptureFixture
) -> None:
    async with in_room(joined) as (_, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        with caplog.at_level(logging.CRITICAL):
            app.panic("the keyboard is on fire")
            assert app.failure
    assert joined.left
    assert app.return_code == 1
    assert app.failure == "genie-tui met an internal error and had to end"
    assert "on fire" in caplog.text


async def test_exit_during_composing_is_no_error(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    compose = ApprovalCard.compose

    def and_end(card: ApprovalCard) -> ComposeResult:
        card.app.exit()
        yield from compose(card)

    app = GenieApp(ScriptedRoomService(joined), None, "ann")
    async with app.run_test() as pilot:
        monkeypatch.setattr(ApprovalCard, "compose", and_end)
        await app.open(NewRoom("x"))
        await until(pilot, lambda: app.return_code is not None)
    assert (app.return_code, app.failure) == (0, "")


async def test_shutdown_during_mount_is_no_error(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def too_late(card: ApprovalCard) -> None:
        begun.set()
        while card.app.is_running:
            await asyncio.sleep(0)
        card.query_one("#gone")

    monkeypatch.setattr(ApprovalCard, "on_mount", too_late)
    app = GenieApp(ScriptedRoomService(joined), None, "ann")
    async with app.run_test():
        app.call_later(app.open, NewRoom("x"))
        await begun.wait()
    assert app.failure == ""


async def test_failed_opening_ends_app() -> None:
    service = ScriptedRoomService(ScriptedJoinedRoom(), GenieError("the port is taken"))
    app = GenieApp(service, NewRoom("x"), "ann")
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.failure)
    assert app.failure == "the port is taken"
    assert app.return_code == 1


OTHER = OtherHost("r1", "Team [b]", "ann")
INVITE = JoinRoom("genie1-x", guest=True)


async def test_other_host_can_be_kept_separate() -> None:
    clock = HandClock()
    service = ScriptedRoomService(ScriptedJoinedRoom(), OTHER)
    app = GenieApp(service, INVITE, "ben", clock=clock)
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        text = str(app.screen.query_one("#confirm-text", Static).render())
        assert "“Team [b]” with this id, hosted by ann" in text
        assert service.openings == [INVITE]
        service.error = None
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: len(service.openings) == 2)
        assert service.openings[1] == replace(INVITE, separate=True)
        await until(pilot, lambda: isinstance(app.screen, RoomScreen))
    assert app.failure == ""


async def test_declined_other_host_explains_exit() -> None:
    app = GenieApp(ScriptedRoomService(ScriptedJoinedRoom(), OTHER), INVITE, "ben")
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.failure)
    assert app.return_code == 1
    assert "--separate" in app.failure
    assert "nothing of it was sent" in app.failure


async def test_internal_error_logs_and_leaves(
    joined: ScriptedJoinedRoom, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    log_path = Path("/somewhere/genie-tui.log")
    app = GenieApp(
        ScriptedRoomService(joined), NewRoom("x"), "ann", options=AppOptions(log_path=log_path)
    )

    def broken() -> None:
        raise ZeroDivisionError("secret detail")

    async def run() -> None:
        async with app.run_test() as pilot:
            screen = app.screen
            assert isinstance(screen, RoomScreen)
            await until(pilot, lambda: screen.joined is not None)
            screen.call_later(broken)
            await until(pilot, lambda: app.failure)

    with caplog.at_level(logging.CRITICAL), pytest.raises(ZeroDivisionError):
        await run()
    assert str(log_path) in app.failure
    assert "\n" not in app.failure
    assert app.return_code == 1
    assert joined.leaves
    assert "secret detail" in caplog.text
    written = capsys.readouterr()
    assert "secret detail" not in written.out + written.err


async def test_the_theme_is_switched_and_chosen(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        assert pilot.app.theme == DARK.name
        await pilot.press("ctrl+t")
        await until(pilot, lambda: pilot.app.theme == LIGHT.name)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: pilot.app.theme == DARK.name)


def test_an_unknown_theme_falls_back() -> None:
    service = ScriptedRoomService(ScriptedJoinedRoom())
    assert GenieApp(service, None, "ann", options=AppOptions(theme="nonsense")).theme == DARK.name
    assert GenieApp(service, None, "ann", options=AppOptions(theme=LIGHT.name)).theme == LIGHT.name


@pytest.mark.parametrize("theme", ["textual-light", "nord", "ansi-dark"])
async def test_other_themes_can_draw_the_room(joined: ScriptedJoinedRoom, theme: str) -> None:
    joined.ask()
    async with in_room(joined) as (_, pilot):
        pilot.app.theme = theme
        await pilot.pause()
        assert pilot.app.is_running


async def test_notices_are_never_markup(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        pilot.app.notify("[/red] \x1b[2J", markup=True)
        await pilot.pause()
        (note,) = pilot.app._notifications
        assert not note.markup
        assert "\x1b" not in note.message


async def test_a_notice_is_drawn_once_below_a_dialog(joined: ScriptedJoinedRoom) -> None:
    app = GenieApp(ScriptedRoomService(joined), NewRoom("Garden"), joined.name, clock=HandClock())
    async with app.run_test(size=(130, 40), notifications=True) as pilot:
        screen = app.screen
        app.notify("marmalade", timeout=60)
        await until(pilot, lambda: "marmalade" in app.export_screenshot())
        await pilot.press("ctrl+o")
        await until(pilot, lambda: bool(app.screen is not screen and app.screen.query(Toast)))
        await pilot.pause()
        assert app.export_screenshot().count("marmalade") == 1
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.pause()
        assert app.export_screenshot().count("marmalade") == 1


async def test_dialogs_close_with_their_room(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (before, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        before.post_message(
            RoomScreen.Parted(before, SessionEnded(NextStep.REJOIN, "r1@ann", "parted"))
        )

        def went_on() -> bool:
            screen = app.screen
            return isinstance(screen, RoomScreen) and screen is not before and bool(screen.joined)

        await until(pilot, went_on)
        assert before not in app.screen_stack
        assert not any(isinstance(screen, HelpScreen) for screen in app.screen_stack)


async def test_room_is_left_for_lobby_and_another(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.feed(MemberLeft("bob"))  # no one else is here to be asked about
    service = ScriptedRoomService(joined)
    async with in_room(joined, service=service) as (screen, pilot):
        app = pilot.app
        assert isinstance(app, GenieApp)
        await pilot.press(*"/leave", "enter")
        await until(pilot, lambda: isinstance(app.screen, LobbyScreen))
        assert joined.leaves == [""]
        assert screen not in app.screen_stack
        assert "Suspended 'Garden'." in notes(pilot)
        other = service.joined = ScriptedJoinedRoom()
        other.open_room("Kitchen")
        await app.open(NewRoom("Kitchen"))
        await until(pilot, lambda: isinstance(app.screen, RoomScreen))
        await pilot.press(*"/leave", "enter")
        await until(pilot, lambda: isinstance(app.screen, LobbyScreen))
        assert other.leaves == [""]
        assert app.return_code is None


async def test_host_confirms_leaving_others(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"/leave", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert "bob is here" in str(pilot.app.screen.query_one("#confirm-text", Static).render())
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        assert joined.leaves == []
        await pilot.press(*"/leave", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))


async def test_failed_leave_shows_in_lobby(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.feed(MemberLeft("bob"))
    joined.leave_error = GenieError("the disk is full")
    async with in_room(joined) as (_, pilot):
        await pilot.press(*"/leave", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LobbyScreen))
        assert "the disk is full" in notes(pilot)


async def test_notice_fills_width_on_one_line(
    joined: ScriptedJoinedRoom,
) -> None:
    app = GenieApp(ScriptedRoomService(joined), NewRoom("Garden"), "ann")
    async with app.run_test(size=(60, 16), notifications=True) as pilot:
        await until(
            pilot, lambda: isinstance(app.screen, RoomScreen) and app.screen.joined is not None
        )
        app.notify("No browser was opened: there is none on this machine, ann")
        await until(pilot, lambda: any(each.region for each in app.screen.query(Toast)))
        toast = app.screen.query_one(Toast)
        assert (toast.region.width, toast.region.height) == (60, 1)  # no scrollbar takes a part


async def test_edited_keys_apply_to_open_screens(
    joined: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited: list[str] = []

    async def edit_file(_: ExternalEditor, path: Path) -> None:
        edited.append(path.read_text())
        path.write_text('[room]\nactivity = "alt+a"\n[timeline]\nreply = "e"\n')

    monkeypatch.setattr(ExternalEditor, "edit_file", edit_file)
    places = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "log")
    form = SettingsForm(SettingsSource(places.settings_file), places, "ann", lambda _: None)
    app = GenieApp(
        ScriptedRoomService(joined), NewRoom("Garden"), "ann", clock=HandClock(), form=form
    )
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await until(pilot, lambda: screen.joined is not None)
        await app.run_action("app.edit_keys")
        await until(pilot, lambda: "[timeline] reply: 'e' is the key of" in notes(pilot))
        (template,) = edited
        assert all(line[:1] in ("#", "[", "") for line in template.splitlines())
        assert '# activity = "f2"' in template
        await pilot.press("f2")
        await pilot.pause()
        assert not screen.query_one(ActivityList).has_focus
        await pilot.press("alt+a")
        await until(pilot, lambda: screen.query_one(ActivityList).has_focus)
        shown = {key.description: key.display for key in screen.query_one(KeyFooter).keys}
        assert shown["activity"] == "alt+a"


async def test_failed_editor_keeps_keys(
    joined: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: ExternalEditor, _path: Path) -> None:
        raise EditorFailed("there is no editor")

    monkeypatch.setattr(ExternalEditor, "edit_file", fail)
    places = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "log")
    form = SettingsForm(SettingsSource(places.settings_file), places, "ann", lambda _: None)
    app = GenieApp(ScriptedRoomService(joined), None, "ann", clock=HandClock(), form=form)
    async with app.run_test() as pilot:
        before = app.keymap
        await app.run_action("app.edit_keys")
        await until(pilot, lambda: "as before: there is no editor." in notes(pilot))
        assert app.keymap is before
