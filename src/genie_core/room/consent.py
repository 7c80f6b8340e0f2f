"""What a person has allowed beyond the one call in front of them."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from genie_core.agent.approval import Approval
from genie_core.room.exchange import Proposal


@dataclass(slots=True)
class Consent:
    """Allowances that answer later approvals on their owner's behalf.

    A session grant covers one tool of one agent that works for one person, until the session
    ends. A revived call is one that was parked by a suspend and allowed afterwards: it covers
    exactly that call with exactly those arguments, once, in the next run for its message.
    """

    _session: set[tuple[str, str, str]] = field(default_factory=set)
    _revived: dict[int, list[Proposal]] = field(default_factory=dict)

    def grant(self, person: str, agent: str, tool: str) -> None:
        """Let this agent call this tool for this person until the session ends."""
        self._session.add((person, agent, tool))

    def withdraw(self, person: str) -> None:
        """Forget what was granted for a person: the name may be somebody else's next time."""
        self._session = {grant for grant in self._session if grant[0] != person}

    def revive(self, proposal: Proposal) -> None:
        """Let the next run for the proposal's message make this very call."""
        self._revived.setdefault(proposal.message, []).append(proposal)

    def revived(self, message: int) -> tuple[Proposal, ...]:
        """List the calls that a run for this message may make and has not made."""
        return tuple(self._revived.get(message, ()))

    def covers(self, person: str, message: int, approval: Approval) -> str | None:
        """Say why a call needs no question, or None if it does; uses up a revived call."""
        if (person, approval.sender, approval.tool_name) in self._session:
            return "allowed for this session"
        for proposal in self._revived.get(message, ()):
            if (proposal.tool, proposal.arguments) == (approval.tool_name, arguments(approval)):
                self._revived[message].remove(proposal)
                return "allowed after the pause"
        return None

    def forget(self, message: int, offered: tuple[Proposal, ...]) -> None:
        """Drop what a run was offered and did not use: consent does not wait for later."""
        left = [call for call in self._revived.pop(message, ()) if call not in offered]
        if left:
            self._revived[message] = left


def arguments(approval: Approval) -> dict[str, Any]:
    """Put positional and keyword arguments into one table, as the room's log shows them.

    What JSON can't express is shown the way Python would. Raises what looking at a value raises.
    """
    positional = {str(index): value for index, value in enumerate(approval.tool_args)}
    table = {**positional, **approval.tool_kwargs}
    plain: dict[str, Any] = msgspec.to_builtins(table, str_keys=True, enc_hook=repr)
    return plain
