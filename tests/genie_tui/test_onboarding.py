import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.genie_tui.room_parts import notes
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, ScriptedRoomService, until
from textual.widgets import Static

from genie_core.assistant.config import ModelChoice
from genie_core.assistant.known_programs import ProgramOffer
from genie_core.assistant.models.discover import ModelOffer
from genie_core.assistant.secrets import OwnSecrets
from genie_core.room.open.requests import NewRoom
from genie_core.settings.load import SettingsError, SettingsSource
from genie_core.settings.locations import Locations, find_locations
from genie_core.settings.model import Settings
from genie_tui.app import GenieApp
from genie_tui.onboarding import MOST, Onboarding
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.pick import PickScreen
from genie_tui.screens.room import RoomScreen

LOCAL = ModelChoice("vllm:qwen3", "http://127.0.0.1:1234/v1")


class Looking:
    """Finds what it is told, and remembers what it was given."""

    def __init__(self, count: int = 1) -> None:
        self.offers = [ModelOffer(LOCAL, f"model {number}", "is there") for number in range(count)]
        self.given: list[Mapping[str, str]] = []

    async def __call__(self, keys: Mapping[str, str]) -> list[ModelOffer]:
        self.given.append(keys)
        return self.offers


@pytest.fixture
def places(tmp_path: Path) -> Locations:
    return find_locations({"GENIE_HOME": str(tmp_path)})


def onboarding(
    places: Locations, looking: Looking, used: list[Settings] | None = None, **env: str
) -> Onboarding:
    source = SettingsSource(places.settings_file, env)
    taken = [] if used is None else used
    return Onboarding(source, places, "ann", taken.append, looking)


async def test_search_gets_key_names_not_values(
    places: Locations,
) -> None:
    OwnSecrets("ann", places.secrets, keyring=lambda: None).set("MISTRAL_API_KEY", "the value")
    looking = Looking(MOST + 3)
    offers = await onboarding(places, looking, OPENAI_API_KEY="x").offers()
    assert offers == looking.offers[:MOST]
    (given,) = looking.given
    assert given.keys() == {"MISTRAL_API_KEY", "OPENAI_API_KEY"}
    assert "the value" not in given.values()


async def test_choice_is_saved_and_asked_once(places: Locations) -> None:
    used: list[Settings] = []
    advice = onboarding(places, Looking(), used)
    await advice.take(LOCAL)
    assert tomllib.loads(places.settings_file.read_text()) == {
        "model": LOCAL.name,
        "base_url": LOCAL.base_url,
    }
    assert [(each.model, each.base_url) for each in used] == [(LOCAL.name, LOCAL.base_url)]
    assert await advice.offers() == []
    assert await onboarding(places, Looking()).offers() == []


async def test_installed_agents_come_first(places: Locations, tmp_path: Path) -> None:
    (tmp_path / "opencode").touch(0o700)
    used: list[Settings] = []
    advice = onboarding(places, Looking(), used, PATH=str(tmp_path))
    first, second = await advice.offers()
    assert isinstance(first, ProgramOffer)
    assert (first.name, first.why) == ("opencode", "installed: opencode acp")
    assert isinstance(second, ModelOffer)
    await advice.take(first)
    assert tomllib.loads(places.settings_file.read_text()) == {"agent": "opencode"}
    assert [each.agent for each in used] == ["opencode"]


async def test_who_has_set_an_agent_is_offered_nothing(places: Locations) -> None:
    assert await onboarding(places, Looking(), GENIE_AGENT="codex").offers() == []


async def test_the_offline_helper_is_a_choice_too(places: Locations) -> None:
    await onboarding(places, Looking()).take(ModelChoice())
    assert tomllib.loads(places.settings_file.read_text()) == {"model": ""}


async def test_dismissal_lasts_until_next_start(places: Locations) -> None:
    advice = onboarding(places, Looking())
    advice.dismiss()
    assert await advice.offers() == []
    assert await onboarding(places, Looking()).offers() != []
    assert not places.settings_file.exists()


async def test_decline_is_permanent(places: Locations) -> None:
    await onboarding(places, Looking()).decline()
    again = Looking()
    assert await onboarding(places, again).offers() == []
    assert again.given == []
    assert not places.settings_file.exists()


async def test_settings_or_model_suppress_offers(places: Locations) -> None:
    looking = Looking()
    assert await onboarding(places, looking, GENIE_MODEL="ollama:qwen3").offers() == []
    places.settings_file.parent.mkdir(parents=True)
    places.settings_file.write_text('theme = "nord"')
    assert await onboarding(places, looking).offers() == []
    assert looking.given == []
    places.settings_file.write_text('name = "ann"')
    assert await onboarding(places, looking).offers() == looking.offers


async def test_a_disk_that_takes_nothing_is_one_line(places: Locations) -> None:
    places.config.parent.mkdir(parents=True, exist_ok=True)
    places.config.write_text("in the way")
    places.data.write_text("in the way")
    advice = onboarding(places, Looking())
    for doing in (advice.take(LOCAL), advice.decline()):
        with pytest.raises(SettingsError) as failure:
            await doing
        assert "\n" not in str(failure.value)


async def test_room_key_offers_and_applies_model(
    places: Locations, joined: ScriptedJoinedRoom
) -> None:
    looking = Looking()
    looking.offers = [
        ModelOffer(ModelChoice("openai:m"), "openai:m", "OPENAI_API_KEY is set"),
        ModelOffer(LOCAL, "model 0", "is there"),
    ]
    used: list[Settings] = []
    advice = onboarding(places, looking, used)
    clock = HandClock()
    app = GenieApp(
        ScriptedRoomService(joined), NewRoom("Garden"), "ann", clock=clock, onboarding=advice
    )
    async with app.run_test(size=(120, 40)) as pilot:
        room = app.screen
        assert isinstance(room, RoomScreen)
        await until(pilot, lambda: room.joined is not None)
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        clock.rest(10)
        await pilot.press("enter")
        await until(pilot, lambda: joined.models == ["openai:m"])
        assert [settings.model for settings in used] == ["openai:m"]
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        clock.rest(10)
        await pilot.press("down", "enter")
        await until(pilot, lambda: "model 0 answers in the next room" in notes(pilot))
        assert joined.models == ["openai:m"]


async def test_where_nothing_is_found_a_model_is_named(
    places: Locations, joined: ScriptedJoinedRoom
) -> None:
    advice, clock = onboarding(places, Looking(0)), HandClock()
    app = GenieApp(
        ScriptedRoomService(joined), NewRoom("Garden"), "ann", clock=clock, onboarding=advice
    )
    async with app.run_test(size=(120, 40)) as pilot:
        room = app.screen
        assert isinstance(room, RoomScreen)
        await until(pilot, lambda: room.joined is not None)
        await pilot.press("f10")
        await until(pilot, lambda: isinstance(app.screen, PickScreen))
        title = app.screen.query_one("#pick-title", Static)
        await until(pilot, lambda: title.size.height > 2)
        said = str(title.render())
        assert "No key is set" in said
        assert "genie-tui secrets set ANTHROPIC_API_KEY" in said
        clock.rest(10)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, AskLineScreen))
        await pilot.press(*"openai:m")
        clock.rest(10)
        await pilot.press("enter")
        await until(pilot, lambda: joined.models == ["openai:m"])
