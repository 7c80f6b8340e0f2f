"""Verification of messages, answers and tool calls before an engine acts on them.

Without it, a host could make another member's engine do work that its owner never asked for.
"""

from genie_core.room.client.signer import Signer
from genie_core.room.state.proofs import REPEATED
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Reply, ToolApproval


class Verifier:
    """Verifies messages, answers and tool calls for the engine of one person, the `owner`.

    `serves` means that the owner is the host: their engine also works for others, and they can
    trust their own room. Without an `author` there are no signatures to check, so all is accepted.
    """

    def __init__(
        self, state: RoomState, owner: str, author: Signer | None, *, serves: bool
    ) -> None:
        self._state = state
        self._owner = owner
        self._author = author
        self._serves = serves
        self._handled: set[str] = set()

    def begin(self, live_after: int) -> None:
        """Mark the owner's messages up to this event as handled, so that replays are rejected."""
        for past in self._state.threads.values():
            if past.author == self._owner and past.seq <= live_after:
                self._handled.add(past.said.id)

    def objection(self, thread: MessageThread) -> str:
        """Return why the engine rejects a message; empty, and only once, if it accepts it."""
        if self._state.doubt_of(thread.seq) == REPEATED:
            return f"the host claims that {thread.author} wrote this again, but they did not"
        if not self._state.is_proven(thread.seq):
            return f"the host claims that {thread.author} wrote this, but they did not sign it"
        if thread.by_agent:
            return "agents that are members are not answered"
        if thread.author != self._owner:
            return "" if self._serves else f"{self._owner}'s engine serves no one else"
        if self._author is None:
            return ""
        if not self._author.wrote(thread.said):
            return f"the host claims that {self._owner} wrote this, but {self._owner} did not"
        if not self._author.is_current(thread.said):
            return (
                f"{self._owner}'s other terminal sent this before it knew this terminal, or the "
                "host repeats an old message; send it again"
            )
        if thread.said.id in self._handled:
            return f"the host claims that {self._owner} wrote this again, but they did not"
        self._handled.add(thread.said.id)
        return ""

    def doubts_message(self, thread: MessageThread) -> bool:
        """Whether the room attributes a message to a person who did not sign it."""
        if not self._state.is_proven(thread.seq):
            return True
        if self._author is None or thread.author != self._owner:
            return False
        is_claim = not self._serves or bool(thread.recovered_from)
        return is_claim and not self._author.wrote(thread.said)

    def doubts_answer(self, thread: MessageThread) -> bool:
        if not self._state.is_proven(thread.answered_seq or 0):
            return True
        if thread.handler != self._owner or thread.answer is None:
            return False
        if self._serves or self._author is None:
            return bool(thread.answer_recovered_from)
        return not self._author.reported(thread.said, thread.answer)

    def reply_of(self, thread: MessageThread) -> Reply | None:
        """Return the original of a reply; None if the person named there did not sign it."""
        target = self._state.threads.get(thread.reply)
        if target is None:
            return None
        is_answer = thread.said.reply_to != target.seq
        doubts = self.doubts_answer if is_answer else self.doubts_message
        return None if doubts(target) else self._state.reply_of(thread)

    def is_own_call(self, request: ToolApproval) -> bool:
        """Whether the owner's engine requested this call, for a message of the owner."""
        if self._serves or self._author is None:
            return True
        thread = self._state.threads[request.message]
        return self._author.reported(thread.said, request.call) and self.is_own_decision(thread)

    def is_own_decision(self, thread: MessageThread) -> bool:
        """Whether the owner's engine gave this message of the owner to an agent."""
        decision, author = thread.decision, self._author
        if self._serves or author is None:
            return True
        if decision is None or thread.author != self._owner or not author.wrote(thread.said):
            return False
        return author.reported(thread.said, decision)
