"""What is shown of what others and agents are at."""

from typing import Any

from tests.genie_tui.scripted_room import (
    HandClock,
    ScriptedJoinedRoom,
    in_room,
    until,
)
from textual.widgets import Static

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Spending,
)
from genie_core.room.protocol.frames import AgentProgress, AnswerDelta, MemberTyping
from genie_tui.widgets.activity.activity_list import ActivityList
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.timeline.timeline import Timeline
from genie_tui.widgets.typing_line import HintLine


def lines(widget: Any) -> str:
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


def spending(agent: str, cost: float | None) -> Spending:
    return Spending(agent, "gpt-4o-mini", 2, 12_000, 300, 100, 3.0, cost)


async def test_agent_progress_shows_in_both_lists() -> None:
    joined, clock = ScriptedJoinedRoom(), HandClock()
    joined.open_room()
    asked = joined.say_here("what is it?")
    joined.feed(DecisionMade(asked, "delegate", query="q"))
    async with in_room(joined, clock=clock) as (screen, pilot):
        emit = joined.emit
        timeline, activity_list = screen.query_one(Timeline), screen.query_one(ActivityList)

        async def shown(text: str) -> None:
            await until(pilot, lambda: text in lines(timeline) and text in lines(activity_list))

        emit(AgentProgress(asked, "coder:1a2b3c4d", "calling", "read_file"))
        await shown("coder:1a2b3c4d · calling read_file")
        emit(AgentProgress(asked, "system", "writing", "a tool call"))
        await shown("writing a tool call…")
        clock.rest(20)
        joined.feed(ApprovalRequested(asked, "p", "coder:1a2b3c4d", "rm", {}))
        await until(pilot, lambda: "waiting for your approval of rm" in lines(timeline))
        await until(pilot, lambda: "asks for rm" in lines(activity_list))
        assert "waiting for the model" not in lines(timeline) + lines(activity_list)
        assert "writing a tool call" not in lines(timeline) + lines(activity_list)
        joined.feed(ApprovalResolved(asked, "p", "approved"))
        await shown("writing a tool call…")
        emit(AgentProgress(asked, "system", "note", "older turns were left out"))
        emit(AgentProgress(asked, "system", "asking", ""))
        await shown("waiting for the model…")
        clock.rest(8)
        await shown("waiting for the model, 8 s")
        emit(AnswerDelta(asked, "It is "))
        await shown("writing…")
        assert "It is" in lines(timeline)
        emit(AgentProgress(asked, "system", "calling", "look"))
        await shown("calling look")
        joined.feed(AnswerPosted(asked, "It is that.", spent=(spending("system", 0.004),)))
        await until(pilot, lambda: "$0.004" in lines(activity_list))
        assert "! older turns were left out" in lines(activity_list)
        assert "calling" not in lines(timeline) + lines(activity_list)
        emit(AgentProgress(asked, "system", "thinking", ""))  # it comes too late
        await pilot.pause()
        assert "thinking" not in lines(timeline) + lines(activity_list)
        activity_list.focus()
        await pilot.press("end", "enter")
        details = screen.query_one("#activity-detail-text", Static)
        await until(pilot, lambda: "older turns were left out" in str(details.content))


async def test_who_stops_writing_is_not_shown_for_long(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    async with in_room(joined, clock=clock) as (screen, pilot):
        roster, hints = screen.query_one(Roster), screen.query_one(HintLine)
        joined.emit(MemberTyping("bob"))
        await until(pilot, lambda: "typing" in str(roster.render()))
        assert "bob is typing" in hints.render().plain
        clock.rest(10)
        await until(pilot, lambda: "typing" not in str(roster.render()))
        assert not hints.typing
