"""Agents that are installed programs, as the assistant builds them."""

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.agent.provider.acp.rig import (
    SCRIPT,
    Judge,
    Sink,
    Stage,
    ask,
    permission,
    staged,
)

from genie_core.agent import Agent, AgentInput, AgentRunner
from genie_core.agent.approval import Approval, ApprovalContext
from genie_core.agent.provider.acp import AgentProgramFailed, DefaultAgent
from genie_core.agent.runner import Query
from genie_core.assistant import programs
from genie_core.assistant.agents import roles_of
from genie_core.assistant.build import Assistant, build_assistant
from genie_core.assistant.check import faults
from genie_core.assistant.config import AgentSpec, AssistantConfig, Rule, Sandbox, ToolLimits
from genie_core.assistant.errors import UnusableAgent
from genie_core.assistant.servers.errors import MissingValue
from genie_core.assistant.tools.catalog import PROGRAM_TOOLS
from genie_core.assistant.tools.shell.sandbox import SandboxBackend, find_backend
from genie_core.assistant.usable import usable
from genie_core.message import Message
from genie_core.reasoner import Decision
from genie_core.room.engine.approval_policy import ToolCall
from genie_core.runtime.tasks import start_task
from genie_core.session import GroupSession


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as stage:
        yield stage


def entry(stage: Stage, **more: Any) -> AgentSpec:
    return AgentSpec("", "", **{"command": stage.program().command, **more})


def config(stage: Stage, **more: Any) -> AssistantConfig:
    program = entry(stage)
    given = {"program": program, "workspace": stage.workspace}
    return AssistantConfig(**{**given, **more})


def built(stage: Stage, **more: Any) -> Assistant:
    return build_assistant(config(stage, **more), owner="ann")


async def agent_of(assistant: Assistant, name: str = "system") -> Agent:
    return await assistant.agent_factory.make_agent(name, "ann", {})


def test_the_runtime_acp_needs_a_command() -> None:
    [fault] = faults(AssistantConfig(runtime="acp"), {})
    assert isinstance(fault, UnusableAgent)
    spec = AgentSpec("coder", "Codes.", runtime="acp")
    found = usable(AssistantConfig(agents=(spec,)), {})
    assert found.config.agents == ()
    assert "acp needs a command" in str(found.problems[0])


def test_program_has_prompt_and_room_tools() -> None:
    spec = AgentSpec("codex", "Codes.", command=("codex-acp",), emoji="🦊", idle_timeout=5)
    answering, sub = roles_of(
        AssistantConfig(program=AgentSpec("", "", command=("goose", "acp")), agents=(spec,)),
        {},
        "ann",
    )
    assert answering.name == "system"
    assert sub.tool_names == PROGRAM_TOOLS
    assert answering.tool_names == (*PROGRAM_TOOLS, "run_subagent")
    assert "codex: Codes." in answering.prompt
    assert "You work for ann" in answering.prompt
    assert (sub.spec.description, sub.spec.emoji, sub.spec.idle_timeout) == ("Codes.", "🦊", 5)


async def test_answering_program_is_announced(stage: Stage) -> None:
    stage.script()
    assistant = built(stage)
    assert not assistant.offline
    assert assistant.label.startswith("python")
    [notice] = assistant.notices
    assert "those to @genie" in notice
    [summary] = assistant.controls.agents
    assert (summary.name, summary.runtime) == ("system", "acp")
    agent = await agent_of(assistant)
    async with agent.mcp():
        assert await agent.run(AgentInput("hello"), Judge()) == "echo: hello"
    first = stage.all("prompt")[0]["blocks"][0]["text"]
    assert "You work for ann" in first


async def test_no_model_answers_only_addressed(stage: Stage) -> None:
    reasoner = built(stage).reasoner_factory.create_group_reasoner("ann")
    ignored = await reasoner.run([Message("hello all", "bob")])
    asked = await reasoner.run([Message("@genie what is it?", "bob")])
    assert (ignored.decision, asked.decision) == (Decision.IGNORE, Decision.DELEGATE)


async def test_env_placeholders_use_secrets(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_KEY", "key-of-the-agent")
    stage.script()
    agent = await agent_of(
        built(stage, program=entry(stage, env={"THEIR_API_KEY": "${AGENT_KEY}"}))
    )
    async with agent.mcp():
        await ask(agent)  # type: ignore[arg-type]
    assert (await stage.until("started"))["env"]["THEIR_API_KEY"] == "key-of-the-agent"
    monkeypatch.delenv("AGENT_KEY")
    with pytest.raises(Exception, match="the agent 'system' needs AGENT_KEY") as failed:
        await agent_of(built(stage, program=entry(stage, env={"THEIR_API_KEY": "${AGENT_KEY}"})))
    assert isinstance(failed.value.__cause__ or failed.value, MissingValue)


async def test_writes_through_us_can_be_undone(stage: Stage, tmp_path: Path) -> None:
    file = stage.workspace / "a.txt"
    file.write_text("before")
    edit = {"type": "diff", "path": str(file), "oldText": "before", "newText": "after"}
    stage.script(
        [
            {"ask": permission(kind="edit", content=[edit])},
            {"fs/write_text_file": {"path": str(file), "content": "after"}},
            {"fs/read_text_file": {"path": str(file)}},
            {"fs/read_text_file": {"path": str(stage.workspace / "binary")}},
            {"say": "done"},
        ]
    )
    (stage.workspace / "binary").write_bytes(b"\0\1")
    assistant = built(stage)
    assistant.changes.folder = tmp_path / "changes"
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    callback = ApprovalContext(queue).approval_callback("system")
    agent = await agent_of(assistant)
    async with agent.mcp():
        run = start_task(agent.run(AgentInput("go"), callback))
        request = await queue.get()
        call = ToolCall("ann", "system", request.tool_name, request.tool_kwargs)
        result = assistant.policy.evaluate(call)
        assert (result.effect, result.risk) == ("ask", "write")
        assert "-before" in result.effects.diff
        request.approve()
        for _ in range(2):
            (await queue.get()).approve()
        assert await run == "done"
    assert file.read_text() == "after"
    assert stage.answers[2]["content"] == "after"
    assert "not a text file" in stage.answers[3]["message"]
    plan = await assistant.controls.plan_undo(approval=request.id)
    await assistant.controls.undo(plan.number)
    assert file.read_text() == "before"


def test_policy_judges_program_requests(stage: Stage) -> None:
    (stage.workspace / "a.txt").write_text("x")
    rules = (Rule("allow", tool="run_command", command="git *"), Rule("deny", path="*.lock"))
    policy = built(stage, rules=rules).policy

    def judged(tool: str, **arguments: Any) -> tuple[str, str]:
        result = policy.evaluate(ToolCall("ann", "system", tool, arguments))
        return result.effect, result.risk

    assert judged("run_command", command="git status") == ("allow", "execute")
    assert judged("run_command", command="rm x") == ("ask", "execute")
    assert judged("acp_execute", title="git status") == ("ask", "execute")
    assert judged("acp_other", title="x") == ("ask", "unknown")
    assert judged("acp_read", path="/etc/passwd") == ("ask", "unknown")
    assert judged("read_file", path="a.txt") == ("allow", "read")
    assert judged("write_file", path="uv.lock", content="") == ("deny", "write")
    assert judged("fetch_url", url="https://example.org/") == ("ask", "network")
    assert judged("calculate", expression="1") == ("ask", "unknown")
    outside = policy.evaluate(ToolCall("ann", "system", "edit_file", {"path": "/x", "old": "a"}))
    assert outside.effects.anything
    assert not outside.effects.refusal
    assert not policy.evaluate(
        ToolCall("ann", "system", "run_command", {"command": "ls"})
    ).effects.sandbox


async def test_a_program_is_one_of_a_team(stage: Stage) -> None:
    stage.script([{"say": "I looked."}])
    spec = AgentSpec("coder", "Codes.", command=stage.program().command)
    assistant = built(stage, program=None, agents=(spec,))
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    runner = AgentRunner("system", "coder", "ann", assistant.agent_factory)
    sink = Sink()
    try:
        answer = await runner.submit(Query("look", ApprovalContext(queue)))
    finally:
        runner.stop()
        await runner.join()
    assert answer.text == "I looked."
    assert sink.usages == []
    assert [each.runtime for each in assistant.controls.agents][1] == "acp"


async def test_a_program_directs_the_team(stage: Stage, tmp_path: Path) -> None:
    async with staged() as other:
        call = {"kind": "execute", "title": "make", "rawInput": {"command": "make"}}
        other.script([{"ask": permission(**call)}, {"say": "I made it."}])
        query = {"query": "make it", "subagent_name": "coder"}
        calls = [
            {"method": "tools/call", "params": {"name": "run_subagent", "arguments": query}},
            {"method": "tools/call", "params": {"name": "who_is_here", "arguments": {}}},
        ]
        stage.script([{"mcp": calls}, {"say": "It is made."}])
        spec = AgentSpec("coder", "Codes.", command=other.program().command)
        assistant = built(stage, agents=(spec,))
        assert not any("direct" in each for each in assistant.notices)
        assert assistant.controls.agents[0].coordinator
        assistant.controls.enter(lambda: ["ann (host)", "bot (agent)"])
        session = GroupSession(
            "room", assistant.reasoner_factory, agent_factory=assistant.agent_factory
        )
        asked: list[tuple[str, str]] = []
        execution = session.delegate("go", sender="ann")
        async for each in execution.stream():
            if isinstance(each, Approval):
                asked.append((each.sender.partition(":")[0], each.tool_name))
                each.approve()
        await session.join()
    assert asked == [
        ("system", "run_subagent"),
        ("coder", "run_command"),
        ("system", "who_is_here"),
    ]
    _, directed, here = stage.all("tools")
    answer = json.loads(directed["result"]["content"][0]["text"])
    assert answer["subagent_response"] == "I made it."
    assert here["result"]["content"][0]["text"] == "- ann (host)\n- bot (agent)"
    assert [each["outcome"]["outcome"] for each in other.answers] == ["selected"]


def test_rule_can_forbid_reading_room(stage: Stage) -> None:
    rules = (Rule("deny", tool="search_chat"),)
    policy = built(stage, workspace=None, rules=rules).policy

    def judged(tool: str) -> tuple[str, str]:
        result = policy.evaluate(ToolCall("ann", "system", tool, {}))
        assert not result.effects.anything
        return result.effect, result.risk

    assert judged("get_group_chat_messages") == ("allow", "read")
    assert judged("read_attachment") == ("allow", "read")
    assert judged("search_chat") == ("deny", "read")


@pytest.mark.skipif(not find_backend().name, reason="this machine has no sandbox")
async def test_sandbox_hides_home(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in ("diary.txt", ".codex/auth.json", "notes/a.txt"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("private")
    for name in ("a.txt", "prod.env"):
        (stage.workspace / name).write_text("x")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    looked = [home / "diary.txt", home / ".codex/auth.json", home / "notes/a.txt",
              stage.workspace / "a.txt", Path("/etc/hosts"), stage.workspace / "prod.env"]  # fmt: skip
    calls = [{"method": "tools/call", "params": {"name": "who_is_here", "arguments": {}}}]
    stage.script([{"look": list(map(str, looked))}, {"mcp": calls}, {"say": "done"}])
    command = stage.program().command
    (home / "codex-acp").write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    (home / "codex-acp").chmod(0o700)
    sandbox = Sandbox(mode="off", readable=(home / "notes", stage.folder, SCRIPT))
    sandbox = replace(sandbox, writable=(stage.folder,))  # the script keeps its state there
    assistant = built(
        stage,
        program=entry(stage, command=(str(home / "codex-acp"),), sandbox=True),
        sandbox=sandbox,
        rules=(Rule("deny", path="*.env"),),
    )
    assistant.controls.enter(lambda: ["ann (host)"])

    async def fetch() -> str:
        return "[]"

    tools: dict[str, Any] = {"get_group_chat_messages": fetch}
    agent = await assistant.agent_factory.make_agent("system", "ann", tools)
    try:
        async with agent.mcp():
            assert await agent.run(AgentInput("go"), Judge()) == "done"
    finally:
        started = stage.all("started")[0]
        del started["pid"]  # it is one of the sandbox
    [seen] = stage.all("seen")
    expected = ["nothing", "writes", "reads", "writes", "reads", "nothing"]
    assert [seen[str(each)] for each in looked] == expected
    assert stage.all("tools")[1]["result"]["content"][0]["text"] == "- ann (host)"
    assert "TMPDIR" not in started["env"]
    call = ToolCall("ann", "system", "run_command", {"command": "ls"})
    assert "with network" in assistant.policy.evaluate(call).effects.sandbox


def test_required_sandbox_must_exist(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = SandboxBackend(reason="bubblewrap is not installed")
    monkeypatch.setattr(programs, "find_backend", lambda: lacking)
    with pytest.raises(UnusableAgent, match="in a sandbox, but bubblewrap is not installed"):
        built(stage, program=entry(stage, sandbox=True))
    spec = AgentSpec("coder", "Codes.", command=stage.program().command, sandbox=True)
    with pytest.raises(UnusableAgent, match="coder"):
        built(stage, agents=(spec,))


async def test_lost_sandbox_is_reported(stage: Stage) -> None:
    def confine(_folder: Path, _shown: Any) -> list[str]:
        raise ValueError("bubblewrap is not installed")

    stage.script()
    agent = DefaultAgent(stage.program(confine=confine), stage.workspace)
    with pytest.raises(AgentProgramFailed, match="must run in a sandbox, and there is none: bubbl"):
        await ask(agent)
    assert not stage.heard


async def test_other_library_lines_are_kept(stage: Stage) -> None:
    stage.script()
    agent: Any = await agent_of(built(stage))
    theirs = {"role": "user", "content": "hi"}
    agent.set_serialized([theirs])
    async with agent.mcp():
        await agent.run(AgentInput("hello"), Judge())
    [line] = agent.get_new_messages()
    assert line["runtime"] == "acp"
    assert agent.get_serialized() == [theirs, line]
    json.dumps(line)


def test_answering_entry_keeps_its_options(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "brief.md").write_text("Answer {owner} in one line.")
    mine = AgentSpec(
        "mine", "", "brief", idle_timeout=5, emoji="🦊", command=("my-agent",), sandbox=True
    )
    chosen = AssistantConfig(program=mine, prompts_dir=tmp_path)
    (answering,) = roles_of(chosen, {}, "ann")
    assert (answering.name, answering.spec.idle_timeout, answering.spec.emoji) == (
        "system",
        5,
        "🦊",
    )
    assert answering.prompt.startswith("Answer ann in one line.")
    assert answering.spec.sandbox


def test_several_changes_are_judged_each(stage: Stage) -> None:
    changes = [
        {"path": str(stage.workspace / "a.txt"), "old": "one\n", "new": "two\n"},
        {"path": "b/c.lock", "old": None, "new": "new\n"},
        {"path": "/etc/passwd", "old": "", "new": "root"},
    ]
    rules = (Rule("deny", path="*.lock"),)
    policy = built(stage, rules=rules).policy
    call = ToolCall("ann", "system", "acp_edit", {"title": "Edit", "changes": changes})
    found = policy.evaluate(call)
    assert found.effect == "deny"
    assert found.effects.anything
    assert found.effects.private
    assert found.effects.targets("write") == ("a.txt", "b/c.lock", "/etc/passwd")
    assert found.effects.diff.split("\n")[2:7] == [
        *("--- a.txt", "+++ a.txt"), "@@ -1 +1 @@", "-one", "+two"
    ]  # fmt: skip
    assert "+++ /etc/passwd" in found.effects.diff
    odds: list[Any] = ["?", ["?"], [{"path": "a.txt"}], {"a.txt": {}}]
    for odd in odds:
        given = {"changes": odd, "acp_changes": changes}
        assert policy.evaluate(ToolCall("ann", "system", "acp_edit", given)).effect == "deny"
        alone = policy.evaluate(ToolCall("ann", "system", "acp_edit", {"changes": odd}))
        assert (alone.effects.diff, alone.effects.anything) == ("", True)


async def test_terminal_runs_in_workspace(
    stage: Stage,
) -> None:
    (stage.workspace / "inner").mkdir()
    line = {
        "command": "pwd; sleep 1000 & exit 4",
        "cwd": str(stage.workspace / "inner"),
    }
    terminal = {"terminalId": "terminal-1"}
    steps = [{f"terminal/{each}": terminal} for each in ("wait_for_exit", "output")]
    stage.script([{"terminal/create": line}, *steps, {"say": "done"}])
    judge = Judge()
    agent = await agent_of(built(stage, limits=ToolLimits(shell=True)))  # noqa: S604 - a setting
    async with agent.mcp():
        assert await ask(agent, callback=judge) == "done"  # type: ignore[arg-type]  # any agent
    assert judge.asked == [
        ("run_command", {"command": line["command"], "shell": True, "folder": "inner"})
    ]
    _, ended, output = stage.answers
    assert ended == {"exitCode": 4}
    assert output["output"] == f"{stage.workspace / 'inner'}\n"


@pytest.mark.parametrize(
    "more", [{"workspace": None}, {"tools": ("read_file",)}], ids=["no folder", "no commands"]
)
async def test_terminal_needs_command_tool(stage: Stage, more: dict[str, Any]) -> None:
    stage.script([{"terminal/create": {"command": "ls"}}, {"say": "no"}])
    agent = await agent_of(built(stage, **more))
    async with agent.mcp():
        assert await ask(agent) == "no"  # type: ignore[arg-type]  # any agent
    assert stage.answers[0]["code"] == -32601
