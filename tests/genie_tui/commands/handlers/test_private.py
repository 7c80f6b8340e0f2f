"""Private messages and private requests, at the keyboard."""

import pytest
from tests.genie_tui.commands.handlers.test_message import select_last, shown
from tests.genie_tui.room_parts import editor, notes
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until

from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.errors import NotPrivate
from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    FileRef,
    MessageEdited,
    MessagePosted,
    RunFailed,
)
from genie_tui.commands import dispatch
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.composer.composer import Composer

BOX = (b"sealed",)


def to_ann(joined: ScriptedJoinedRoom, text: str) -> int:
    private = MessagePosted(text, text, to="ann", sealed=BOX)
    return joined.feed(private, by="bob")[0].seq


async def test_msg_and_ask_choose_reader(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        await pilot.press(*"/msg @bob be quiet, ok?", "enter")
        await until(pilot, lambda: joined.said == [("be quiet, ok?", False)])
        await pilot.press(*"/ask what is it?", "enter")
        await until(pilot, lambda: len(joined.said) == 2)
        assert joined.readers == ["bob", "ann"]
        await pilot.press(*"hello", "enter")
        await until(pilot, lambda: joined.readers == ["bob", "ann", ""])


async def test_quiet_text_stays_private_in_private_draft(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"/msg bob", "enter")
        await until(pilot, lambda: "Private message to bob" in str(editor(screen).border_title))
        await pilot.press(*"/quiet psst", "enter")
        await until(pilot, lambda: joined.readers == ["bob"])
        assert (joined.said, joined.quiet) == ([("psst", False)], [True])


async def test_refused_quiet_message_is_quiet_draft(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        refused = PendingMessage("1", "late", emote=False, at=0.0, quiet=True)
        dispatch.take_back(screen.context, refused, "too fast")
        await until(pilot, lambda: screen.draft == "/quiet late")


async def test_bare_msg_makes_next_text_private(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"/msg bob", "enter")
        await until(pilot, lambda: "Private message to bob" in str(editor(screen).border_title))
        await pilot.press(*"psst", "enter")
        await until(pilot, lambda: joined.readers == ["bob"])
        await pilot.press(*"/ask", "enter")
        await until(pilot, lambda: "only you see it" in str(editor(screen).border_title))
        await pilot.press("escape", *"all", "enter")
        await until(pilot, lambda: joined.readers == ["bob", ""])


async def test_private_draft_stays_private(
    joined: ScriptedJoinedRoom,
) -> None:
    """A suspended draft, one that is brought back and one that is recalled must not go to all."""
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"/msg bob", "enter", *"psst")
        await until(pilot, lambda: screen.draft == "/msg bob psst")
        await pilot.press("enter")
        await until(pilot, lambda: joined.readers == ["bob"])
        await pilot.press("up")
        await until(pilot, lambda: screen.query_one(Composer).draft == "/msg bob psst")


async def test_refused_private_message_is_draft(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        unsent = PendingMessage("1", "psst", emote=False, at=1.0, to="bob")
        dispatch.take_back(screen.context, unsent, "too long")
        await until(pilot, lambda: screen.draft == "/msg bob psst")


async def test_a_reply_to_a_private_message_is_private(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        seq = to_ann(joined, "are you there?")
        await select_last(screen, pilot)
        await pilot.press("r")
        await until(pilot, lambda: "Private reply to bob" in str(editor(screen).border_title))
        await pilot.press(*"yes", "enter")
        await until(pilot, lambda: joined.readers == ["bob"])
        assert joined.replies == [seq]


async def test_edit_of_private_message_is_private(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        private = MessagePosted("1", "teh plan", to="bob", sealed=BOX)
        seq = joined.feed(private, by="ann")[0].seq
        await select_last(screen, pilot)
        await pilot.press("e")
        await until(pilot, lambda: screen.draft == "/msg bob teh plan")
        await pilot.press("end", "!", "enter")
        await until(pilot, lambda: joined.changes == [MessageEdited(seq, "teh plan!")])


async def test_retry_of_private_stays_private(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        seq = joined.feed(
            MessagePosted("1", "why?", handler="ann", to="ann", sealed=BOX), by="ann"
        )[0].seq
        joined.feed(RunFailed(seq, "agent", "it broke", sealed=BOX), by="ann")
        await pilot.press(*"/retry", "enter")
        await until(pilot, lambda: joined.readers == ["ann"])


async def test_reactions_and_files_are_refused(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        to_ann(joined, "are you there?")
        await select_last(screen, pilot)
        await pilot.press("+")
        await until(pilot, lambda: "would see a reaction" in notes(pilot))
        assert isinstance(pilot.app.screen, RoomScreen)
        screen.context.attachments.attached.add(FileRef("a" * 64, "a.txt", 1))
        await pilot.press("f5", *"/msg bob psst", "enter")
        await until(pilot, lambda: "can't be sent privately" in notes(pilot))
        assert joined.said == []
        assert screen.draft == "/msg bob psst"


async def test_private_text_of_others_is_hidden(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        joined.feed(MessagePosted("1", "hello all"), by="bob")
        to_ann(joined, "psst")
        others = MessagePosted("2", "", handler="bob", to="bob", sealed=BOX)
        hidden = joined.feed(others, by="bob")[0].seq
        joined.feed(DecisionMade(hidden, "delegate", sealed=BOX), by="bob")
        joined.feed(AnswerPosted(hidden, "", sealed=BOX), by="bob")
        mine = MessagePosted("3", "how many?", handler="ann", to="ann", sealed=BOX)
        asked = joined.feed(mine, by="ann")[0].seq
        joined.feed(DecisionMade(asked, "delegate", None, "how many?", sealed=BOX), by="ann")
        joined.feed(AnswerPosted(asked, "Four.", sealed=BOX), by="ann")
        await until(pilot, lambda: "┋ Four." in shown(screen))
        lines = shown(screen)
        assert "bob → ann · private" in lines
        assert "┊ psst" in lines
        assert "ann → genie · private" in lines
        assert "genie · for ann · private" in lines
        assert lines.count("bob →") == 1
        assert "for bob" not in lines
        assert screen.query_one(ActivityList).row_count == 2


@pytest.mark.parametrize("key", ["e", "r"])
async def test_private_draft_survives_selection(joined: ScriptedJoinedRoom, key: str) -> None:
    async with in_room(joined) as (screen, pilot):
        joined.feed(MessagePosted("1", "for all"), by="ann")
        await pilot.press(*"/msg bob", "enter", *"secret")
        await select_last(screen, pilot)
        await pilot.press(key)
        await until(pilot, lambda: editor(screen).has_focus)
        await pilot.press("escape")
        await until(pilot, lambda: screen.text == "/msg bob secret")
        await pilot.press("enter")
        await until(pilot, lambda: joined.readers == ["bob"])


async def test_escape_leaves_a_private_draft_private(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"/msg bob", "enter", *"secret", "escape")
        await until(pilot, lambda: screen.text == "/msg bob secret")
        await pilot.press("enter")
        await until(pilot, lambda: joined.readers == ["bob"])


async def test_restored_draft_keeps_command(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        screen.draft = "/msg bob secret"
        screen.views._bring_draft("see you all", screen.text)
        assert screen.text == "/msg bob secret"
        await pilot.press("up")
        await until(pilot, lambda: screen.text == "see you all")


@pytest.mark.parametrize("text", ["\u200b/msg bob secret", "\ufeff /msg bob secret"])
async def test_invisible_prefix_is_ignored(joined: ScriptedJoinedRoom, text: str) -> None:
    async with in_room(joined) as (screen, pilot):
        screen.draft = text
        await pilot.press("enter")
        await until(pilot, lambda: joined.readers == ["bob"])


async def test_slash_lookalike_is_not_sent(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        screen.draft = "\uff0fmsg bob secret"
        await pilot.press("enter")
        await until(pilot, lambda: "is no slash" in notes(pilot))
        assert joined.said == []


async def test_refused_key_command_says_why(
    joined: ScriptedJoinedRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise NotPrivate("you have no agent of your own here")

    async with in_room(joined) as (screen, pilot):
        seq = joined.feed(
            MessagePosted("1", "why?", handler="ann", to="ann", sealed=BOX), by="ann"
        )[0].seq
        joined.feed(RunFailed(seq, "agent", "it broke", sealed=BOX), by="ann")
        monkeypatch.setattr(joined.messages, "send", refuse)
        dispatch.run_command(screen.context, "retry")
        await until(pilot, lambda: "no agent of your own" in notes(pilot))
