"""Tool servers that are real processes, alive and dead."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from fastmcp.client.transports import StdioTransport
from pydantic_ai import FunctionToolset
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
from tests.genie_core.agent.provider.both import Reports
from tests.genie_core.agent.provider.pydantic_ai.clients import chat_model
from tests.limits import scaled

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.pydantic_ai import DefaultAgent, ToolFilter, servers
from genie_core.errors import StageFailed
from genie_core.runtime.progress import reporting_to
from genie_testing.openai import FakeOpenAI, ModelRequest
from genie_testing.turns import Call, Calls, Say, Turn

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("loopback")]

DEMO = str(Path(__file__).parents[1] / "openai" / "mcp_demo.py")
SHOUT = Call("shout", {"text": "hey"})


@pytest.fixture
async def provider() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        yield server


def stdio(*arguments: str, **options: Any) -> MCPToolset[Any]:
    patient = {"init_timeout": 30.0, **options}  # the usual 5 s are little for a slow machine
    return MCPToolset(StdioTransport(sys.executable, [DEMO, *arguments]), id="demo", **patient)


def missing() -> MCPToolset[Any]:
    return MCPToolset(StdioTransport("/nowhere/at-all", []), id="absent")


@asynccontextmanager
async def http(port: int = 0) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, DEMO, str(port), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield int(await process.stdout.readline()), process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def agent_with(
    provider: FakeOpenAI, *toolsets: AbstractToolset[Any]
) -> AsyncIterator[DefaultAgent]:
    agent = DefaultAgent("be nice", chat_model(provider), toolsets=toolsets)
    async with asyncio.timeout(scaled(60)), agent.mcp():
        yield agent


async def allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True


async def ask(agent: DefaultAgent, provider: FakeOpenAI, *turns: Turn) -> ModelRequest:
    """Run one query, with everything approved, and return the last request to the model."""
    provider.script(*turns, Say("ok"))
    assert await agent.run(AgentInput("go"), allow) == "ok"
    return provider.requests[-1]


async def test_its_tools_are_asked_for_and_called(provider: FakeOpenAI) -> None:
    asked: list[tuple[str, Any]] = []
    verdicts = iter(
        [
            Verdict(approved=True),
            Verdict(approved=False, reason="too loud"),
            Verdict(approved=True, arguments={"text": "psst"}),
        ]
    )

    async def approve(name: str, arguments: dict[str, Any]) -> Any:
        asked.append((name, arguments))
        return next(verdicts)

    provider.script(Calls(SHOUT, SHOUT, SHOUT), Say("ok"))
    with reporting_to(reports := Reports()):
        async with agent_with(provider, stdio("sdk")) as agent:
            assert await agent.run(AgentInput("go"), approve) == "ok"
    start, model, *_ = reports.doings
    assert (start.startswith("asking tool server"), model) == (True, "asking")
    assert start.endswith("to start")
    assert asked == [("shout", {"text": "hey"})] * 3
    allowed, denied, edited = provider.requests[-1].tool_results
    assert (allowed, edited) == ("HEY", "PSST")
    assert "too loud" in denied


async def test_a_filter_chooses_among_its_tools(provider: FakeOpenAI) -> None:
    filtered = stdio().filtered(ToolFilter(included=["shout", "crash"], excluded=["crash"]))
    async with agent_with(provider, filtered) as agent:
        assert list((await ask(agent, provider)).tools) == ["shout"]


async def test_one_process_serves_all_runs(
    provider: FakeOpenAI,
) -> None:
    async with agent_with(provider, stdio()) as agent:
        await ask(agent, provider, Call("process", {}))
        first, second = (await ask(agent, provider, Call("process", {}))).tool_results
    assert first == second
    with pytest.raises(ProcessLookupError):
        os.kill(int(first), 0)


@pytest.mark.parametrize("cached", [True, False])
async def test_death_between_runs_restarts(provider: FakeOpenAI, cached: bool) -> None:
    async with agent_with(provider, stdio(cache_tools=cached)) as agent:
        (process,) = (await ask(agent, provider, Call("process", {}))).tool_results
        os.kill(int(process), signal.SIGKILL)
        assert (await ask(agent, provider, SHOUT)).tool_results[-1] == "HEY"


@pytest.mark.parametrize("cached", [True, False])
async def test_death_in_run_is_named_and_mended(provider: FakeOpenAI, cached: bool) -> None:
    async with agent_with(provider, stdio(cache_tools=cached)) as agent:
        last = await ask(agent, provider, Call("crash", {}))
        assert "'demo' cannot be used" in last.tool_results[0]
        assert "'demo' cannot be used" in last.instructions
        assert list(last.tools) == []
        assert (await ask(agent, provider, SHOUT)).tool_results[-1] == "HEY"
    assert "cannot be used" not in provider.requests[-1].instructions


async def test_failing_tool_stays_available(provider: FakeOpenAI) -> None:
    async def fetch() -> str:
        """Fetch a page."""
        raise ConnectionResetError("no luck")

    async with agent_with(provider, FunctionToolset[Any]([fetch])) as agent:
        last = await ask(agent, provider, Call("fetch", {}), Call("fetch", {}))
    assert "no luck" in last.tool_results[-1]
    assert list(last.tools) == ["fetch"]


async def test_calls_beside_dying_server_end(provider: FakeOpenAI) -> None:
    async with agent_with(provider, stdio()) as agent:
        calls = Calls(Call("crash", {}), SHOUT, SHOUT)
        results = (await ask(agent, provider, calls)).tool_results
    assert len(results) == 3
    assert "'demo' cannot be used" in results[0]


async def test_failed_start_fails_only_run(provider: FakeOpenAI, tmp_path: Path) -> None:
    late = tmp_path / "late"
    async with agent_with(provider, MCPToolset(StdioTransport(str(late), []))) as agent:
        with pytest.raises(StageFailed, match="tool server 'late'") as failed:
            await ask(agent, provider)
        assert failed.value.stage == "tools"
        assert provider.requests == []
        late.write_text(f"#!/bin/sh\nexec {sys.executable} {DEMO}\n")
        late.chmod(0o700)
        assert list((await ask(agent, provider)).tools) == ["shout", "process", "crash"]


async def test_dead_server_spares_others(provider: FakeOpenAI) -> None:
    async with agent_with(provider, missing(), stdio()) as agent:
        last = await ask(agent, provider, SHOUT)
    assert last.tool_results == ["HEY"]
    assert "'absent' cannot be used" in last.instructions
    assert "be nice" in last.instructions


async def test_a_server_on_http_may_go_and_come_back(provider: FakeOpenAI) -> None:
    async with http() as (port, process):
        web = MCPToolset[Any](f"http://127.0.0.1:{port}/mcp", id="web")
        async with agent_with(provider, web) as agent:
            assert (await ask(agent, provider, SHOUT)).tool_results == ["HEY"]
            process.kill()
            await process.wait()
            with pytest.raises(StageFailed, match="web"):
                await agent.run(AgentInput("go"), allow)
            async with http(port):
                assert (await ask(agent, provider, SHOUT)).tool_results == ["HEY", "HEY"]


async def test_http_server_death_is_reported(provider: FakeOpenAI) -> None:
    async with http() as (port, process):
        web = MCPToolset[Any](f"http://127.0.0.1:{port}/mcp", id="web")

        async def kill(_name: str, _arguments: dict[str, Any]) -> bool:
            process.kill()
            await process.wait()
            return True

        provider.script(SHOUT, Say("sorry"))
        async with agent_with(provider, web) as agent:
            assert await agent.run(AgentInput("go"), kill) == "sorry"
    assert "'web' cannot be used" in provider.requests[-1].tool_results[0]


async def test_two_agents_may_share_a_server_that_dies(provider: FakeOpenAI) -> None:
    shared = stdio()
    async with agent_with(provider, shared) as one, agent_with(provider, shared) as other:
        await ask(one, provider, Call("crash", {}))
        assert (await ask(other, provider, SHOUT)).tool_results == ["HEY"]


class Stubborn(WrapperToolset[Any]):
    """A server that can be told not to start or not to end."""

    def __init__(self) -> None:
        super().__init__(FunctionToolset[Any]([]))
        self.starting = asyncio.Event()
        self.may_start = asyncio.Event()
        self.may_end = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.starting.set()
        await self.may_start.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.may_end.wait()


async def test_run_can_be_cancelled_during_start(provider: FakeOpenAI) -> None:
    server = Stubborn()
    server.may_end.set()
    async with agent_with(provider, server) as agent:
        run = asyncio.create_task(ask(agent, provider))
        await server.starting.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        server.may_start.set()
        await ask(agent, provider)


async def test_one_that_never_starts_is_given_up(
    provider: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "START_TIMEOUT", 0.1)
    async with agent_with(provider, Stubborn()) as agent:
        with pytest.raises(StageFailed, match="did not start within"):
            await ask(agent, provider)


async def test_one_that_never_ends_is_left_behind(
    provider: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "CLOSE_TIMEOUT", 0.1)
    server = Stubborn()
    server.may_start.set()
    async with agent_with(provider, server) as agent:
        await ask(agent, provider)
        await ask(agent, provider)


SECRET = "0123456789"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["-u", "server.py", "--key", SECRET], r"'run server\.py'"),
        (["--key", SECRET, "server.py"], "'run'"),
        (["-H", f"X-Key: {SECRET}"], "'run'"),
        ([f"postgresql://me:{SECRET}@host/db"], r"'run postgresql://\[hidden\]@host/db'"),
        ([], "'run'"),
    ],
)
async def test_command_line_stays_private(
    provider: FakeOpenAI, arguments: list[str], name: str
) -> None:
    toolset = MCPToolset[Any](StdioTransport("/nowhere/run", arguments))
    async with agent_with(provider, toolset) as agent:
        with pytest.raises(StageFailed, match=f"tool server {name}:") as failed:
            await ask(agent, provider)
    assert SECRET not in str(failed.value)
