"""What an engine acts on, independent of what the host of its room claims.

A host that is not the engine's owner could otherwise make the engine do what the owner never asked
for.
"""

from genie_core.room.client.signer import Signer
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval


class Verifier:
    """Verifies messages, answers and tool calls for the engine of one person, the `owner`.

    `serves` says that the owner is the host, whose engine also works for others and who can trust
    their own room. Without an `author` nothing can be checked, and everything is believed.
    """

    def __init__(
        self, state: RoomState, owner: str, author: Signer | None, *, serves: bool
    ) -> None:
        self._state = state
        self._owner = owner
        self._author = author
        self._serves = serves
        self._taken: set[str] = set()

    def begin(self, live_after: int) -> None:
        """Mark the owner's messages up to this event as past, so that no repetition is acted on."""
        for past in self._state.exchanges.values():
            if past.author == self._owner and past.seq <= live_after:
                self._taken.add(past.said.id)

    def objection(self, exchange: MessageThread) -> str:
        """Why the engine does not act on a message; empty if it does, which it does once."""
        if exchange.author != self._owner:
            return "" if self._serves else f"{self._owner}'s engine serves nobody else"
        if self._author is None:
            return ""
        if not self._author.wrote(exchange.said):
            return f"the host says that {self._owner} wrote this now, but {self._owner} did not"
        if not self._author.is_current(exchange.said):
            return (
                f"{self._owner}'s other terminal sent this before it knew this terminal, or the "
                "host repeats an old message; send it again"
            )
        if exchange.said.id in self._taken:
            return f"the host says that {self._owner} wrote this once more, but they did not"
        self._taken.add(exchange.said.id)
        return ""

    def doubts_message(self, exchange: MessageThread) -> bool:
        """Whether another member claims that the owner wrote this."""
        if self._author is None or exchange.author != self._owner:
            return False
        told_by_others = not self._serves or bool(exchange.voucher)
        return told_by_others and not self._author.wrote(exchange.said)

    def doubts_answer(self, exchange: MessageThread) -> bool:
        if exchange.handler != self._owner or exchange.answer is None:
            return False
        if self._serves or self._author is None:
            return bool(exchange.answer_voucher)
        return not self._author.reported(exchange.said, exchange.answer)

    def is_own_call(self, request: ToolApproval) -> bool:
        """Whether the owner's engine requested this call, for a message of the owner."""
        if self._serves or self._author is None:
            return True
        exchange = self._state.exchanges[request.message]
        return self._author.reported(exchange.said, request.call) and self.is_own_decision(exchange)

    def is_own_decision(self, exchange: MessageThread) -> bool:
        """Whether the owner's engine gave this message of the owner to an agent."""
        decision, author = exchange.decision, self._author
        if self._serves or author is None:
            return True
        if decision is None or exchange.author != self._owner or not author.wrote(exchange.said):
            return False
        return author.reported(exchange.said, decision)
