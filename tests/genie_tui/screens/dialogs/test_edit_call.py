"""Changing a call, allowing it for a while, taking that back, and auto mode."""

import json
from dataclasses import replace
from typing import Any

from tests.genie_tui.room_parts import answer
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual.pilot import Pilot
from textual.widgets import OptionList, Static, TextArea

from genie_core.room.client.model import Answer, EngineState
from genie_core.room.engine.grants import Grant
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.room.protocol.events import MessageEdited, RunCancelled
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.edit_call import GONE, NOT_TAKEN, SURE, UNCHANGED, EditCallScreen
from genie_tui.screens.dialogs.grants import GrantsScreen, grant_lines
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.approvals.card import ApprovalCard, ReasonInput
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.status_bar import StatusBar

SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
    "additionalProperties": False,
}


async def go_to_card(screen: RoomScreen, pilot: Pilot[Any], clock: HandClock) -> ApprovalCard:
    card = screen.query_one(ApprovalCard)
    await pilot.press("ctrl+g")
    await until(pilot, lambda: card.has_focus)
    await pilot.pause()
    clock.rest()
    return card


async def begin_edit(screen: RoomScreen, pilot: Pilot[Any], clock: HandClock) -> EditCallScreen:
    await go_to_card(screen, pilot, clock)
    await answer(pilot, clock, "e")
    await until(pilot, lambda: isinstance(pilot.app.screen, EditCallScreen))
    edit = pilot.app.screen
    assert isinstance(edit, EditCallScreen)
    await until(pilot, lambda: isinstance(edit.focused, TextArea))
    return edit


def state_of(edit: EditCallScreen) -> str:
    return str(edit.query_one("#edit-state", Static).render())


async def write(pilot: Pilot[Any], edit: EditCallScreen, text: str, says: str) -> None:
    edit.query_one(TextArea).text = text
    await until(pilot, lambda: says in state_of(edit))


async def test_edited_call_is_reviewed_then_sent(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    approval = joined.ask("run", command="rm -rf x")
    joined.schemas[approval] = SCHEMA
    joined.effects[approval] = ToolEffects((ToolEffect("run", "rm -rf x"),))
    async with in_room(joined, (80, 24), clock) as (screen, pilot):
        edit = await begin_edit(screen, pilot, clock)
        text = edit.query_one(TextArea)
        assert json.loads(text.text) == {"command": "rm -rf x"}
        line = text.get_line(1)
        coloured = {line.plain[span.start : span.end] for span in line.spans}
        assert {'"command"', '"rm -rf x"'} <= coloured
        await pilot.press("ctrl+s")
        await until(pilot, lambda: UNCHANGED in state_of(edit))
        await write(pilot, edit, '{"command": 5}', "command: expected text, not a number")
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert not edit.reviewing
        await write(pilot, edit, '{\n"command": x}', "line 2, column 12")
        await write(pilot, edit, '{"command": "ls x"}', "arguments are valid")
        await pilot.press("ctrl+s", "enter", "enter")  # the keyboard did not rest in between
        await until(pilot, lambda: edit.reviewing)
        shown = str(edit.query_one("#edit-changes", Static).render())
        assert '-command: "rm -rf x"' in shown
        assert '+command: "ls x"' in shown
        assert "runs ls x" in shown
        assert joined.answers == []
        clock.rest()
        await pilot.press("escape")
        await until(pilot, lambda: not edit.reviewing and text.has_focus)
        assert text.text == '{"command": "ls x"}'
        await pilot.press("ctrl+s")
        await until(pilot, lambda: edit.reviewing)
        clock.rest()
        for key in ("a", "y", "space", "ctrl+s"):
            await pilot.press(key)
        assert joined.answers == []
        joined.takes_answers = False
        clock.rest()
        await answer(pilot, clock, "enter")  # typing has withdrawn the question
        await until(pilot, lambda: NOT_TAKEN in state_of(edit))
        joined.takes_answers = True
        await pilot.press("ctrl+s")
        await until(pilot, lambda: edit.reviewing)
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is screen)
        assert joined.answers == [(approval, Answer(allow=True, arguments={"command": "ls x"}))]


async def test_next_call_follows_an_edited_one(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask("run", command="rm")
    other = joined.ask("other")
    async with in_room(joined, clock=clock) as (screen, pilot):
        edit = await begin_edit(screen, pilot, clock)
        await write(pilot, edit, '{"command": "ls"}', "schema is not known here")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: edit.reviewing)
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is screen)
        card = screen.query_one(ApprovalCard)
        await until(pilot, lambda: card.view is not None and card.view.request.id == other)
        assert card.has_focus
        await pilot.press("a", "enter")
        await pilot.pause(0.1)
        assert len(joined.answers) == 1


async def test_vanished_call_is_not_answered(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    first = joined.ask("run", command="rm")
    joined.ask("other")
    async with in_room(joined, clock=clock) as (screen, pilot):
        edit = await begin_edit(screen, pilot, clock)
        await write(pilot, edit, '{"command": "ls"}', "schema is not known here")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: edit.reviewing)
        joined.feed(RunCancelled(joined.state.calls[first].message, "stopped by bob"))
        await until(pilot, lambda: GONE in state_of(edit) and not edit.reviewing)
        clock.rest(5)
        await pilot.press("ctrl+s", "enter")
        await pilot.pause()
        assert not edit.reviewing
        assert "ls" in edit.query_one(TextArea).text
        await pilot.press("escape")
        await until(pilot, lambda: SURE.format(key="esc") in state_of(edit))
        await pilot.press("escape", "a")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("a")
        await pilot.pause()
        assert joined.answers == []


async def test_a_tool_is_allowed_so_often_or_so_long(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    first, second = joined.ask("one"), joined.ask("two")
    async with in_room(joined, (80, 24), clock) as (screen, pilot):
        card = await go_to_card(screen, pilot, clock)
        line, keys = screen.query_one(ReasonInput), screen.query_one("#card-keys", Static)
        await answer(pilot, clock, "t")
        await until(pilot, lambda: line.has_focus)
        await pilot.press(*"soon")
        await until(pilot, lambda: "a number up to" in str(keys.render()))
        clock.rest()
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert line.value == "soon"
        assert joined.answers == []
        await pilot.press("escape")
        await until(pilot, lambda: card.has_focus and not line.value)
        clock.rest()
        await answer(pilot, clock, "t")
        await until(pilot, lambda: line.has_focus)
        await pilot.press("5")
        await until(pilot, lambda: "this time and 4 more?" in str(keys.render()))
        await pilot.press("enter")
        await until(pilot, lambda: joined.answers)
        assert joined.answers == [(first, Answer(allow=True, scope="times", count=5))]
        await until(pilot, lambda: card.view is not None and card.view.request.id == second)
        await until(pilot, lambda: card.has_focus)
        clock.rest()
        await answer(pilot, clock, "t")
        await until(pilot, lambda: line.has_focus)
        await pilot.press(*"10m")
        third = joined.ask("three")
        joined.feed(RunCancelled(joined.state.calls[second].message, "stopped by bob"))
        await until(pilot, lambda: card.view is not None and card.view.request.id == third)
        clock.rest()
        await pilot.press("enter")
        await pilot.pause()
        assert len(joined.answers) == 1  # it was typed about another call


async def test_grants_are_revoked_and_auto_marked(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    joined.grants = (
        Grant(1, "ann", "system", "rm\x1b", "session", 0.0, "*"),
        Grant(2, "bob", "coder:1a2b3c4d", "mv", "times", 0.0, "*", left=2, used=1, last_used=60.0),
    )
    async with in_room(joined, (80, 24), clock) as (screen, pilot):
        composer, bar = screen.query_one(Composer), screen.query_one(StatusBar)
        composer.post_message(Composer.Submitted("/auto on"))
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        await pilot.press("enter")  # typed on, not meant
        await pilot.pause()
        assert joined.autos == []
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: "AUTO" in bar.render().plain)
        assert joined.autos == [True]
        composer.post_message(Composer.Submitted("/grants"))
        await until(pilot, lambda: isinstance(pilot.app.screen, GrantsScreen))
        listed = pilot.app.screen.query_one(OptionList)
        await until(pilot, lambda: listed.option_count == 2)
        assert pilot.app.screen.has_class("-auto")
        await pilot.press("j", "d")
        await until(pilot, lambda: listed.option_count == 1)
        assert joined.revoked == [2]
        clock.rest()
        await pilot.press("d")
        await until(pilot, lambda: listed.option_count == 0)
        assert joined.revoked == [2, 1]
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
        composer.post_message(Composer.Submitted("/auto off"))
        await until(pilot, lambda: "AUTO" not in bar.render().plain)
        assert joined.autos == [True, False]


def test_grant_shows_scope_and_last_use() -> None:
    session = grant_lines(Grant(1, "ann", "system", "rm\x1b", "session", 0.0, "*"), 0.0).plain
    assert "rm␛" in session
    assert "until the session ends" in session
    assert "not used since" in session
    once = grant_lines(
        Grant(1, "a", "b", "c", "times", 0.0, "*", left=1, used=3, last_used=9.0), 0.0
    )
    assert "once more" in once.plain
    assert "used 3 times" in once.plain
    minutes = Grant(1, "ann", "coder:1a2b3c4d", "rm", "minutes", 0.0, "*", until=90.0)
    assert "from now" in grant_lines(minutes, 30.0).plain


async def test_grant_quotes_edited_message(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        message = joined.say_here("list the files", "bob")
        joined.feed(MessageEdited(message, "wipe the disk"), by="bob")
        joined.grants = (
            Grant(message, "bob", "genie", "rm", "session", 0.0, "*", message=message),
        )
        await pilot.app.push_screen(GrantsScreen(joined))
        listed = pilot.app.screen.query_one(OptionList)
        quote = "“wipe the disk” (edited; posted as “list the files”)"
        assert quote in str(listed.get_option_at_index(0).prompt)


async def test_small_terminal_keeps_grant_keys(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    async with in_room(joined, (60, 16), clock=clock) as (_, pilot):
        await pilot.app.push_screen(GrantsScreen(joined))
        clock.rest()
        box, keys = (pilot.app.screen.query_one(each) for each in ("#grants", "#grants-keys"))
        await until(pilot, lambda: str(keys.render()) == "esc back")  # there is none to revoke

        message = joined.say_here("list the files " * 9)
        joined.grants = tuple(
            Grant(number, "ann", "genie", "run_command", "session", 0.0, "*", message=message)
            for number in range(9)
        )
        await until(pilot, lambda: "d revoke" in str(keys.render()))
        await pilot.pause()
        assert box.content_region.contains_region(keys.region)
        assert pilot.app.screen.region.contains_region(box.region)


async def test_host_decides_on_backlog(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined, (80, 24)) as (screen, pilot):
        composer = screen.query_one(Composer)

        async def told(command: str) -> str:
            pilot.app.clear_notifications()
            composer.post_message(Composer.Submitted(command))
            await until(pilot, lambda: len(pilot.app._notifications) == 1)
            return next(each.message for each in pilot.app._notifications)

        assert "No earlier messages are waiting" in await told("/backlog all")
        joined.backlog = 1_200
        assert "all, latest or none" in await told("/backlog")
        assert "Answering 1,200 messages" in await told("/backlog ALL")
        joined.backlog = 1_200
        assert "stay unanswered" in await told("/backlog none")
        joined.engine_status = replace(joined.engine.status, state=EngineState.LOADING)
        assert "still loading" in await told("/backlog none")
