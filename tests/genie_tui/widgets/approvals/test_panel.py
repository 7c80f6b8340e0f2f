import pytest
from tests.genie_tui.command_keys import CommandKeysApp
from tests.genie_tui.room_parts import card, text_of
from tests.genie_tui.scripted_room import ScriptedApprovals, ScriptedJoinedRoom, in_room, until
from tests.genie_tui.widgets.room_log import RoomLog
from textual.app import App, ComposeResult
from textual.widgets import Static

from genie_core.room.client.model import Answer
from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessageDeleted,
    MessageEdited,
)
from genie_core.room.state.room_state import RoomState
from genie_tui.screens.dialogs.full_view import call_text
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


async def test_all_that_waited_is_shown_whoever_was_asked() -> None:
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


async def test_messages_whose_turn_comes_later_are_counted() -> None:
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
async def test_what_the_agent_got_is_quoted_beside_what_was_posted(
    joined: ScriptedJoinedRoom, is_late: bool
) -> None:
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
