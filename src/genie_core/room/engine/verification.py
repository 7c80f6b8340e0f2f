"""What an engine acts on, whatever the host of its room says.

A host that is not the engine's owner could otherwise let it do what nobody here wants.
"""

from genie_core.room.engine.context import Missing
from genie_core.room.security.signing import Author
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval


class Trust:
    """Judges messages, answers and calls for the engine of one person, the `owner`.

    `serves` says that the owner is the host, whose engine works for others, too, and who need not
    doubt what they say themselves. Without an `author` nothing can be checked, and all is believed.
    """

    def __init__(
        self, state: RoomState, owner: str, author: Author | None, *, serves: bool
    ) -> None:
        self._state = state
        self._owner = owner
        self._author = author
        self._serves = serves
        self._taken: set[str] = set()

    def begin(self, live_after: int) -> None:
        """Take note of the owner's words up to this event: they are past."""
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

    def doubts(self, item: Missing) -> bool:
        """Whether somebody else claims that the owner, or an agent of theirs, has said something."""
        exchange, author = item.exchange, self._author
        if not item.said:
            return self.doubts_answer(exchange)
        if author is None or exchange.author != self._owner:
            return False
        told_by_others = not self._serves or bool(exchange.voucher)
        return told_by_others and not author.wrote(exchange.said)

    def doubts_answer(self, exchange: MessageThread) -> bool:
        """Whether somebody else claims that an agent of the owner's has given this answer."""
        if exchange.handler != self._owner or exchange.answer is None:
            return False
        if self._serves or self._author is None:
            return bool(exchange.answer_voucher)
        return not self._author.reported(exchange.said, exchange.answer)

    def is_own_call(self, proposal: ToolApproval) -> bool:
        """Whether the own engine asked for this call, and on which words."""
        if self._serves or self._author is None:
            return True
        exchange = self._state.exchanges[proposal.message]
        return self._author.reported(exchange.said, proposal.call) and self.is_own_decision(
            exchange
        )

    def is_own_decision(self, exchange: MessageThread) -> bool:
        """Whether it was the own engine that gave a message of the owner's to an agent."""
        decision, author = exchange.decision, self._author
        if self._serves or author is None:
            return True
        if decision is None or exchange.author != self._owner or not author.wrote(exchange.said):
            return False
        return author.reported(exchange.said, decision)
