"""Policies, which evaluate a tool call before a person is asked about it.

The program that builds the engine supplies the policy.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeAlias

from genie_core.room.engine.tool_effects import UNKNOWN_EFFECTS, ToolEffects

Effect: TypeAlias = Literal["allow", "ask", "deny"]
Risk: TypeAlias = Literal["read", "write", "execute", "network", "unknown"]
"""The worst that a tool can do; "unknown" for tools of other vendors."""

EXCEED_BUDGET: Final = "exceed_budget"
"""Tool name of a request to exceed the budget; neither a rule nor auto mode allows it."""


ANSWER_SERVER: Final = "answer_server"
"""Tool name of a tool server's request for the person's input (elicitation)."""

SAMPLE_MODEL: Final = "sample_model"
"""Tool name of a tool server's request for the person's model (sampling)."""

SERVER_REQUESTS: Final = frozenset({ANSWER_SERVER, SAMPLE_MODEL})
"""Requests of tool servers; the room's log has neither their content nor the answer."""

ONLY_PEOPLE_ALLOW: Final = SERVER_REQUESTS | {EXCEED_BUDGET}
"""Requests that neither a rule, a grant nor auto mode allows."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call that an agent wants to make.

    The agent works for `person`; `agent` is its path, such as "system" or "coder:1f2e3d4c".
    """

    person: str
    agent: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """The effect on a call, and the reason as a clause such as "it writes files".

    With `must_ask`, neither a grant nor auto mode answers the request. `effects` are those of the
    call. With `mixed`, a rule allows it although private data, words of others and a way out meet.
    `exact`: the rule names a command word for word. `sources` are texts that agents have been given
    beside the conversation and that others may have written.
    """

    effect: Effect
    because: str
    risk: Risk = "unknown"
    must_ask: bool = False
    effects: ToolEffects = UNKNOWN_EFFECTS
    mixed: bool = False
    exact: bool = False
    sources: tuple[str, ...] = ()


class ApprovalPolicy(Protocol):
    """Decides whether a call is allowed, is denied, or needs a person's answer."""

    def evaluate(self, call: ToolCall) -> PolicyResult:
        """Evaluate a call. May read files of the workspace; must treat arguments as data."""

    def is_covered(self, call: ToolCall, effects: ToolEffects, pattern: str) -> bool:
        """Whether a grant's pattern covers all that a call would do; False in doubt."""


class AskAlways:
    """Asks a person about every call."""

    def evaluate(self, call: ToolCall) -> PolicyResult:
        return PolicyResult("ask", "")

    def is_covered(self, call: ToolCall, effects: ToolEffects, pattern: str) -> bool:
        return False
