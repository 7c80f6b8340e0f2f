"""What an approval card says, and the keys it lists."""

from dataclasses import dataclass
from typing import Final

from textual.content import Content

from genie_core.room.engine.policy import EXCEED_BUDGET
from genie_core.room.state.thread import ToolApproval
from genie_tui.action import Scope
from genie_tui.keymap import actions
from genie_tui.moments import duration
from genie_tui.text import visible, visible_line
from genie_tui.widgets.agent_path import agent_path

QUOTE: Final = 160
"""Characters of the message that a card quotes."""

BECAUSE: Final = 200
"""Characters of the reason that a card shows; the full view shows all."""

CELL: Final = 21
"""Columns for one key and what it does."""

RISKS: Final = {
    "read": "reads",
    "write": "writes",
    "execute": "runs programs",
    "network": "uses the network",
    "unknown": "may do anything",
}
"""What a tool does at worst, by its risk, which is also the style class of the line."""

SPENDS: Final = "costs more"
"""What it is at worst to go over the budget."""


@dataclass(frozen=True, slots=True)
class CardView:
    """What a card shows: the proposal, the message it is about, and its place in the queue."""

    proposal: ToolApproval
    author: str
    message: str
    position: int
    total: int

    @property
    def from_before(self) -> bool:
        """Whether it was parked by a suspend and can be answered again now."""
        return self.proposal.outcome == "parked"


def headline(view: CardView, now: float) -> str:
    """The card's place in the queue, and how long it has waited."""
    before = "from before · " if view.from_before else ""
    waiting = duration(now - view.proposal.asked_at)
    return f"{before}{view.position} of {view.total} · waiting {waiting}"


def call_lines(view: CardView) -> Content:
    """Who wants what, and where it would run."""
    proposal = view.proposal
    quote = visible(view.message)
    quote = quote if len(quote) <= QUOTE else f"{quote[:QUOTE]}…"
    where = visible(proposal.where) or "this machine"
    return Content.assemble(
        (visible(view.author), "bold"),
        (" wrote ", "$foreground-muted"),
        (f"“{quote}”", "italic"),
        ("\n", ""),
        (visible(f"{proposal.owner}'s {agent_path(proposal.agent)}"), "$text-secondary"),
        (" wants to ", "$foreground-muted"),
        *_deed(proposal),
        ("\nruns on ", "$foreground-muted"),
        (where, ""),
    )


def _deed(proposal: ToolApproval) -> tuple[tuple[str, str], ...]:
    if proposal.tool == EXCEED_BUDGET:
        return (("go over the budget of this session", "bold $text-warning"),)
    return ("call ", "$foreground-muted"), (visible(proposal.tool), "bold $text-warning")


def risk_of(proposal: ToolApproval) -> str:
    """What the call does at worst; empty if nothing is known of it."""
    return SPENDS if proposal.tool == EXCEED_BUDGET else RISKS.get(proposal.risk, "")


def why_asked(proposal: ToolApproval) -> Content:
    """How risky the tool is, and why the person is asked; empty if nothing is known of either."""
    risk = risk_of(proposal)
    because = visible_line(proposal.because[:BECAUSE])
    asked = f"asked because {because}" if because else ""
    return Content.assemble(
        (risk, "bold"), " · " if risk and asked else "", (asked, "$foreground-muted")
    )


def key_table(width: int) -> Content:
    """The card's keys in columns, so that they can be found without reading."""
    columns = max(width // CELL, 1)
    cells = [
        Content.assemble((action.short_keys, "$primary bold"), f" {action.label}")
        for action in actions(Scope.CARD)
    ]
    padded = [cell.pad_right(CELL - cell.cell_length) for cell in cells]
    rows = [Content("").join(padded[at : at + columns]) for at in range(0, len(padded), columns)]
    return Content("\n").join(rows)
