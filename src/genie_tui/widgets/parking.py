"""What is said of work that ended while a tool call of it was kept for an answer."""

from collections.abc import Sequence
from typing import Final

from genie_core.room.protocol.events import RunCancelled, RunFailed
from genie_core.room.state.thread import MessageThread
from genie_core.text.safe import visible_line

MARK: Final = "‖"
"""Stands for what waits beyond the end of a room's session."""


def goes_on(end: RunCancelled | RunFailed) -> bool:
    """Whether work that ended so goes on with the answer to a call that was parked for it.

    A suspend and the end of a program interrupt it; a person who stops it, or a fault, ends it.
    """
    if isinstance(end, RunFailed):
        return end.stage == "lost"
    return not end.reason.startswith("stopped by ")


def parked_with(tools: Sequence[str]) -> str:
    """That work was parked, and for which calls; safe to show."""
    what = visible_line(tools[0]) if len(tools) == 1 else f"{len(tools)} tool calls"
    return f"parked with {what} to answer"


def awaited(exchange: MessageThread) -> str:
    """For what the work on a message waits that is parked; safe to show."""
    calls = "a tool call" if len(exchange.parked) == 1 else f"{len(exchange.parked)} tool calls"
    return f"genie goes on when {visible_line(exchange.handler)} has answered {calls}"
