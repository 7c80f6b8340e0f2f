from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    until,
)
from textual.pilot import Pilot
from textual.widgets import OptionList

from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_tui.app import AppOptions, GenieApp
from genie_tui.screens.dialogs.theme import ThemeScreen
from genie_tui.screens.settings import SettingsForm, SettingsScreen
from genie_tui.widgets.picker import Picker

Start: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Pilot[Any], Path]]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """The app with a settings file; an environment may set the theme."""

    @asynccontextmanager
    async def run(theme: str = "genie-dark", **env: str) -> AsyncIterator[tuple[Pilot[Any], Path]]:
        places = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "log")
        places.config.mkdir()
        source = SettingsSource(places.settings_file, env)
        form = SettingsForm(source, places, "ann", lambda _: None)
        door = ScriptedRoomService(ScriptedJoinedRoom())
        app = GenieApp(door, None, "ann", clock=HandClock(), form=form, options=AppOptions(theme))
        async with app.run_test(size=(100, 40)) as pilot:
            yield pilot, places.settings_file

    return run


async def open_list(pilot: Pilot[Any]) -> OptionList:
    await pilot.app.run_action("app.choose_theme")
    await until(pilot, lambda: isinstance(pilot.app.screen, ThemeScreen))
    return pilot.app.screen.query_one(OptionList)


async def test_highlight_previews_enter_saves(start: Start) -> None:
    async with start("genie-light") as (pilot, file):
        listed = await open_list(pilot)
        await until(pilot, lambda: listed.highlighted == 1)  # where the present one stands
        assert pilot.app.theme == "genie-light"
        await pilot.press("up")
        await until(pilot, lambda: pilot.app.theme == "genie-dark")
        await pilot.press(*"nord")
        await until(pilot, lambda: pilot.app.theme == "nord")
        await pilot.press("enter")
        await until(pilot, lambda: "Theme nord, saved." in notes(pilot))
        assert file.read_text() == 'theme = "nord"\n'
        assert pilot.app.theme == "nord"


async def test_going_back_restores_the_theme(start: Start) -> None:
    async with start("genie-light") as (pilot, file):
        await open_list(pilot)
        await pilot.press("down", "down")
        await until(pilot, lambda: pilot.app.theme not in ("genie-light", "genie-dark"))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.theme == "genie-light")
        assert not file.exists()


async def test_dark_light_toggle_is_saved(start: Start) -> None:
    async with start() as (pilot, file):
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "Theme genie-light, saved." in notes(pilot))
        assert file.read_text() == 'theme = "genie-light"\n'


async def test_environment_theme_is_not_saved(
    start: Start,
) -> None:
    async with start("nord", GENIE_THEME="nord") as (pilot, file):
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "not saved: the environment GENIE_THEME" in notes(pilot))
        assert not file.exists()
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        field = pilot.app.screen.query_one("#theme", Picker)
        await until(pilot, lambda: field.value)
        assert field.value == pilot.app.theme == "genie-light"


async def test_settings_field_follows_toggle(
    start: Start,
) -> None:
    async with start() as (pilot, file):
        await pilot.press("f12")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        settings = pilot.app.screen
        field = settings.query_one("#theme", Picker)
        await until(pilot, lambda: field.value)
        await pilot.press("ctrl+t")
        await until(pilot, lambda: field.value == "genie-light")
        assert not file.exists()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.screen is not settings)
        assert file.read_text() == 'theme = "genie-light"\n'
