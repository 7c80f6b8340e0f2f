import asyncio
from typing import Any

import pytest
from tests.genie_core.agent.provider.both import RUNTIMES, bench

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.approval import ApprovalCallback, ApprovalContext, ask_about
from genie_core.assistant.budget import BudgetedAgent, BudgetedReasoner, BudgetMeter, BudgetUsedUp
from genie_core.assistant.config import Budget
from genie_core.errors import GenieError
from genie_core.message import Message
from genie_core.reasoner import Decision
from genie_core.runtime.progress import Usage, reporting_to, spent
from genie_testing.scripted import Emit, ScriptedAgent, ScriptedReasoner, ignore_all
from genie_testing.turns import Call

pytestmark = pytest.mark.timeout(100)


class Owner:
    """Answers what is asked, and keeps it."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def __call__(self, name: str, arguments: dict[str, Any]) -> bool:
        return (await self.verdict(name, arguments)).approved

    async def verdict(
        self, name: str, arguments: dict[str, Any], _schema: dict[str, Any] | None = None
    ) -> Verdict:
        self.asked.append((name, arguments))
        return Verdict(approved=name != "exceed_budget" or self._answers.pop(0))

    @property
    def tools(self) -> list[str]:
        return [name for name, _ in self.asked]


class Heard:
    """Keeps what was spent."""

    def __init__(self) -> None:
        self.usages: list[Usage] = []

    def spent(self, usage: Usage) -> None:
        self.usages.append(usage)

    def doing(self, what: str, detail: str) -> None:
        """Nothing."""


def taking(cost: float, tokens: int = 0) -> ScriptedAgent:
    """An agent that takes so much before and after it calls a tool."""

    async def run(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        spent(Usage("m", 1, tokens, 0, cost=cost))
        await callback("look", {})
        spent(Usage("m", 1, tokens, 0, cost=cost))
        return "done"

    return ScriptedAgent(run)


async def run(agent: BudgetedAgent, owner: Owner) -> str:
    return await agent.run(AgentInput("q"), owner)


async def test_owner_is_asked_before_excess() -> None:
    meter = BudgetMeter(Budget(money=1.0))
    agent, owner, heard = BudgetedAgent(taking(0.3), meter), Owner(True), Heard()
    with reporting_to(heard):
        assert await run(agent, owner) == "done"  # 0.60
        assert owner.tools == ["look"]
        assert await run(agent, owner) == "done"  # 0.90, then a fourth would come to 1.20
    assert owner.asked[1:] == [
        ("exceed_budget", {"spent": "$0.90", "limit": "$1.00", "next limit": "$2.00"}),
        ("look", {}),
    ]
    assert len(heard.usages) == 4
    assert meter.allowance.money == pytest.approx(1.2)
    assert meter.allowance.money_limit == 2.0


async def test_refusal_ends_run_with_advice() -> None:
    meter = BudgetMeter(Budget(tokens=2500))
    agent, owner = BudgetedAgent(taking(0, tokens=1000), meter), Owner(False, False, True)
    await run(agent, owner)
    with pytest.raises(
        BudgetUsedUp, match=r"2,500 tokens .* used up \(2,000 .*raise it with /budget \+2500 tokens"
    ):
        await run(agent, owner)
    with pytest.raises(GenieError):
        await run(agent, owner)
    meter.raise_limits(tokens=5000)
    assert await run(agent, Owner()) == "done"


async def test_logged_spending_counts() -> None:
    meter = BudgetMeter(Budget(money=1.0))
    meter.spend(Usage("m", 9, cost=5.5))
    owner = Owner(True)
    assert await run(BudgetedAgent(taking(0.1), meter), owner) == "done"
    assert owner.tools == ["exceed_budget", "look"]
    assert meter.allowance.money_limit == 6.0


async def test_two_agents_at_once_ask_once() -> None:
    meter = BudgetMeter(Budget(money=1.0))
    meter.spend(Usage("m", cost=1.0))
    owner = Owner(True)
    agents = [BudgetedAgent(taking(0.1), meter) for _ in range(2)]
    await asyncio.gather(*(run(agent, owner) for agent in agents))
    assert owner.tools.count("exceed_budget") == 1


async def test_without_a_budget_nobody_is_asked() -> None:
    meter, owner = BudgetMeter(Budget()), Owner()
    await run(BudgetedAgent(taking(1e6, 10**9), meter), owner)
    assert owner.tools == ["look"]
    assert meter.raise_limits(money=5, tokens=5).money_limit == 0


async def test_the_schema_of_a_call_is_passed_on() -> None:
    shown: list[Any] = []

    class Queue:
        async def put(self, item: Any) -> None:
            shown.append(item.schema)
            item.approve()

    async def look(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        await ask_about(callback, "look", {}, {"type": "object"})
        return ""

    callback = ApprovalContext(Queue()).approval_callback("system")
    await BudgetedAgent(ScriptedAgent(look), BudgetMeter(Budget())).run(AgentInput("q"), callback)
    assert shown == [{"type": "object"}]


async def test_a_reasoner_cannot_ask_and_says_so() -> None:
    meter = BudgetMeter(Budget(money=1.0))
    reasoner = BudgetedReasoner(ScriptedReasoner(ignore_all), meter)
    updates = [Message("hi", "ada")]
    assert (await reasoner.run(updates)).decision is Decision.IGNORE
    meter.spend(Usage("m", cost=1.0))
    with pytest.raises(BudgetUsedUp, match=r"\$1\.00 .*raise it with /budget \+1"):
        await reasoner.run(updates)
    assert reasoner.processed == 1
    meter.raise_limits(money=1.0)
    await reasoner.run(updates)
    assert reasoner.processed == 2


class Journalling(ScriptedAgent):
    """An agent that can tell what is new."""

    def get_new_messages(self) -> list[Any]:
        return ["new"]


async def test_inner_agent_keeps_state_and_tools() -> None:
    meter = BudgetMeter(Budget())
    inner = Journalling()
    agent = BudgetedAgent(inner, meter)
    assert agent.get_new_messages() == ["new"]
    assert not hasattr(BudgetedAgent(ScriptedAgent(), meter), "get_new_messages")
    assert not hasattr(BudgetedReasoner(ScriptedReasoner(), meter), "get_new_messages")
    agent.set_serialized({"queries": ["a"]})
    assert agent.get_serialized() == {"queries": ["a"]}
    async with agent.mcp():
        assert inner.open
    assert not inner.open


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_refusal_ends_run_in_any_library(runtime: str) -> None:
    async def look() -> str:
        """Look."""
        raise AssertionError("it must not be called")

    meter = BudgetMeter(Budget(tokens=1))
    async with bench(runtime, Call("look", {}), tools=[look]) as desk:
        agent, owner = BudgetedAgent(desk.agent(), meter), Owner(False, False)
        with pytest.raises(BudgetUsedUp, match=r"1 tokens .*raise it with /budget \+1 tokens"):
            await run(agent, owner)
        assert owner.tools == ["exceed_budget"]
        assert len(desk.server.requests) == 1
        with pytest.raises(BudgetUsedUp):
            await run(agent, owner)
        assert len(desk.server.requests) == 1
        meter.raise_limits(tokens=10_000)
        assert await run(agent, owner) == "echo: q"
