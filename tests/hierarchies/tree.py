"""Agents that direct others, each of which does what a test says, without any model."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from tests.limits import scaled

from genie_core.agent import (
    Agent,
    AgentFactory,
    AgentInfo,
    AgentInput,
    AgentRunner,
    Approval,
    ApprovalCallback,
    ApprovalContext,
    AsyncTool,
)
from genie_core.agent.runner import Query
from genie_core.datastore import DataStore
from genie_testing import ScriptedAgent

Tools: TypeAlias = dict[str, AsyncTool]
Act: TypeAlias = Callable[[ScriptedAgent, Tools, str, ApprovalCallback], Awaitable[str]]
"""What an agent does: itself, its tools, the query and whom to ask in, the answer out."""


async def recall(agent: ScriptedAgent, _tools: Tools, query: str, _ask: ApprovalCallback) -> str:
    """Answer with everything the agent was ever asked."""
    return ",".join([*agent.queries, query])


async def ask_first(agent: ScriptedAgent, tools: Tools, query: str, ask: ApprovalCallback) -> str:
    """Answer like `recall`, once that is approved."""
    return await recall(agent, tools, query, ask) if await ask("recall", {}) else "denied"


async def forward(_agent: ScriptedAgent, tools: Tools, query: str, _ask: ApprovalCallback) -> str:
    """Take the query for a JSON list of calls, make them all at once, return their results."""
    calls = [tools["run_subagent"](**call) for call in json.loads(query)]
    return json.dumps(await asyncio.gather(*calls))


def call(query: str, name: str, instance: str | None = None) -> dict[str, Any]:
    """Write one call for `forward`."""
    return {"query": query, "subagent_name": name, "subagent_instance": instance}


def tree(
    system: Act = forward, *, made: list[ScriptedAgent] | None = None, **others: Act
) -> AgentFactory:
    """Make a factory of a system agent and others by name, which notes whom it has made."""

    def creator(act: Act) -> Any:
        def create(_secrets: dict[str, str], extra_tools: Tools, agent_infos: Any) -> Agent:
            agent = ScriptedAgent()

            async def run(input: AgentInput, ask: ApprovalCallback, _emit: Any) -> str:  # noqa: A002 - as in Agent.run
                return await act(agent, extra_tools, input.query, ask)

            agent.script = run
            if made is not None:
                made.append(agent)
            return agent

        return create

    factory = AgentFactory(creator(system))
    for name, act in others.items():
        factory.add_agent_factory_fn(creator(act), AgentInfo(name, name))
    return factory


def root(factory: AgentFactory, store: DataStore | None = None, **more: Any) -> AgentRunner:
    """Run the system agent of one person."""
    return AgentRunner("system", "system", "alice", factory, store, **more)


async def answers(runner: AgentRunner, *calls: dict[str, Any]) -> list[dict[str, str]]:
    """Have a `forward` agent make calls, approving everything, and return the results."""
    everything = ApprovalContext(asyncio.Queue(), auto_approve=True)
    async with asyncio.timeout(scaled(60)):
        reply = await runner.submit(Query(json.dumps(calls), everything))
    return [json.loads(each) for each in json.loads(reply.text)]


async def put_away(runner: AgentRunner) -> None:
    """Stop a runner and wait for its end."""
    runner.stop()
    async with asyncio.timeout(scaled(60)):
        await runner.join()


async def next_of(queue: "asyncio.Queue[Approval]") -> Approval:
    """Wait for a request for approval."""
    async with asyncio.timeout(scaled(60)):
        return await queue.get()
