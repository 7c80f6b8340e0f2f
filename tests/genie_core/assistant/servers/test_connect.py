"""Servers as an agent uses them, on both libraries, over stdio and HTTP."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic_ai.models
import pytest
from tests.genie_core.agent.provider.openai.doubles import desk
from tests.genie_core.agent.provider.pydantic_ai.clients import chat_model
from tests.genie_core.assistant.servers import toy_server
from tests.genie_core.assistant.servers.toy_server import TOOLS, tool
from tests.genie_core.assistant.servers.toy_web import toy_web

import genie_core.agent.provider.openai.servers as on_openai
import genie_core.agent.provider.pydantic_ai.servers as on_pydantic_ai
from genie_core.agent import Agent, AgentInput
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.assistant.config import Sandbox
from genie_core.assistant.servers import launch as starting
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.offered_tools import LONGEST_TEXT, MOST_TOOLS
from genie_core.assistant.servers.openai import ConfiguredServer
from genie_core.assistant.servers.pydantic_ai import server_toolset
from genie_core.assistant.servers.registry import ServerRegistry
from genie_core.assistant.tools.shell.sandbox import find_backend
from genie_core.runtime.progress import Usage, What, reporting_to
from genie_core.testing.openai import FakeOpenAI, ModelRequest
from genie_core.testing.turns import Call, Say, Turn

pytestmark = pytest.mark.timeout(300)

TOY = str(Path(toy_server.__file__))
SHOUT = Call("toy_shout", {"text": "hey"})


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)


@pytest.fixture(params=["pydantic-ai", "openai-agents"])
def runtime(request: pytest.FixtureRequest) -> str:
    return str(request.param)


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


@pytest.fixture
def program(tmp_path: Path) -> Program:
    made = Program(tmp_path / "toy.json")
    made.does("serve")
    return made


@dataclass
class Notes:
    """Takes what runs report."""

    notes: list[str] = field(default_factory=list)

    def spent(self, usage: Usage) -> None:
        pass

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

    async def ask(self, *turns: Turn) -> ModelRequest:
        """Run one query with everything approved; returns the last request to the model."""
        self.model.script(*turns, Say("ok"))

        async def approve(name: str, _arguments: dict[str, Any]) -> bool:
            self.asked.append(name)
            return True

        with reporting_to(self.notes):
            assert await self.agent.run(AgentInput("go"), approve) == "ok"
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
) -> AsyncIterator[Bench]:
    """An agent with these servers, alone or beside another one with the same board."""
    clock = Clock()
    alone = board is None
    board = board or ServerRegistry(specs, clock)
    async with asyncio.timeout(240), desk("chat") as there:
        agent: Agent
        if runtime == "pydantic-ai":
            toolsets = [
                server_toolset(spec, keys or {}, board.connection(spec.name)) for spec in specs
            ]
            agent = DefaultAgent("be nice", chat_model(there.server), toolsets=toolsets)
        else:
            servers = [
                ConfiguredServer(spec, keys or {}, board.connection(spec.name)) for spec in specs
            ]
            agent = there.agent("be nice", mcp_servers=servers)
        async with agent.mcp():
            yield Bench(agent, there.server, board, clock, Notes())
    assert not alone or all(each.state in {"idle", "down"} for each in board.servers)


async def test_its_tools_carry_its_name_are_asked_for_and_report(
    runtime: str, program: Program, capfd: pytest.CaptureFixture[str], caplog: Any
) -> None:
    caplog.set_level(logging.INFO)
    keys = {"GIT_TOKEN": "v3ry-private-value", "WHO": "ann"}
    spec = program.spec("toy", "${WHO}", env={"T": "${GIT_TOKEN}"}, cwd=str(program.file.parent))
    program.does("serve", says="v3ry-private-value")
    async with bench(runtime, spec, keys=keys) as made:
        assert made.state == "idle"
        last = await made.ask(SHOUT, Call("toy_tell", {}))
        assert made.asked == ["toy_shout", "toy_tell"]
        assert sorted(last.tools) == sorted(f"toy_{each['name']}" for each in TOOLS)
        assert [each.name for each in made.board.tools] == [f"toy_{each['name']}" for each in TOOLS]
        assert made.board.tools[0].description == "Say it in capitals."
        assert made.board.servers[0].tools == len(TOOLS)
        assert made.state == "ready"
        shouted, told = last.tool_results
        assert shouted == "HEY"
        about = json.loads(told)
        assert about["args"][1:] == ["ann"]
        assert about["cwd"] == str(program.file.parent)
        assert about["env"]["T"]
        assert set(about["env"]) <= {
            *("T", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
            *("LC_CTYPE", "__CF_USER_TEXT_ENCODING", "PWD"),
        }
        again = json.loads(await made.result(Call("toy_tell", {})))
        assert again["process"] == about["process"]
    assert made.state == "idle"
    with pytest.raises(ProcessLookupError):
        os.kill(about["process"], 0)
    captured = capfd.readouterr()
    assert "hello from the server" not in captured.out + captured.err
    assert "tool server 'toy': hello from the server [hidden]" in caplog.text
    assert "v3ry-private-value" not in caplog.text + repr(made.board.servers)


@pytest.mark.skipif(not find_backend().name, reason=find_backend().reason)
async def test_one_in_a_sandbox_sees_what_the_settings_show(
    runtime: str, program: Program, tmp_path: Path
) -> None:
    program.does("serve")
    folder = tmp_path / "folder"
    folder.mkdir()
    hidden = program.spec("hidden", cwd=str(folder), sandbox=Sandbox())
    settings = Sandbox(readable=(Path(TOY), program.file))
    spec = program.spec(cwd=str(folder), sandbox=settings)
    async with bench(runtime, spec, hidden) as made:
        about = json.loads(await made.result(Call("toy_tell", {})))
        assert about["cwd"] == str(folder)
        assert about["process"] < 10, "it counts only its own processes"
        assert [each.state for each in made.board.servers] == ["ready", "down"]
        assert "No such file" in made.board.servers[1].detail


async def test_what_goes_wrong_in_a_tool_is_a_result(runtime: str, program: Program) -> None:
    async with bench(runtime, program.spec()) as made:
        flood = await made.result(Call("toy_flood", {}))
        assert LONGEST_TEXT < len(flood) < LONGEST_TEXT + 200
        assert "characters omitted" in flood
        # More often than a model may correct itself: the run must not end over it.
        last = await made.ask(*[Call("toy_fail", {})] * 6)
        assert all("it is broken" in each for each in last.tool_results[-6:])
        assert made.state == "ready"


async def test_a_call_that_hangs_is_given_up(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with toy_web() as web, bench(runtime, ServerSpec("toy", url=web.url)) as made:
        assert await made.result() == "HEY"  # nothing is left to import, which takes time
    monkeypatch.setattr(starting, "CALL_TIMEOUT", 2.0)
    async with toy_web() as web, bench(runtime, ServerSpec("toy", url=web.url)) as made:
        assert "imed out" in await made.result(Call("toy_hang", {}))
        assert await made.result() == "HEY"


async def test_one_that_dies_in_a_call_says_so_and_comes_back_after_a_pause(
    runtime: str, program: Program
) -> None:
    async with bench(runtime, program.spec()) as made:
        assert await made.result() == "HEY"
        died = await made.result(Call("toy_crash", {}))
        assert "'toy' cannot be used" in died
        assert "it has ended" in died
        assert made.state == "down"
        assert made.board.servers[0].retry_in == 1.0
        assert made.board.tools == ()

        last = await made.ask()
        assert list(last.tools) == []
        assert "tried again in 1 seconds" in last.instructions
        assert "be nice" in last.instructions
        assert "tried again in 1 seconds" in made.notes.notes[-1]

        made.clock.now += 1.0
        last = await made.ask(SHOUT)
        assert last.tool_results[-1] == "HEY"
        assert "cannot be used" not in last.instructions
        assert made.board.servers[0].detail == ""


async def test_one_that_does_not_start_costs_its_tools_only(
    runtime: str, program: Program, tmp_path: Path
) -> None:
    program.does("exit", says="no such database")
    works = Program(tmp_path / "works.json")
    works.does("serve")
    keyless = ServerSpec("keyless", "x", env={"A": "${GENIE_TEST_NOWHERE}"})
    absent = ServerSpec("absent", "/nowhere/at-all")
    specs = (program.spec(), works.spec("works"), keyless, absent)
    async with bench(runtime, *specs) as made:
        assert await made.result(Call("works_shout", {"text": "hey"})) == "HEY"
        toy, other, without_key, without_file = made.board.servers
        assert (toy.state, toy.retry_in) == ("down", 1.0)
        assert toy.detail == (
            "it has ended, or closed the connection; its last output: "
            "hello from the server no such database"
        )
        assert other.state == "ready"
        assert "needs GENIE_TEST_NOWHERE" in without_key.detail
        assert "No such file" in without_file.detail
        assert len(made.notes.notes) == 3
        assert "no such database" not in made.model.requests[-1].instructions

        made.clock.now += 1.0
        await made.ask()
        assert made.board.servers[0].retry_in == 2.0
        made.clock.now += 2.0
        program.does("serve")
        assert await made.result() == "HEY"


async def test_those_that_hang_are_waited_for_at_the_same_time_and_not_for_ever(
    runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {mode: Program(tmp_path / mode) for mode in ("deaf", "unlisted", "stuck")}
    for mode, program in programs.items():
        program.does(mode)
    monkeypatch.setattr(on_pydantic_ai, "START_TIMEOUT", 1.0)
    monkeypatch.setattr(on_openai, "START_TIMEOUT", 1.0)
    specs = [program.spec(mode) for mode, program in programs.items()]
    async with bench(runtime, *specs) as made:
        await made.ask()
        for server in made.board.servers:
            assert (server.state, server.retry_in) == ("down", 1.0)
            assert "did not start within 1 seconds" in server.detail
        monkeypatch.setattr(on_pydantic_ai, "START_TIMEOUT", 100.0)
        monkeypatch.setattr(on_openai, "START_TIMEOUT", 100.0)
        made.clock.now += 1.0
        for program in programs.values():
            program.does("serve")
        shouts = [Call(f"{mode}_shout", {"text": "hey"}) for mode in programs]
        assert (await made.ask(*shouts)).tool_results[-3:] == ["HEY"] * 3


async def test_tools_may_change_and_none_passes_for_a_built_in_one(runtime: str) -> None:
    async with toy_web() as web, bench(runtime, ServerSpec("read", url=web.url)) as made:
        web.tools = [tool("file", "x" * 10_000), tool("read_file"), tool("a.b")]
        last = await made.ask()
        assert len(last.tools) == 3
        assert "read_read_file" in last.tools
        assert "read_file" not in last.tools
        (pretender,) = (each for each in last.tools if each.startswith("read_file_"))
        assert pretender in [each.name for each in made.board.tools]
        assert all("." not in each for each in last.tools)
        web.tools = [tool("shout"), tool("shout")]
        assert await made.result(Call("read_shout", {"text": "hey"})) == "HEY"
        assert [each.name for each in made.board.tools] == ["read_shout"]


async def test_an_address_may_go_in_a_call_and_come_back(runtime: str) -> None:
    async with toy_web() as web:
        spec = ServerSpec(
            "toy",
            url="${TOY_URL}?token=${TOY_TOKEN}",
            headers={"Authorization": "Bearer ${TOY_TOKEN}"},
        )
        keys = {"TOY_URL": web.url, "TOY_TOKEN": "t0ken-of-the-toy"}
        async with bench(runtime, spec, keys=keys) as made:
            assert await made.result() == "HEY"
            assert "/mcp?token=t0ken-of-the-toy" in web.heads[0]
            assert "bearer t0ken-of-the-toy" in web.heads[0].lower()
            assert "'toy' cannot be used" in await made.result(Call("toy_crash", {}))
            assert made.state == "down"
            made.clock.now += 1.0
            await made.ask()
            assert made.board.servers[0].retry_in == 2.0
            assert "t0ken" not in repr(made.board.servers) + str(made.notes.notes)
            await web.start()
            made.clock.now += 2.0
            assert await made.result() == "HEY"


async def test_a_failure_is_known_to_all_agents_of_one_board(
    runtime: str, program: Program
) -> None:
    program.does("exit")
    async with bench(runtime, program.spec()) as one:
        await one.ask()
        program.does("serve")
        async with bench(runtime, program.spec(), board=one.board) as other:
            assert "tried again in 1 seconds" in (await other.ask()).instructions
            one.clock.now += 1.0
            assert await other.result() == "HEY"
            assert await one.result() == "HEY"


async def test_more_tools_than_a_model_takes_are_left_out_with_a_note(
    runtime: str, program: Program
) -> None:
    program.does("serve", tools=[tool(f"t{number}") for number in range(MOST_TOOLS + 2)])
    async with bench(runtime, program.spec()) as made:
        last = await made.ask(Call("toy_t1", {}))
        assert len(last.tools) == len(made.board.tools) == MOST_TOOLS
        (note,) = [each for each in made.notes.notes if "not offered" in each]
        assert "2 of its 130 tools" in note
