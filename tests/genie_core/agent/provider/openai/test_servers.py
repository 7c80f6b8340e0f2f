"""Tool servers that are real processes, alive and dead."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from tests.genie_core.agent.provider.both import Reports
from tests.genie_core.agent.provider.openai.doubles import Approver, Desk, ask, desk
from tests.limits import scaled

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.openai import DefaultAgent, servers
from genie_core.errors import StageFailed
from genie_core.runtime.progress import reporting_to
from genie_testing.turns import Call, Calls, Say

pytestmark = pytest.mark.timeout(100)

DEMO = str(Path(__file__).with_name("mcp_demo.py"))
SHOUT = Call("shout", {"text": "hey"})


@pytest.fixture(name="desk")  # which of the two interfaces it is makes no difference here
async def _desk() -> AsyncIterator[Desk]:
    async with desk("responses") as opened:
        yield opened


def stdio(*arguments: str, **options: Any) -> MCPServerStdio:
    return MCPServerStdio(
        {"command": sys.executable, "args": [DEMO, *arguments]}, name="demo", **options
    )


def missing(name: str = "absent") -> MCPServerStdio:
    return MCPServerStdio({"command": "/nowhere/at-all"}, name=name)


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


async def kill_server(agent: DefaultAgent, desk: Desk) -> None:
    desk.server.script(Call("process", {}), Say("ok"))
    await ask(agent)
    os.kill(int(desk.last.tool_results[-1]), signal.SIGKILL)


async def test_its_tools_are_asked_for_and_called(desk: Desk) -> None:
    desk.server.script(SHOUT, Say("ok"))
    approver = Approver()
    agent, reports = desk.agent(mcp_servers=[stdio("sdk")]), Reports()
    with reporting_to(reports):
        async with agent.mcp():
            assert await agent.run(AgentInput("go"), approver) == "ok"
    start, model, *_ = reports.doings
    assert (start.startswith("asking tool server"), model) == (True, "asking")
    assert start.endswith("to start")
    assert approver.asked == [("shout", {"text": "hey"})]
    assert desk.last.tool_results == ["HEY"]


async def test_denials_and_edits_apply(desk: Desk) -> None:
    desk.server.script(Calls(*[SHOUT] * 3), Say("ok"))
    verdicts = (
        Verdict(approved=False, reason="too loud"),
        Verdict(approved=True, arguments={"text": "psst"}),
        Verdict(approved=True, arguments={"words": "psst"}),
    )
    async with (agent := desk.agent(mcp_servers=[stdio()])).mcp():
        await ask(agent, "go", *verdicts)
    denied, edited, unfit = desk.last.tool_results
    assert "not allow" in denied
    assert "too loud" in denied
    assert edited == "PSST"
    assert "do not fit shout" in unfit


async def test_one_process_serves_all_runs(desk: Desk) -> None:
    desk.server.script(Call("process", {}), Say("ok"), Call("process", {}), Say("ok"))
    async with (agent := desk.agent(mcp_servers=[stdio()])).mcp():
        await ask(agent)
        await ask(agent)
    first, second = desk.last.tool_results
    assert first == second
    with pytest.raises(ProcessLookupError):
        os.kill(int(first), 0)


async def test_without_mcp_a_server_lives_for_one_run(desk: Desk) -> None:
    desk.server.script(Call("process", {}), Say("ok"))
    await ask(desk.agent(mcp_servers=[stdio()]))
    with pytest.raises(ProcessLookupError):
        os.kill(int(desk.last.tool_results[0]), 0)


@pytest.mark.parametrize("cached", [False, True])
async def test_death_between_runs_restarts(desk: Desk, cached: bool) -> None:
    async with (agent := desk.agent(mcp_servers=[stdio(cache_tools_list=cached)])).mcp():
        await kill_server(agent, desk)
        desk.server.script(SHOUT, Say("ok"))
        assert await ask(agent) == "ok"
    assert desk.last.tool_results[-1] == "HEY"


async def test_death_in_run_is_named_and_mended(desk: Desk) -> None:
    server = stdio(client_session_timeout_seconds=None)  # the SDK would wait for ever
    async with (agent := desk.agent(mcp_servers=[server])).mcp():
        desk.server.script(Call("crash", {}), SHOUT, Say("sorry"))
        assert await ask(agent) == "sorry"
        assert all("demo" in result for result in desk.last.tool_results)
        assert all("cannot be used" in result for result in desk.last.tool_results)
        desk.server.script(SHOUT, Say("ok"))
        assert await ask(agent) == "ok"
    assert desk.last.tool_results[-1] == "HEY"


async def test_failed_start_fails_only_run(desk: Desk, tmp_path: Path) -> None:
    late = tmp_path / "server"
    server = MCPServerStdio({"command": str(late)}, name="late")
    async with (agent := desk.agent(mcp_servers=[server])).mcp():
        with pytest.raises(StageFailed, match="late") as failed:
            await ask(agent)
        assert failed.value.stage == "tools"
        late.write_text(f"#!/bin/sh\nexec {sys.executable} {DEMO}\n")
        late.chmod(0o700)
        desk.server.script(Say("ok"))
        assert await ask(agent) == "ok"
    assert "shout" in desk.last.tools


async def test_dead_server_spares_others(desk: Desk) -> None:
    desk.server.script(SHOUT, Say("ok"))
    async with (agent := desk.agent("be nice", mcp_servers=[missing(), stdio()])).mcp():
        assert await ask(agent) == "ok"
    assert desk.last.tool_results == ["HEY"]
    assert "'absent' cannot be used" in desk.last.instructions


async def test_a_server_on_http_may_go_and_come_back(desk: Desk) -> None:
    async with http() as (port, process):
        address = f"http://127.0.0.1:{port}/mcp"
        agent = desk.agent(mcp_servers=[MCPServerStreamableHttp({"url": address}, name="web")])
        async with agent.mcp():
            desk.server.script(SHOUT, Say("ok"))
            assert await ask(agent) == "ok"
            process.kill()
            await process.wait()
            with pytest.raises(StageFailed, match="web"):
                await ask(agent)
            async with http(port):
                desk.server.script(SHOUT, Say("ok"))
                assert await ask(agent) == "ok"
    assert desk.last.tool_results == ["HEY", "HEY"]


async def test_http_server_death_is_reported(desk: Desk) -> None:
    async with http() as (port, process):
        address = f"http://127.0.0.1:{port}/mcp"
        agent = desk.agent(mcp_servers=[MCPServerStreamableHttp({"url": address}, name="web")])

        async def kill(_name: str, _arguments: dict[str, Any]) -> bool:
            process.kill()
            await process.wait()
            return True

        async with agent.mcp():
            desk.server.script(SHOUT, Say("sorry"))
            assert await agent.run(AgentInput("go"), kill) == "sorry"
    assert "'web' cannot be used" in desk.last.tool_results[0]


async def test_a_key_in_an_address_is_told_to_nobody(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """The SDK makes a server's name of its address."""
    web = MCPServerStreamableHttp({"url": "http://127.0.0.1:1/mcp?token=0123456789"})
    agent = desk.agent(mcp_servers=[web, stdio()])
    async with agent.mcp():
        assert await ask(agent) == "echo: go"
    assert "127.0.0.1:1/mcp" in desk.last.instructions
    assert "127.0.0.1:1/mcp" in caplog.text
    with pytest.raises(StageFailed, match=r"127\.0\.0\.1:1/mcp") as failed:
        await ask(desk.agent(mcp_servers=[web]))
    told = str(failed.value) + repr(failed.value) + desk.last.instructions + caplog.text
    assert "0123456789" not in told


class Stubborn(MCPServerStdio):
    """A server that can be told not to start or not to end."""

    def __init__(self) -> None:
        super().__init__({"command": sys.executable, "args": [DEMO]}, name="stubborn")
        self.starting = asyncio.Event()
        self.may_start = asyncio.Event()
        self.may_end = asyncio.Event()

    async def connect(self) -> None:
        self.starting.set()
        await self.may_start.wait()
        await super().connect()  # type: ignore[no-untyped-call]  # the SDK gives no types

    async def cleanup(self) -> None:
        await self.may_end.wait()
        await super().cleanup()  # type: ignore[no-untyped-call]  # the SDK gives no types


async def test_run_can_be_cancelled_during_start(desk: Desk) -> None:
    server = Stubborn()
    server.may_end.set()
    async with (agent := desk.agent(mcp_servers=[server])).mcp():
        run = asyncio.create_task(ask(agent))
        await server.starting.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        server.may_start.set()
        desk.server.script(SHOUT, Say("ok"))
        assert await ask(agent) == "ok"


async def test_one_that_never_starts_is_given_up(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "START_TIMEOUT", 0.1)
    server = Stubborn()
    server.may_end.set()
    async with (agent := desk.agent(mcp_servers=[server])).mcp():
        with pytest.raises(StageFailed, match="did not start within"):
            await ask(agent)


async def test_one_that_never_ends_is_cut_off(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "CLOSE_TIMEOUT", 0.1)
    server = Stubborn()
    server.may_start.set()
    desk.server.script(Say("ok"))
    async with asyncio.timeout(scaled(60)), (agent := desk.agent(mcp_servers=[server])).mcp():
        assert await ask(agent) == "ok"
    server.may_end.set()
    await server.cleanup()
