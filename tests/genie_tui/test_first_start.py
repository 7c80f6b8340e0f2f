import tomllib
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.known_programs import ProgramOffer
from genie_core.assistant.models.discover import ModelOffer
from genie_core.settings.load import SettingsError, SettingsSource
from genie_core.settings.locations import Locations, find_locations
from genie_tui.first_start import (
    NO_MODEL,
    FirstStartApp,
    Offers,
    done,
    is_first_start,
    keep_name,
    save,
)
from genie_tui.screens.help import HelpScreen
from genie_tui.widgets.picker import Picker

PROGRAM = ProgramOffer("claude", "Claude Code", "is installed")
MODEL = ModelOffer(ModelChoice("vllm:qwen3", "http://127.0.0.1:1234/v1"), "qwen3", "is there")


@pytest.fixture
def places(tmp_path: Path) -> Locations:
    return find_locations({"GENIE_HOME": str(tmp_path / "home")})


@pytest.fixture
def source(places: Locations) -> SettingsSource:
    return SettingsSource(places.settings_file)


def written(source: SettingsSource) -> dict[str, object]:
    return tomllib.loads(source.file.read_text())


class First(FirstStartApp):
    """The first start with these offers."""

    def __init__(
        self, source: SettingsSource, places: Locations, *offers: object, workspace: str = ""
    ) -> None:
        async def find() -> Offers:
            return offers  # type: ignore[return-value] # what the test gives

        super().__init__(source, places, "ann", find, workspace=workspace)

    def problem(self) -> str:
        shown = self.query_one("#first-problem", Static)
        return str(shown.render()) if shown.display else ""


async def test_given_workspace_is_prefilled(
    source: SettingsSource, places: Locations, tmp_path: Path
) -> None:
    app = First(source, places, workspace=str(tmp_path))
    async with app.run_test() as pilot:
        assert app.query_one("#workspace", Input).value == str(tmp_path)
        await pilot.press("ctrl+s")
    assert app.return_value is True
    assert written(source)["workspace"] == str(tmp_path)


async def test_name_agent_and_workspace_are_kept(
    source: SettingsSource, places: Locations, tmp_path: Path
) -> None:
    app = First(source, places, PROGRAM, MODEL)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        assert app.query_one(Picker).value == "0"
        await pilot.press("ctrl+u", *"bob", "down", "right", "down", *str(tmp_path), "enter")
        await app.workers.wait_for_complete()
    assert app.return_value is True
    assert written(source) == {
        "name": "bob",
        "workspace": str(tmp_path),
        "model": "vllm:qwen3",
        "base_url": "http://127.0.0.1:1234/v1",
    }
    assert not is_first_start(source, places)


async def test_enter_accepts_first_offer(source: SettingsSource, places: Locations) -> None:
    app = First(source, places, PROGRAM)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.press("enter")
        assert app.query_one(Picker).has_focus
        await pilot.press("enter")
        assert app.query_one("#workspace").has_focus
        assert not source.file.exists()
        await pilot.press("enter")
    assert written(source) == {"name": "ann", "agent": "claude"}


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
async def test_quitting_saves_nothing_and_comes_again(
    source: SettingsSource, places: Locations, key: str
) -> None:
    app = First(source, places)
    async with app.run_test() as pilot:
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape", key)
    assert app.return_value is None
    assert is_first_start(source, places)


async def test_nothing_found_is_said_and_fine(source: SettingsSource, places: Locations) -> None:
    app = First(source, places)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.press("down")
        assert NO_MODEL in str(app.query_one(Picker).render())
        said = str(app.query_one("#answers-note", Static).render())
        assert "genie-tui secrets set ANTHROPIC_API_KEY" in said
        assert "Ollama" in said
        await pilot.press("ctrl+s")
    assert written(source) == {"name": "ann"}


async def test_invalid_input_writes_nothing(source: SettingsSource, places: Locations) -> None:
    app = First(source, places)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        app.query_one("#workspace", Input).value = "/no/such/[/red]folder"
        await pilot.press("ctrl+s")
        await pilot.pause(0.2)
        assert "/no/such/[/red]folder" in app.problem()
        app.query_one("#workspace", Input).value = ""
        app.query_one("#name", Input).value = "a b\x1b[2J"
        await pilot.press("ctrl+s")
        await pilot.pause(0.2)
        assert "a b" in app.problem()
        assert not source.file.exists()
        await pilot.press("escape")
    assert app.return_value is False


def test_it_is_asked_once(source: SettingsSource, places: Locations) -> None:
    assert is_first_start(source, places)
    done(places)
    assert not is_first_start(source, places)


def test_settings_are_no_first_start(source: SettingsSource, places: Locations) -> None:
    save(source, places, {"name": "ann", "workspace": ""})
    assert not is_first_start(source, places)


def test_a_name_of_the_command_line_is_kept_once(source: SettingsSource) -> None:
    keep_name(source, "bob")
    keep_name(source, "cleo")
    assert written(source) == {"name": "bob"}


def test_a_file_with_a_mistake_stays_as_it_is(source: SettingsSource) -> None:
    source.file.parent.mkdir(parents=True)
    source.file.write_text("model = 5\n")
    with pytest.raises(SettingsError):
        keep_name(source, "bob")
    assert source.file.read_text() == "model = 5\n"
