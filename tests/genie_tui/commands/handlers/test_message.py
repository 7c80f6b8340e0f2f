import pytest
from tests.genie_tui.room_parts import editor, notes
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual.pilot import Pilot

from genie_core.room.client.events import EditRejected, MessageRejected
from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.events import (
    AnswerPosted,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    Quote,
    ReactionChanged,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.limits import Limits
from genie_tui.commands.handlers.message import FIXED_EMOTE
from genie_tui.emoji import emojis
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.pick import PickScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.composer.composer import Composer
from genie_tui.widgets.timeline.timeline import NO_REPLY, Timeline

QUOTE = Quote("r", "Kitchen", ())


def shown(screen: RoomScreen) -> str:
    timeline = screen.query_one(Timeline)
    return "\n".join(timeline.render_line(y).text.rstrip() for y in range(timeline.size.height))


async def select_last(screen: RoomScreen, pilot: Pilot[None]) -> None:
    await pilot.press("f5")
    await until(pilot, lambda: screen.query_one(Timeline).chosen is not None)


def said(joined: ScriptedJoinedRoom, text: str, by: str) -> int:
    return joined.feed(MessagePosted(text, text), by=by)[0].seq


async def test_a_reply_is_sent_with_what_it_replies_to(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        seq = said(joined, "when is it?", "bob")
        await select_last(screen, pilot)
        await pilot.press("r")
        await until(pilot, lambda: editor(screen).has_focus)
        assert "Reply to bob: when is it?" in str(editor(screen).border_title)
        await pilot.press(*"noon", "enter")
        await until(pilot, lambda: joined.said == [("noon", False)])
        assert joined.replies == [seq]
        assert not editor(screen).border_title
        await pilot.press(*"so", "enter")
        await until(pilot, lambda: joined.replies == [seq, 0])


async def test_a_reply_to_an_answer_names_the_answer(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        asked = joined.say_here("which?")
        answered = joined.feed(AnswerPosted(asked, "That one."))[0].seq
        if not joined.state.threads[asked].answer:
            pytest.fail("the answer does not count")
        await select_last(screen, pilot)
        await pilot.press("r")
        await until(pilot, lambda: "Reply to genie: That one." in str(editor(screen).border_title))
        await pilot.press(*"why?", "enter")
        await until(pilot, lambda: joined.replies == [answered])


async def test_escape_cancels_reply_keeps_text(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        said(joined, "when?", "bob")
        await select_last(screen, pilot)
        await pilot.press("r", *"noon", "escape")
        await until(pilot, lambda: not editor(screen).border_title)
        assert screen.query_one(Composer).draft == "noon"
        await pilot.press("enter")
        await until(pilot, lambda: joined.replies == [0])


async def test_reply_shows_quote_and_leads_there(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        first = said(joined, "when is it?", "bob")
        joined.feed(MessagePosted("r", "at noon", reply_to=first), by="cleo")
        await until(pilot, lambda: "↳ bob: when is it?" in shown(screen))
        await select_last(screen, pilot)
        await pilot.press("g")
        chosen = screen.query_one(Timeline)
        await until(pilot, lambda: chosen.chosen is not None and chosen.chosen.seq == first)
        await pilot.press("g")
        await until(pilot, lambda: NO_REPLY in notes(pilot))
        await pilot.press("G")
        await until(pilot, lambda: chosen.chosen is not None and chosen.chosen.seq != first)


async def test_message_keys_select_latest_or_hint(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press("f5", "y")
        none = "Select a message first: f5, then ↑ ↓."
        await until(pilot, lambda: none in notes(pilot))
        await pilot.press("f5")
        said(joined, "the first", "bob")
        latest = said(joined, "the latest", "bob")
        await pilot.press("f5")
        chosen = screen.query_one(Timeline).chosen
        assert chosen is not None
        assert chosen.seq == latest
        await pilot.press("escape")
        await until(pilot, lambda: editor(screen).has_focus)


async def test_own_message_is_edited_in_composer(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        seq = said(joined, "teh plan", "ann")
        screen.query_one(Composer).draft = "a draft"
        await pilot.press("f5", "up", "e")
        await until(pilot, lambda: screen.query_one(Composer).draft == "teh plan")
        screen.query_one(Composer).draft = "the plan"
        await pilot.press("enter")
        await until(pilot, lambda: joined.changes == [MessageEdited(seq, "the plan")])
        assert screen.query_one(Composer).draft == "a draft"
        joined.feed(MessageEdited(seq, "the plan"), by="ann")
        await until(pilot, lambda: "the plan  edited" in shown(screen))
        assert "teh" not in shown(screen)


async def test_leading_slash_survives_edit(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        seq = said(joined, "/stop", "ann")
        await pilot.press("f5", "up", "e")
        await until(pilot, lambda: screen.query_one(Composer).draft == "//stop")
        await pilot.press("end", "!", "enter")
        await until(pilot, lambda: joined.changes == [MessageEdited(seq, "/stop!")])
        assert joined.stops == []


async def test_edit_keeps_emote(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        seq = joined.feed(MessagePosted("m", "waves", emote=True), by="ann")[0].seq
        await pilot.press("f5", "up", "e")
        await until(pilot, lambda: composer.draft == "/me waves")
        composer.draft = "waves"
        await pilot.press("enter")
        await until(pilot, lambda: FIXED_EMOTE in notes(pilot))
        assert (composer.draft, joined.changes) == ("waves", [])
        composer.draft = "/me bows"
        await pilot.press("enter")
        await until(pilot, lambda: joined.changes == [MessageEdited(seq, "bows")])


@pytest.mark.parametrize("to", ["", "bob"])
async def test_a_refused_reply_is_a_reply_again(joined: ScriptedJoinedRoom, to: str) -> None:
    async with in_room(joined) as (screen, pilot):
        asked = joined.say_here("which?")
        answered = joined.feed(AnswerPosted(asked, "That one."))[0].seq
        unsent = PendingMessage("1", "why?", emote=False, at=1.0, reply_to=answered, to=to)
        joined.emit(MessageRejected(unsent, "you are muted"))
        await until(pilot, lambda: screen.query_one(Composer).draft == "why?")
        assert "to genie: That one." in str(editor(screen).border_title)
        await pilot.press("enter")
        await until(pilot, lambda: joined.replies == [answered])
        assert joined.readers == [to]


@pytest.mark.parametrize("to", ["", "bob"])
async def test_a_refused_edit_is_an_edit_again(joined: ScriptedJoinedRoom, to: str) -> None:
    async with in_room(joined) as (screen, pilot):
        number = joined.feed(MessagePosted("x", "on Monday", handler="", to=to), by="ann")[0].seq
        joined.emit(EditRejected(number, "on Friday", "another edit came first"))
        await until(pilot, lambda: screen.query_one(Composer).draft == "on Friday")
        assert "Not edited: another edit came first: on Friday" in notes(pilot)
        assert "It is your draft again." in notes(pilot)
        assert "Edit your message" in str(editor(screen).border_title)
        await pilot.press("enter")
        await until(pilot, lambda: joined.changes == [MessageEdited(number, "on Friday")])


@pytest.mark.parametrize(("to", "input_"), [("", "on Friday"), ("bob", "/msg bob on Friday")])
async def test_refused_edit_of_gone_is_recalled(
    joined: ScriptedJoinedRoom, to: str, input_: str
) -> None:
    async with in_room(joined) as (screen, pilot):
        number = joined.feed(MessagePosted("x", "on Monday", handler="", to=to), by="ann")[0].seq
        joined.feed(MessageDeleted(number))
        joined.emit(EditRejected(number, "on Friday", "it is deleted"))
        await until(pilot, lambda: "↑ brings the text back" in notes(pilot))
        assert screen.query_one(Composer).draft == ""
        await pilot.press("up")
        await until(pilot, lambda: screen.query_one(Composer).draft == input_)


async def test_refused_edit_of_unknown_is_private(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        joined.emit(EditRejected(99, "on Friday", "too old"))
        await until(pilot, lambda: "↑ brings the text back" in notes(pilot))
        await pilot.press("up")
        await until(pilot, lambda: screen.query_one(Composer).draft == "/msg ann on Friday")


async def test_refused_message_waits_during_reply(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        said(joined, "when?", "bob")
        await select_last(screen, pilot)
        await pilot.press("r")
        await until(pilot, lambda: "Reply to bob" in str(editor(screen).border_title))
        joined.emit(MessageRejected(PendingMessage("1", "so", emote=False, at=1.0), "too long"))
        await until(pilot, lambda: "↑ brings the text back" in notes(pilot))
        assert screen.query_one(Composer).draft == ""


async def test_offline_edit_stays_in_composer(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.connected = False
    async with in_room(joined) as (screen, pilot):
        said(joined, "teh plan", "ann")
        await pilot.press(*"/edit", "enter")
        await until(pilot, lambda: screen.query_one(Composer).draft == "teh plan")
        screen.query_one(Composer).draft = "the plan"
        await pilot.press("enter")
        await until(pilot, lambda: "Not connected" in notes(pilot))
        assert screen.query_one(Composer).draft == "the plan"
        assert "Edit your message" in str(editor(screen).border_title)


@pytest.mark.parametrize("key", ["e", "d"])
async def test_messages_of_others_are_theirs(joined: ScriptedJoinedRoom, key: str) -> None:
    async with in_room(joined) as (screen, pilot):
        said(joined, "hello", "bob")
        await select_last(screen, pilot)
        await pilot.press(key)
        await until(pilot, lambda: "only your own" in notes(pilot))
        assert isinstance(pilot.app.screen, RoomScreen)
        assert joined.changes == []


async def test_a_message_is_deleted_after_a_question(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        seq = said(joined, "a secret", "ann")
        await select_last(screen, pilot)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert joined.changes == []
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: joined.changes == [MessageDeleted(seq)])
        joined.feed(MessageDeleted(seq), by="ann")
        await until(pilot, lambda: "Message deleted" in shown(screen))
        assert "a secret" not in shown(screen)


async def test_reactions_are_picked_and_removed(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        seq = said(joined, "hello", "bob")
        await select_last(screen, pilot)
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        await pilot.press(*":party", "enter")
        change = ReactionChanged(seq, "🎉")
        await until(pilot, lambda: joined.changes == [change])
        joined.feed(change, by="ann")
        joined.feed(change, by="bob")
        await until(pilot, lambda: "🎉 ann, bob" in shown(screen))
        await pilot.press("plus")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        await pilot.press("enter")
        await until(pilot, lambda: joined.changes[1:] == [ReactionChanged(seq, "🎉", on=False)])


@pytest.mark.parametrize("end", [RunFailed, RunCancelled])
async def test_failed_message_is_resent(
    joined: ScriptedJoinedRoom, end: type[RunFailed | RunCancelled]
) -> None:
    async with in_room(joined) as (screen, pilot):
        said(joined, "fine", "ann")
        asked = joined.say_here("@genie dig")
        joined.feed(
            RunFailed(asked, "agent", "broken") if end is RunFailed else RunCancelled(asked)
        )
        await select_last(screen, pilot)
        await pilot.press("R")
        await until(pilot, lambda: joined.said == [("@genie dig", False)])
        assert joined.replies == [0]


async def test_a_retry_of_a_reply_is_the_same_reply(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        plan = said(joined, "the plan", "bob")
        reply = MessagePosted("2", "@genie dig", handler="ann", reply_to=plan, quotes=(QUOTE,))
        asked = joined.feed(reply, by="ann")[0].seq
        joined.feed(RunCancelled(asked))
        await pilot.press(*"/retry", "enter")
        await until(pilot, lambda: joined.replies == [plan])
        assert joined.sent == [((), (QUOTE,))]


async def test_what_did_not_fail_is_not_sent_again(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        said(joined, "fine", "ann")
        await pilot.press(*"/retry", "enter")
        await until(pilot, lambda: "failed or was stopped" in notes(pilot))
        assert joined.said == []


async def test_an_answer_has_reactions_of_its_own(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        asked = joined.say_here("which?")
        joined.feed(AnswerPosted(asked, "That one."))
        joined.feed(ReactionChanged(asked, "👍", answer=True), by="bob")
        await until(pilot, lambda: "👍 bob" in shown(screen))
        assert shown(screen).index("That one.") < shown(screen).index("👍 bob")


async def test_without_a_selection_a_hint_says_how(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        await pilot.press(*"/react", "enter")
        await until(pilot, lambda: "Select a message first" in notes(pilot))


def test_emoji_have_names_and_one_width() -> None:
    names = dict(emojis())
    assert "rocket" in names["🚀"]
    assert {"thumbs up", "thumbs up sign", "+1", "thumbsup"} <= set(names["👍"])
    assert all(len(emoji) == 1 for emoji in names)
    assert len(names) == len(emojis())


async def test_text_over_room_limit_stays_draft(joined: ScriptedJoinedRoom) -> None:
    joined.messages.limits = Limits(text_chars=20)
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        composer.draft = "x" * 21
        assert composer.has_class("-too-long")
        await pilot.press("enter")
        said = "the message has 21 characters, this room takes 20"
        await until(pilot, lambda: said in notes(pilot))
        assert composer.draft == "x" * 21
        assert joined.said == []
        await pilot.press("backspace", "enter")
        await until(pilot, lambda: joined.said == [("x" * 20, False)])


async def test_room_may_take_longer_texts(joined: ScriptedJoinedRoom) -> None:
    joined.messages.limits = Limits(text_chars=40_000)
    async with in_room(joined) as (screen, pilot):
        screen.query_one(Composer).insert("x" * 30_000)
        await pilot.press("enter")
        await until(pilot, lambda: joined.said == [("x" * 30_000, False)])


@pytest.mark.parametrize(
    "text", ["hello\n/msg bob secret", "/msg bob hi\n/msg carol secret", "hello\n/mgs bob secret"]
)
async def test_command_in_later_line_is_not_sent(joined: ScriptedJoinedRoom, text: str) -> None:
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        composer.draft = text
        await pilot.press("enter")
        await until(pilot, lambda: "Not sent: a line begins with /m" in notes(pilot))
        assert composer.draft == text
        assert joined.said == []


@pytest.mark.parametrize("text", ["see\n  /msg bob", "```\n/help\n```", "in\n/home/ann/x\n/ or"])
async def test_slash_that_is_no_command_is_sent(joined: ScriptedJoinedRoom, text: str) -> None:
    async with in_room(joined) as (screen, pilot):
        screen.query_one(Composer).draft = text
        await pilot.press("enter")
        await until(pilot, lambda: joined.said == [(text, False)])
