import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import (
    DEADLINE,
    HandClock,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    too_late,
    until,
)
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static

from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings
from genie_tui.app import GenieApp
from genie_tui.commands.registry import command_named
from genie_tui.screens.dialogs.theme import ThemeScreen
from genie_tui.screens.settings import SettingsForm, SettingsScreen
from genie_tui.widgets.picker import Picker

TEXT = '# mine\nmodel = "ollama:a" # [/red]\n\n# few\n[limits]\nmembers = 5\n'


class Home:
    """A person's settings, and what the app was told of them."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.places = Locations(folder / "con[red]fig", folder / "data", folder / "log")
        self.places.config.mkdir()
        self.file = self.places.settings_file
        self.file.write_text(TEXT)
        self.used: list[Settings] = []
        source = SettingsSource(self.file, env)
        self.form = SettingsForm(source, self.places, "ann", self.used.append)

    @asynccontextmanager
    async def open(self, size: tuple[int, int]) -> AsyncIterator[tuple[SettingsScreen, Pilot[Any]]]:
        """The app with the settings on screen."""
        door = ScriptedRoomService(ScriptedJoinedRoom())
        app = GenieApp(door, None, "ann", clock=HandClock(), form=self.form)
        async with app.run_test(size=size) as pilot:
            await pilot.press("f12")
            await until(pilot, lambda: isinstance(app.screen, SettingsScreen))
            screen = app.screen
            assert isinstance(screen, SettingsScreen)
            yield screen, pilot


def note(screen: SettingsScreen, name: str) -> str:
    return str(screen.query_one(f"#note-{name}", Static).render())


async def take_steps(screen: Screen[Any], pilot: Pilot[Any], *keys: str) -> None:
    """Press keys, each when the one before has moved the focus or changed what has it."""

    def place() -> tuple[object, object]:
        return screen.focused, getattr(screen.focused, "value", None)

    for key in keys:
        before = place()
        await pilot.press(key)
        await until(pilot, lambda before=before: place() != before)  # type: ignore[misc]  # a lambda's default


def problem(screen: SettingsScreen) -> str:
    return str(screen.query_one("#settings-problem", Static).render())


async def test_keyboard_edits_on_small_terminal(tmp_path: Path) -> None:
    home = Home(tmp_path, GENIE_REASONER_MODEL="ollama:env", GENIE_THEME="nord")
    async with home.open((80, 24)) as (screen, pilot):
        model = screen.query_one("#model", Input)
        await until(pilot, lambda: screen.query_one("#name", Input).has_focus)
        await take_steps(screen, pilot, "down", "down")
        assert model.has_focus
        scroll = screen.query_one("#settings-scroll")
        for name in ("theme", "reasoner_model", "approvals", "model"):  # what is there is reached
            field = screen.query_one(f"#{name}")
            field.scroll_visible(animate=False)
            await until(pilot, lambda field=field: scroll.region.contains_region(field.region))  # type: ignore[misc] # a lambda's default
            assert field.region.height == 1
        # Where each value comes from, and what can't be changed here.
        assert note(screen, "model") == "settings.toml:2"
        assert "environment GENIE_REASONER_MODEL" in note(screen, "reasoner_model")
        assert screen.query_one("#reasoner_model", Input).disabled
        assert screen.query_one("#theme", Picker).disabled
        # What is wrong is said below the field, and keeps it from being saved.
        await pilot.press("home", "x")
        await until(pilot, lambda: "xollama" in note(screen, "model"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Not saved" in problem(screen))
        assert home.file.read_text() == TEXT
        # Also where there is little room, all of it can be read.
        before = model.value
        model.value = "anthropic:claude-sonnet"
        await until(pilot, lambda: "secrets set ANTHROPIC_API_KEY" in note(screen, "model"))
        await until(pilot, lambda: screen.query_one("#note-model").region.height > 1)
        model.value = before
        await pilot.press("home", "delete", "end", "b")
        await until(pilot, lambda: "not saved yet" in note(screen, "model"))
        await take_steps(screen, pilot, *["down"] * 5)  # past the fallback and how it answers
        await take_steps(screen, pilot, "right", "down", "down", "right", "down", "right")
        assert screen.query_one("#template", Picker).value != "general_assist"
        assert screen.query_one("#notify", Picker).value == "all"
        # Going back takes two, if there are changes.
        await pilot.press("escape")
        await until(pilot, lambda: "esc again" in problem(screen))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.screen is not screen)
    text = home.file.read_text()
    for part in ("# mine\n", 'model = "ollama:ab" # [/red]', "# few\n[limits]", 'notify = "all"'):
        assert part in text
    assert [each.model for each in home.used] == ["ollama:ab"]
    assert home.used[0].rules[0].effect == "ask"
    assert "reasoner_model" not in text


@pytest.mark.parametrize("size", [(40, 20), (50, 40), (60, 16), (110, 34), (200, 60)])
async def test_the_keys_are_on_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    async with Home(tmp_path).open(size) as (screen, pilot):
        keys, box = screen.query_one("#settings-keys"), screen.query_one("#settings")
        await until(pilot, lambda: keys.region.height)
        assert box.content_region.contains_region(keys.region)


async def test_picker_lists_many_values(tmp_path: Path) -> None:
    async with Home(tmp_path).open((120, 40)) as (screen, pilot):
        theme, keys = screen.query_one("#theme", Picker), screen.query_one("#keymap", Picker)
        await until(pilot, lambda: not theme.disabled)
        value, beside = screen.query_one("#model"), screen.query_one("#note-model")
        assert beside.region.y == value.region.y
        assert note(screen, "model") == "settings.toml:2"
        assert "keys.toml" in note(screen, "keymap")
        theme.focus()
        await until(pilot, lambda: theme.has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ThemeScreen))
        await pilot.press(*"nord")
        await until(pilot, lambda: pilot.app.theme == "nord")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is screen)
        assert theme.value == "nord"
        assert note(screen, "theme").startswith("not saved yet")
        await pilot.press("end")
        await until(pilot, lambda: keys.has_focus)
        await pilot.press("home")
        await until(pilot, lambda: screen.query_one("#name").has_focus)


async def test_unsaved_theme_is_reverted(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.open((120, 40)) as (screen, pilot):
        theme = screen.query_one("#theme", Picker)
        await until(pilot, lambda: not theme.disabled)
        assert note(screen, "theme") == ""
        theme.focus()
        await until(pilot, lambda: theme.has_focus)
        await pilot.press("right")
        await until(pilot, lambda: pilot.app.theme == "genie-light")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: pilot.app.screen is not screen)
        assert pilot.app.theme == "genie-dark"
        assert home.file.read_text() == TEXT
        assert home.used == []

        await pilot.press("f12")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        again = pilot.app.screen
        theme = again.query_one("#theme", Picker)
        await until(pilot, lambda: not theme.disabled)
        theme.focus()
        await until(pilot, lambda: theme.has_focus)
        await take_steps(again, pilot, "right", "up", "up", "up", "up", "left")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.screen is not again)
        assert pilot.app.theme == "genie-light"
        assert (home.used[0].theme, home.used[0].notify) == ("genie-light", "none")
        app = pilot.app
        assert isinstance(app, GenieApp)
        assert app._alerts.settings.notify == "none"  # rooms that are opened later follow it


async def test_broken_file_disables_fields(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.file.write_text("model = \n")
    async with home.open((80, 24)) as (screen, pilot):
        await until(pilot, lambda: "line 1" in problem(screen))
        assert "config edit" in problem(screen)
        assert all(screen.query_one(f"#{name}").disabled for name in ("model", "theme"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.screen is not screen)
    assert home.file.read_text() == "model = \n"


async def test_late_fault_is_discarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, found, judged = Home(tmp_path), threading.Event(), threading.Event()

    def late(form: SettingsForm, name: str, value: str, settings: Settings) -> None:
        judged.set()
        found.wait(DEADLINE)

    monkeypatch.setattr(SettingsForm, "fault", late)
    too_late(monkeypatch, SettingsScreen, "model", found.set)
    async with home.open((80, 24)) as (screen, pilot):
        model = screen.query_one("#model", Input)
        await until(pilot, lambda: not model.disabled)
        model.focus()
        await until(pilot, lambda: model.has_focus)
        await pilot.press("x")
        await until(pilot, judged.is_set)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: pilot.app.screen is not screen)


async def test_focused_field_survives_shrinking(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    async with home.open((120, 50)) as (screen, pilot):
        bell = screen.query_one("#bell", Picker)
        await until(pilot, lambda: not bell.disabled)
        bell.focus()
        await until(pilot, lambda: bell.has_focus)
        await pilot.resize_terminal(60, 16)
        scroll = screen.query_one("#settings-scroll")
        await until(pilot, lambda: scroll.region.contains_region(bell.region))


async def test_installed_agent_is_chosen_by_key(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "codex-acp").touch(0o700)
    home = Home(tmp_path, PATH=str(programs))
    async with home.open((80, 24)) as (screen, pilot):
        agent = screen.query_one("#agent", Picker)
        await until(pilot, lambda: screen.query_one("#name", Input).has_focus)
        await pilot.press("down")
        await until(pilot, lambda: agent.has_focus)
        assert "the built-in assistant" in str(agent.render())
        await pilot.press("right")
        await until(pilot, lambda: "Codex, installed" in str(agent.render()))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.screen is not screen)
    assert 'agent = "codex"' in home.file.read_text()
    assert [each.agent for each in home.used] == ["codex"]


def test_a_command_leads_there_too() -> None:
    assert command_named("settings").run == "app.settings"


async def test_other_keymap_applies_at_next_start(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.open((100, 40)) as (screen, pilot):
        await until(pilot, lambda: screen.query_one("#name", Input).has_focus)
        await take_steps(screen, pilot, "up", "right")
        assert screen.query_one("#keymap", Picker).value == "vi"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Saved. From the next start on: Keys." in notes(pilot))
        assert 'keymap = "vi"' in home.file.read_text()
