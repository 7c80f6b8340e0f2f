"""Servers as an agent uses them, on both libraries, over stdio and HTTP."""

import asyncio
import json
import logging
import os
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.assistant.servers.rig import SHOUT, TOY, Bench, Program, bench
from tests.genie_core.assistant.servers.toy_server import SHOUT as SHOUT_TOOL
from tests.genie_core.assistant.servers.toy_server import TOOLS, tool
from tests.genie_core.assistant.servers.toy_web import toy_web
from tests.limits import scaled

import genie_core.agent.provider.openai.servers as on_openai
import genie_core.agent.provider.pydantic_ai.servers as on_pydantic_ai
from genie_core.agent.provider.tool_limit import MOST_TOOLS
from genie_core.assistant.config import Sandbox
from genie_core.assistant.servers import launch as starting
from genie_core.assistant.servers import registry
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.long_results import LONGEST_MESSAGE
from genie_core.assistant.servers.offered_tools import LONGEST_TEXT
from genie_core.assistant.tools.shell.sandbox import find_backend
from genie_testing.turns import Call

pytestmark = pytest.mark.timeout(300)


async def test_tools_have_prefix_and_are_asked(
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
async def test_sandboxed_server_sees_only_shown(
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


@pytest.mark.parametrize("way", ["stdio", "http", "events"])
async def test_huge_result_is_cut_while_read(runtime: str, program: Program, way: str) -> None:
    async with toy_web() as web:
        web.events = way == "events"
        spec = program.spec() if way == "stdio" else ServerSpec("toy", url=web.url)
        async with bench(runtime, spec) as made:
            assert await made.result() == "HEY"  # nothing is left to import
            tracemalloc.start()
            try:
                huge = await made.result(Call("toy_huge", {}))
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert "The result has 50.0 MB and was cut while it was read" in huge
            assert "it begins é" in huge
            assert len(huge) < LONGEST_TEXT + 500
            assert peak < 3 * LONGEST_MESSAGE
            assert await made.result() == "HEY"


async def test_a_call_that_hangs_is_given_up(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with toy_web() as web, bench(runtime, ServerSpec("toy", url=web.url)) as made:
        assert await made.result() == "HEY"  # nothing is left to import, which takes time
    monkeypatch.setattr(starting, "CALL_TIMEOUT", 2.0)
    async with toy_web() as web, bench(runtime, ServerSpec("toy", url=web.url)) as made:
        assert "imed out" in await made.result(Call("toy_hang", {}))
        assert await made.result() == "HEY"


async def test_crash_is_reported_and_retried(runtime: str, program: Program) -> None:
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


async def test_failed_start_loses_only_own_tools(
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
        assert "'/nowhere/at-all' does not exist" in without_file.detail
        assert len(made.notes.notes) == 3
        assert "no such database" not in made.model.requests[-1].instructions

        made.clock.now += 1.0
        await made.ask()
        assert made.board.servers[0].retry_in == 2.0
        made.clock.now += 2.0
        program.does("serve")
        assert await made.result() == "HEY"


async def test_hanging_servers_share_one_timeout(
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


async def test_slow_server_delays_no_answer(
    runtime: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = Program(tmp_path / "works.json")
    works.does("serve")
    gate = tmp_path / "gate"
    program.does("slow", until=str(gate))
    async with bench(runtime, program.spec(), works.spec("works")) as made:
        monkeypatch.setattr(registry, "PATIENCE", 0.01)
        last = await made.ask()
        assert "'toy' are not there yet" in last.instructions
        assert not [name for name in last.tools if name.startswith("toy_")]
        assert "tool server 'toy' is still starting" in made.notes.notes[0]
        assert made.board.servers[0].state == "starting"
        monkeypatch.setattr(registry, "PATIENCE", 5.0)  # the other one is ready by then
        calls = (Call("works_shout", {"text": "a"}), SHOUT)
        last = await made.ask(*calls, approve=partial(ready_behind, gate, made, "toy"))
        assert last.tool_results[-1] == "HEY"
        assert made.notes.notes[-1] == "tool server 'toy' is ready"
        process = json.loads(await made.result(Call("toy_tell", {})))["process"]
        assert process == json.loads(await made.result(Call("toy_tell", {})))["process"]


async def test_late_excess_tools_are_left_out(
    runtime: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    works = Program(tmp_path / "works.json")
    works.does("serve")
    gate = tmp_path / "gate"
    many = [tool(f"t{number}") for number in range(MOST_TOOLS)]
    program.does("slow", until=str(gate), tools=many)
    async with bench(runtime, works.spec("works"), program.spec()) as made:
        monkeypatch.setattr(registry, "PATIENCE", 0.01)
        await made.ask()
        monkeypatch.setattr(registry, "PATIENCE", 5.0)  # the other one is ready by then
        shout = Call("works_shout", {"text": "a"})
        last = await made.ask(shout, shout, approve=partial(ready_behind, gate, made, "toy"))
        assert len(last.tools) == MOST_TOOLS
        (note,) = {each for each in made.notes.notes if "not offered" in each}
        assert "tool server 'toy'" in note
        assert made.board.servers[1].left_out > 0


async def ready_behind(
    gate: Path, made: Bench, server: str, _name: str, _arguments: dict[str, Any]
) -> bool:
    """Let the slow server start, and wait until it is there."""
    gate.touch()
    (place,) = (n for n, each in enumerate(made.board.servers) if each.name == server)
    async with asyncio.timeout(scaled(60)):
        while made.board.servers[place].state != "ready":
            await asyncio.sleep(0.01)
    return True


async def test_unstarted_server_ends_with_agent(
    runtime: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.does("stuck")
    monkeypatch.setattr(registry, "PATIENCE", 0.01)
    async with bench(runtime, program.spec()) as made:
        await made.ask()
        await made.ask()
        assert made.state == "starting"


async def test_changed_tools_never_pose_builtin(runtime: str) -> None:
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


async def test_lost_address_can_come_back(runtime: str) -> None:
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


async def test_failure_is_shared_on_registry(runtime: str, program: Program) -> None:
    program.does("exit")
    async with bench(runtime, program.spec()) as one:
        await one.ask()
        program.does("serve")
        async with bench(runtime, program.spec(), board=one.board) as other:
            assert "tried again in 1 seconds" in (await other.ask()).instructions
            one.clock.now += 1.0
            assert await other.result() == "HEY"
            assert await one.result() == "HEY"


async def test_excess_tools_are_left_out(runtime: str, program: Program) -> None:
    program.does("serve", tools=[tool(f"t{number}") for number in range(MOST_TOOLS + 2)])
    async with bench(runtime, program.spec()) as made:
        last = await made.ask(Call("toy_t1", {}))
        assert len(last.tools) == len(made.board.tools) == MOST_TOOLS
        (note,) = [each for each in made.notes.notes if "not offered" in each]
        assert "2 of its 130 tools" in note
        assert made.board.servers[0].left_out == 2


async def test_tool_limit_counts_all_servers(
    runtime: str, program: Program, tmp_path: Path
) -> None:
    other = Program(tmp_path / "other.json")
    for each, count in ((program, 100), (other, 40)):
        each.does("serve", tools=[tool(f"t{number}") for number in range(count)])
    async with bench(runtime, program.spec(), other.spec("other")) as made:
        last = await made.ask(Call("other_t27", {}), Call("other_t28", {}))
        assert len(last.tools) == len(made.board.tools) == MOST_TOOLS
        assert made.asked == ["other_t27"]
        assert [each.left_out for each in made.board.servers] == [0, 12]
        (note,) = [each for each in made.notes.notes if "not offered" in each]
        assert "tool server 'other': 12 of its 40 tools are not offered" in note
        other.does("exit")


async def test_a_hint_is_a_claim_and_no_permission(runtime: str, program: Program) -> None:
    liar = {**SHOUT_TOOL, "annotations": {"readOnlyHint": True, "destructiveHint": False}}
    program.does("serve", tools=[liar, tool("plain")])
    async with bench(runtime, program.spec()) as made:
        await made.ask(SHOUT)
        assert made.asked == ["toy_shout"]
        assert [each.claim for each in made.board.tools] == ["it only reads", ""]
        assert made.board.claim("toy_shout") == "it only reads"
        assert made.board.claim("read_file") == ""
