"""The keys that a person chose, in apps that run: the new key acts, the old one does not."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.genie_tui.conftest import SHORTLY
from tests.genie_tui.room_parts import answer, card, editor, notes
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    in_room,
    until,
)
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static, TextArea

from genie_core.room.open.service import SavedSummary
from genie_tui.app import AppOptions, GenieApp
from genie_tui.commands.key_file import preset_keys
from genie_tui.commands.keymap import KeyedApp, Keymap
from genie_tui.commands.keys import Action, Scope, bindings_of
from genie_tui.commands.registry import all_actions, runnable
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.dialogs.pick import PickScreen, Row
from genie_tui.screens.help import HelpScreen, HelpText
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.key_footer import KeyFooter
from genie_tui.widgets.keys_in_order import LineInput
from genie_tui.widgets.timeline.timeline import Timeline
from genie_tui.widgets.typing_line import HintLine

SOURCES = Path(__file__).parents[3] / "src"


def keymap(**changed: Sequence[str]) -> Keymap:
    """A keymap with keys by action, whose context and name are joined by two underscores."""
    named = {name.replace("__", ".").replace("_", "-"): keys for name, keys in changed.items()}
    ids = {action.id for scope in Scope for action in runnable(scope)}
    assert named.keys() <= ids
    return Keymap(runnable, {id_: tuple(keys) for id_, keys in named.items()})


VI = Keymap(runnable, preset_keys("vi"))


# Every action


class Recorder(KeyedApp[None]):
    """Has one widget with the keys of a scope, and records what they run."""

    def __init__(self, scope: Scope, keys: Keymap) -> None:
        super().__init__(keys)
        self.ran: list[str] = []

        class Owner(Widget, can_focus=True, inherit_bindings=False):
            BINDINGS: ClassVar[list[BindingType]] = bindings_of(
                each for each in runnable(scope) if each.keys
            )

        self._owner = Owner

    def compose(self) -> ComposeResult:
        yield self._owner()

    async def run_action(self, action: Any, default_namespace: Any = None, *_: Any) -> bool:
        if isinstance(default_namespace, self._owner):
            self.ran.append(action)
            return True
        return False


def bound(scope: Scope) -> list[Action]:
    return [each for each in runnable(scope) if each.run]


@pytest.mark.parametrize("scope", [each for each in Scope if bound(each)])
async def test_reassigned_keys_replace_old_ones(
    scope: Scope,
) -> None:
    listed = bound(scope)
    new = [f"f{number}" for number in range(13, 25)] + [
        f"alt+{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"
    ]
    given = dict(zip((each.id for each in listed), new, strict=False))
    assert len(given) == len(listed)
    app = Recorder(scope, Keymap(runnable, {id_: (key,) for id_, key in given.items()}))
    async with app.run_test() as pilot:
        app.query_one("Owner").focus()
        for action in listed:
            app.ran.clear()
            await pilot.press(given[action.id])
            assert len(app.ran) == 1
            assert action.run in app.ran[0]
        app.ran.clear()
        await pilot.press(*(key for action in listed for key in action.keys))
        assert app.ran == []


@pytest.mark.parametrize("scope", [each for each in Scope if bound(each)])
async def test_an_action_can_be_without_keys(scope: Scope) -> None:
    app = Recorder(scope, Keymap(runnable, {each.id: () for each in bound(scope)}))
    async with app.run_test() as pilot:
        app.query_one("Owner").focus()
        await pilot.press(*(key for action in bound(scope) for key in action.keys))
        assert app.ran == []


def test_texts_name_existing_actions() -> None:
    """Texts name keys by `Keymap.text`; this finds names of actions that don't exist."""
    calls = re.compile(r"""(?:text|named|_text)\(\s*Scope\.(\w+), ["']([\w-]+)["']""")
    found = [
        (scope, name)
        for file in SOURCES.rglob("*.py")
        for scope, name in calls.findall(file.read_text())
    ]
    assert len(found) > 30
    for scope, name in found:
        Keymap(runnable).named(Scope[scope], name)


def test_texts_hard_code_no_keys() -> None:
    """A key in a text would be the wrong one for a person with other keys."""
    table = {SOURCES / "genie_tui" / "commands" / name for name in ("keys.py", "registry.py")}
    names = re.compile(r"\b(ctrl\+[a-z]|f([1-9]|1[0-2])|esc)\b")
    quoted = re.compile(r'(?<!")"([^"\n]*)"(?!")')
    allowed = {"ctrl+c", "super+c", "ctrl+z", "ctrl+j", "esc", "f6", "f7"}
    for file in (SOURCES / "genie_tui").rglob("*.py"):
        if file in table or file.name in (
            "key_names.py",
            "key_file.py",
            "vi.py",
            "plain.py",
            "what_if.py",
        ):
            continue
        for text in quoted.findall(file.read_text()):
            if text not in allowed:
                assert not names.search(text), f"{file.name}: {text}"


# In a room


async def test_new_command_key_shows_in_all_texts(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.ask()
    keys = keymap(room__approvals=["alt+a"], room__activity=[])
    async with in_room(joined, keymap=keys) as (screen, pilot):
        assert "alt+a" in screen.query_one(HintLine).render().plain
        assert "Press alt+a to answer" in str(card(screen).query_one("#card-keys", Static).render())
        footer = screen.query_one(KeyFooter)
        await until(pilot, lambda: footer.keys)
        shown = {key.description: key.display for key in footer.keys}
        assert shown["approvals"] == "alt+a"
        assert "activity" not in shown
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert editor(screen).has_focus
        await pilot.press("alt+a")
        await until(pilot, lambda: card(screen).has_focus)
        await pilot.press("alt+a")
        await until(pilot, lambda: editor(screen).has_focus)
        await pilot.press("f2")
        await pilot.pause()
        assert editor(screen).has_focus
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.pause()
        help_text = pilot.app.screen.query_one(HelpText).render().plain
        assert re.search(r"alt\+a  /approvals +Go to the oldest approval", help_text)
        assert re.search(r"/activity +Go to the activity list", help_text)
        await pilot.press("f1")
        await until(pilot, lambda: pilot.app.screen is screen)


async def test_the_footer_keeps_its_order(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined, keymap=VI) as (screen, pilot):
        footer = screen.query_one(KeyFooter)
        await until(pilot, lambda: footer.keys)
        shown = [key.description for key in footer.keys]
        assert shown == [
            *("activity", "commands", "find", "read back", "quit", "editor", "rooms", "help")
        ]


async def test_keyless_command_is_named_by_slash(joined: ScriptedJoinedRoom) -> None:
    joined.ask()
    async with in_room(joined, keymap=keymap(room__approvals=[])) as (screen, _):
        assert "/approvals" in screen.query_one(HintLine).render().plain


async def test_a_command_that_has_no_key_gets_one(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined, keymap=keymap(room__grants=["alt+g"])) as (screen, pilot):
        await pilot.press("alt+g")
        await until(pilot, lambda: pilot.app.screen is not screen)


async def test_replaced_letter_types_again(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.say_here("hello")
    keys = keymap(timeline__reply=["a"])
    async with in_room(joined, keymap=keys) as (screen, pilot):
        timeline = screen.query_one(Timeline)
        await pilot.press("f5", "up", "a")
        await until(pilot, lambda: "Reply to" in str(editor(screen).border_title))
        await pilot.press("escape", "f5")
        await until(pilot, lambda: timeline.has_focus)
        await pilot.press("r")
        await until(pilot, lambda: editor(screen).text == "r")


async def test_sending_and_new_lines_change_places(joined: ScriptedJoinedRoom) -> None:
    keys = keymap(composer__send=["alt+enter"], composer__new_line=["enter"])
    async with in_room(joined, keymap=keys) as (screen, pilot):
        assert "alt+enter sends · enter new line" in str(editor(screen).border_subtitle)
        await pilot.press("a", "enter", "b")
        await until(pilot, lambda: editor(screen).text == "a\nb")
        assert joined.said == []
        await pilot.press("alt+enter")
        await until(pilot, lambda: editor(screen).text == "")
        assert [text for text, *_ in joined.said] == ["a\nb"]


async def test_composer_key_stops_editing(joined: ScriptedJoinedRoom) -> None:
    keys = keymap(composer__read=["ctrl+u", "ctrl+d"])
    async with in_room(joined, keymap=keys) as (screen, pilot):
        for number in range(60):
            joined.say_here(f"message {number}")
        timeline = screen.query_one(Timeline)
        await pilot.press("a", "ctrl+u")
        await until(pilot, lambda: timeline.reading is not None)
        assert editor(screen).text == "a"
        await pilot.press("pageup")
        assert editor(screen).has_focus


# Answering


@pytest.mark.parametrize("key", ["up", "f7", "enter", "ctrl+y", "z"])
async def test_answers_are_guarded_whatever_their_key(joined: ScriptedJoinedRoom, key: str) -> None:
    clock = HandClock()
    joined.ask()
    keys = keymap(
        card__allow_once=[key],
        card__scroll=["alt+1", "alt+2", "alt+3", "alt+4"],
        room__join_requests=[],
    )
    async with in_room(joined, clock=clock, keymap=keys) as (screen, pilot):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        await pilot.press(key, "enter")
        await pilot.pause(2 * SHORTLY)
        assert joined.answers == []
        clock.rest()
        await answer(pilot, clock, key)
        await until(pilot, lambda: joined.answers)


async def test_a_second_key_is_that_for_confirming(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    keys = keymap(confirm__continue=["y"], confirm__go_back=["x"])
    async with in_room(joined, clock=clock, keymap=keys) as (screen, pilot):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        clock.rest()
        await pilot.press("s")

        def line() -> str:
            return str(card(screen).query_one("#card-keys", Static).render())

        await until(pilot, lambda: "for your messages" in line())
        clock.rest()
        await until(pilot, lambda: "y allows it · x back" in line())
        await pilot.press("y")
        await until(pilot, lambda: joined.answers)


async def test_dialog_uses_its_listed_keys(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    keys = keymap(confirm__continue=["ctrl+y"], confirm__go_back=["f9"])
    async with in_room(joined, clock=clock, keymap=keys) as (screen, pilot):
        answers: list[bool | None] = []
        for key, answer in (("f9", False), ("ctrl+y", True)):
            dialog = ConfirmScreen("Sure?", "text", "do it", clock)  # type: ignore[arg-type]
            await pilot.app.push_screen(dialog, answers.append)
            await pilot.press("ctrl+y")
            await pilot.pause(2 * SHORTLY)
            assert pilot.app.screen is dialog
            clock.rest()
            await pilot.press(key)
            await until(pilot, lambda: pilot.app.screen is screen)
            assert answers[-1] is answer


# Other screens


async def test_a_list_of_the_lobby_has_other_keys() -> None:
    saved = [SavedSummary(str(n), f"room {n}", 0.0, 1, 1) for n in range(3)]
    door = ScriptedRoomService(ScriptedJoinedRoom(), None, saved)
    keys = keymap(lobby__open=["f9"], lobby__move=["k", "j"], lobby__join=["J"])
    app = GenieApp(door, None, "ann", options=AppOptions(keymap=keys))
    async with app.run_test() as pilot:
        listed = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: listed.has_focus)
        await pilot.press("down")
        assert listed.highlighted == 0
        await pilot.press("j", "j", "k", "enter")
        assert (listed.highlighted, door.openings) == (1, [])
        title = app.screen.query_one("#new-title", Input)
        title.focus()
        await pilot.press("j", "k")
        assert title.value == "jk"
        await pilot.press("f9")
        await until(pilot, lambda: door.openings)


def test_ordered_keys_go_by_their_place() -> None:
    keys = keymap(card__scroll=["down", "up", "pageup", "pagedown", "k", "j", "alt+k", "alt+j"])
    meant = [keys.meaning(Scope.CARD, key) for key in ("down", "up", "k", "j", "alt+j")]
    assert meant == ["up", "down", "up", "down", "pagedown"]
    assert keys.meaning(Scope.CARD, "a") == "a"
    assert keymap(card__deny=["k"]).meaning(Scope.CARD, "d") == ""


async def test_keys_of_lists_change_places() -> None:
    saved = [SavedSummary(str(n), f"room {n}", 0.0, 1, 1) for n in range(3)]
    door = ScriptedRoomService(ScriptedJoinedRoom(), None, saved)
    keys = keymap(lobby__open=["down"], lobby__move=["up", "enter"])
    app = GenieApp(door, None, "ann", options=AppOptions(keymap=keys))
    async with app.run_test() as pilot:
        listed = app.screen.query_one("#saved", OptionList)
        await until(pilot, lambda: listed.has_focus)
        await pilot.press("enter")
        assert (listed.highlighted, door.openings) == (1, [])
        await pilot.press("down")
        await until(pilot, lambda: door.openings)


async def test_enter_of_a_text_field_moves(joined: ScriptedJoinedRoom) -> None:
    keys = keymap(pick__choose=["ctrl+y"], pick__down=["ctrl+n"], room__mentions=[])
    async with in_room(joined, keymap=keys) as (screen, pilot):
        picked: list[str | None] = []
        dialog = PickScreen("Which?", [Row("1", "one"), Row("2", "two")])
        await pilot.app.push_screen(dialog, picked.append)
        assert "ctrl+y" not in str(dialog.query_one(LineInput).value)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert pilot.app.screen is dialog
        await pilot.press("ctrl+n", "ctrl+y")
        await until(pilot, lambda: pilot.app.screen is screen)
        assert picked == ["2"]


# vi


async def test_vi_moves_between_writing_and_reading(joined: ScriptedJoinedRoom) -> None:
    for number in range(60):
        joined.say_here(f"message {number}")
    async with in_room(joined, keymap=VI) as (screen, pilot):
        timeline = screen.query_one(Timeline)
        await pilot.press("escape")
        await until(pilot, lambda: timeline.has_focus)
        await pilot.press("g")
        await until(pilot, lambda: timeline.scroll_offset.y == 0)
        await pilot.press("G")
        await until(pilot, lambda: timeline.reading is None)
        await pilot.press("ctrl+u")
        await until(pilot, lambda: timeline.reading is not None)
        await pilot.press("k", "i")
        await until(pilot, lambda: editor(screen).has_focus)
        await pilot.press("i")
        await until(pilot, lambda: editor(screen).text == "i")


async def test_vi_escape_cancels_reply_first(joined: ScriptedJoinedRoom) -> None:
    joined.say_here("hello")
    async with in_room(joined, keymap=VI) as (screen, pilot):
        await pilot.press("f5", "k", "r")
        await until(pilot, lambda: "esc cancels" in str(editor(screen).border_title))
        await pilot.press("escape")
        await until(pilot, lambda: not editor(screen).border_title)
        assert editor(screen).has_focus
        await pilot.press("escape")
        await until(pilot, lambda: screen.query_one(Timeline).has_focus)


async def test_vi_scrolls_texts_and_lists(joined: ScriptedJoinedRoom) -> None:
    joined.say_here("hello")
    async with in_room(joined, keymap=VI) as (screen, pilot):
        dialog = FullViewScreen("Text", "line\n" * 200)
        await pilot.app.push_screen(dialog)
        area = dialog.query_one("#full-view-text", TextArea)
        await pilot.press("j", "j", "k")
        await until(pilot, lambda: area.cursor_location == (1, 0))
        await pilot.press("ctrl+d")
        await until(pilot, lambda: area.scroll_target_y > 2)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("f2")
        await until(pilot, lambda: screen.query_one(ActivityList).has_focus)


# Mistakes


async def test_mistakes_are_reported_at_the_start() -> None:
    door = ScriptedRoomService(ScriptedJoinedRoom())
    problems = [f"keys.toml, [x{n}]: there is no such context [/red]" for n in range(5)]
    app = GenieApp(door, None, "ann", options=AppOptions(keymap=Keymap(runnable, {}, problems)))
    async with app.run_test() as pilot:
        said = notes(pilot)
        assert said.splitlines() == [*problems[:3], "and 2 more: genie-tui config check"]


def test_help_lists_actions_with_present_keys() -> None:
    (help_,) = [
        each for each in all_actions(Scope.APP, keymap(app__help=["f2"])) if each.id == "app.help"
    ]
    assert help_.key_text == "f2"
