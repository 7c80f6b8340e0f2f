"""Whoever is told what an engine does in a room."""

from collections.abc import Sequence
from typing import Protocol

from genie_core.room.protocol.events import RunBody
from genie_core.runtime.progress import What


class Reporter(Protocol):
    """Where a handler's reports go."""

    def publish(self, body: RunBody) -> bool:
        """Record a step in the room's log; False if the room could not hold it."""

    @property
    def largest(self) -> int:
        """How many bytes a step may have, so that the room can hold it."""

    @property
    def unrecorded(self) -> Sequence[RunBody]:
        """The published steps that the room's log does not show yet, in order."""

    def delta(self, message: int, text: str) -> None:
        """Show text of an answer in the making."""

    def progress(self, message: int, agent: str, what: What, detail: str) -> None:
        """Show what an agent is at."""

    def warn(self, text: str) -> None:
        """Tell the owner, and nobody else, that something is wrong."""
