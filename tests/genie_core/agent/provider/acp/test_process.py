"""Starting, losing and ending the program."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.agent.provider.acp.rig import (
    SCRIPT,
    Patient,
    Sink,
    Stage,
    ask,
    gone,
    lives,
    permission,
)

from genie_core.agent.provider.acp import AgentProgram, AgentProgramFailed, DefaultAgent
from genie_core.errors import public_summary
from genie_core.privacy.redaction import know
from genie_core.runtime.tasks import start_task

TOKEN = "a-very-private-token-5b1f"


async def failure(agent: DefaultAgent, **more: object) -> AgentProgramFailed:
    with pytest.raises(AgentProgramFailed) as failed:
        await ask(agent, **more)  # type: ignore[arg-type]
    return failed.value


async def test_missing_program_names_install() -> None:
    program = AgentProgram(
        ("no-such-agent", "acp"),
        install="install it with: npm install -g no-such-agent",
        setting="[agents.coder] command",
    )
    error = await failure(DefaultAgent(program))
    assert error.kind == "missing"
    assert "no-such-agent acp" in str(error)
    assert "npm install -g no-such-agent" in str(error)
    assert "[agents.coder] command" in str(error)
    assert "no-such-agent" not in public_summary(error)


async def test_an_empty_command_is_missing() -> None:
    assert (await failure(DefaultAgent(AgentProgram(("",))))).kind == "missing"


async def test_non_executable_cannot_start(tmp_path: Path) -> None:
    file = tmp_path / "agent"
    file.write_text("no program")
    assert (await failure(DefaultAgent(AgentProgram((str(file),))))).kind == "start"
    file.chmod(0o700)
    file.write_bytes(b"\0\1\2")
    assert (await failure(DefaultAgent(AgentProgram((str(file),))))).kind == "start"


async def test_command_is_found_only_on_path(stage: Stage) -> None:
    stage.script()
    folder = stage.folder / "bin"
    folder.mkdir()
    words = " ".join(stage.program().command)
    for place, text in (
        (folder, f"#!/bin/sh\nexec {words}\n"),
        (stage.workspace, "#!/bin/false\n"),
    ):
        (place / "our-agent").write_text(text)
        (place / "our-agent").chmod(0o700)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    agent = DefaultAgent(AgentProgram(("our-agent",), env={"PATH": path}), stage.workspace)
    assert await ask(agent) == "echo: go"
    started = await stage.until("started")
    assert started["cwd"] == str(stage.workspace)


async def test_death_at_start_is_described(stage: Stage) -> None:
    know([TOKEN])
    stage.script(at_start=[{"errors": f"first\nno key {TOKEN} here\n"}, {"exit": 3}])
    error = await failure(stage.agent())
    assert error.kind == "ended"
    assert "exit code 3" in str(error)
    assert "no key [hidden] here" in str(error)
    assert SCRIPT.name in str(error)
    assert SCRIPT.name not in public_summary(error)


async def test_hang_at_start_is_given_up(stage: Stage) -> None:
    stage.script(at_start=[{"stubborn": True}, {"child": True}, {"hang": True}])
    agent = stage.agent(start_seconds=1.0)
    starting = start_task(failure(agent))
    await stage.until("child")
    error = await starting
    assert error.kind == "hang"
    assert "initialize within 1 s" in str(error)
    assert agent.pid == 0


async def test_cancelling_the_start_ends_the_program(stage: Stage) -> None:
    stage.script(at_start=[{"child": True}, {"hang": True}])
    run = start_task(ask(stage.agent()))
    pid = (await stage.until("child"))["pid"]
    run.cancel()
    await asyncio.wait({run})
    assert run.cancelled()
    await gone(pid)


async def test_cancel_during_spawn_ends_group(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, gate = asyncio.get_running_loop(), asyncio.Event()
    real = loop.subprocess_exec

    async def late(*args: Any, **options: Any) -> Any:
        made = await real(*args, **options)
        await gate.wait()
        return made

    monkeypatch.setattr(loop, "subprocess_exec", late)
    stage.script(at_start=[{"child": True}, {"hang": True}])
    run = start_task(ask(stage.agent()))
    pid = (await stage.until("child"))["pid"]
    run.cancel()
    loop.call_soon(gate.set)
    await asyncio.wait({run})
    assert run.cancelled()
    await gone(pid)


async def test_other_protocol_version_is_named(stage: Stage) -> None:
    stage.script(version=7)
    error = await failure(stage.agent())
    assert error.kind == "version"
    assert "version 7" in str(error)


async def test_a_program_that_wants_a_login_says_which(stage: Stage) -> None:
    stage.script(new_error={"code": -32000, "message": "Authentication required"})
    agent = DefaultAgent(stage.program(login="run: our-agent login"), stage.workspace)
    error = await failure(agent)
    assert error.kind == "login"
    assert "Log in on the web" in str(error)
    assert "our-agent login" in str(error)


async def test_death_in_run_restarts_for_next(stage: Stage) -> None:
    stage.script([{"say": "Half"}, {"errors": "out of luck\n"}, {"exit": 9}])
    agent, sink = stage.agent(), Sink()
    async with agent.mcp():
        error = await failure(agent)
        assert error.kind == "ended"
        assert "exit code 9; its last words: out of luck" in str(error)
        assert await ask(agent, sink=sink) == "echo: go"
    assert len(stage.all("started")) == 2
    assert any("is started again" in each for each in sink.of("note"))


async def test_last_line_without_an_end_is_reported(stage: Stage) -> None:
    stage.script([{"errors": "starting\nout of luck"}, {"exit": 9}])
    assert "exit code 9; its last words: out of luck" in str(await failure(stage.agent()))


async def test_kill_signal_is_named(stage: Stage) -> None:
    stage.script([{"kill": True}])
    assert "killed by SIGKILL" in str(await failure(stage.agent()))


async def test_death_between_runs_restarts(stage: Stage) -> None:
    stage.script()
    agent = stage.agent()
    async with agent.mcp():
        await ask(agent)
        os.kill(agent.pid, signal.SIGKILL)
        while agent.pid:
            await asyncio.sleep(0.01)
        assert await ask(agent) == "echo: go"


async def test_children_end_with_program(
    stage: Stage,
) -> None:
    stage.script([{"stubborn": True}, {"child": True}, {"say": "one"}], [{"say": "two"}])
    agent = stage.agent()
    async with agent.mcp():
        assert await ask(agent) == "one"
        pid = agent.pid
        child = (await stage.until("child"))["pid"]
        assert await ask(agent) == "two"
        assert agent.pid == pid
        assert lives(child)
    await gone(pid)
    await gone(child)


async def test_run_outside_context_ends_program(stage: Stage) -> None:
    stage.script()
    agent = stage.agent()
    await ask(agent)
    assert agent.pid == 0


async def test_only_safe_variables_are_passed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours")
    monkeypatch.setenv("GENIE_SECRET", "ours")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somewhere")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    stage.script()
    program = stage.program(env={"AGENT_KEY": "theirs"})
    await ask(DefaultAgent(program, stage.workspace))
    env = (await stage.until("started"))["env"]
    assert env["AGENT_KEY"] == "theirs"
    assert env["XDG_CONFIG_HOME"] == "/somewhere"
    assert {"PATH", "HOME", "LC_ALL"} <= env.keys()
    assert not {"OPENAI_API_KEY", "GENIE_SECRET", "PYTHONPATH"} & env.keys()


async def test_no_workspace_means_empty_folder(stage: Stage) -> None:
    stage.script()
    agent = DefaultAgent(stage.program())
    async with agent.mcp():
        await ask(agent)
        folder = Path((await stage.until("session/new"))["params"]["cwd"])
        assert folder.is_dir()
        assert list(folder.iterdir()) == []
    assert not folder.exists()


async def test_noise_on_standard_error_blocks_nothing(stage: Stage) -> None:
    stage.script([{"errors": "noise\n" * 200_000}, {"say": "heard"}])
    assert await ask(stage.agent()) == "heard"


async def test_what_is_no_message_is_skipped(stage: Stage) -> None:
    raws = [
        "Welcome to the agent!",
        "[1, 2]",
        "17",
        "null",
        '{"jsonrpc": "2.0", "id": {}, "method": "session/update"}',
        '{"jsonrpc": "2.0", "id": 99, "error": "odd"}',
        '{"jsonrpc": "2.0", "id": [], "result": {}}',
        '{"jsonrpc": "2.0", "method": 5}',
        '{"jsonrpc": "2.0", "method": "session/update"}',
        '{"jsonrpc": "2.0", "method": "session/update", "params": [1]}',
        '{"jsonrpc": "2.0", "method": "_theirs/thing", "params": {}}',
        "[" * 100_000,
        "",
    ]
    stage.script([*({"raw": each} for each in raws), {"say": "fine"}])
    assert await ask(stage.agent()) == "fine"


async def test_oversized_line_ends_run_clearly(stage: Stage) -> None:
    stage.script([{"huge": 50}, {"say": "never read"}])
    agent = stage.agent()
    async with agent.mcp():
        error = await failure(agent)
        assert error.kind == "flood"
        assert "a message of more than 16 MB" in str(error)
        assert await ask(agent) == "echo: go"


async def test_oversized_answer_ends_run_clearly(stage: Stage) -> None:
    stage.script([{"words": ["x" * 500_000] * 100}])
    agent = stage.agent()
    async with agent.mcp():
        error = await failure(agent)
        assert error.kind == "flood"
        assert "an answer of more than 2,000,000 characters" in str(error)
        assert await ask(agent) == "echo: go"


async def test_a_flood_of_tool_calls_is_bounded(stage: Stage) -> None:
    calls = [
        {"update": {"sessionUpdate": "tool_call", "toolCallId": f"t{n}", "title": f"Look {n}",
                    "kind": "read"}}
        for n in range(3_000)
    ]  # fmt: skip
    stage.script([*calls, {"say": "done"}])
    sink = Sink()
    assert await ask(stage.agent(), sink=sink) == "done"
    assert len(sink.done) < 1_000


async def test_program_ignoring_cancel_is_killed(stage: Stage) -> None:
    stage.script([{"say": "Once"}, {"child": True}, {"hang": True}])
    agent = stage.agent()
    async with agent.mcp():
        said = asyncio.Event()
        run = start_task(ask(agent, emit=lambda _: said.set()))
        await said.wait()
        await stage.until("child")
        pid = agent.pid
        run.cancel()
        await asyncio.wait({run})
        assert run.cancelled()
        assert await ask(agent, "again") == "echo: again"
        await gone(pid)
    assert "Once" in stage.requests[-1].texts[0]  # in the summary


async def test_exit_during_permission_is_clean(stage: Stage) -> None:
    stage.script([{"ask": permission(kind="execute", rawInput={"command": "ls"})}])
    agent, patient = stage.agent(), Patient()
    async with agent.mcp():
        run = start_task(ask(agent, callback=patient))
        await patient.asked.get()
        pid = agent.pid
    await gone(pid)
    with pytest.raises(AgentProgramFailed):
        await run
