"""Tools of ours for the program."""

import asyncio
import sys
from typing import Any

import pytest
from tests.genie_core.agent.provider.acp.rig import (
    Judge,
    Sink,
    Stage,
    ask,
    permission,
    tool_call,
)

from genie_core.agent import Verdict
from genie_core.agent.provider.acp.offered_tools import OfferedToolServer
from genie_core.errors import ToolExited
from genie_core.runtime.progress import acted_call
from genie_core.runtime.tasks import start_task


async def double(number: int, loudly: bool = False) -> str:
    """Double a number.

    Args:
        number: Any number.
        loudly: With an exclamation mark.
    """
    return f"{2 * number}{'!' * loudly}"


async def broken() -> str:
    """Fail."""
    raise ValueError("it is broken")


async def leave() -> str:
    """Leave."""
    sys.exit(3)


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}


def text(answer: dict[str, Any]) -> str:
    [content] = answer["result"]["content"]
    return str(content["text"])


async def test_a_tool_that_exits_ends_its_run_only(stage: Stage) -> None:
    stage.script([{"mcp": [calling("leave")]}, {"say": "never"}])
    with pytest.raises(ToolExited, match="leave"):
        await ask(stage.agent(tools=[leave]))
    assert await ask(stage.agent(tools=[leave])) == "echo: go"


async def test_program_lists_and_calls_tools(stage: Stage) -> None:
    calls = [{"method": "tools/list"}, calling("double", number=4), {"method": "ping"},
             {"method": "nothing/known"}]  # fmt: skip
    stage.script([{"mcp": calls}, {"say": "done"}])
    judge, sink = Judge(), Sink()
    await ask(stage.agent(tools=[double]), callback=judge, sink=sink)
    hello, listed, called, pong, unknown = stage.all("tools")
    assert hello["result"]["protocolVersion"] == "2025-03-26"
    [tool] = listed["result"]["tools"]
    assert (tool["name"], tool["inputSchema"]["required"]) == ("double", ["number"])
    assert "Any number." in tool["description"]
    assert (text(called), called["result"]["isError"]) == ("8", False)
    assert pong["result"] == {}
    assert unknown["error"]["code"] == -32601
    assert judge.asked == [("double", {"number": 4, "loudly": False})]
    assert "double" in sink.of("calling")


async def test_a_denied_call_is_not_made(stage: Stage) -> None:
    stage.script([{"mcp": [calling("double", number=4)]}, {"say": "done"}])
    await ask(stage.agent(tools=[double]), callback=Judge(Verdict(approved=False, reason="late")))
    called = stage.all("tools")[1]
    assert called["result"]["isError"]
    assert "late" in text(called)


async def test_edited_call_runs_as_edited(stage: Stage) -> None:
    stage.script([{"mcp": [calling("double", number=4)]}, {"say": "done"}])
    changed = Verdict(approved=True, arguments={"number": 5, "loudly": True})
    await ask(stage.agent(tools=[double]), callback=Judge(changed))
    assert text(stage.all("tools")[1]) == "10!"


async def test_what_goes_wrong_is_the_result(stage: Stage) -> None:
    calls = [calling("double", number="four"), calling("broken"), calling("missing"), "no JSON",
             calling("double", number=1)]  # fmt: skip
    stage.script([{"mcp": calls}, {"say": "done"}])
    await ask(stage.agent(tools=[double, broken]))
    _, unfit, failed, missing, fine = stage.all("tools")
    assert "do not fit double: number" in text(unfit)
    assert "it is broken" in text(failed)
    assert failed["result"]["isError"]
    assert missing["error"]["code"] == -32602
    assert text(fine) == "2"


async def test_the_end_of_a_run_ends_its_calls(stage: Stage) -> None:
    ended = asyncio.Event()

    async def endless() -> str:
        """Take forever."""
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()
        return ""

    stage.script([{"mcp": [calling("endless")]}, {"say": "done"}])
    judge = Judge()
    agent = stage.agent(tools=[endless])
    async with agent.mcp():
        run = start_task(ask(agent, callback=judge))
        await stage.until("called", 2)
        while not judge.asked:
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.wait_for(ended.wait(), 10)
        answer = await stage.until("tools", 2)
    assert "cancelled" in text(answer)


async def test_server_folder_is_private() -> None:
    async def serve(_tool: Any, _arguments: Any) -> str:
        return ""

    server = OfferedToolServer([double], serve)
    assert server.described() == []
    await server.open()
    [about] = server.described()
    folder = server.files[0]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert about.args[-1].startswith(str(folder))
    await server.close()
    assert not folder.exists()
    assert server.described() == server.files == []


async def test_without_tools_there_is_no_server(stage: Stage) -> None:
    stage.script()
    await ask(stage.agent())
    assert stage.all("session/new")[0]["params"]["mcpServers"] == []


async def test_restored_session_has_tools(stage: Stage) -> None:
    stage.script([{"say": "a"}], [{"mcp": [calling("double", number=2)]}, {"say": "b"}], load=True)
    agent = stage.agent(tools=[double])
    await ask(agent)
    await ask(agent)
    assert stage.all("session/load")
    assert text(stage.all("tools")[1]) == "4"


@pytest.mark.parametrize(
    ("title", "raw"),
    [
        ("genie_double", {"number": 4}),
        ("mcp__genie__double", {"number": 4}),
        ("Tool: genie/double", {"server": "genie", "tool": "double", "arguments": {"number": 4}}),
    ],
)
async def test_own_call_is_asked_once(stage: Stage, title: str, raw: dict[str, Any]) -> None:
    call = {"title": title, "kind": "other", "rawInput": raw}
    stage.script(
        [
            {"ask": permission("t1", **call)},
            {"mcp": [calling("double", number=4)]},
            {
                "update": {
                    "sessionUpdate": "tool_call",
                    **tool_call("t1", status="completed", **call),
                }
            },
            {"say": "done"},
        ]
    )
    judge, sink = Judge(), Sink()
    await ask(stage.agent(tools=[double]), callback=judge, sink=sink)
    assert stage.answers[0]["outcome"] == {"outcome": "selected", "optionId": "once"}
    assert [name for name, _ in judge.asked] == ["double"]
    assert not any("on its own" in each for each in sink.of("note"))


@pytest.mark.parametrize(
    ("title", "kind", "raw"),
    [
        ("genie_double", "execute", {"command": "genie_double"}),
        ("genie_double", "other", {"command": "rm -r"}),
        ("other_double", "other", {"number": 4}),
        ("genie_double", "other", None),
        ("run genie_double for me", "other", {"number": 4}),
    ],
)
async def test_lookalike_call_is_asked_about(
    stage: Stage, title: str, kind: str, raw: dict[str, Any] | None
) -> None:
    call = {"title": title, "kind": kind, "rawInput": raw}
    stage.script([{"ask": permission("t1", **call)}, {"say": "done"}])
    judge = Judge()
    await ask(stage.agent(tools=[double]), callback=judge)
    assert len(judge.asked) == 1


async def test_title_alone_hides_no_unasked_call(stage: Stage) -> None:
    update = {"sessionUpdate": "tool_call", **tool_call("t1", title="genie_double", kind="other",
                                                       status="completed")}  # fmt: skip
    stage.script([{"update": update}, {"say": "done"}])
    sink = Sink()
    await ask(stage.agent(tools=[double]), sink=sink)
    assert sink.of("note") == ["acts on its own: acp_other"]
    [made] = sink.of("acted")
    assert acted_call(made) == ("acp_other", {"title": "genie_double"})
