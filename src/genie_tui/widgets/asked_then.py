"""What waited for an answer at some moment of a room, to be read and not to be answered."""

from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import ToolApproval
from genie_tui.moments import clock_time
from genie_tui.widgets.arguments import arguments_content
from genie_tui.widgets.card_text import CardView, call_lines, why_asked

NOTHING: Final = "No tool call waited for an answer at this moment."

MOST: Final = 20
"""Tool calls that are shown in full."""


class AskedThen(VerticalScroll, can_focus=False):
    """The tool calls that waited, whoever was asked, oldest first."""

    def compose(self) -> ComposeResult:
        """One text that scrolls."""
        yield Static(NOTHING, id="asked-then", markup=False)

    def show(self, state: RoomState) -> int:
        """Show those of a room; returns how many there are."""
        waiting = [
            *state.parked.values(),
            *(each for each in state.open.values() if not each.unasked),
        ]
        calls = [_call(state, each) for each in waiting[:MOST]]
        if len(waiting) > MOST:
            calls.append(Content(f"and {len(waiting) - MOST:,} more"))
        text = Content("\n\n").join(calls) if calls else Content(NOTHING)
        self.query_one("#asked-then", Static).update(text)
        return len(waiting)


def _call(state: RoomState, proposal: ToolApproval) -> Content:
    exchange = state.exchanges.get(proposal.message)
    author, text = (exchange.author, exchange.said.text) if exchange is not None else ("", "")
    view = CardView(proposal, author, text, 1, 1)
    kept = " · kept from before" if view.from_before else ""
    head = Content.styled(f"▲ since {clock_time(proposal.asked_at)}{kept}", "$text-warning")
    arguments = arguments_content(proposal.arguments, withheld=proposal.withheld)
    return Content("\n").join([head, call_lines(view), why_asked(proposal), arguments])
