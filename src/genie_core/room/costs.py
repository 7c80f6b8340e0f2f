"""What a room's agents have taken, by who paid and for what."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from genie_core.progress import REASONER, Usage
from genie_core.room.event import Spending

Key: TypeAlias = tuple[str, str, str]
"""Whose engine it was, the kind of agent, the model."""


@dataclass(slots=True)
class Costs:
    """Sums of what the log tells; adding to them costs the same however long the log is.

    `silence` is what decisions to ignore took, which is part of the rest.
    """

    by_key: dict[Key, Usage] = field(default_factory=dict)
    silence: dict[str, Usage] = field(default_factory=dict)

    def add(self, payer: str, spendings: Iterable[Spending], *, silent: bool = False) -> None:
        """Take in what one step took."""
        for each in spendings:
            usage = each.usage
            key = payer, kind_of(each.agent), each.model
            known = self.by_key.get(key)
            self.by_key[key] = usage if known is None else known + usage
            if silent:
                before = self.silence.get(payer)
                self.silence[payer] = usage if before is None else before + usage

    def of(self, payer: str) -> Usage:
        """What one person's engine took in all."""
        return total(usage for key, usage in self.by_key.items() if key[0] == payer)


def total(usages: Iterable[Usage]) -> Usage:
    """Add up; nothing at all is no request."""
    whole = Usage("", requests=0)
    for usage in usages:
        whole += usage
    return whole


def kind_of(agent: str) -> str:
    """The name of the agent at the end of a path, without its instance."""
    return agent.rpartition("/")[2].partition(":")[0] or REASONER
