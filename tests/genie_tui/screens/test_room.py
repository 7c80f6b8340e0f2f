import asyncio
import string
from typing import Any

import pytest
from tests.genie_tui.room_parts import answer as answer_by
from tests.genie_tui.room_parts import card, editor, notes, text_of
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedInvites,
    ScriptedJoinedRoom,
    ScriptedRoomService,
    in_room,
    until,
)
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static, TextArea
from textual.widgets._toast import Toast  # nor have notices

from genie_core.room.client.events import CopyRead, Notice, OnEvent, RoomRenamed
from genie_core.room.client.model import (
    Answer,
    ConnectionState,
    ConnectionStatus,
    EngineState,
    EngineStatus,
    Severity,
)
from genie_core.room.open.requests import OpenRequest, ResumeRoom
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    HostStarted,
    MemberJoined,
    MessageDeleted,
    MessagePosted,
    RoomSuspended,
    RunCancelled,
)
from genie_core.room.protocol.frames import MemberTyping
from genie_tui.app import GenieApp
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.screens.dialogs.pick import PickScreen
from genie_tui.screens.room import RoomScreen
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.activity.panel import ActivityPanel
from genie_tui.widgets.approvals.card import ReasonInput
from genie_tui.widgets.approvals.key_guard import LOOK
from genie_tui.widgets.approvals.panel import ApprovalPanel
from genie_tui.widgets.composer.composer import PLACEHOLDER, UNANSWERED_PLACEHOLDER, Composer
from genie_tui.widgets.key_footer import KeyFooter
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.status_bar import StatusBar
from genie_tui.widgets.timeline.timeline import Timeline
from genie_tui.widgets.typing_line import HintLine

NARROW = (80, 24)


def conversation(screen: RoomScreen) -> str:
    """The lines of the timeline that are on the screen."""
    timeline = screen.query_one(Timeline)
    return "\n".join(timeline.render_line(y).text for y in range(timeline.size.height))


def shown_call(screen: RoomScreen) -> str | None:
    view = card(screen).view
    return view.request.id if view is not None else None


async def go_to_card(screen: RoomScreen, pilot: Pilot[Any], clock: HandClock) -> None:
    """Press the key that leads to the card, and let the keyboard rest."""
    await pilot.press("ctrl+g")
    await until(pilot, lambda: card(screen).has_focus)
    await pilot.pause()
    clock.rest()


async def until_shown(screen: RoomScreen, pilot: Pilot[Any], approval: str) -> None:
    await until(pilot, lambda: shown_call(screen) == approval)


def settle(joined: ScriptedJoinedRoom, approval: str, *, approved: bool) -> None:
    message = joined.state.calls[approval].message
    joined.feed(ApprovalResolved(message, approval, "approved" if approved else "denied"))


# Approvals and the keyboard


async def test_an_approval_never_takes_the_focus(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await until(pilot, lambda: editor(screen).has_focus)
        for tool in ("one", "two", "three"):
            joined.ask(tool)
            await pilot.pause()
            assert editor(screen).has_focus
        assert screen.query_one(ApprovalPanel).waiting == 3


async def test_typing_in_the_composer_answers_nothing(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        for _ in range(3):
            joined.ask()
        await pilot.pause()
        clock.rest(5)
        await pilot.press(*"asdrvnpetx", "space", *"asd")
        await pilot.pause()
        assert joined.answers == []
        assert screen.query_one(Composer).draft == "asdrvnpetx asd"
        await pilot.press("enter")
        await until(pilot, lambda: joined.said)
        assert joined.said == [("asdrvnpetx asd", False)]
        assert joined.answers == []


async def test_paste_during_approvals_stays_draft(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await until(pilot, lambda: editor(screen).has_focus)
        joined.ask("one")
        pilot.app.post_message(events.Paste("aaaa\n"))
        joined.ask("two")
        joined.ask("three")
        await until(pilot, lambda: screen.query_one(Composer).draft)
        await until(pilot, lambda: screen.query_one(ApprovalPanel).waiting == 3)
        assert screen.query_one(Composer).draft == "aaaa\n"
        assert joined.answers == []
        assert joined.said == []
        assert editor(screen).has_focus


@pytest.mark.parametrize("key", ["enter", "space"])
async def test_enter_and_space_do_nothing_on_the_card(joined: ScriptedJoinedRoom, key: str) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await pilot.press(key)
        await pilot.pause()
        assert joined.answers == []
        assert screen.query_one(Composer).draft == {"enter": "", "space": " "}[key]


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("a", Answer(allow=True)),
        ("d", Answer(allow=False)),
        ("x", Answer(allow=False, stop=True)),
    ],
)
async def test_a_key_on_the_card_answers_once(
    joined: ScriptedJoinedRoom, key: str, answer: Answer
) -> None:
    clock = HandClock()
    approval = joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await pilot.press(key, key, key)
        await until(pilot, lambda: screen.query_one(Composer).draft == 3 * key)
        assert joined.answers == []  # a key that is held down answers nothing
        clock.rest()
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, key)
        await until(pilot, lambda: joined.answers)
        await pilot.press(key, "enter")
        await pilot.pause()
        assert joined.answers == [(approval, answer)]


async def test_no_other_character_answers(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        others = "".join(sorted(set(string.printable.strip()) - set("aslwdrvnpetx")))
        for key in others:
            clock.rest()
            pilot.app.post_message(events.Key(key, key))
        await until(pilot, lambda: screen.query_one(Composer).draft == others)
        assert joined.answers == []


async def test_card_opened_while_typing_sleeps(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("o", "ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        assert "moment" in text_of(screen, "#card-keys")
        clock.rest(0.9)
        await pilot.press("a")
        await until(pilot, lambda: screen.query_one(Composer).draft == "oa")
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: joined.said)
        assert joined.answers == []


async def test_early_key_is_kept_and_shown(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    approval = joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("ctrl+g", "a")
        await until(pilot, lambda: "… enter allows it" in text_of(screen, "#card-keys"))
        await pilot.pause()
        clock.rest(2 * LOOK)
        await pilot.press("enter")
        await until(pilot, lambda: joined.answers == [(approval, Answer(allow=True))])


async def test_early_enter_is_named(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("ctrl+g", "a")
        clock.rest(LOOK / 2)
        await pilot.press("enter")
        await until(pilot, lambda: "came too soon" in text_of(screen, "#card-keys"))
        await pilot.press("enter", "enter")
        await pilot.pause(0.1)
        assert joined.answers == []


async def test_chord_twice_returns_to_composer(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (_, pilot):
        await pilot.press("ctrl+g", "ctrl+g", "a")
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: joined.said)
        assert joined.said[0][0] == "a"
        assert joined.answers == []


async def test_the_card_says_when_it_is_ready(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        assert "ctrl+g" in text_of(screen, "#card-keys")
        await go_to_card(screen, pilot, clock)
        await until(pilot, lambda: "allow once" in text_of(screen, "#card-keys"))


async def test_next_card_is_guarded(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    first, second = joined.ask("one"), joined.ask("two")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, "a")
        await until(pilot, lambda: shown_call(screen) == second)
        assert card(screen).has_focus
        await pilot.press("d")
        clock.rest(LOOK / 2)
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert [approval for approval, _ in joined.answers] == [first]
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: len(joined.answers) == 2)
        assert joined.answers[1] == (second, Answer(allow=False))
        await until(pilot, lambda: editor(screen).has_focus)


async def test_walk_ends_with_escape(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    calls = [joined.ask(tool) for tool in ("one", "two", "three")]
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        for _ in range(2):
            await answer_by(pilot, clock, "a")
            clock.rest(2 * LOOK)
            await until(pilot, lambda: card(screen).has_focus)
        await until(pilot, lambda: shown_call(screen) == calls[2])
        await pilot.press("escape")
        await until(pilot, lambda: editor(screen).has_focus)
        assert [approval for approval, _ in joined.answers] == calls[:2]


SENTENCE = "well i think sales were up and that data shows it"


@pytest.mark.parametrize("gap", [0.11, 0.2])
async def test_typing_on_answers_no_other_call(joined: ScriptedJoinedRoom, gap: float) -> None:
    clock = HandClock()
    first, *_ = [joined.ask(tool) for tool in ("one", "two", "three")]
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, "a")
        await until(pilot, lambda: joined.answers)
        for character in SENTENCE:
            clock.rest(gap)
            await pilot.press("space" if character == " " else character)
        await until(pilot, lambda: screen.query_one(Composer).draft == SENTENCE)
        assert joined.answers == [(first, Answer(allow=True))]
        assert joined.stops == []


@pytest.mark.parametrize("gap", [0.11, 0.2, 0.9])
async def test_sentence_at_card_becomes_draft(joined: ScriptedJoinedRoom, gap: float) -> None:
    clock = HandClock()
    for tool in ("one", "two", "three"):
        joined.ask(tool)
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        for character in SENTENCE:
            clock.rest(gap)
            await pilot.press("space" if character == " " else character)
        assert joined.answers == []
        assert pilot.app.screen is screen
        assert screen.query_one(Composer).draft == SENTENCE


async def test_key_burst_on_card_becomes_draft(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask("one")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        for character in "allow":
            pilot.app.post_message(events.Key(character, character))
        await until(pilot, lambda: screen.query_one(Composer).draft == "allow")
        clock.rest()
        assert joined.answers == []


async def test_replaced_card_is_guarded(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    first, second = joined.ask("one"), joined.ask("two")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        settle(joined, first, approved=False)
        await until(pilot, lambda: shown_call(screen) == second)
        await pilot.press("a")
        await pilot.pause()
        assert joined.answers == []


async def test_new_ones_do_not_change_the_card(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    first = joined.ask("one")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        joined.ask("two")
        await until(pilot, lambda: screen.query_one(ApprovalPanel).waiting == 2)
        assert shown_call(screen) == first
        assert "1 of 2" in str(card(screen).border_title)


async def test_next_and_previous_walk_around(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    ids = [joined.ask(tool) for tool in ("one", "two", "three")]
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        for key, place in (("n", 1), ("n", 2), ("n", 0), ("p", 2)):
            await pilot.press(key)
            await until_shown(screen, pilot, ids[place])
            await pilot.pause()  # the guard is armed anew in the wake of what is shown
            clock.rest()
        assert joined.answers == []


async def test_escape_keeps_approval_and_draft(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press(*"half a tho")
        await go_to_card(screen, pilot, clock)
        await pilot.press("escape")
        await until(pilot, lambda: editor(screen).has_focus)
        await pilot.press(*"ught")
        assert screen.query_one(Composer).draft == "half a thought"
        assert joined.answers == []
        assert screen.query_one(ApprovalPanel).waiting == 1


async def test_the_key_leads_to_the_oldest(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    first, second = joined.ask("one"), joined.ask("two")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await pilot.press("n")
        await until(pilot, lambda: shown_call(screen) == second)
        await pilot.press("ctrl+g", "ctrl+g")
        await until(pilot, lambda: shown_call(screen) == first)


async def test_last_answer_returns_focus_to_draft(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press(*"draft")
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, "a")
        await until(pilot, lambda: editor(screen).has_focus)
        assert screen.query_one(Composer).draft == "draft"


async def test_deny_with_a_reason(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    approval = joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, "r")
        await until(pilot, lambda: screen.query_one(ReasonInput).has_focus)
        await pilot.press(*"asd no")
        await until(pilot, lambda: "with the reason “asd no”?" in text_of(screen, "#card-keys"))
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: joined.answers)
        assert joined.answers == [(approval, Answer(allow=False, reason="asd no"))]


def offered(screen: RoomScreen) -> set[str]:
    """What the footer names."""
    return {key.description for key in screen.query_one(KeyFooter).keys}


async def test_footer_names_confirming_key(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await until(pilot, lambda: {"allow once", "deny", "later"} < offered(screen))
        assert not {"continue", "go back"} & offered(screen)
        await pilot.press("s")
        await until(pilot, lambda: {"continue", "go back"} < offered(screen))
        assert not {"allow once", "deny", "later"} & offered(screen)
        await pilot.press("escape")
        await until(pilot, lambda: {"allow once", "deny", "later"} < offered(screen))
        assert not {"continue", "go back"} & offered(screen)


async def test_footer_follows_selected_message(
    joined: ScriptedJoinedRoom,
) -> None:
    of_any, of_own = {"reply", "react", "copy", "full view"}, {"edit", "delete"}
    joined.say_here("see https://example.org", author="bob")
    joined.say_here("my own")
    async with in_room(joined, (160, 40)) as (screen, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: of_any | of_own < offered(screen))
        assert not {"open", "retry", "match after", "match before"} & offered(screen)
        await pilot.press("up")
        await until(pilot, lambda: of_any | {"open"} < offered(screen))
        assert not of_own & offered(screen)
        await pilot.press("slash", *"own", "enter", "escape")
        await until(pilot, lambda: {"match after", "match before"} < offered(screen))
        await pilot.press("end")
        await until(pilot, lambda: not of_any & offered(screen))
        assert {"find", "back"} < offered(screen)


async def test_deleted_message_offers_no_edit(
    joined: ScriptedJoinedRoom,
) -> None:
    number = joined.say_here("my own")
    async with in_room(joined, (160, 40)) as (screen, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: {"edit", "delete"} < offered(screen))
        joined.feed(MessageDeleted(number))
        await until(pilot, lambda: not {"edit", "delete"} & offered(screen))


async def test_footer_hides_keys_during_reason(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await until(pilot, lambda: {"allow once", "deny"} < offered(screen))
        await answer_by(pilot, clock, "r")
        await until(pilot, lambda: not {"allow once", "deny", "later"} & offered(screen))
        assert "approvals" in offered(screen)
        await pilot.press("escape")
        await until(pilot, lambda: {"allow once", "deny"} < offered(screen))


async def test_escape_leaves_reason_for_card(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, "r")
        await until(pilot, lambda: screen.query_one(ReasonInput).has_focus)
        await pilot.press(*"abc", "escape")
        await until(pilot, lambda: card(screen).has_focus)
        assert joined.answers == []
        assert not screen.query_one(ReasonInput).display


async def test_a_reason_never_reaches_another_approval(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    first, second = joined.ask("one"), joined.ask("two")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, "r")
        await until(pilot, lambda: screen.query_one(ReasonInput).has_focus)
        await pilot.press(*"because")
        settle(joined, first, approved=True)
        await until(pilot, lambda: shown_call(screen) == second)
        clock.rest()
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert joined.answers == []


async def test_full_view_answers_nothing(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask(text="please", blob="x" * 50_000, name="\x1b[2J")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(pilot.app.screen, FullViewScreen))
        await pilot.pause()
        text = pilot.app.screen.query_one(TextArea).text
        assert "x" * 50_000 in text
        assert "\x1b" not in text
        await pilot.press("a", "d", "escape", "a")
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.press("a")
        assert joined.answers == []


async def test_parked_approval_can_be_answered(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    approval = joined.ask()
    joined.feed(ApprovalResolved(joined.state.calls[approval].message, approval, "parked"))
    async with in_room(joined, clock=clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        assert "from before" in str(card(screen).border_title)
        await answer_by(pilot, clock, "a")
        await until(pilot, lambda: joined.answers)


async def test_the_card_shows_who_what_and_where(joined: ScriptedJoinedRoom) -> None:
    message = joined.say_here("find the list", author="bob")
    joined.feed(
        DecisionMade(message, "delegate"),
        ApprovalRequested(message, "p", "genie › finder", "search", {"q": "list"}, "in ~/garden"),
    )
    async with in_room(joined) as (screen, _):
        text = text_of(screen, "#card-call")
        for part in ("bob", "genie › finder", "search", "in ~/garden"):
            assert part in text
        assert "list" in text_of(screen, "#card-effect")
        assert "find the list" in text_of(screen, "#card-why")


async def test_approvals_of_others_are_not_shown(joined: ScriptedJoinedRoom) -> None:
    message = joined.feed(MessagePosted("b", "hi", handler="bob"), by="bob")[0].seq
    joined.feed(
        DecisionMade(message, "delegate"),
        ApprovalRequested(message, "p", "genie", "search", {}),
        by="bob",
    )
    async with in_room(joined) as (screen, _):
        assert screen.query_one(ApprovalPanel).waiting == 0


async def test_what_waits_is_said_in_three_places(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        bar, hints = screen.query_one(StatusBar), screen.query_one(HintLine)
        assert not bar.has_class("-waiting")
        approval = joined.ask()
        await until(pilot, lambda: bar.has_class("-waiting"))
        assert "1 approval" in bar.render().plain
        assert "ctrl+g" in hints.render().plain
        label = screen.query_one(SidePanel).label(Tab.APPROVALS)
        assert "1" in str(label.render())
        settle(joined, approval, approved=True)
        await until(pilot, lambda: not bar.has_class("-waiting"))
        assert "ctrl+g" not in hints.render().plain


async def test_answered_call_stops_waiting_early(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        bar, hints = screen.query_one(StatusBar), screen.query_one(HintLine)
        joined.ask("one")
        joined.ask("two")
        await until(pilot, lambda: "2 approvals" in bar.render().plain)
        await pilot.press("ctrl+g")
        clock.rest()
        await answer_by(pilot, clock, "a")
        await until(pilot, lambda: "1 approval" in bar.render().plain)
        clock.rest()
        await answer_by(pilot, clock, "a")
        await until(pilot, lambda: not bar.has_class("-waiting"))
        assert "ctrl+g" not in hints.render().plain


# Hostile text

HOSTILE = ("[/red]", "[bold]x[/]", "\x1b[2J\x1b]0;x\x07", "\u202edesrever", "\x9b31m", "\ud800")


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_hostile_text_breaks_nothing(hostile: str) -> None:
    clock = HandClock()
    joined = ScriptedJoinedRoom()
    joined.open_room(f"room {hostile}")
    message = joined.say_here(f"message {hostile}", author=f"eve{hostile}")
    joined.feed(DecisionMade(message, "delegate", query=hostile, reason=hostile, receiver=hostile))
    joined.feed(AnswerPosted(message, f"answer {hostile}", receiver=hostile))
    again = joined.say_here(hostile)
    joined.feed(DecisionMade(again, "delegate"))
    joined.feed(
        ApprovalRequested(again, "p", hostile, hostile, {hostile: {hostile: [hostile]}}, hostile)
    )
    async with in_room(joined, clock=clock) as (screen, pilot):
        joined.emit(MemberTyping(hostile))
        joined.emit(Notice(Severity.ERROR, hostile))
        joined.emit(ConnectionStatus(ConnectionState.RETRYING, hostile, 3))
        await pilot.press("f2", "enter")
        await go_to_card(screen, pilot, clock)
        picture = pilot.app.export_screenshot()
        if "[" in hostile and "\x1b" not in hostile:
            assert "[/" in picture.replace("&#x27;", "'")
        lines = screen._compositor.render_strips()  # what would be written to the terminal
        written = "".join(segment.text for line in lines for segment in line)
        for forbidden in "\x1b\x07\x9b\u202e\ud800":
            assert forbidden not in written


# Sending, commands, stopping


@pytest.mark.parametrize(("command", "expected"), [("/who", "bob"), ("/stop", None)])
async def test_commands_run(joined: ScriptedJoinedRoom, command: str, expected: str | None) -> None:
    async with in_room(joined) as (screen, pilot):
        screen.query_one(Composer).post_message(Composer.Submitted(command))
        if expected is None:
            await until(pilot, lambda: joined.stops == [None])
        else:
            await until(
                pilot, lambda: any(expected in note.message for note in pilot.app._notifications)
            )


async def test_stop_key_confirms_single_agent(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (_screen, pilot):
        joined.say_here("@genie dig", author="bob")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        assert "bob: @genie dig" in str(
            pilot.app.screen.query_one("#confirm-text", Static).render()
        )
        assert joined.stops == []
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: joined.stops == [joined.state.head])


async def test_stop_key_lists_several_agents(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (_screen, pilot):
        joined.say_here("@genie dig")
        second = joined.say_here("@genie plant")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        await pilot.press(*"plant")
        await pilot.press("enter")
        await until(pilot, lambda: joined.stops == [second])


async def test_escape_never_stops_an_agent(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        joined.say_here("@genie dig")
        await pilot.press("f5", "up", "escape", "escape", "escape")
        await until(pilot, lambda: editor(screen).has_focus)
        assert isinstance(pilot.app.screen, RoomScreen)
        assert joined.stops == []


async def test_stopping_nothing_says_so(joined: ScriptedJoinedRoom) -> None:
    joined.running = 0
    async with in_room(joined) as (screen, pilot):
        screen.query_one(Composer).post_message(Composer.Submitted("/stop"))
        await until(pilot, lambda: list(pilot.app._notifications))


# The rest of the screen


async def test_roster_shows_people_and_agents(joined: ScriptedJoinedRoom) -> None:
    joined.ask()
    async with in_room(joined) as (screen, pilot):
        text = str(screen.query_one(Roster).render())
        assert "needs approval" in text
        assert "bob" in text
        assert "idle" in text
        joined.emit(MemberTyping("bob"))
        await until(pilot, lambda: "typing" in str(screen.query_one(Roster).render()))
        assert "bob is typing" in screen.query_one(HintLine).render().plain
        joined.feed(MessagePosted("b", "there"), by="bob")
        await until(pilot, lambda: not screen.query_one(HintLine).typing)


async def test_status_bar_names_room_and_engine(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        bar = screen.query_one(StatusBar)
        text = bar.render().plain
        for part in ("Garden", "127.0.0.1:7654", "online", "offline helper"):
            assert part in text
        ready = EngineStatus(EngineState.READY, "openai:some-model")
        joined.emit(ready)
        await until(pilot, lambda: "openai:some-model" in bar.render().plain)


async def test_activity_is_filtered_by_keys(
    joined: ScriptedJoinedRoom,
) -> None:
    message = joined.say_here("hello")
    joined.feed(DecisionMade(message, "ignore", reason="small talk"))
    joined.ask("search")
    async with in_room(joined) as (screen, pilot):
        activity_list = screen.query_one(ActivityList)
        await pilot.press("f2")
        await until(pilot, lambda: activity_list.has_focus)
        assert activity_list.row_count == 3
        await pilot.press("f", "f")
        await until(pilot, lambda: activity_list.row_count == 1)
        await pilot.press("f", "f", "f", "slash", *"small")
        await until(pilot, lambda: activity_list.row_count == 1)
        await pilot.press("enter", "enter")
        activity = screen.query_one(ActivityPanel)
        await until(pilot, lambda: activity.has_class("-detailed"))
        assert "small talk" in text_of(screen, "#activity-detail-text")
        await pilot.press("escape", "escape", "escape")
        await until(pilot, lambda: editor(screen).has_focus)
        assert activity_list.row_count == 3


async def test_narrow_terminal_shows_one_pane(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, NARROW, clock) as (screen, pilot):
        side, timeline = screen.query_one(SidePanel), screen.query_one(Timeline)
        assert (side.display, timeline.is_on_screen) == (False, True)
        await go_to_card(screen, pilot, clock)
        assert card(screen).is_on_screen
        await until(pilot, lambda: not timeline.is_on_screen)
        await pilot.press("escape")
        await until(pilot, lambda: not side.display)
        assert editor(screen).has_focus


@pytest.mark.parametrize("size", [(40, 20), (50, 24), (60, 16), NARROW, (120, 36), (200, 60)])
async def test_everything_that_matters_fits(
    joined: ScriptedJoinedRoom, size: tuple[int, int]
) -> None:
    clock = HandClock()
    joined.ask(**{f"argument{number}": "value " * 20 for number in range(20)})
    async with in_room(joined, size, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        for _ in range(10):
            await pilot.press("pagedown")
        clock.rest()
        await until(pilot, lambda: "same call" in text_of(screen, "#card-keys"))
        assert screen.query_one("#card-keys").region.height <= (5 if size[0] < 60 else 3)
        await pilot.pause()
        for selector in ("#card-call", "#card-scroll", "#card-keys", "StatusBar"):
            region = screen.query_one(selector).region
            assert region.height > 0
            assert screen.region.contains_region(region)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_notice_takes_one_line(joined: ScriptedJoinedRoom, size: tuple[int, int]) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, size, clock, notices=True) as (screen, pilot):
        timeline = screen.query_one(Timeline)
        screen.notify("Your message was copied to the clipboard.")
        await until(pilot, lambda: screen.query(Toast))
        await pilot.pause()
        (notice,) = screen.query(Toast)
        assert notice.region.height == 1
        assert notice.region.y == timeline.region.y
        await go_to_card(screen, pilot, clock)
        await pilot.pause()
        assert notice.region.height == 1
        assert not notice.region.overlaps(card(screen).region)


@pytest.mark.parametrize("size", [(40, 20), NARROW, (120, 36)])
async def test_card_height_follows_content(
    joined: ScriptedJoinedRoom, size: tuple[int, int]
) -> None:
    clock = HandClock()
    joined.ask(command="git push")
    async with in_room(joined, size, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        why, keys = screen.query_one("#card-why"), screen.query_one("#card-keys")

        def follows() -> bool:
            return 0 <= keys.region.y - why.region.bottom <= 1

        await until(pilot, lambda: "same call" in text_of(screen, "#card-keys") and follows())
        assert keys.region.bottom == card(screen).content_region.bottom
        await answer_by(pilot, clock, "r")
        await until(pilot, lambda: "enter denies it" in text_of(screen, "#card-keys"))
        await until(pilot, lambda: keys.region.bottom == card(screen).content_region.bottom)
        assert keys.region.y > why.region.bottom  # between them stands the reason


async def test_narrow_card_groups_keys_by_answer(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, NARROW, clock) as (screen, pilot):
        await go_to_card(screen, pilot, clock)
        await until(pilot, lambda: "same call" in text_of(screen, "#card-keys"))
        rows = text_of(screen, "#card-keys").splitlines()
        assert rows[-2:] == [
            "deny: d once  r with reason  x and stop",
            "more: e edit  v full view  ↑ ↓ scroll  esc later",
        ]


async def test_a_tiny_terminal_gets_one_clear_line(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined, (39, 20)) as (screen, pilot):
        await pilot.pause()
        assert screen.query_one("TooSmall").display
        assert not screen.query_one("#middle").display
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: screen.query_one("#middle").display)
        assert not screen.query_one("TooSmall").display


@pytest.mark.parametrize("size", [(40, 20), (59, 30), (100, 30)])
async def test_hidden_panel_hint_names_its_key(
    joined: ScriptedJoinedRoom, size: tuple[int, int]
) -> None:
    async with in_room(joined, size) as (screen, pilot):
        hints, panel = screen.query_one(HintLine), screen.query_one(SidePanel)
        await until(pilot, lambda: hints.render().plain.strip() == "f2  2 people and the activity")
        await pilot.press("f2")
        await until(pilot, lambda: not hints.render().plain.strip())
        assert panel.region.width == size[0]
        await pilot.press("escape")
        await until(pilot, lambda: "f2" in hints.render().plain)
        await pilot.resize_terminal(120, 36)
        await until(pilot, lambda: "f2" not in hints.render().plain)


# Where keys, notes and closed doors go


async def test_rejected_answer_keeps_card(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        approval = joined.ask("one")
        await until_shown(screen, pilot, approval)
        joined.takes_answers = False
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, "a")
        await pilot.pause()
        assert shown_call(screen) == approval
        joined.takes_answers = True
        clock.rest(5)
        await answer_by(pilot, clock, "a")
        await until(pilot, lambda: joined.answers)


async def test_half_typed_reason_answers_no_other(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        first, second = joined.ask("one"), joined.ask("two")
        await until_shown(screen, pilot, first)
        await go_to_card(screen, pilot, clock)
        await answer_by(pilot, clock, "r")
        await until(pilot, lambda: screen.query_one(ReasonInput).has_focus)
        await pilot.press(*"not ")
        joined.feed(RunCancelled(joined.state.calls[first].message, "stopped by bob"))
        await until_shown(screen, pilot, second)
        for character in "a sad day":
            clock.rest(0.12)
            await pilot.press(character if character != " " else "space")
        clock.rest(5)
        await pilot.press("enter")
        await pilot.pause()
        assert joined.answers == []
        assert shown_call(screen) == second


async def test_fast_reason_loses_no_character(
    joined: ScriptedJoinedRoom,
) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        approval = joined.ask("one")
        await until_shown(screen, pilot, approval)
        await go_to_card(screen, pilot, clock)
        reason = screen.query_one(ReasonInput)
        await answer_by(pilot, clock, "r")
        await until(pilot, lambda: card(screen).has_class("-writing"))
        for key in "not":
            pilot.app.post_message(events.Key(key, key))
        await until(pilot, lambda: reason.value == "not" and reason.has_focus)
        await pilot.press("space", *"today")
        clock.rest()
        await pilot.press("enter")
        await until(pilot, lambda: joined.answers)
        assert joined.answers == [(approval, Answer(allow=False, reason="not today"))]


async def test_fast_typing_while_reading_is_kept(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.say_here("something to read")
    async with in_room(joined) as (screen, pilot):
        await pilot.press("f5")
        for character in "so then: ready, go":
            name = {" ": "space", ":": "colon", ",": "comma"}.get(character, character)
            pilot.app.post_message(events.Key(name, character))
        await until(pilot, lambda: screen.draft == "so then: ready, go")
        assert joined.changes == []


async def test_footer_offers_read_back_to_writer(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        await until(pilot, lambda: "read back" in offered(screen))
        await pilot.press("f5")
        await until(pilot, lambda: "read back" not in offered(screen))


async def test_footer_lists_useful_message_keys(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.say_here("see https://x.example/a")
    joined.say_here("so:\n```\nx = 1\n```")
    joined.say_here("nothing special")
    async with in_room(joined, (160, 40)) as (screen, pilot):

        def shown() -> list[str]:
            keys = screen.query_one(KeyFooter).keys
            return [key.description for key in keys if key.description in asked]

        asked = {"full view", "reply", "open", "copy code"}
        await pilot.press("f5")
        await until(pilot, lambda: shown() == ["full view", "reply"])
        await pilot.press("up")
        await until(pilot, lambda: shown() == ["full view", "reply", "copy code"])
        await pilot.press("up")
        await until(pilot, lambda: shown() == ["full view", "reply", "open"])
        await pilot.press("down")
        await until(pilot, lambda: shown() == ["full view", "reply", "copy code"])


@pytest.mark.parametrize("width", [120, 50])
async def test_hint_is_apart_from_conversation(joined: ScriptedJoinedRoom, width: int) -> None:
    for number in range(40):
        joined.say_here(f"message {number}")
    async with in_room(joined, (width, 40)) as (screen, pilot):
        hints, timeline = screen.query_one(HintLine), screen.query_one(Timeline)
        await pilot.pause()
        assert hints.content_region.y == timeline.region.bottom + 1
        await pilot.resize_terminal(width, 24)
        await pilot.pause()
        assert hints.region.height == 1
        assert hints.styles.background != timeline.styles.background


async def test_the_keys_for_reading_are_not_typed(joined: ScriptedJoinedRoom) -> None:
    joined.say_here("to be copied")
    async with in_room(joined) as (screen, pilot):
        await pilot.press("f5", "y")
        await pilot.pause()
        assert screen.app.clipboard == "to be copied"
        assert screen.draft == ""
        await pilot.press("s", "k")
        assert screen.draft == "sk"


async def test_a_long_room_is_read_back_from_its_log(joined: ScriptedJoinedRoom) -> None:
    joined.feed(
        *(MessagePosted(str(number), f"number {number};") for number in range(2_500)), by="bob"
    )
    async with in_room(joined) as (screen, pilot):
        timeline = screen.query_one(Timeline)

        def shows(text: str) -> bool:
            rows = range(timeline.size.height)
            return any(text in timeline.render_line(y).text for y in rows)

        assert shows("number 2499;")
        await pilot.press("f5", "home")
        await until(pilot, lambda: shows("the room Garden was opened") and shows("number 0;"))
        await pilot.press("end")
        await until(pilot, lambda: shows("number 2499;"))


async def test_a_new_title_is_announced(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (_, pilot):
        joined.emit(RoomRenamed("[b]Kitchen"))
        await until(pilot, lambda: "The room is now called [b]Kitchen." in notes(pilot))


# The first minute


async def test_welcome_shows_until_first_message() -> None:
    joined = ScriptedJoinedRoom(invites=ScriptedInvites())
    joined.open_room()
    async with in_room(joined) as (screen, pilot):
        welcome = screen.query_one("#welcome", Static)
        await until(pilot, lambda: welcome.display)
        shown = str(welcome.render())
        for part in ("f6", "@genie", "f10", "f4", "f1"):
            assert part in shown
        joined.feed(MessagePosted("1", "hello"), by="bob")
        await until(pilot, lambda: not welcome.display)


async def test_unanswered_guest_sees_placeholder(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.name = "eve"
    joined.feed(MemberJoined("guest"), by="eve")
    async with in_room(joined) as (screen, pilot):
        composer = screen.query_one(Composer)
        await until(pilot, lambda: composer.placeholder == PLACEHOLDER)
        joined.feed(HostStarted("service"), MemberJoined("guest"), by="eve")
        await until(pilot, lambda: composer.placeholder == UNANSWERED_PLACEHOLDER)
        joined.feed(RoomSuspended("the room was archived"), by="service")
        await until(pilot, lambda: composer.placeholder == PLACEHOLDER)


async def test_member_welcome_omits_invite_keys() -> None:
    joined = ScriptedJoinedRoom(engine_status=EngineStatus(EngineState.READY, "small"))
    joined.open_room()
    joined.name = "bob"
    async with in_room(joined) as (screen, pilot):
        welcome = screen.query_one("#welcome", Static)
        await until(pilot, lambda: welcome.display)
        assert "f6" not in str(welcome.render())
        assert "f12" not in str(welcome.render())


async def test_up_recalls_earlier_messages(joined: ScriptedJoinedRoom) -> None:
    joined.open_room()
    joined.feed(MessagePosted("1", "mine, from before"), by="ann")
    joined.feed(MessagePosted("2", "waves", emote=True), by="ann")
    joined.feed(MessagePosted("3", "not mine"), by="bob")
    async with in_room(joined) as (screen, pilot):
        await pilot.press("up")
        await until(pilot, lambda: screen.draft == "/me waves")
        await pilot.press("up")
        await until(pilot, lambda: screen.draft == "mine, from before")


async def test_history_is_readable_before_joining(
    joined: ScriptedJoinedRoom,
) -> None:
    joined.feed(MessagePosted("m1", "read me", "ann"), by="ann")
    ready = asyncio.Event()

    class Looking(ScriptedRoomService):
        async def open(self, opening: OpenRequest, on_event: OnEvent) -> ScriptedJoinedRoom:
            on_event(CopyRead(joined.state, tuple(joined.events), "ann"))
            await ready.wait()
            return await super().open(opening, on_event)

    app = GenieApp(Looking(joined), ResumeRoom("garden"), "ann", clock=HandClock())
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, RoomScreen)
        await until(pilot, lambda: "read me" in conversation(screen))
        assert screen.joined is None
        line = str(screen.query_one(StatusBar).render())
        assert "Garden" in line
        assert "connecting" in line
        ready.set()
        await until(pilot, lambda: screen.joined is not None)
        await pilot.pause()
        assert conversation(screen).count("read me") == 1
