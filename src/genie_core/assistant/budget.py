"""Keeping a session within what its owner wants to spend."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import floor
from typing import Any

from genie_core.agent.approval import ApprovalCallback, Verdict, ask_about
from genie_core.agent.base import Agent, AgentInput
from genie_core.assistant.config import Budget
from genie_core.errors import GenieError
from genie_core.message import Message
from genie_core.reasoner.base import GroupReasoner, Response
from genie_core.room.engine.controls import Allowance
from genie_core.room.engine.policy import EXCEED_BUDGET
from genie_core.runtime.progress import Usage, What, also_reporting_to


class BudgetUsedUp(GenieError):
    """The next request would take more than the owner of the engine allowed."""

    def __init__(self, limit: str, spent: str, amount: str) -> None:
        super().__init__(limit, spent, amount)
        self.limit = limit
        self.spent = spent
        self.amount = amount

    def __str__(self) -> str:
        return (
            f"the budget of {self.limit} for this session is used up ({self.spent} spent): "
            f"/budget +{self.amount} goes on"
        )


class BudgetMeter:
    """What a session has taken, and what it may take before its owner is asked."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._allowance = Allowance(money_limit=budget.money, token_limit=budget.tokens)
        self._asking = asyncio.Lock()

    @property
    def allowance(self) -> Allowance:
        """What was spent, and the limits."""
        return self._allowance

    def begin(self, spent: Usage) -> None:
        """Start from what the room's log says was spent before."""
        self.spend(spent)

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

    def obstacle(self, largest: Usage) -> "Excess | None":
        """The limit that one more request, as large as the largest so far, would go beyond."""
        now = self._allowance
        money, tokens = largest.cost or 0.0, largest.input_tokens + largest.output_tokens
        if _beyond(now.money, money, now.money_limit):
            more = _more(now.money + money, now.money_limit, self._budget.money)
            return Excess(now.money, now.money_limit, self._budget.money, money=more)
        if _beyond(now.tokens, tokens, now.token_limit):
            more = _more(now.tokens + tokens, now.token_limit, self._budget.tokens)
            return Excess(now.tokens, now.token_limit, self._budget.tokens, tokens=round(more))
        return None

    async def admit(self, callback: ApprovalCallback, largest: Usage) -> None:
        """Ask the owner before a request that would go over a limit; at most one at a time.

        Raises:
            BudgetUsedUp: they said no.

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
    """A limit that is about to be passed, and how much more would be allowed: one of the two."""

    spent: float
    limit: float
    amount: float
    money: float = 0.0
    tokens: int = 0

    def arguments(self) -> dict[str, Any]:
        """What the owner reads in the question."""
        raised = self.limit + (self.money or self.tokens)
        return {
            "spent": self._shown(self.spent),
            "limit": self._shown(self.limit),
            "next limit": self._shown(raised),
        }

    def error(self) -> BudgetUsedUp:
        """What is told if the answer is no, or nobody can be asked."""
        amount = f"{self.amount:g}" if self.money else f"{self.amount:.0f} tokens"
        return BudgetUsedUp(self._shown(self.limit), self._shown(self.spent), amount)

    def _shown(self, value: float) -> str:
        return f"${value:,.2f}" if self.money else f"{value:,.0f} tokens"


class _Meter:
    """Hands what one agent or reasoner reports to the purse, and knows its largest request."""

    def __init__(self, purse: BudgetMeter) -> None:
        self._purse = purse
        self.largest = Usage("", requests=0)

    def spent(self, usage: Usage) -> None:
        self._purse.spend(usage)
        each = max(usage.requests, 1)
        self.largest = replace(
            self.largest,
            input_tokens=max(
                self.largest.input_tokens, (usage.input_tokens + usage.output_tokens) // each
            ),
            cost=max(self.largest.cost or 0.0, (usage.cost or 0.0) / each),
        )

    def doing(self, what: What, detail: str) -> None:
        """Nothing: it costs nothing."""


@dataclass(frozen=True, slots=True)
class _Cautious:
    """Passes questions on, and asks about the budget before them if it is used up by then.

    A call leads to another request, which its result goes into.
    """

    callback: ApprovalCallback
    purse: BudgetMeter
    meter: _Meter
    takes_schema: bool = True

    async def __call__(
        self, tool_name: str, tool_args: dict[str, Any], schema: dict[str, Any] | None = None
    ) -> Verdict | bool:
        await self.purse.admit(self.callback, self.meter.largest)
        return await ask_about(self.callback, tool_name, tool_args, schema)


class BudgetedAgent(Agent):
    """An agent that asks its owner before it takes more than the purse allows.

    It asks at the start of a run and with each tool call, since another request to the model
    follows both. A denial ends the run with `BudgetUsedUp`. It journals if the agent inside does.
    """

    def __init__(self, inner: Agent, purse: BudgetMeter) -> None:
        self._inner = inner
        self._purse = purse
        self._meter = _Meter(purse)
        if (news := getattr(inner, "get_new_messages", None)) is not None:
            self.get_new_messages: Callable[[], list[Any]] = news

    def get_serialized(self) -> Any:
        """Return the inner agent's state."""
        return self._inner.get_serialized()

    def set_serialized(self, state: Any) -> None:
        """Hand the inner agent its state."""
        self._inner.set_serialized(state)

    @asynccontextmanager
    async def mcp(self) -> AsyncIterator["BudgetedAgent"]:
        """Keep the inner agent's tool servers available."""
        async with self._inner.mcp():
            yield self

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        """Let the inner agent answer, if that may be paid for."""
        with also_reporting_to(self._meter):
            return await self._inner.run(input, await self._admitted(callback))

    async def run_streaming(
        self,
        input: AgentInput,  # noqa: A002 - the contract's name
        callback: ApprovalCallback,
        emit: Callable[[str], None],
    ) -> str:
        """Let the inner agent answer, if that may be paid for."""
        with also_reporting_to(self._meter):
            return await self._inner.run_streaming(input, await self._admitted(callback), emit)

    async def _admitted(self, callback: ApprovalCallback) -> ApprovalCallback:
        await self._purse.admit(callback, self._meter.largest)
        cautious: Any = _Cautious(callback, self._purse, self._meter)
        return cautious  # type: ignore[no-any-return]  # answers what the callback inside answers


class BudgetedReasoner(GroupReasoner):
    """A reasoner that fails with `BudgetUsedUp` rather than take more than the purse allows.

    It can't ask: decisions are made before there is anything to approve. It journals if the
    reasoner inside does.
    """

    def __init__(self, inner: GroupReasoner, purse: BudgetMeter) -> None:
        self._inner = inner
        self._purse = purse
        self._meter = _Meter(purse)
        if (news := getattr(inner, "get_new_messages", None)) is not None:
            self.get_new_messages: Callable[[], list[Any]] = news

    @property
    def processed(self) -> int:
        """How many messages the reasoner inside has taken in."""
        return self._inner.processed

    def get_serialized(self) -> Any:
        """Return the inner reasoner's state."""
        return self._inner.get_serialized()

    def set_serialized(self, serialized: Any) -> None:
        """Hand the inner reasoner its state."""
        self._inner.set_serialized(serialized)

    async def run(self, updates: list[Message]) -> Response:
        """Let the reasoner inside decide, if that may be paid for."""
        if (excess := self._purse.obstacle(self._meter.largest)) is not None:
            raise excess.error()
        with also_reporting_to(self._meter):
            return await self._inner.run(updates)


def _beyond(spent: float, next_: float, limit: float) -> bool:
    return limit > 0 and (spent >= limit or spent + next_ > limit)


def _more(needed: float, limit: float, amount: float) -> float:
    """As many times the budget's own amount as it takes to make room."""
    step = amount or limit
    return step * (floor((needed - limit) / step) + 1)
