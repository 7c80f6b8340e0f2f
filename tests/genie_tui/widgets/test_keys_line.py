from typing import Any

import pytest
from tests.genie_tui.scripted_room import HandClock, until
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from genie_tui.commands.keys import GUARDED, Action, Scope, actions
from genie_tui.widgets.approvals.key_guard import SOON
from genie_tui.widgets.keys_line import KeysLine


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


async def test_keys_are_renamed_and_omitted() -> None:
    app = Host(Scope.JOIN_REQUESTS)
    async with app.run_test(size=(200, 10)) as pilot:
        app.clock.rest()
        app.line.name_keys({"allow": "let in"}, frozenset({"next"}))
        await wait_for(app, pilot, "a let in")
        assert "next" not in str(app.line.render())


async def test_asleep_it_says_something_else() -> None:
    app = Host(Scope.JOIN_REQUESTS)
    async with app.run_test() as pilot:
        app.clock.rest()
        app.line.sleep("elsewhere")
        await wait_for(app, pilot, "elsewhere")
        app.line.sleep("")
        await wait_for(app, pilot, "later")


async def test_a_key_asks_and_enter_confirms() -> None:
    app, done = Host(Scope.JOIN_REQUESTS), list[Action]()
    async with app.run_test() as pilot:

        def take(key: str, character: str | None = None) -> str:
            text = app.line.take(events.Key(key, character or key), app.line, done.append)
            app.clock.rest()
            return text

        take("a")
        take("enter", "\r")
        assert done == []
        take("d")
        await wait_for(app, pilot, "no?")
        take("enter", "\r")
        await until(pilot, lambda: [action.run for action in done] == ["deny"])
        app.line.arm()
        app.clock.rest()
        take("a")
        assert take("y") == "ay"
        take("enter", "\r")
        await pilot.pause()
        assert len(done) == 1


async def test_display_keys_always_count() -> None:
    app, done = Host(Scope.JOIN_REQUESTS), list[Action]()
    async with app.run_test():
        app.line.take(events.Key("n", "n"), app.line, done.append)
        assert [action.run for action in done] == ["next"]


async def test_a_key_and_what_it_does_stay_in_one_row() -> None:
    app = Host(Scope.CONFIRM)
    async with app.run_test(size=(20, 10)) as pilot:
        app.line.arm()
        app.clock.rest()
        app.line.name_keys({"go_on": "turn it on"})
        await wait_for(app, pilot, "turn it on")
        assert str(app.line.render()).split("\n") == [
            "enter turn it on",
            "esc go back",
            "↑ ↓ scroll",
        ]
        await until(pilot, lambda: app.line.size.height == 3)
