"""Why nobody answered a message, or that somebody did, in full."""

from genie_core.room.exchange import Exchange, Phase
from genie_tui.moments import duration
from genie_tui.text import visible, visible_line

UNHANDLED = "Nobody who could answer was in the room, so nothing was decided about this message."
UNDECIDED = "At this moment nothing is decided about this message yet."


def why_silent(exchange: Exchange) -> str:
    """What was decided about a message and why, safe to show."""
    if exchange.phase is Phase.UNHANDLED:
        return UNHANDLED
    decision = exchange.decision
    if decision is None:
        return visible(exchange.error.error) if exchange.error is not None else UNDECIDED
    whose = visible_line(exchange.handler)
    took = f" within {duration(decision.elapsed)}" if decision.elapsed else ""
    if decision.decision == "ignore":
        head = f"The agent of {whose} decided{took} to stay silent."
    else:
        head = f"The agent of {whose} decided{took} to act on this message."
    parts = [
        head,
        f"Its reason: {visible(decision.reason)}" if decision.reason else "It gave no reason.",
    ]
    if decision.query:
        parts.append(f"What it passed on:\n{visible(decision.query)}")
    return "\n\n".join(parts) + "\n"
