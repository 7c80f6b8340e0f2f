import re

import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until
from textual.binding import Binding
from textual.dom import DOMNode

from genie_tui.app import GenieApp
from genie_tui.commands.keymap import OF_WIDGETS
from genie_tui.commands.keys import TYPED, Action, Scope, bindings_of, listed
from genie_tui.commands.registry import (
    COMMANDS,
    AppCommands,
    RoomCommands,
    all_actions,
    slash_commands,
    slash_help,
)
from genie_tui.screens.dialogs.ask_line import AskLineScreen
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.edit_call import EditCallScreen
from genie_tui.screens.dialogs.grants import GrantsScreen
from genie_tui.screens.dialogs.invite import InviteScreen
from genie_tui.screens.dialogs.preferences import PreferencesScreen
from genie_tui.screens.help import HelpScreen, HelpText
from genie_tui.screens.lobby import LobbyScreen
from genie_tui.screens.replay import ReplayScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.screens.sessions import SessionsScreen
from genie_tui.screens.settings import SettingsScreen
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.approvals.card import ApprovalCard
from genie_tui.widgets.join_requests import JoinRequests
from genie_tui.widgets.key_footer import KeyFooter
from genie_tui.widgets.model_picker import ModelPicker
from genie_tui.widgets.session_list import SessionList
from genie_tui.widgets.timeline.timeline import Timeline

OWNERS: dict[Scope, type[DOMNode]] = {
    Scope.APP: GenieApp,
    Scope.ROOM: RoomScreen,
    Scope.CARD: ApprovalCard,
    Scope.ACTIVITY: ActivityPanel,
    Scope.ACTIVITY_ROWS: ActivityList,
    Scope.TIMELINE: Timeline,
    Scope.LOBBY: LobbyScreen,
    Scope.OFFERS: ModelPicker,
    Scope.JOIN_REQUESTS: JoinRequests,
    Scope.CONFIRM: ConfirmScreen,
    Scope.INVITE: InviteScreen,
    Scope.EDIT: EditCallScreen,
    Scope.GRANTS: GrantsScreen,
    Scope.REPLAY: ReplayScreen,
    Scope.SETTINGS: SettingsScreen,
    Scope.SESSIONS: SessionsScreen,
    Scope.SESSION_LIST: SessionList,
    Scope.ASK: AskLineScreen,
    Scope.PREFERENCES: PreferencesScreen,
}


ACTIONS: list[Action] = [action for scope in Scope for action in all_actions(scope)]


def keys_of(declared: list[object]) -> set[str]:
    made = [each for each in declared if isinstance(each, Binding)]
    return {key for binding in made for key in binding.key.split(",")}


def test_bindings_match_action_table() -> None:
    for scope, owner in OWNERS.items():
        scopes = (scope, Scope.CONFIRM) if scope is Scope.CARD else (scope,)
        listed: list[object] = [each for one in scopes for each in bindings_of(all_actions(one))]
        assert keys_of(list(owner.BINDINGS)) == keys_of(listed)


def test_no_key_means_two_things_in_one_scope() -> None:
    for scope in Scope:
        keys = [key for action in all_actions(scope) if action.run for key in action.keys]
        assert len(keys) == len(set(keys))


def test_global_keys_are_no_ordinary_characters() -> None:
    for action in ACTIONS:
        if action.priority:
            assert all("+" in key or key.startswith("f") for key in action.keys)


def test_enter_and_space_answer_no_approval() -> None:
    for scope in (Scope.CARD, Scope.JOIN_REQUESTS):
        assert (
            not {"enter", "space", "return", "ctrl+m", "ctrl+j"} & OF_WIDGETS.by_key(scope).keys()
        )


async def test_the_footer_shows_what_the_table_marks() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        footer = screen.query_one(KeyFooter)

        def shown() -> set[str]:
            return {key.description for key in footer.keys}

        marked = {each.action.label for each in COMMANDS if each.shown}
        await until(pilot, lambda: shown() == marked - {"approvals"})
        joined.ask()
        await until(pilot, lambda: shown() == marked)


@pytest.mark.parametrize(
    ("width", "keys"),
    [
        (120, ["f2", "^p", "^f", "f5", "^q", "^r", "^o", "f1"]),
        (80, ["f2", "^p", "^f", "f5", "^q", "^r", "f1"]),
        (40, ["f2", "^p", "f1"]),
    ],
)
async def test_the_footer_names_as_many_keys_as_fit(width: int, keys: list[str]) -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined, (width, 24)) as (screen, pilot):
        await until(pilot, lambda: [k.display for k in screen.query_one(KeyFooter).keys] == keys)


async def test_crowded_footer_still_shows_help() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined, (60, 16)) as (screen, pilot):
        await pilot.press("f2")
        footer = screen.query_one(KeyFooter)

        def shown() -> dict[str, bool]:
            return {
                key.description: key.start + key.width == footer.content_size.width
                for key in footer.keys
            }

        await until(pilot, lambda: "filter" in shown() and shown().get("help", False))


async def test_the_palette_offers_what_the_table_marks() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined) as (screen, _):
        offered = [
            hit.text
            for provider in (AppCommands(screen), RoomCommands(screen))
            async for hit in provider.discover()
        ]
    marked = [each.action.label.capitalize() for each in COMMANDS if each.offered and each.run]
    assert len(offered) == len(marked)
    for label, text in zip(marked, offered, strict=True):
        assert str(text).startswith(label)


async def test_palette_searches_descriptions() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined) as (screen, _):
        hits = [hit.text async for hit in RoomCommands(screen).search("stayed silent")]
    assert any(str(text).startswith("Reasons") for text in hits)


async def found(query: str) -> list[str]:
    """The names that the palette lists for a query, the best one first."""
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined) as (screen, _):
        providers = AppCommands(screen), RoomCommands(screen)
        hits = [hit for each in providers async for hit in each.search(query)]
    ordered = sorted(hits, key=lambda hit: -getattr(hit, "score", 0.0))
    return [str(hit.text).split("  ")[0] for hit in ordered]


async def test_palette_matches_letters_and_words() -> None:
    assert await found("theme") == ["Choose theme", "Dark or light theme", "Settings"]
    assert (await found("them"))[2:] == ["Settings", "Grants"]  # which lets you revoke them
    assert (await found("chmod"))[0] == "Choose model"
    assert await found("vok") == []  # within "revoke"
    assert "Grants" in await found("revo")


async def test_the_help_tells_every_action_and_command() -> None:
    joined = ScriptedJoinedRoom()
    joined.open_room()
    async with in_room(joined, (200, 50)) as (screen, pilot):
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        pilot.app.screen.query_one(HelpText).unfolded = True
        await pilot.pause()
        text = pilot.app.screen.query_one(HelpText).render().plain
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
    words = " ".join(text.split())
    usages = {each.name: slash_commands()[each.slash] for each in COMMANDS if each.slash}
    for action in (row for scope in Scope for row in listed(all_actions(scope))):
        slash = usages.get(action.label)
        assert action.help in words or (slash is not None and slash.help in words)
    for typed in TYPED.values():
        assert all(what in text for what in typed.values())
    for usage, _ in slash_help():
        assert len(re.findall(rf"(?m)(?:^|  ){re.escape(usage)}(?:$|  )", text)) == 1
