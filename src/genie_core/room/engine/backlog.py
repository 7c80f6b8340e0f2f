"""Messages that an engine found undecided when it came back, and its owner's choice. Pure."""

from collections import deque
from collections.abc import Collection, Iterable
from typing import Final, Literal, TypeAlias

from genie_core.room.protocol.events import RunBody, RunCancelled
from genie_core.room.state.thread import MessageThread

BacklogChoice: TypeAlias = Literal["all", "latest", "none"]
"""Which messages of a backlog are answered: all, the latest of each person, or none."""

HANDFUL: Final = 5
"""More undecided messages than these are a backlog; fewer are given up, as after any crash."""

AT_ONCE: Final = 8
"""Messages of a backlog that are worked on at the same time."""

IN_FLIGHT: Final = 64
"""Steps that are reported before the room has recorded the first of them."""

MOST_OWED: Final = 1_000
"""Steps that are still reported when the engine is put away; the next one reports the rest."""

ASK: Final = (
    "{:,} messages from before the restart have no decision yet. None is answered until you "
    "choose: /backlog all, /backlog latest (only the latest of each person), /backlog none"
)
LEFT_OUT: Final = "sent before the room was resumed; {} chose not to have it answered"


class Backlog:
    """Track what is still to be done about messages from before a restart, in order.

    `waiting` are those for which the owner's word is missing, `due` those to be handled, and `owed`
    the steps to be reported.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self.waiting: dict[int, MessageThread] = {}
        self.due: deque[MessageThread] = deque()
        self.owed: deque[RunBody] = deque()

    def hold(self, undecided: Iterable[MessageThread]) -> None:
        self.waiting.update((exchange.seq, exchange) for exchange in undecided)

    @property
    def question(self) -> str:
        return ASK.format(len(self.waiting)) if self.waiting else ""

    def choose(self, choice: BacklogChoice) -> list[MessageThread]:
        """Decide about all that waits; returns those that are left unanswered."""
        chosen = _chosen(self.waiting.values(), choice)
        left = [exchange for exchange in self.waiting.values() if exchange.seq not in chosen]
        self.due.extend(each for each in self.waiting.values() if each.seq in chosen)
        reason = LEFT_OUT.format(self._owner)
        self.owed.extend(RunCancelled(exchange.seq, reason) for exchange in left)
        self.waiting.clear()
        return left


def _chosen(waiting: Collection[MessageThread], choice: BacklogChoice) -> set[int]:
    if choice == "latest":
        return set({exchange.author: exchange.seq for exchange in waiting}.values())
    return {exchange.seq for exchange in waiting} if choice == "all" else set()
