"""Why nobody answered a message, or that somebody did, in full."""

from genie_core.room.state.thread import MessageThread, Phase
from genie_core.text.format import duration
from genie_core.text.safe import visible, visible_line
from genie_tui.widgets.parking import awaited

UNHANDLED = "Nobody who could answer was in the room, so nothing was decided about this message."
RECOVERED = (
    "This was recovered from {}'s copy of the room. What was decided about it under an earlier host "
    "is not known here."
)
UNDECIDED = "At this moment nothing is decided about this message yet."
STOPPED = "The work on this message was stopped before anything was decided."


def why_silent(exchange: MessageThread) -> str:
    """What was decided about a message and why, safe to show."""
    if exchange.voucher:
        return RECOVERED.format(visible_line(exchange.voucher))
    if exchange.phase is Phase.UNHANDLED:
        return UNHANDLED
    decision = exchange.decision
    whose = visible_line(exchange.handler)
    if decision is None:
        return _undecided(exchange, whose)
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
    none_came = "The answer is incomplete" if exchange.partial else "No answer came"
    if exchange.error is not None:
        parts.append(f"{none_came}: {visible(exchange.error.error)}")
        parts += [f"The work on it was parked: {awaited(exchange)}."] if exchange.parked else []
    elif exchange.parked and exchange.phase is Phase.CANCELLED:
        parts.append(f"No answer came yet, as the work on it was parked: {awaited(exchange)}.")
    elif exchange.phase is Phase.CANCELLED:
        parts.append(f"{none_came}, as the work on it was stopped.")
    return "\n\n".join(parts) + "\n"


def _undecided(exchange: MessageThread, whose: str) -> str:
    if exchange.error is not None:
        return f"The agent of {whose} could not decide: {visible(exchange.error.error)}"
    return STOPPED if exchange.phase is Phase.CANCELLED else UNDECIDED
