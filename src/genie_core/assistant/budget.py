"""Limiting the costs of a session."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import floor
from typing import Any

from genie_core.agent.approval import ApprovalCallback, Verdict, ask_about
from genie_core.agent.base import Agent
from genie_core.assistant.config import Budget
from genie_core.assistant.forwarding import ForwardingAgent
from genie_core.errors import GenieError
from genie_core.message import Message
from genie_core.reasoner.base import GroupReasoner, Response
from genie_core.room.engine.approval_policy import EXCEED_BUDGET
from genie_core.room.engine.controls import Allowance
from genie_core.runtime.progress import Usage, What, also_reporting_to


class BudgetUsedUp(GenieError):
    """The next request would exceed the budget of the engine's owner."""

    template = (
        "the budget of {limit} for this session is used up ({spent} spent): "
        "raise it with /budget +{amount}"
    )
    limit: str
    spent: str
    amount: str


class BudgetMeter:
    """Counts the costs of a session and asks its owner before it exceeds a limit."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._allowance = Allowance(money_limit=budget.money, token_limit=budget.tokens)
        self._asking = asyncio.Lock()

    @property
    def allowance(self) -> Allowance:
        """The amounts spent and the limits."""
        return self._allowance

    def spend(self, usage: Usage) -> None:
        now = self._allowance
        self._allowance = replace(
            now,
            money=now.money + (usage.cost or 0.0),
            tokens=now.tokens + usage.input_tokens + usage.output_tokens,
        )

    def raise_limits(self, *, money: float = 0.0, tokens: int = 0) -> Allowance:
        """Raise the limits by these amounts; a limit of 0 stays unlimited."""
        now = self._allowance
        self._allowance = replace(
            now,
            money_limit=now.money_limit + money if now.money_limit else 0.0,
            token_limit=now.token_limit + tokens if now.token_limit else 0,
        )
        return self._allowance

    def obstacle(self, largest: Usage) -> "Excess | None":
        """Return the limit that a request as large as `largest` would exceed, or None."""
        now = self._allowance
        money, tokens = largest.cost or 0.0, largest.input_tokens + largest.output_tokens
        if _exceeds(now.money, money, now.money_limit):
            more = _increase(now.money + money, now.money_limit, self._budget.money)
            return Excess(now.money, now.money_limit, self._budget.money, money=more)
        if _exceeds(now.tokens, tokens, now.token_limit):
            more = _increase(now.tokens + tokens, now.token_limit, self._budget.tokens)
            return Excess(now.tokens, now.token_limit, self._budget.tokens, tokens=round(more))
        return None

    async def admit(self, callback: ApprovalCallback, largest: Usage) -> None:
        """Ask the owner before a request that would exceed a limit; one question at a time.

        Raises:
            BudgetUsedUp: the owner refused.
        """
        if self.obstacle(largest) is None:
            return
        async with self._asking:
            while (excess := self.obstacle(largest)) is not None:
                if not await callback(EXCEED_BUDGET, excess.arguments()):
                    raise excess.error()
                self.raise_limits(money=excess.money, tokens=excess.tokens)


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit about to be exceeded, and the proposed increase in money or tokens."""

    spent: float
    limit: float
    amount: float
    money: float = 0.0
    tokens: int = 0

    def arguments(self) -> dict[str, Any]:
        """The content of the question to the owner."""
        raised = self.limit + (self.money or self.tokens)
        return {
            "spent": self._shown(self.spent),
            "limit": self._shown(self.limit),
            "next limit": self._shown(raised),
        }

    def error(self) -> BudgetUsedUp:
        """The error if the owner refuses or can't be asked."""
        amount = f"{self.amount:g}" if self.money else f"{self.amount:.0f} tokens"
        return BudgetUsedUp(self._shown(self.limit), self._shown(self.spent), amount)

    def _shown(self, value: float) -> str:
        return f"${value:,.2f}" if self.money else f"{value:,.0f} tokens"


class _UsageRecorder:
    """Reports the usage of one agent or reasoner, and remembers its largest request."""

    def __init__(self, meter: BudgetMeter) -> None:
        self._meter = meter
        self.largest = Usage("", requests=0)

    def spent(self, usage: Usage) -> None:
        self._meter.spend(usage)
        each = max(usage.requests, 1)
        self.largest = replace(
            self.largest,
            input_tokens=max(
                self.largest.input_tokens, (usage.input_tokens + usage.output_tokens) // each
            ),
            cost=max(self.largest.cost or 0.0, (usage.cost or 0.0) / each),
        )

    def doing(self, what: What, detail: str) -> None:
        """Ignore: progress costs nothing."""


@dataclass(frozen=True, slots=True)
class _BudgetedCallback:
    """Checks the budget before it forwards an approval request.

    Each tool call leads to another model request, which receives the result.
    """

    callback: ApprovalCallback
    meter: BudgetMeter
    usage: _UsageRecorder

    async def __call__(self, tool_name: str, tool_args: dict[str, Any]) -> bool:
        return (await self.verdict(tool_name, tool_args)).approved

    async def verdict(
        self, tool_name: str, tool_args: dict[str, Any], schema: dict[str, Any] | None = None
    ) -> Verdict:
        await self.meter.admit(self.callback, self.usage.largest)
        return await ask_about(self.callback, tool_name, tool_args, schema)


class BudgetedAgent(ForwardingAgent):
    """An agent that asks its owner before it exceeds the budget.

    Checks at the start of a run and before each tool call, since a model request follows both. A
    refusal ends the run with `BudgetUsedUp`.
    """

    def __init__(self, inner: Agent, meter: BudgetMeter) -> None:
        super().__init__(inner)
        self._meter = meter
        self._usage = _UsageRecorder(meter)

    @asynccontextmanager
    async def around(self, callback: ApprovalCallback) -> AsyncIterator[ApprovalCallback]:
        with also_reporting_to(self._usage):
            await self._meter.admit(callback, self._usage.largest)
            yield _BudgetedCallback(callback, self._meter, self._usage)


class BudgetedReasoner(GroupReasoner):
    """A reasoner that fails with `BudgetUsedUp` before it exceeds the budget.

    It can't ask the owner: a decision precedes any approval. Has `get_new_messages` only if the
    inner reasoner has.
    """

    def __init__(self, inner: GroupReasoner, meter: BudgetMeter) -> None:
        self._inner = inner
        self._meter = meter
        self._usage = _UsageRecorder(meter)
        if (news := getattr(inner, "get_new_messages", None)) is not None:
            self.get_new_messages: Callable[[], list[Any]] = news

    @property
    def processed(self) -> int:
        return self._inner.processed

    def get_serialized(self) -> Any:
        return self._inner.get_serialized()

    def set_serialized(self, serialized: Any) -> None:
        self._inner.set_serialized(serialized)

    async def run(self, updates: list[Message]) -> Response:
        if (excess := self._meter.obstacle(self._usage.largest)) is not None:
            raise excess.error()
        with also_reporting_to(self._usage):
            return await self._inner.run(updates)


def _exceeds(spent: float, next_: float, limit: float) -> bool:
    return limit > 0 and (spent >= limit or spent + next_ > limit)


def _increase(needed: float, limit: float, amount: float) -> float:
    """Return the smallest multiple of the budget's amount that makes room."""
    step = amount or limit
    return step * (floor((needed - limit) / step) + 1)
