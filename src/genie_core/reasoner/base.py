"""The interface between the engine and a reasoner."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from genie_core.message import Message
from genie_core.reasoner.decision import AnyDecision
from genie_core.storage.agent_state import JournalSuffices, abstract_unless_journalled


@dataclass(frozen=True, slots=True)
class Response:
    """A decision and its consequence.

    `query` is the self-contained query to the agent; `receiver` the person its answer is for;
    `reason` one sentence that explains the decision.
    """

    decision: AnyDecision
    query: str | None = None
    receiver: str | None = None
    reason: str | None = None


class GroupReasoner(JournalSuffices, ABC):
    """Follows a conversation on behalf of one person and decides when an agent should act.

    Like an agent it may define `get_new_messages()` to have its state journalled, and then needs no
    `get_serialized`.
    """

    @property
    @abstractmethod
    def processed(self) -> int:
        """How many messages of the conversation this reasoner has processed."""

    @abstract_unless_journalled
    def get_serialized(self) -> Any:
        """Return the whole state as a JSON value."""

    @abstractmethod
    def set_serialized(self, serialized: Any) -> None:
        """Restore a saved state; call it on a new instance only."""

    @abstractmethod
    async def run(self, updates: list[Message]) -> Response:
        """Process the messages since the last call, and decide on the last one.

        `updates` is never empty. If this raises, `processed` must be unchanged: the next call gets
        the same messages again.
        """
