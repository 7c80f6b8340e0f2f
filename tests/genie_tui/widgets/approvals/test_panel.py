from typing import Any

import pytest
from tests.genie_tui.command_keys import CommandKeysApp
from tests.genie_tui.room_parts import answer, card, text_of
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedApprovals,
    ScriptedJoinedRoom,
    in_room,
    until,
)
from tests.genie_tui.widgets.room_log import RoomLog
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from genie_core.room.client.model import Answer
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessageDeleted,
    MessageEdited,
)
from genie_core.room.state.room_state import RoomState
from genie_tui.screens.dialogs.full_view import call_text
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.approvals.panel import MOST, NOTHING_THEN, ApprovalPanel, PastApprovals


class Queue(CommandKeysApp):
    def compose(self) -> ComposeResult:
        yield ApprovalPanel(lambda: 0.0)


class Page(App[None]):
    def compose(self) -> ComposeResult:
        yield PastApprovals()

    def text(self) -> str:
        return str(self.query_one("#past-approvals", Static).render())


def asking(log: RoomLog, by: str, approval: str, **arguments: object) -> int:
    said = log.ask(by, f"please, {approval}")
    effects = tuple(f"writes {path}" for path in arguments.values())
    log.add(
        ApprovalRequested(
            said.seq, approval, "genie", "write_file", dict(arguments), effects=effects
        ),
        by,
    )
    return said.seq


async def test_past_approvals_include_all_owners() -> None:
    log = RoomLog()
    parked = asking(log, "ann", "one", path="[b]a.txt")
    log.add(ApprovalResolved(parked, "one", "parked"), "ann")
    asking(log, "bob", "two", path="b.txt")
    settled = asking(log, "bob", "three", path="c.txt")
    log.add(ApprovalResolved(settled, "three", "denied"), "bob")
    said = log.ask("bob", "by rule")
    log.add(ApprovalRequested(said.seq, "four", "genie", "grep", {}, unasked=True), "bob")
    app = Page()
    async with app.run_test(size=(80, 40)):
        assert app.query_one(PastApprovals).show(log.state) == 2
        text = app.text()
        assert text.index("[b]a.txt") < text.index("b.txt", text.index("[b]a.txt") + 8)
        assert "kept from before" in text
        assert "writes [b]a.txt" in text
        assert "please, two" in text
        assert "c.txt" not in text
        assert "grep" not in text
        assert app.query_one(PastApprovals).show(RoomState()) == 0
        assert app.text() == NOTHING_THEN


async def test_very_many_are_counted() -> None:
    log = RoomLog()
    for number in range(MOST + 5):
        asking(log, "ann", f"call {number}")
    app = Page()
    async with app.run_test(size=(80, 40)):
        assert app.query_one(PastApprovals).show(log.state) == MOST + 5
        assert "and 5 more" in app.text()


async def test_queued_messages_are_counted() -> None:
    log = RoomLog()
    asking(log, "ann", "one", path="a.txt")
    asking(log, "ann", "two", path="b.txt")
    log.ask("ann", "three")  # the second one waits for an answer of its own
    log.ask("bob", "mine")
    app = Queue()
    async with app.run_test(size=(80, 40)) as pilot:
        panel = app.query_one(ApprovalPanel)
        panel.bind(log.state, "ann", ScriptedApprovals(ScriptedJoinedRoom(state=log.state)))
        assert str(panel.card.border_title).endswith("· 1 message of ann behind it")
        panel.answer("one", Answer(allow=True))
        log.add(ApprovalResolved(1, "one", "approved"), "ann")
        panel.refresh_queue()
        await pilot.pause()
        assert str(panel.card.border_title).endswith("· 1 message of ann behind it")


@pytest.mark.parametrize("is_late", [False, True])
async def test_card_quotes_edited_and_posted(joined: ScriptedJoinedRoom, is_late: bool) -> None:
    """An edit before the decision is what the agent acts on; one after it changes nothing for it."""
    async with in_room(joined) as (screen, pilot):
        message = joined.say_here("please list the files", "bob")
        edit = MessageEdited(message, "wipe the disk")
        asked = (
            DecisionMade(message, "delegate", query="q", receiver="ann"),
            ApprovalRequested(message, "a1", "genie", "run_command", {}, "on this machine"),
        )
        for body in (*asked, edit) if is_late else (edit, *asked):
            joined.feed(body, by="bob" if body is edit else "ann")
        quote = "“wipe the disk” (edited; posted as “please list the files”)"
        await until(pilot, lambda: quote in text_of(screen, "#card-why"))
        view = card(screen).view
        assert view is not None
        assert "message: wipe the disk\nposted as: please list the files" in call_text(view)
        joined.feed(MessageDeleted(message), by="bob")
        deleted = "“please list the files” (deleted since)"
        await until(pilot, lambda: deleted in text_of(screen, "#card-why"))


def reading(joined: ScriptedJoinedRoom, path: str, tool: str = "read_file") -> str:
    approval = joined.ask(tool, path=path)
    effects = (ToolEffect("read", path),)
    joined.effects[approval] = ToolEffects(effects, pattern="docs/*")
    return approval


async def go_to_card(screen: RoomScreen, pilot: Pilot[Any], clock: HandClock) -> None:
    await pilot.press("ctrl+g")
    await until(pilot, lambda: card(screen).has_focus)
    await pilot.pause()
    clock.rest()


async def test_calls_alike_are_allowed_together(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    calls = [reading(joined, f"docs/{number}") for number in range(3)]
    other = reading(joined, "docs/3", "move_file")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await pilot.press("A")
        shown = "allow these 3 calls of read_file, each once?"
        await until(pilot, lambda: shown in text_of(screen, "#card-keys"))
        await until(pilot, lambda: "allows them" in text_of(screen, "#card-keys"))
        effects = text_of(screen, "#card-effect")
        assert all(f"docs/{number}" in effects for number in range(3))
        assert "docs/3" not in effects
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: len(joined.answers) == 3)
        assert joined.answers == [(each, Answer(allow=True)) for each in calls]
        await until(pilot, lambda: (view := card(screen).view) and view.request.id == other)


async def test_list_of_calls_goes_with_the_question(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    first, second = (reading(joined, f"docs/{number}") for number in range(2))
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await pilot.press("A")
        await until(pilot, lambda: "docs/1" in text_of(screen, "#card-effect"))
        message = joined.state.calls[second].message
        joined.feed(ApprovalResolved(message, second, "denied"))
        await until(pilot, lambda: "docs/1" not in text_of(screen, "#card-effect"))
        clock.rest()
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert joined.answers == []
        assert first in joined.state.open


async def test_long_list_of_calls_is_read_first(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    for number in range(19):
        reading(joined, f"docs/{number}")
    async with in_room(joined, (60, 20), clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await pilot.press("A")
        await until(pilot, lambda: "scroll to the end to allow it" in text_of(screen, "#card-keys"))
        clock.rest()
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert joined.answers == []
        card(screen).query_one("#card-scroll").scroll_end(animate=False)
        await until(pilot, lambda: "allows them" in text_of(screen, "#card-keys"))
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: len(joined.answers) == 19)


async def test_third_call_of_a_kind_offers_its_pattern(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    for number in range(3):
        reading(joined, f"docs/{number}")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        for _ in range(2):
            assert "calls like this" not in text_of(screen, "#card-keys")
            await answer(pilot, clock, "a")
            await pilot.pause(0.1)
            clock.rest()
        note = "you allowed 2 calls like this: l allows docs/*, all of them"
        await until(pilot, lambda: note in text_of(screen, "#card-keys"))
