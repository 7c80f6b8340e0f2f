"""Policies: evaluate a tool call before a person is asked about it.

The program that builds the engine supplies the policy; the room carries its results.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

Effect: TypeAlias = Literal["allow", "ask", "deny"]
Risk: TypeAlias = Literal["read", "write", "execute", "network", "unknown"]
"""What a tool can do at worst; "unknown" for tools that others made."""

EXCEED_BUDGET: Final = "exceed_budget"
"""Tool name of a request to spend more; no rule and no auto mode allows it."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that an agent wants to make.

    `person` is whom the agent works for, `agent` its path, as in "system" or "coder:1f2e3d4c".
    """

    person: str
    agent: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What happens to a call, and why: `because` is a clause such as "it writes files".

    If `must_ask` is set, neither a grant nor auto mode answers the request.
    """

    effect: Effect
    because: str
    risk: Risk = "unknown"
    must_ask: bool = False


class ApprovalPolicy(Protocol):
    """Decides whether a call is allowed, denied, or put before a person."""

    def evaluate(self, call: ToolCall) -> PolicyResult:
        """Decide about a call; must not block, and treats arguments as data."""


class AskAlways:
    """Puts every call before a person."""

    def evaluate(self, call: ToolCall) -> PolicyResult:
        return PolicyResult("ask", "")
