"""What decides about a tool call before a person is asked.

A room only carries the judgement; whose rules it follows is the business of whoever made the engine.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

Effect: TypeAlias = Literal["allow", "ask", "deny"]
Risk: TypeAlias = Literal["read", "write", "execute", "network", "unknown"]
"""What a tool can do at worst; "unknown" for tools that others made."""

EXCEED_BUDGET: Final = "exceed_budget"
"""Stands for a tool where an agent asks whether it may spend more; no rule and no auto mode allows it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that an agent wants to make.

    `person` is whom the agent works for, `agent` its path, as in "system" or "coder:1f2e3d4c".
    """

    person: str
    agent: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What happens to a call, and why: `because` is a clause such as "it writes files".

    `firm` says that what a person said before, by a grant or auto mode, is no answer to this one.
    """

    effect: Effect
    because: str
    risk: Risk = "unknown"
    firm: bool = False


class Judge(Protocol):
    """Decides whether a call is allowed, denied, or put before a person."""

    def judge(self, call: Call) -> Judgement:
        """Decide about a call; must not block, and treats arguments as data."""


class AskAlways:
    """Puts every call before a person."""

    def judge(self, call: Call) -> Judgement:
        """Ask."""
        return Judgement("ask", "")
