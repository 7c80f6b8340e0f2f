"""`genie-tui mcp`, a real process, driven by the MCP SDK's client, in a room on loopback."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.genie_core.room.live_room import DEADLINE, Ear
from tests.limits import scaled

from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import NewRoom, ResumeRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.limits import AGENT_BURST, AGENT_TURNS
from genie_core.settings.locations import Locations
from genie_core.settings.model import Settings

LOCAL = Settings(local=True)
REPOSITORY = Path(__file__).parents[2]
ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY / "src")}


@asynccontextmanager
async def hosted(
    home: Path, saved: str = "", **settings: Any
) -> AsyncIterator[tuple[JoinedRoom, Ear]]:
    """A room of ann's, opened again if it is `saved`."""
    ear = Ear()
    places = Locations(home / "config", home / "data", home / "log")
    opener = RoomOpener("ann", Settings(local=True, **settings), places)
    ann = await opener.enter(ResumeRoom(saved) if saved else NewRoom("Standup"), ear)
    try:
        yield ann, ear
    finally:
        await ann.leave()


@asynccontextmanager
async def agent(
    way: str, home: Path, name: str = "bot", pid: Path | None = None
) -> AsyncIterator[ClientSession]:
    """An MCP client with the room as its server; `pid` gets the id of the process."""
    command = [sys.executable, "-m", "genie_tui", "mcp", way, "--name", name]
    if pid is not None:
        command = ["/bin/sh", "-c", f'echo $$ > "{pid}"; exec "$@"', "sh", *command]
    folder = home / "work"
    folder.mkdir(parents=True, exist_ok=True)
    server = StdioServerParameters(
        command=command[0], args=command[1:], env={**ENV, "GENIE_HOME": str(home)}, cwd=folder
    )
    with (home / "stderr").open("w") as errors:
        async with (
            stdio_client(server, errlog=errors) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session


async def call(session: ClientSession, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """Call a tool that returns lines of JSON."""
    return [json.loads(line) for line in (await text(session, tool, **arguments)).splitlines()]


async def text(session: ClientSession, tool: str, **arguments: Any) -> str:
    result = await session.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    assert not result.is_error, content.text
    return content.text


async def failure(session: ClientSession, tool: str, **arguments: Any) -> str:
    result = await session.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    assert result.is_error, content.text
    return content.text


async def said(ear: Ear, ann: JoinedRoom, words: str) -> None:
    ann.messages.send(words)
    await ear.until(lambda: words in {each.said.text for each in ann.state.threads.values()})


async def test_an_agent_takes_part_through_its_tools(tmp_path: Path) -> None:
    async with hosted(tmp_path / "ann") as (ann, ear):
        await said(ear, ann, "hello\n\x1b[31mred")
        async with agent(ann.hosting.address, tmp_path / "bot") as bot:
            tools = (await bot.list_tools()).tools
            assert {each.name for each in tools} == {
                "read",
                "search",
                "wait",
                "who",
                "say",
                "attach",
            }
            assert all(each.description and each.annotations for each in tools)

            head, line = await call(bot, "read")
            assert (head["room"], line["by"], line["text"]) == ("Standup", "ann", "hello\n␛[31mred")
            _, *people = await call(bot, "who")
            assert people == [
                {"name": "ann", "role": "host"},
                {"name": "bot", "role": "agent", "you": True},
            ]
            told = await text(bot, "say", text="hello ann")
            seq = int(told.removeprefix("recorded as message "))
            await ear.until(lambda: seq in ann.state.threads)
            assert (ann.state.threads[seq].author, ann.state.threads[seq].by_agent) == (
                "bot",
                True,
            )
            assert [line["seq"] for line in (await call(bot, "search", words="HELLO Ann"))[1:]] == [
                line["seq"],
                seq,
            ]
            (tmp_path / "bot" / "work" / "plan.md").write_text("# Plan")
            await text(bot, "attach", path="plan.md", text="the plan")
            assert "outside" in await failure(bot, "attach", path="../stderr")
            _, line = await call(bot, "read", since=seq)
            assert line["files"][0]["name"] == "plan.md"
            assert Path(line["files"][0]["path"]).read_text() == "# Plan"

            (log,) = (await bot.list_resources()).resources
            content = (await bot.read_resource(log.uri)).contents[0]
            assert "hello ann" in content.model_dump()["text"]
            later = (await bot.read_resource(f"room://log/{seq}")).contents[0]
            assert "hello ann" not in later.model_dump()["text"]
            assert "the plan" in later.model_dump()["text"]
        await ear.until(lambda: not ann.state.people["bot"].present)
    assert (tmp_path / "bot" / "stderr").read_text() == ""


async def test_wait_ends_by_timeout_or_cancel(tmp_path: Path) -> None:
    async with (
        hosted(tmp_path / "ann") as (ann, ear),
        agent(ann.hosting.address, tmp_path / "bot") as bot,
    ):
        (head,) = await call(bot, "wait", seconds=0.05)
        assert head["timed_out"] is True
        lines: list[dict[str, Any]] = []

        async def wait() -> None:
            lines.extend(await call(bot, "wait", since=head["last"], seconds=300))

        with anyio.move_on_after(0.05):
            await wait()
        assert lines == []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await said(ear, ann, "now")
        assert [each.get("text") for each in lines] == [None, "now"]


async def test_the_room_moderates_it(tmp_path: Path) -> None:
    async with hosted(tmp_path / "ann") as (ann, ear):
        async with agent(ann.hosting.address, tmp_path / "bot") as bot:
            await call(bot, "who")
            ann.hosting.moderate("mute", "bot")
            await ear.until(lambda: ann.state.people["bot"].muted)
            assert "the host has muted you" in await failure(bot, "say", text="but")
            ann.hosting.moderate("ban", "bot")
            await ear.until(lambda: not ann.state.people["bot"].present)
            assert "does not want you in this room" in await failure(bot, "wait", seconds=300)
            assert "no longer in the room" in await failure(bot, "read")
        async with agent(ann.hosting.address, tmp_path / "bot") as bot:
            assert "does not want you in this room" in await failure(bot, "read")


async def test_agents_do_not_talk_forever(tmp_path: Path) -> None:
    async with hosted(tmp_path / "ann") as (ann, ear):
        way = ann.hosting.address
        async with (
            agent(way, tmp_path / "bot") as bot,
            agent(way, tmp_path / "other", "robot") as other,
        ):
            for _ in range(AGENT_BURST):
                await text(bot, "say", text="you are right")
            assert "messages a minute" in await failure(bot, "say", text="you are right")
            for _ in range(AGENT_TURNS - AGENT_BURST):
                await text(other, "say", text="no, you are right")
            assert "wait until a person writes" in await failure(other, "say", text="no, you")
            await said(ear, ann, "both of you are")
            await text(other, "say", text="thanks")


async def test_it_comes_back_when_the_room_does(tmp_path: Path) -> None:
    home = tmp_path / "ann"
    async with hosted(home) as (ann, _):
        way, saved = ann.hosting.address, ann.saved
        client = agent(way, tmp_path / "bot")
        bot = await client.__aenter__()
        await text(bot, "say", text="before")
    with anyio.fail_after(DEADLINE):
        while "connection" not in (await call(bot, "read"))[0]:
            await anyio.sleep(0.02)
    async with hosted(home, saved) as (ann, ear):
        assert ann.hosting.address == way
        with anyio.fail_after(DEADLINE):
            while "connection" in (await call(bot, "read"))[0]:
                await anyio.sleep(0.02)
        await text(bot, "say", text="after")
        _, *lines = await call(bot, "read", since=0)
        assert [line["text"] for line in lines] == ["before", "after"]
        await client.__aexit__(None, None, None)
        await ear.until(lambda: not ann.state.people["bot"].present)


async def test_the_next_start_is_the_same_member(tmp_path: Path) -> None:
    async with hosted(tmp_path / "ann") as (ann, _):
        async with agent(ann.hosting.address, tmp_path / "bot") as bot:
            await text(bot, "say", text="first")
            key = ann.state.people["bot"].key
        async with agent(ann.hosting.address, tmp_path / "bot") as bot:
            assert [line["by"] for line in (await call(bot, "read"))[1:]] == ["bot"]
            assert ann.state.people["bot"].key == key
        async with agent(ann.hosting.address, tmp_path / "elsewhere") as bot:
            assert "belongs to another key" in await failure(bot, "read")


async def test_a_room_that_is_not_there_and_then_is(tmp_path: Path) -> None:
    home = tmp_path / "ann"
    async with hosted(home) as (ann, _):
        way, saved = ann.hosting.address, ann.saved
    async with agent(way, tmp_path / "bot") as bot:
        assert "you are not in the room: " in await failure(bot, "read")
        async with hosted(home, saved) as (ann, _):
            assert ann.hosting.address == way
            assert len(await call(bot, "who")) == 3


async def test_stranger_needs_valid_invite(tmp_path: Path) -> None:
    async with hosted(tmp_path / "ann") as (ann, _):
        invites = ann.hosting.invites
        assert invites is not None
        old = invites.issue(uses=1)
        invites.renew()
        async with agent(old, tmp_path / "bot") as bot:
            assert "not valid" in await failure(bot, "read")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_and_it_leaves_the_room(number: int, tmp_path: Path) -> None:
    async with hosted(tmp_path / "ann") as (ann, ear):
        pid = tmp_path / "pid"
        async with agent(ann.hosting.address, tmp_path / "bot", pid=pid) as bot:
            await call(bot, "who")
            os.kill(int(pid.read_text()), number)
            await ear.until(lambda: not ann.state.people["bot"].present)


def test_closed_input_ends_it_at_once(tmp_path: Path) -> None:
    done = run("127.0.0.1:1", "--name", "bot", home=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["genie1-nonsense", "--name", "bot"], "this invite can't be used"),
        ([":7654"], "name the agent, for example --name bot"),
        ([":7654", "--name", "a b"], "it contains a space"),
    ],
)
def test_what_can_not_be_used_at_all_is_one_line(
    arguments: list[str], expected: str, tmp_path: Path
) -> None:
    done = run(*arguments, home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_loads_no_screen() -> None:
    code = (
        "import sys, genie_tui.cli.main, genie_bridges.cli.mcp, genie_bridges.mcp.server;"
        "sys.exit(' '.join({'textual', 'pydantic_ai', 'openai', 'agents'} & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=scaled(60), env=ENV)


def run(*arguments: str, home: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "genie_tui", "mcp", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=scaled(60),
        check=False,
        env={**ENV, "GENIE_HOME": str(home)},
    )


async def test_closed_input_ends_a_wait_and_the_visit(tmp_path: Path) -> None:
    async with hosted(tmp_path / "ann") as (ann, ear):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "genie_tui", "mcp", ann.hosting.address, "--name", "bot"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**ENV, "GENIE_HOME": str(tmp_path / "bot")},
        )
        assert process.stdin is not None
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        hello["clientInfo"] = {"name": "test", "version": "1"}
        for frame in (
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {
                "id": 2,
                "method": "tools/call",
                "params": {"name": "say", "arguments": {"text": "hi"}},
            },
            {
                "id": 3,
                "method": "tools/call",
                "params": {"name": "wait", "arguments": {"seconds": 300}},
            },
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
        await ear.until(lambda: ann.state.threads)
        process.stdin.close()
        out, _ = await asyncio.wait_for(process.communicate(), DEADLINE)
        assert process.returncode == 0
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
        await ear.until(lambda: not ann.state.people["bot"].present)
