"""Whoever is told what comes from a room."""

from typing import Protocol

from genie_core.room.protocol.events import Event
from genie_core.room.protocol.frames import (
    AgentProgress,
    ApprovalAnswered,
    FilePiece,
    FileStored,
    FrameRefused,
    HostingAccepted,
    JoinRequested,
    Welcome,
)
from genie_core.room.seat import LinkStatus, Severity, Unsent


class Follower(Protocol):
    """Told what comes from the room, on the event loop, in order; must not wait."""

    def on_welcome(self, welcome: Welcome) -> None:
        """Take note of being let in, also after each reconnection; the events follow."""

    def on_event(self, event: Event) -> None:
        """Take in the next event of the log. Each comes once."""

    def on_typing(self, name: str) -> None:
        """Take note that somebody is writing."""

    def on_delta(self, message: int, text: str) -> None:
        """Take in text of an answer in the making."""

    def on_progress(self, progressed: AgentProgress) -> None:
        """Take note of what an agent is at."""

    def on_stopping(self, message: int, by: str) -> None:
        """Stop the own engine's run for a message, as `by` wishes."""

    def on_ruled(self, ruled: ApprovalAnswered) -> None:
        """Answer an approval that waits here; its owner did so at another terminal."""

    def on_knocking(self, knocking: JoinRequested) -> None:
        """Take note that somebody waits for the host's word, or no longer does."""

    def on_offered(self, by: str) -> None:
        """Take note that the host asks this person to host from now on."""

    def on_accepted(self, accepted: HostingAccepted) -> None:
        """Take note that somebody is willing to host."""

    def on_file(self, answer: FileStored | FilePiece | FrameRefused) -> None:
        """Take in what came of asking something about a file; a refusal's `ref` is the digest."""

    def on_link(self, status: LinkStatus) -> None:
        """Take note that the connection changed."""

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Take note of the messages that are not acknowledged now."""

    def on_rejected(self, unsent: Unsent, why: str) -> None:
        """Take note that the room will not take a message, which is not sent again."""

    def on_notice(self, severity: Severity, text: str) -> None:
        """Show something to the person."""
