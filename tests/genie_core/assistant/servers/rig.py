"""An agent with tool servers and a scripted model, on either library."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from pydantic_ai.models import Model
from tests.genie_core.agent.provider.openai.doubles import desk
from tests.genie_core.agent.provider.pydantic_ai.clients import chat_model
from tests.genie_core.assistant.servers import toy_server
from tests.limits import scaled

from genie_core.agent import Agent, AgentInput
from genie_core.agent.approval import ApprovalCallback
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.openai import ConfiguredServer
from genie_core.assistant.servers.pydantic_ai import server_toolset
from genie_core.assistant.servers.registry import ServerRegistry
from genie_core.assistant.servers.tool_server import ToolServer
from genie_core.runtime.progress import Usage, What, reporting_to
from genie_testing.openai import FakeOpenAI, ModelRequest
from genie_testing.turns import Call, Say, Turn

TOY = str(Path(toy_server.__file__))
SHOUT = Call("toy_shout", {"text": "hey"})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Program:
    """What the toy server is to do from its next start on."""

    file: Path

    def does(self, mode: str, **more: Any) -> None:
        self.file.write_text(json.dumps({"mode": mode, **more}))

    def spec(self, name: str = "toy", *args: str, **more: Any) -> ServerSpec:
        return ServerSpec(name, sys.executable, (TOY, str(self.file), *args), **more)


@dataclass
class Notes:
    """Takes what runs report."""

    notes: list[str] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    def spent(self, usage: Usage) -> None:
        self.usages.append(usage)

    def doing(self, what: What, detail: str) -> None:
        if what == "note":
            self.notes.append(detail)


@dataclass
class Bench:
    """An agent with a scripted model, and what is to be seen of its servers."""

    agent: Agent
    model: FakeOpenAI
    board: ServerRegistry
    clock: Clock
    notes: Notes
    asked: list[str] = field(default_factory=list)

    async def ask(self, *turns: Turn, approve: ApprovalCallback | None = None) -> ModelRequest:
        """Run one query, by default with everything approved; returns the last request."""
        self.model.script(*turns, Say("ok"))

        async def allow(name: str, _arguments: dict[str, Any]) -> bool:
            self.asked.append(name)
            return True

        with reporting_to(self.notes):
            assert await self.agent.run(AgentInput("go"), approve or allow) == "ok"
        return self.model.requests[-1]

    async def result(self, turn: Turn = SHOUT) -> str:
        return (await self.ask(turn)).tool_results[-1]

    @property
    def state(self) -> str:
        return self.board.servers[0].state


@asynccontextmanager
async def bench(
    runtime: str,
    *specs: ServerSpec,
    keys: Mapping[str, str] | None = None,
    board: ServerRegistry | None = None,
    auth: Callable[[], httpx2.Auth | None] = lambda: None,
) -> AsyncIterator[Bench]:
    """An agent with these servers, alone or beside another one with the same board."""
    clock = Clock()
    alone = board is None
    board = board or ServerRegistry(specs, clock)
    async with asyncio.timeout(scaled(240)), desk("chat") as there:
        agent: Agent

        async def model() -> Model:
            return chat_model(there.server)

        tool_servers = [
            ToolServer(spec, keys or {}, board.connection(spec.name), model, auth())
            for spec in specs
        ]
        if runtime == "pydantic-ai":
            toolsets = [server_toolset(each) for each in tool_servers]
            agent = DefaultAgent("be nice", chat_model(there.server), toolsets=toolsets)
        else:
            servers = [ConfiguredServer(each) for each in tool_servers]
            agent = there.agent("be nice", mcp_servers=servers)
        async with agent.mcp():
            yield Bench(agent, there.server, board, clock, Notes())
    assert not alone or all(each.state in {"idle", "down"} for each in board.servers)
