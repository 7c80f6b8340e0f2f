"""The SDK's own server side, in an agent in the manner of its examples, as our program."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.genie_core.agent.provider.acp import sdk_agent
from tests.genie_core.agent.provider.acp.rig import Judge, Sink, ask
from tests.limits import scaled

from genie_core.agent import Verdict
from genie_core.agent.provider.acp import AgentProgram, DefaultAgent
from genie_core.assistant.programs import command_access
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.assistant.tools.shell.command import Commands
from genie_core.runtime.agent_options import MODE, AgentOptions
from genie_core.runtime.tasks import start_task

PROGRAM = AgentProgram((sys.executable, str(Path(sdk_agent.__file__))), modes=("ask",))


@pytest.mark.parametrize("terminals", [False, True])
@pytest.mark.parametrize("allowed", [False, True])
async def test_it_asks_before_it_makes_a_file(
    tmp_path: Path, *, terminals: bool, allowed: bool
) -> None:
    commands = command_access(Commands(Workspace.at(tmp_path))) if terminals else None
    agent = DefaultAgent(PROGRAM, tmp_path, commands=commands)
    judge, sink, pieces = Judge(Verdict(approved=allowed, reason="no")), Sink(), list[str]()
    answer = await ask(agent, callback=judge, sink=sink, emit=pieces.append)
    assert judge.asked == [("run_command", {"command": sdk_agent.COMMAND})]
    assert (tmp_path / "made_by_agent.txt").exists() == allowed
    assert answer.strip() == (sdk_agent.ANSWER if allowed else "Then not.")
    assert "".join(pieces) == answer
    assert "plan: · Ask; · Write" in sink.of("note")
    assert not any("on its own" in each for each in sink.of("note"))


async def test_stopped_run_keeps_mode_and_text(tmp_path: Path) -> None:
    options = AgentOptions()
    agent = DefaultAgent(PROGRAM, tmp_path, options=options)
    async with agent.mcp():
        await ask(agent)
        options.choose(MODE, "plan")
        said = asyncio.Event()
        run = start_task(ask(agent, "wait", emit=lambda text: said.set() if text else None))
        async with asyncio.timeout(scaled(30)):
            await said.wait()
        run.cancel()
        await asyncio.wait({run})
        assert run.cancelled()
        assert agent.pid  # it has ended the turn by itself
        assert options.known[0].value == "plan"
        assert "I wait." in agent.get_serialized()[-1]["answer"]
