"""What a screen shows of a room."""

from typing import Any

from tests.genie_tui.scripted_seat import (
    ScriptedSeat,
    in_room,
)

from genie_core.room.protocol.events import AnswerPosted, MemberJoined
from genie_tui.screens.scene import Scene
from genie_tui.widgets.activity.ledger import Ledger
from genie_tui.widgets.roster import Roster
from genie_tui.widgets.timeline.timeline import Timeline


def lines(widget: Any) -> str:
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.size.height))


async def test_conversation_ledger_and_people_show_one_room(seat: ScriptedSeat) -> None:
    other = ScriptedSeat()
    other.open_room()
    asked = other.say_here("somewhere else")
    async with in_room(seat) as (screen, _):
        timeline, ledger = screen.query_one(Timeline), screen.query_one(Ledger)
        scene = Scene(screen, timeline)
        scene.bind_state(other.state, "ann")
        scene.apply_many(other.events)
        assert "somewhere else" in lines(timeline)
        assert "somewhere else" in lines(ledger)
        scene.apply_many(other.feed(AnswerPosted(asked, "here"), MemberJoined("guest"), by="dan"))
        assert "here" in lines(timeline)
        assert "dan" in str(screen.query_one(Roster).render())
