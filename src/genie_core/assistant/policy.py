"""The rules by which tool calls are allowed, denied, or put before a person."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from genie_core.assistant.config import Rule
from genie_core.room.costs import kind_of
from genie_core.room.judge import Call, Judgement, Risk

READS: Final = "it only reads"


def _nothing_known(_agent: str, _tool: str) -> Risk:
    return "unknown"


@dataclass(frozen=True, slots=True)
class Policy:
    """Judges calls by a person's rules.

    `risk_of` tells the risk of an agent's tool by both their names: "unknown" for all that is not
    built in. Built-in tools that only read are allowed, everything else is asked about.
    """

    rules: Sequence[Rule] = ()
    risk_of: Callable[[str, str], Risk] = field(default=_nothing_known)

    def judge(self, call: Call) -> Judgement:
        """Decide about a call."""
        risk = self.risk_of(kind_of(call.agent), call.tool)
        if risk == "read":
            return Judgement("allow", READS, risk)
        return Judgement("ask", "", risk)
