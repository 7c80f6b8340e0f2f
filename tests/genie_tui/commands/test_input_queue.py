"""Input of one burst goes where the key before it has led."""

from functools import partial
from typing import Any, ClassVar

import pytest
from tests.genie_tui.keyboard import Keyboard
from tests.genie_tui.scripted_room import until
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList

from genie_tui.commands.input_queue import InputQueue
from genie_tui.commands.keymap import KeyedApp, call_after_input
from genie_tui.widgets.keys_in_order import LineInput


class Line(ModalScreen[None]):
    """A dialog with a field."""

    def compose(self) -> ComposeResult:
        yield LineInput(id="line")


class Listed(OptionList):
    """A list with a key that removes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("x", "go_away", "")]

    async def action_go_away(self) -> None:
        await self.remove()


class Page(KeyedApp[None]):
    """A list in containers, and keys that lead to a field or a dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [("n", "name", ""), ("d", "dialog", "")]

    def compose(self) -> ComposeResult:
        with Vertical(), Vertical():
            yield Listed("one", "two")
        yield LineInput(id="name")

    def on_mount(self) -> None:
        self.query_one(Listed).focus()

    def action_name(self) -> None:
        self.query_one("#name").focus()

    async def action_dialog(self) -> None:
        await self.push_screen(Line())


def send(pilot: Pilot[Any], *keys: str) -> None:
    """Send keys as a terminal does in one write; a longer text is a paste."""
    for key in keys:
        character = key if len(key) == 1 else None
        is_paste = len(key) > 1 and " " in key
        pilot.app.post_message(events.Paste(key) if is_paste else events.Key(key, character))


def has_value(pilot: Pilot[Any], selector: str, value: str) -> bool:
    return any(each.value == value for each in pilot.app.screen.query(selector).results(Input))


@pytest.mark.parametrize(
    ("burst", "selector", "value"),
    [
        ("nsand and dunes", "#name", "sand and dunes"),
        ("dsand and dunes", "#line", "sand and dunes"),
        ("xsand", "#name", "sand"),  # the widget that the key was sent to is gone
    ],
)
async def test_a_burst_goes_where_its_first_key_leads(
    burst: str, selector: str, value: str
) -> None:
    async with Page().run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.focused, Listed))
        send(pilot, *burst)
        await until(pilot, partial(has_value, pilot, selector, value))


async def test_a_paste_waits_for_the_key_before_it() -> None:
    async with Page().run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.focused, Listed))
        send(pilot, "n", "sand and dunes", "!")
        await until(pilot, partial(has_value, pilot, "#name", "sand and dunes!"))


async def test_input_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InputQueue, "_settle", lambda *_: None)
    monkeypatch.setattr("genie_tui.commands.input_queue.PATIENCE", 0.0)
    async with Page().run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.focused, Listed))
        await pilot.press("n", "a", "b")
        await until(pilot, partial(has_value, pilot, "#name", "ab"))


class Guarded(KeyedApp[None]):
    """Only the keyboard."""

    def compose(self) -> ComposeResult:
        yield Keyboard()


async def test_held_key_is_not_standing_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Guarded().run_test() as pilot:
        keyboard = pilot.app.query_one(Keyboard)
        keyboard.focus()
        await pilot.pause()
        keyboard.clock.rest()
        order: list[str] = []
        monkeypatch.setattr(InputQueue, "_settle", lambda *_: None)  # the first one goes on and on
        send(pilot, "a", "b")
        await until(pilot, lambda: keyboard.pressed)
        call_after_input(pilot.app, partial(order.append, "called"))
        await pilot.pause(0.2)
        assert order == []
        assert keyboard.keys == []
