"""Answering a tool server that asks for input."""

from typing import Any

import pytest
from tests.genie_tui.room_parts import answer
from tests.genie_tui.screens.dialogs.test_edit_call import go_to_card
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual.pilot import Pilot
from textual.widgets import Input, Static

from genie_core.privacy.redaction import know
from genie_core.room.client.model import Answer
from genie_core.room.commands import files
from genie_core.room.engine.approval_policy import ANSWER_SERVER
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.protocol.events import RunCancelled
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.form import GONE, NOT_TAKEN, FormScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.approvals.card import ALLOW_ONCE, ApprovalCard
from genie_tui.widgets.composer.composer import Composer

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your [b]name\x1b[31m"},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"]},
        "count": {"type": "integer", "minimum": 1, "default": 2},
        "gift": {"type": "boolean", "default": False},
    },
    "required": ["name", "size"],
}


def ask(joined: ScriptedJoinedRoom, **arguments: Any) -> str:
    approval = joined.ask(
        ANSWER_SERVER, server="shop", message="Who\x1b[31m are [b]you?", **arguments
    )
    joined.effects[approval] = ToolEffects(is_grantable=False)
    return approval


def ask_form(joined: ScriptedJoinedRoom) -> str:
    approval = ask(joined, answer={})
    joined.schemas[approval] = {"type": "object", "properties": {"answer": FORM}}
    return approval


async def open_form(screen: RoomScreen, pilot: Pilot[Any], clock: HandClock) -> FormScreen:
    await go_to_card(screen, pilot, clock)
    await answer(pilot, clock, "e")
    await until(pilot, lambda: isinstance(pilot.app.screen, FormScreen))
    form = pilot.app.screen
    assert isinstance(form, FormScreen)
    await until(pilot, lambda: isinstance(form.focused, Input))
    return form


def state_of(form: FormScreen) -> str:
    return str(form.query_one("#form-state", Static).render())


async def test_a_form_is_filled_in_shown_and_sent(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    approval = ask_form(joined)
    async with in_room(joined, (80, 32), clock) as (screen, pilot):
        form = await open_form(screen, pilot, clock)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "it is required" in state_of(form))
        await pilot.press("A", "n", "n", "enter", "x", "ctrl+s")
        await until(pilot, lambda: "expected one of: small, large" in state_of(form))
        await pilot.press("backspace", "l", "a", "r", "g", "e")
        await pilot.press("ctrl+s", "enter", "enter")  # the keyboard did not rest in between
        await until(pilot, lambda: form.reviewing)
        shown = str(form.query_one("#form-values", Static).render())
        assert "\x1b" not in shown
        for part in ("Your [b]name", "Ann", "count", "2", "gift", "no"):
            assert part in shown
        assert joined.answers == []
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is screen)
    answer = {"name": "Ann", "size": "l", "count": 2, "gift": False}
    arguments = {"server": "shop", "message": "Who\x1b[31m are [b]you?", "answer": answer}
    assert joined.answers == [(approval, Answer(allow=True, arguments=arguments))]


async def test_a_kept_secret_is_not_sent(joined: ScriptedJoinedRoom) -> None:
    know({"SHOP_KEY": "v3ry-private-value"})
    clock = HandClock()
    ask_form(joined)
    async with in_room(joined, (80, 32), clock) as (screen, pilot):
        form = await open_form(screen, pilot, clock)
        form.query_one("#form-field-0", Input).value = "v3ry-private-value"
        form.query_one("#form-field-1", Input).value = "s"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: form.reviewing)
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: NOT_TAKEN in state_of(form))
    assert joined.answers == []


async def test_card_shows_request_and_one_key(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    ask_form(joined)
    async with in_room(joined, (80, 40), clock) as (screen, pilot):
        await pilot.press("e", "a", "ctrl+a")  # into the composer
        assert screen.query_one(Composer).draft == "ea"
        card = await go_to_card(screen, pilot, clock)
        shown = str(card.query_one("#card-effect", Static).render())
        for part in ("shop asks:", "are [b]you?", "one of: small, large", "enter no password"):
            assert part in shown
        assert "\x1b" not in shown
        assert not card.offers(ALLOW_ONCE)
        assert "have you answer a tool server" in str(card.query_one("#card-call", Static).render())
        for key in ("a", "s", "w", "l", "t"):
            await pilot.press(key)
            clock.rest()
        await until(pilot, lambda: "waits for your answer" in keys_of(card))
        assert joined.answers == []
        await answer(pilot, clock, "d")
        await until(pilot, lambda: bool(joined.answers))
    assert joined.answers[0][1] == Answer(allow=False)


def keys_of(card: ApprovalCard) -> str:
    return str(card.query_one("#card-keys", Static).render())


async def test_cancelled_request_gets_no_answer(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    approval = ask_form(joined)
    async with in_room(joined, (80, 32), clock) as (screen, pilot):
        form = await open_form(screen, pilot, clock)
        await pilot.press("A", "enter", "s", "ctrl+s")
        await until(pilot, lambda: form.reviewing)
        joined.feed(RunCancelled(joined.state.calls[approval].message, "stopped by bob"))
        await until(pilot, lambda: GONE in state_of(form) and not form.reviewing)
        await pilot.press("ctrl+s", "escape")
        await until(pilot, lambda: pilot.app.screen is screen)
    assert joined.answers == []


@pytest.mark.parametrize("agrees", [True, False])
async def test_address_opens_after_consent(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch, *, agrees: bool
) -> None:
    opened: list[str] = []

    async def opener(target: str, *_: str) -> None:
        opened.append(target)

    monkeypatch.setattr(files, "run_opener", opener)
    clock = HandClock()
    approval = ask(joined, url="https://pay.example/1")
    async with in_room(joined, (80, 32), clock) as (screen, pilot):
        card = await go_to_card(screen, pilot, clock)
        assert "https://pay.example/1" in str(card.query_one("#card-effect", Static).render())
        await answer(pilot, clock, "e")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert opened == []
        clock.rest()
        await pilot.press("enter" if agrees else "escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        await until(pilot, lambda: len(opened) == agrees)
    assert joined.answers == ([(approval, Answer(allow=True))] if agrees else [])
