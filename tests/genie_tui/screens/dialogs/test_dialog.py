from typing import ClassVar

import pytest
from tests.genie_tui.scripted_room import HandClock, until
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import Input

from genie_tui.screens.dialogs.dialog import Dialog, DialogKeys, GuardedApp
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.help import HelpScreen
from genie_tui.widgets.approvals.key_guard import SOON


async def test_two_keys_at_once_close_one_screen_and_not_the_one_below() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        below = app.screen
        for screen in (HelpScreen(), FullViewScreen("title", "text")):
            await app.push_screen(screen)
            await pilot.pause()
            for _ in range(2):
                app.simulate_key("escape")
            for _ in range(4):  # each hands a key on: to the app, to a screen, to what it does
                await pilot.pause()
            assert app.screen is below
            assert len(app.screen_stack) == 1


async def test_a_screen_that_is_covered_is_not_closed_nor_what_covers_it() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        under, over = FullViewScreen("under", ""), FullViewScreen("over", "")
        await app.push_screen(under)
        await app.push_screen(over)
        await pilot.pause()
        await under.dismiss()
        assert app.screen_stack[-2:] == [under, over]


class Letters(Dialog[str]):
    """A dialog with bindings, one of them for enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose('enter')"),
        Binding("q", "choose('q')", priority=True),
        Binding("escape", "choose('escape')"),
    ]

    def compose(self) -> ComposeResult:
        yield DialogKeys("q quits", id="keys")

    def action_choose(self, key: str) -> None:
        _ = self.dismiss(key)


class Line(Letters):
    """One with a line of text."""

    def compose(self) -> ComposeResult:
        yield Input()

    def on_input_submitted(self) -> None:
        _ = self.dismiss("submitted")


class Shown(Letters):
    """One in which nothing is answered."""

    READ_ONLY = True


class Host(GuardedApp[None]):
    """Asks and keeps the answers."""

    def __init__(self, dialog: Letters) -> None:
        self.hand = HandClock()
        super().__init__(self.hand)
        self.dialog = dialog
        self.answers: list[str | None] = []

    def on_mount(self) -> None:
        _ = self.push_screen(self.dialog, self.answers.append)


@pytest.mark.parametrize("key", ["q", "enter"])
@pytest.mark.parametrize("gap", [0.11, 0.2, 0.9])
async def test_typing_on_chooses_nothing_in_any_dialog(key: str, gap: float) -> None:
    app = Host(Letters())
    async with app.run_test() as pilot:
        for _ in range(20):
            app.hand.rest(gap)
            await pilot.press("w", key)
        assert app.answers == []
        app.hand.rest()
        await pilot.press(key)
        await until(pilot, lambda: app.answers == [key])


async def test_keys_in_one_write_choose_nothing() -> None:
    app = Host(Letters())
    async with app.run_test() as pilot:
        app.hand.rest()
        for key in ("q", "enter", "q"):
            app.post_message(Key(key, key if len(key) == 1 else "\r"))
        await pilot.pause()
        app.hand.rest()
        await pilot.press("enter")
        await until(pilot, lambda: app.answers)
        assert app.answers == ["enter"]


async def test_escape_counts_at_once() -> None:
    app = Host(Letters())
    async with app.run_test() as pilot:
        await pilot.press("escape")
        await until(pilot, lambda: app.answers == ["escape"])


async def test_every_key_counts_at_once_where_nothing_is_answered() -> None:
    app = Host(Shown())
    async with app.run_test() as pilot:
        await pilot.press("q")
        await until(pilot, lambda: app.answers)
        assert app.answers == ["q"]


async def test_it_says_when_keys_count() -> None:
    app = Host(Letters())
    async with app.run_test() as pilot:
        line = app.dialog.query_one(DialogKeys)
        await until(pilot, lambda: str(line.content) == SOON)
        app.hand.rest()
        await until(pilot, lambda: str(line.content) == "q quits")


async def test_a_line_takes_letters_at_once_and_enter_once_it_was_open_for_a_while() -> None:
    app = Host(Line())
    async with app.run_test() as pilot:
        line = app.dialog.query_one(Input)
        line.focus()
        await pilot.press("a", "b", "enter")
        assert line.value == "ab"
        assert app.answers == []
        app.hand.rest()
        await pilot.press("c", "enter")
        await until(pilot, lambda: app.answers == ["submitted"])
        assert line.value == "abc"


async def test_a_key_that_waits_goes_to_no_other_screen() -> None:
    app = Host(Letters())
    async with app.run_test() as pilot:
        second = Letters()
        app.hand.rest()
        app.post_message(Key("enter", "\r"))
        app.call_later(app.push_screen, second)
        await until(pilot, lambda: app.screen is second)
        app.hand.rest()
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dialog)
        assert app.answers == []
