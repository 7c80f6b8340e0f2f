"""What goes wrong is one line where people look, and the room goes on: on both libraries."""

import json
import sys
from pathlib import Path

import pytest
from tests.contract.assisted import KEY, config, room_of_two, served_by
from tests.genie_core.assistant.servers import toy_server
from tests.genie_core.assistant.servers.toy_server import SHOUT, tool
from tests.genie_core.assistant.servers.toy_web import toy_web

from genie_core.assistant.config import AgentSpec, Rule, Runtime, ToolLimits
from genie_core.room.client.model import Answer
from genie_core.room.protocol.events import AnswerPosted, ApprovalResolved, RunCancelled
from genie_core.room.state.thread import Phase
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Calls, Refuse, Say

pytestmark = pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])

ALLOWED = (Rule("allow"),)
TOY = str(Path(toy_server.__file__))


def servers_file(folder: Path, **servers: object) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


async def test_dead_tool_servers_spare_room(runtime: Runtime, tmp_path: Path) -> None:
    does = tmp_path / "toy.json"
    does.write_text(json.dumps({"mode": "serve"}))
    async with toy_web() as web, FakeOpenAI(api_key=KEY) as server:
        file = servers_file(
            tmp_path,
            stdio={"command": sys.executable, "args": [TOY, str(does)]},
            web={"url": web.url},
            dead={"command": sys.executable, "args": ["-c", "raise SystemExit('no database')"]},
        )
        rules = (Rule("ask", "calculate"), *ALLOWED)
        settings = config(server, runtime=runtime, servers_file=file, rules=rules)
        async with room_of_two(tmp_path / "room", settings) as two:
            server.script(
                Call("stdio_fail", {}),
                Call("stdio_crash", {}),
                Call("web_crash", {}),
                Call("calculate", {"expression": "1+1"}),
                Say("oh"),
            )
            two.ann.joined.messages.send("@genie try them all")
            call = await two.ann.asked()
            gone = "cannot be used: it has ended, or closed the connection"
            whole = (
                f"'dead' {gone}",
                f"'stdio' {gone}",
                f"'web' {gone}",
                "stdio_fail failed",
            )
            await two.bob.noted(*whole)  # as long as the run goes on, notes are passed on
            for each in (*whole, "stdio_fail: it is broken"):
                assert len([note for note in two.ann.notes if each in note]) == 1
            assert not any("it is broken" in note for note in two.bob.notes)
            assert two.ann.joined.approvals.answer(call.id, Answer(allow=True))
            thread = await two.bob.ended("@genie try them all")
            assert thread.answer is not None, thread.error
            server.script(Say("still here"))
            two.bob.joined.messages.send("@genie, and now?")
            two.ann.joined.messages.send("@genie and now?")
            thread = await two.bob.ended("@genie and now?")
            assert thread.answer is not None, thread.error
            assert thread.answer.text == "still here"


async def test_tool_refusals_are_shown_to_people(runtime: Runtime, tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    workspace.mkdir()
    (workspace / "link").symlink_to(tmp_path / "elsewhere.txt")
    (tmp_path / "elsewhere.txt").write_text("not to be read")
    runs = f"{sys.executable} -c "
    floods = runs + "\"import sys; sys.stdout.write('x' * 100_000_000)\""
    binary = runs + '"import sys; sys.stdout.buffer.write(bytes(range(256)))"'
    hangs = runs + '"import time; time.sleep(600)"'
    async with FakeOpenAI(api_key=KEY) as server, FakeOpenAI(Refuse(401), api_key=KEY) as other:
        settings = config(
            server,
            runtime=runtime,
            workspace=workspace,
            limits=ToolLimits(command_seconds=60.0),
            agents=(AgentSpec("coder", "Codes.", model=served_by(other, "x")),),
            rules=(Rule("ask", "calculate"), *ALLOWED),
        )
        async with room_of_two(tmp_path / "room", settings) as two:
            server.script(
                Calls(
                    Call("read_file", {"path": "../elsewhere.txt"}),
                    Call("read_file", {"path": "link"}),
                    Call("grep_files", {"pattern": "x", "folder": "../.."}),
                    Call("run_command", {"command": floods}),
                    Call("run_command", {"command": binary}),
                    Call("run_command", {"command": hangs, "seconds": 0.5}),
                    Call("run_subagent", {"query": "Code!", "subagent_name": "coder"}),
                    Call("calculate", {"expression": "1+1"}),
                ),
                Say("oh"),
            )
            two.ann.joined.messages.send("@genie try them all")
            call = await two.ann.asked()
            assert two.ann.joined.approvals.answer(
                call.id, Answer(allow=True, arguments={"sum": 2})
            )
            thread = await two.bob.ended("@genie try them all")
            assert thread.answer is not None, thread.error
            assert thread.answer.text == "oh"
            await two.ann.noted(
                "'../elsewhere.txt' lies outside the workspace",
                "'link' lies outside the workspace",
                "'../..' lies outside the workspace",
                "printed 100,000,000 bytes, too many to keep them all",
                "printed 256 bytes that are not text",
                "was ended after 0.5 seconds",
                "does not accept the key",
                "calculate: the arguments entered by the user do not fit calculate",
            )
            await two.bob.noted("coder:", "the model's provider refused the key")
            assert not any("does not accept" in note for note in two.bob.notes)
            told = "".join(server.requests[-1].tool_results)
            assert "the model's provider refused the key" in told
            assert other.base_url not in told
            assert "not to be read" not in told
            assert len(told) < 200_000


async def test_withheld_error_reaches_only_owner(runtime: Runtime, tmp_path: Path) -> None:
    async with FakeOpenAI(api_key=KEY) as server:
        settings = config(server, runtime=runtime, workspace=tmp_path)
        async with room_of_two(tmp_path / "room", settings) as two:
            server.script(Call("read_file", {"path": "../private/plan"}), Say("I can't."))
            two.bob.joined.messages.send("@genie what is the plan?")
            two.ann.joined.approvals.answer((await two.ann.asked()).id, Answer(allow=True))
            await two.bob.ended("@genie what is the plan?")
            await two.ann.noted("'../private/plan' lies outside the workspace")
            assert two.bob.notes == []


async def test_hanging_tool_can_be_stopped(runtime: Runtime, tmp_path: Path) -> None:
    async with toy_web() as web, FakeOpenAI(api_key=KEY) as server:
        file = servers_file(tmp_path, toy={"url": web.url})
        settings = config(server, runtime=runtime, servers_file=file)
        async with room_of_two(tmp_path / "room", settings) as two:
            ann = two.ann

            async def hangs(text: str, *more: Call) -> int:
                server.script(Calls(Call("toy_hang", {}), *more))
                ann.joined.messages.send(text)
                await ann.ear.until(lambda: len(ann.joined.state.open) == 1 + len(more))
                call = next(p for p in ann.joined.state.open.values() if p.tool == "toy_hang")
                count = len(two.bob.ear.progress)
                assert ann.joined.approvals.answer(call.id, Answer(allow=True))
                await two.bob.ear.until(
                    lambda: (
                        ("calling", "toy_hang")
                        in [(what, detail) for *_, what, detail in two.bob.ear.progress[count:]]
                    )
                )
                return call.message

            message = await hangs("@genie one")
            assert ann.joined.engine.stop(message) == 1
            assert (await two.bob.ended("@genie one")).phase is Phase.CANCELLED

            await hangs("@genie two", Call("toy_shout", {"text": "hey"}))
            await ann.ear.until(lambda: len(ann.joined.state.open) == 1)
            (shout,) = ann.joined.state.open
            assert ann.joined.approvals.answer(shout, Answer(allow=False, stop=True))
            assert (await two.bob.ended("@genie two")).phase is Phase.CANCELLED
            assert [each.reason for each in two.bob.bodies(RunCancelled)] == ["stopped by ann"] * 2

            server.script(Say("free again"))
            ann.joined.messages.send("@genie three")
            thread = await two.bob.ended("@genie three")
            assert thread.answer is not None, thread.error
            assert thread.answer.text == "free again"


async def test_parked_call_needs_unchanged_tool(runtime: Runtime, tmp_path: Path) -> None:
    calls = Calls(Call("toy_shout", {"text": "hey"}), Call("toy_tell", {}))
    async with toy_web() as web, FakeOpenAI(api_key=KEY) as server:
        file = servers_file(tmp_path, toy={"url": web.url})
        settings = config(server, runtime=runtime, servers_file=file)
        async with room_of_two(tmp_path / "room", settings) as two:
            server.script(calls)
            two.ann.joined.messages.send("@genie shout and tell")
            await two.ann.ear.until(lambda: len(two.ann.joined.state.open) == 2)
            await two.ann.joined.leave()
            events = two.live.sink.events

        other = {**SHOUT, "inputSchema": {"type": "object", "properties": {"text": {}, "at": {}}}}
        web.tools = [other, tool("tell")]
        async with room_of_two(tmp_path / "room", settings, events=events) as two:
            parked = two.ann.joined.state.parked
            assert sorted(each.tool for each in parked.values()) == ["toy_shout", "toy_tell"]
            server.script(calls, Say("one of two"))
            for approval in list(parked):
                assert two.ann.joined.approvals.answer(approval, Answer(allow=True))
            await two.bob.ear.until(lambda: two.bob.bodies(AnswerPosted))
            shouted, told = server.requests[-1].tool_results[-2:]
            assert "the tool has changed since this call was allowed" in shouted
            assert "HEY" not in shouted
            assert '"args"' in told
            fates = {each.reason or "": each.outcome for each in two.bob.bodies(ApprovalResolved)}
            assert "denied" in [fates[why] for why in fates if "the tool has changed" in why]
