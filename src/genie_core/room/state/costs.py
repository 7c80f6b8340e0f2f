"""The usage of a room's agents, by payer and purpose."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias, TypeVar

from genie_core.room.protocol.events import MOST_SPENDINGS, NAME_CHARS, Spending
from genie_core.runtime.progress import REASONER, Usage

MOST_KEYS: Final = 500
"""How many sums are kept separately, for any log."""

OTHER: Final = "(others)"

K = TypeVar("K")

Key: TypeAlias = tuple[str, str, str]
"""The engine's owner, the kind of agent, the model."""


@dataclass(slots=True)
class Costs:
    """Sums over the log; adding to them costs the same however long the log is.

    `silence` is the cost of decisions to ignore, by payer, which is part of the rest. For
    `unpriced` ones, some cost is not known.
    """

    by_key: dict[Key, Usage] = field(default_factory=dict)
    silence: dict[str, Usage] = field(default_factory=dict)
    unpriced: set[Key] = field(default_factory=set)

    def add(self, payer: str, spendings: Iterable[Spending], *, silent: bool = False) -> None:
        """Add the usage of one step."""
        for each in islice(spendings, MOST_SPENDINGS):
            usage = each.usage
            key = self._key(payer, kind_of(each.agent), usage.model)
            _add(self.by_key, key, usage)
            if usage.cost is None and usage.requests:
                self.unpriced.add(key)
            if silent:
                _add(self.silence, payer, usage)

    def _key(self, payer: str, agent: str, model: str) -> Key:
        """Return the key under which to count; rare ones share one."""
        key = payer, agent, model
        return key if key in self.by_key or len(self.by_key) < MOST_KEYS else (payer, OTHER, OTHER)

    def of(self, payer: str) -> Usage:
        """Return the total of one person's engine."""
        return total(usage for key, usage in self.by_key.items() if key[0] == payer)


def total(usages: Iterable[Usage]) -> Usage:
    """Add up usages."""
    whole = Usage("", requests=0)
    for usage in usages:
        whole += usage
    return whole


def kind_of(agent: str) -> str:
    """The last agent's name in a path, without its instance."""
    return agent.rpartition("/")[2].partition(":")[0][:NAME_CHARS] or REASONER


def _add(sums: dict[K, Usage], key: K, usage: Usage) -> None:
    known = sums.get(key)
    sums[key] = usage if known is None else known + usage
