"""The number of tools that a model takes, over all tool servers of an agent."""

from collections.abc import Sequence
from typing import Final

from genie_core.agent.provider.tool_server_outages import shown
from genie_core.runtime.progress import doing

MOST_TOOLS: Final = 128
"""Tools in one request, built-in ones included; providers refuse requests with more."""


def within_limit(built_in: int, counts: Sequence[int]) -> list[int]:
    """Return how many tools of each server fit beside the built-in ones.

    Earlier servers come first; the last ones lose theirs.
    """
    room, fit = max(MOST_TOOLS - built_in, 0), []
    for count in counts:
        fit.append(min(count, room))
        room -= fit[-1]
    return fit


def note_left_out(server: str, left_out: int, count: int) -> None:
    """Report that a server's tools, or the last of them, are not offered to the model."""
    doing(
        "note",
        f"tool server {shown(server)}: {left_out} of its {count} tools are not offered: "
        f"a model takes {MOST_TOOLS} tools at most, all servers together; "
        "give the agent fewer servers",
    )
