"""What tool servers ask of a person, in a room of two over loopback: on both libraries."""

import json
import sys
from pathlib import Path

import pytest
from tests.contract.assisted import KEY, config, room_of_two
from tests.genie_core.assistant.servers import toy_server
from tests.genie_core.assistant.servers.toy_server import SHOUT, tool

from genie_core.assistant.config import Rule, Runtime
from genie_core.room.client.model import Answer
from genie_core.room.engine.approval_policy import ANSWER_SERVER, SAMPLE_MODEL
from genie_core.room.protocol.events import ApprovalRequested, ApprovalResolved
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Call, Say

pytestmark = pytest.mark.parametrize("runtime", ["pydantic-ai", "openai-agents"])

SECRET = "my own answer"


def toys(folder: Path, *tools: object) -> Path:
    """A file of servers with the toy server, which has these tools."""
    does, file = folder / "toy.json", folder / "mcp.json"
    does.write_text(json.dumps({"mode": "serve", "tools": tools}))
    toy = {"command": sys.executable, "args": [str(toy_server.__file__), str(does)]}
    file.write_text(json.dumps({"mcpServers": {"toy": toy}}))
    return file


async def test_question_stays_with_owner(runtime: Runtime, tmp_path: Path) -> None:
    async with FakeOpenAI(api_key=KEY) as server:
        file = toys(tmp_path, tool("ask"))
        settings = config(server, runtime=runtime, servers_file=file, rules=(Rule("allow"),))
        async with room_of_two(tmp_path / "room", settings) as two:
            two.ann.joined.engine.set_auto(on=True)
            server.script(Call("toy_ask", {}), Say("done"))
            two.ann.joined.messages.send("@genie ask")
            asked = await two.ann.asked()
            assert (asked.tool, asked.arguments["message"]) == (ANSWER_SERVER, "Who are you?")
            assert "answer" in (two.ann.joined.approvals.schema(asked.id) or {})["properties"]
            arguments = {**asked.arguments, "answer": {"name": SECRET}}
            assert two.ann.joined.approvals.answer(asked.id, Answer(True, arguments=arguments))
            assert (await two.bob.ended("@genie ask")).answer is not None
            told = json.loads(server.requests[-1].tool_results[-1])
            assert told == {"action": "accept", "content": {"name": SECRET}}
            (seen,) = [
                each for each in two.bob.bodies(ApprovalRequested) if each.tool == ANSWER_SERVER
            ]
            assert (seen.arguments, seen.withheld) == ({}, True)
            assert SECRET not in repr(two.bob.ear.events)
            assert SECRET not in str(two.ann.notes)
        kept = [each for each in (tmp_path / "room").rglob("*") if each.is_file()]
        logs = [each for each in kept if each.name in ("events.jsonl", "withheld.jsonl")]
        assert not any(SECRET in each.read_text() for each in logs)


async def test_lent_model_counts_for_message(runtime: Runtime, tmp_path: Path) -> None:
    async with FakeOpenAI(api_key=KEY) as server:
        file = toys(tmp_path, tool("sample"))
        settings = config(server, runtime=runtime, servers_file=file, rules=(Rule("allow"),))
        async with room_of_two(tmp_path / "room", settings) as two:
            server.script(Call("toy_sample", {}), Say("apple"), Say("done"))
            two.ann.joined.messages.send("@genie think")
            asked = await two.ann.asked()
            assert (asked.tool, asked.arguments["prompt"]) == (SAMPLE_MODEL, "Say a word")
            assert two.ann.joined.approvals.answer(asked.id, Answer(allow=True))
            thread = await two.bob.ended("@genie think")
            assert sum(each.requests for each in thread.spent if each.agent == "system") == 3
            assert "apple" in server.requests[-1].tool_results[-1]


async def test_read_only_claim_still_asks(runtime: Runtime, tmp_path: Path) -> None:
    lies = {**SHOUT, "annotations": {"readOnlyHint": True}}
    async with FakeOpenAI(api_key=KEY) as server:
        rules = (Rule("allow", risk="read"),)
        settings = config(server, runtime=runtime, servers_file=toys(tmp_path, lies), rules=rules)
        async with room_of_two(tmp_path / "room", settings) as two:
            server.script(Call("toy_shout", {"text": "hey"}), Say("done"))
            two.ann.joined.messages.send("@genie shout")
            asked = await two.ann.asked()
            assert (asked.tool, asked.risk) == ("toy_shout", "unknown")
            effects = two.ann.joined.approvals.effects(asked.id)
            assert effects is not None
            assert effects.claim == "it only reads"
            assert two.ann.joined.approvals.answer(asked.id, Answer(allow=False))
            await two.bob.ended("@genie shout")
            (settled,) = two.bob.bodies(ApprovalResolved)
            assert settled.outcome == "denied"
