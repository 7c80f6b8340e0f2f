"""Keeping a session within what its owner wants to spend."""

from dataclasses import replace

from genie_core.assistant.config import Budget
from genie_core.progress import Usage
from genie_core.room.workbench import Allowance


class Purse:
    """What a session has taken, and what it may take before its owner is asked."""

    def __init__(self, budget: Budget) -> None:
        self._allowance = Allowance(money_limit=budget.money, token_limit=budget.tokens)

    @property
    def allowance(self) -> Allowance:
        """What was spent, and the limits."""
        return self._allowance

    def spend(self, usage: Usage) -> None:
        """Take note of what requests took."""
        now = self._allowance
        self._allowance = replace(
            now,
            money=now.money + (usage.cost or 0.0),
            tokens=now.tokens + usage.input_tokens + usage.output_tokens,
        )

    def raise_limits(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        """Allow so much more; a limit of 0 stays none."""
        now = self._allowance
        self._allowance = replace(
            now,
            money_limit=now.money_limit + money if now.money_limit else 0.0,
            token_limit=now.token_limit + tokens if now.token_limit else 0,
        )
        return self._allowance
