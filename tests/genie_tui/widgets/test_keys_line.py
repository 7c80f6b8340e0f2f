from typing import Any

import pytest
from tests.genie_tui.scripted_seat import HandClock, until
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from genie_tui.action import Scope
from genie_tui.keymap import GUARDED, actions
from genie_tui.widgets.keys_line import SOON, KeysLine


class Host(App[None]):
    """Only the line."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.clock = HandClock()
        self.line = KeysLine(scope, self.clock)

    def compose(self) -> ComposeResult:
        yield self.line


async def wait_for(app: Host, pilot: Pilot[Any], text: str) -> None:
    await until(pilot, lambda: text in str(app.line.render()))


@pytest.mark.parametrize("scope", sorted(GUARDED, key=str))
async def test_the_keys_are_listed_once_they_count(scope: Scope) -> None:
    app = Host(scope)
    async with app.run_test(size=(200, 10)) as pilot:
        app.line.arm()
        assert str(app.line.render()) == SOON
        app.clock.rest()
        for action in actions(scope):
            await wait_for(app, pilot, f"{action.short_keys} {action.label}")


async def test_keys_go_by_other_words_and_may_be_left_out() -> None:
    app = Host(Scope.DOOR)
    async with app.run_test(size=(200, 10)) as pilot:
        app.clock.rest()
        app.line.name_keys({"allow": "let in"}, frozenset({"next"}))
        await wait_for(app, pilot, "a let in")
        assert "next" not in str(app.line.render())


async def test_asleep_it_says_something_else() -> None:
    app = Host(Scope.DOOR)
    async with app.run_test() as pilot:
        app.clock.rest()
        app.line.sleep("elsewhere")
        await wait_for(app, pilot, "elsewhere")
        app.line.sleep("")
        await wait_for(app, pilot, "later")


async def test_it_admits_a_key_for_what_it_does() -> None:
    app = Host(Scope.DOOR)
    async with app.run_test():
        assert app.line.admit(events.Key("a", "a")) is None
        app.clock.rest()
        action = app.line.admit(events.Key("d", "d"))
        assert action is not None
        assert action.run == "deny"
        assert app.line.admit(events.Key("x", "x")) is None
