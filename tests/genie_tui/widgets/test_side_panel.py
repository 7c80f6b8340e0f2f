"""The side panel of a room: where it is, and what it shows."""

from typing import Any

from tests.genie_tui.scripted_room import (
    ScriptedJoinedRoom,
    in_room,
    until,
)

from genie_core.room.protocol.events import AnswerPosted, MemberJoined
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.side_panel import SidePanel, Tab
from genie_tui.widgets.timeline.timeline import Timeline


async def test_wide_panel_covers_nothing(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined, (140, 40)) as (screen, pilot):
        side = screen.query_one(SidePanel)
        assert side.is_on_screen
        assert not side.toggle()
        await until(pilot, lambda: not side.is_on_screen)
        side.open(Tab.APPROVALS)
        await until(pilot, lambda: side.is_on_screen)
        assert side.tab is Tab.APPROVALS
        assert not side.covers
        assert screen.query_one(Timeline).is_on_screen
        side.uncover()
        await pilot.pause()
        assert side.is_on_screen


async def test_narrow_panel_covers_conversation(joined: ScriptedJoinedRoom) -> None:
    async with in_room(joined, (80, 24)) as (screen, pilot):
        side, timeline = screen.query_one(SidePanel), screen.query_one(Timeline)
        assert not side.is_on_screen
        side.open(Tab.ACTIVITY)
        covered = [side.covers]
        await until(pilot, lambda: not timeline.is_on_screen)
        side.uncover()
        covered.append(side.covers)
        await until(pilot, lambda: timeline.is_on_screen)
        assert side.toggle()
        covered.append(side.covers)
        assert covered == [True, False, True]


def lines(widget: Any) -> str:
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


async def test_activity_list_and_people_show_one_room(joined: ScriptedJoinedRoom) -> None:
    other = ScriptedJoinedRoom()
    other.open_room()
    other.say_here("somewhere else")
    async with in_room(joined) as (screen, _):
        side, activity_list = screen.query_one(SidePanel), screen.query_one(ActivityList)
        side.bind_state(other.state, "ann")
        side.apply_many(other.events)
        assert "somewhere else" in lines(activity_list)
        side.apply_many(
            other.feed(AnswerPosted(other.state.head, "here"), MemberJoined("guest"), by="dan")
        )
        assert "dan" in str(screen.query_one(Roster).render())
