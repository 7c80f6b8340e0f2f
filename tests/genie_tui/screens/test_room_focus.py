"""Where the keyboard goes in a room, and how it comes back."""

import pytest
from tests.genie_tui.room_parts import answer, card, editor, notes
from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedJoinedRoom,
    in_room,
    until,
)
from textual.widgets import Static

from genie_core.room.protocol.events import DecisionMade, MessagePosted
from genie_core.room.protocol.frames import JoinRequested
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.join_requests import JoinRequests
from genie_tui.widgets.side_panel import SidePanel, Tab, TabLabel
from genie_tui.widgets.timeline.timeline import Timeline


async def test_the_same_key_leads_there_and_back(joined: ScriptedJoinedRoom) -> None:
    joined.ask()
    async with in_room(joined) as (screen, pilot):
        timeline = screen.query_one(Timeline)
        timeline.focus()
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: timeline.has_focus)


@pytest.mark.parametrize("before", list(Tab))
@pytest.mark.parametrize("was_hidden", [False, True])
async def test_answer_restores_panel(
    joined: ScriptedJoinedRoom, before: Tab, *, was_hidden: bool
) -> None:
    clock = HandClock()
    joined.ask()
    async with in_room(joined, (140, 40), clock) as (screen, pilot):
        side = screen.query_one(SidePanel)
        side.show_tab(before)
        if was_hidden:
            side.toggle()
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        assert side.tab is Tab.APPROVALS
        await pilot.pause()
        clock.rest()
        await answer(pilot, clock, "d")
        await until(pilot, lambda: joined.answers)
        await until(pilot, lambda: editor(screen).has_focus)
        assert side.tab is before
        assert screen.has_class("-no-panel") == was_hidden


async def test_tab_chosen_during_approval_stays(joined: ScriptedJoinedRoom) -> None:
    joined.ask()
    async with in_room(joined, (140, 40)) as (screen, pilot):
        side = screen.query_one(SidePanel)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        side.post_message(TabLabel.Picked(Tab.ACTIVITY))
        side.post_message(TabLabel.Picked(Tab.APPROVALS))
        await pilot.pause()
        await pilot.press("ctrl+g")
        await until(pilot, lambda: editor(screen).has_focus)
        assert side.tab is Tab.APPROVALS


async def test_no_approval_leaves_focus(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert editor(screen).has_focus


async def test_escape_in_reading_stops_no_agent(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        for number in range(40):
            joined.say_here(f"message {number}")
        timeline = screen.query_one(Timeline)
        await pilot.press("f5")
        await until(pilot, lambda: timeline.has_focus)
        await pilot.press("pageup")
        await until(pilot, lambda: timeline.reading is not None)
        await pilot.press("escape")
        await until(pilot, lambda: editor(screen).has_focus)
        assert timeline.reading is None
        assert joined.stops == []
        assert "ctrl+s stops one" in notes(pilot)


@pytest.mark.parametrize(("key", "stops"), [("escape", False), ("enter", True)])
async def test_agent_stops_from_message_if_sure(
    joined: ScriptedJoinedRoom, key: str, *, stops: bool
) -> None:
    clock = HandClock()
    asked = joined.say_here("@genie work on this")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("f5")
        await until(pilot, lambda: screen.query_one(Timeline).has_focus)
        await pilot.press("up", "ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmScreen))
        question = str(pilot.app.screen.query_one("#confirm-text", Static).render())
        assert "@genie work on this" in question
        assert joined.stops == []
        clock.rest()
        await pilot.press(key)
        await until(pilot, lambda: pilot.app.screen is screen)
        await pilot.pause()
        assert joined.stops == ([asked] if stops else [])


async def test_paging_keeps_composer_focus(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined) as (screen, pilot):
        for number in range(80):
            joined.say_here(f"message {number}")
        timeline = screen.query_one(Timeline)
        await pilot.pause()
        end = timeline.scroll_offset.y
        await pilot.press(*"half", "pageup", "pageup")
        await until(pilot, lambda: timeline.scroll_offset.y < end)
        assert editor(screen).has_focus
        before = timeline.scroll_offset.y
        await pilot.press("pagedown")
        await until(pilot, lambda: timeline.scroll_offset.y > before)
        await pilot.press("pageup", "escape")
        await until(pilot, lambda: timeline.reading is None)
        assert screen.draft == "half"
        assert joined.stops == []


async def test_return_key_goes_to_first_origin(joined: ScriptedJoinedRoom) -> None:
    joined.ask()
    async with in_room(joined) as (screen, pilot):
        await pilot.press(*"half", "f2")
        await until(pilot, lambda: screen.query_one(ActivityList).has_focus)
        await pilot.press("f5")
        await until(pilot, lambda: screen.query_one(Timeline).has_focus)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: editor(screen).has_focus)
        assert screen.draft == "half"


async def test_join_request_key_needs_caller(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined) as (screen, pilot):
        await pilot.press("f7")
        await until(pilot, lambda: "No one is asking to join or to host." in notes(pilot))
        assert editor(screen).has_focus
        joined.emit(JoinRequested(7, "carol", "", "10.0.0.7"))
        await until(pilot, lambda: screen.query_one(JoinRequests).callers)
        await pilot.press("f7")
        await until(pilot, lambda: screen.query_one(JoinRequests).has_focus)
        await pilot.press("f7")
        await until(pilot, lambda: editor(screen).has_focus)


async def test_activity_shows_focus_and_moves(
    joined: ScriptedJoinedRoom,
) -> None:
    for text in ("one", "two", "three"):
        joined.feed(DecisionMade(joined.say_here(text), "ignore", "small talk"))
    async with in_room(joined, (140, 42)) as (screen, pilot):
        activity_list = screen.query_one(ActivityList)
        label = screen.query_one(SidePanel).label(Tab.ACTIVITY)
        await until(pilot, lambda: activity_list.row_count == 3)
        before = label.styles.background
        await pilot.press("f2")
        await until(pilot, lambda: activity_list.cursor == 2)
        await until(pilot, lambda: label.styles.background != before)
        await pilot.press("up")
        await until(pilot, lambda: activity_list.cursor == 1)
        await pilot.press("f")
        await until(pilot, lambda: activity_list.cursor == 2)
        await pilot.press("f2")
        await until(pilot, lambda: label.styles.background == before)


@pytest.mark.parametrize("size", [(80, 24), (140, 42)])
async def test_activity_row_leads_there_and_back(
    joined: ScriptedJoinedRoom, size: tuple[int, int]
) -> None:
    asked = joined.say_here("what is 17*23?")
    joined.feed(DecisionMade(asked, "ignore", "nobody was asked"))
    for number in range(60):
        joined.feed(MessagePosted(f"i{number}", f"message {number}"), by="bob")
    async with in_room(joined, size=size) as (screen, pilot):
        timeline, activity_list = screen.query_one(Timeline), screen.query_one(ActivityList)
        await pilot.press("f2")
        await until(pilot, lambda: activity_list.has_focus)
        await pilot.press("m")
        await until(pilot, lambda: timeline.has_focus)
        await until(pilot, lambda: timeline.chosen is not None)
        assert timeline.chosen is not None
        assert timeline.chosen.seq == asked
        await pilot.press("f5")
        await until(pilot, lambda: editor(screen).has_focus)


async def test_hiding_own_panel_focuses_composer(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined, (80, 24)) as (screen, pilot):
        side = screen.query_one(SidePanel)
        await pilot.press("f2")
        await until(pilot, lambda: screen.query_one(ActivityList).has_focus and side.is_on_screen)
        await pilot.press("f3")
        await until(pilot, lambda: editor(screen).has_focus and not side.is_on_screen)


async def test_hiding_panel_keeps_reading(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined, (140, 42)) as (screen, pilot):
        side, timeline = screen.query_one(SidePanel), screen.query_one(Timeline)
        await until(pilot, lambda: side.is_on_screen)
        await pilot.press("f5")
        await until(pilot, lambda: timeline.has_focus)
        await pilot.press("f3")
        await until(pilot, lambda: not side.is_on_screen)
        assert timeline.has_focus


async def test_clicked_panel_hides_to_composer(
    joined: ScriptedJoinedRoom,
) -> None:
    async with in_room(joined, (140, 42)) as (screen, pilot):
        side, activity_list = screen.query_one(SidePanel), screen.query_one(ActivityList)
        await until(pilot, lambda: side.is_on_screen)
        await pilot.click(ActivityList)
        await until(pilot, lambda: activity_list.has_focus)
        await pilot.press("f3")
        await until(pilot, lambda: editor(screen).has_focus and not side.is_on_screen)
