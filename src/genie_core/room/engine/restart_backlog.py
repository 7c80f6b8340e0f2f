"""The backlog: messages that were undecided when the engine restarted. Pure."""

from collections import deque
from collections.abc import Collection, Iterable
from typing import Final, Literal, TypeAlias

from genie_core.room.protocol.events import RunBody, RunCancelled
from genie_core.room.state.thread import MessageThread

BacklogChoice: TypeAlias = Literal["all", "latest", "none"]
"""The messages to answer: all, the latest of each person, or none."""

MIN_BACKLOG: Final = 6
"""Undecided messages that make a backlog; fewer are recorded as failed, as after any crash."""

AT_ONCE: Final = 8
"""Messages of a backlog that run at the same time."""

IN_FLIGHT: Final = 64
"""Steps that are reported before the room has recorded the first of them."""

REPORTED_AT_CLOSE: Final = 1_000
"""Steps that are still reported when the engine closes; the next engine reports the rest."""

ASK: Final = (
    "{:,} messages from before the restart have no decision yet. None is answered until you "
    "choose: /backlog all, /backlog latest (only the latest of each person), /backlog none"
)
TAKEN_BACK: Final = "its author deleted the message"
LEFT_OUT: Final = "sent before the room was resumed; {} chose not to have it answered"


class Backlog:
    """Tracks the messages from before a restart, in order.

    Messages in `waiting` need the owner's choice, those in `due` are next to run, and `unreported`
    holds the steps that the room has yet to record.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self.waiting: dict[int, MessageThread] = {}
        self.due: deque[MessageThread] = deque()
        self.unreported: deque[RunBody] = deque()

    def hold(self, undecided: Iterable[MessageThread]) -> None:
        self.waiting.update((thread.seq, thread) for thread in undecided)

    @property
    def question(self) -> str:
        return ASK.format(len(self.waiting)) if self.waiting else ""

    def choose(self, choice: BacklogChoice) -> list[MessageThread]:
        """Apply the owner's choice; returns the messages that stay unanswered."""
        kept = [thread for thread in self.waiting.values() if not thread.is_deleted]
        chosen = _chosen(kept, choice)
        left = [thread for thread in self.waiting.values() if thread.seq not in chosen]
        self.due.extend(each for each in self.waiting.values() if each.seq in chosen)
        reason = LEFT_OUT.format(self._owner)
        self.unreported.extend(
            RunCancelled(thread.seq, TAKEN_BACK if thread.is_deleted else reason) for thread in left
        )
        self.waiting.clear()
        return left


def _chosen(waiting: Collection[MessageThread], choice: BacklogChoice) -> set[int]:
    if choice == "latest":
        return set({thread.author: thread.seq for thread in waiting}.values())
    return {thread.seq for thread in waiting} if choice == "all" else set()
