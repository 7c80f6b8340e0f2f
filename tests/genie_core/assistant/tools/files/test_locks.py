import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.genie_core.agent.provider.both import Reports

from genie_core.agent import AgentInput, ApprovalCallback, Verdict
from genie_core.agent.approval import ask_about
from genie_core.assistant.tools.files.locks import FileLocks, LockingAgent
from genie_core.runtime.progress import reporting_to
from genie_testing import Emit, ScriptedAgent

pytestmark = pytest.mark.timeout(100)


class Desk:
    """Agents that share locks; each asks for the calls that its query lists and says the answers."""

    def __init__(self) -> None:
        self.locks = FileLocks()
        self.asked: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.edited: dict[str, Any] | None = None
        self.denied: set[str] = set()

    def agent(self) -> LockingAgent:
        return LockingAgent(ScriptedAgent(self._run), self.locks, _writes)

    def start(self, *paths: str, agent: LockingAgent | None = None) -> "asyncio.Task[str]":
        query = AgentInput(json.dumps(paths))
        return asyncio.create_task((agent or self.agent()).run(query, self))

    async def _run(self, input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        said = []
        for path in json.loads(input.query):
            if path in self.gates:
                await self.gates[path].wait()
                continue
            verdict = await ask_about(callback, "write_file", {"path": path})
            said.append("written" if verdict.approved else str(verdict.reason))
        return "; ".join(said)

    async def __call__(self, name: str, arguments: dict[str, Any]) -> bool:
        return (await self.verdict(name, arguments)).approved

    async def verdict(
        self, _name: str, arguments: dict[str, Any], _schema: dict[str, Any] | None = None
    ) -> Verdict:
        path = arguments["path"]
        self.asked.append(path)
        if f"ask {path}" in self.gates:
            await self.gates[f"ask {path}"].wait()
        return Verdict(path not in self.denied, arguments=self.edited)


def _writes(tool: str, arguments: dict[str, Any]) -> list[str]:
    return [arguments["path"]] if tool == "write_file" else []


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_file_stays_locked_until_run_ends(desk: Desk) -> None:
    desk.gates["end"] = asyncio.Event()
    first = desk.start("a.md", "a.md", "end")
    await asyncio.sleep(0)
    with reporting_to(reports := Reports()):
        refused = await desk.start("b.md", "a.md")
    assert refused.startswith("written; a.md is being changed by another answer of yours")
    assert desk.asked == ["a.md", "a.md", "b.md"], "nobody is asked in vain"
    assert reports.doings == ["note write_file: a.md is being changed by another answer"]
    desk.gates["end"].set()
    assert await first == "written; written"
    assert await desk.start("a.md") == "written"


async def test_asking_locks_until_denied(desk: Desk) -> None:
    desk.gates["ask a.md"] = desk.gates["end"] = asyncio.Event()
    first = desk.start("a.md", "end")
    await asyncio.sleep(0)
    assert "another answer" in await desk.start("a.md")
    desk.denied.add("a.md")
    desk.gates["ask a.md"].set()
    await first
    desk.gates["end"] = asyncio.Event()
    first = desk.start("a.md", "end")
    await asyncio.sleep(0)
    desk.denied.clear()
    assert await desk.start("a.md") == "written"
    desk.gates["end"].set()
    await first


async def test_edited_arguments_count(desk: Desk) -> None:
    desk.gates["end"] = asyncio.Event()
    first = desk.start("a.md", "end")
    await asyncio.sleep(0)
    desk.edited = {"path": "a.md"}
    assert "another answer" in await desk.start("b.md")
    desk.edited = None
    assert await desk.start("b.md") == "written", "what was not written is free"
    desk.gates["end"].set()
    await first


async def test_a_cancelled_run_gives_back_its_files(desk: Desk) -> None:
    desk.gates["end"] = asyncio.Event()
    first = desk.start("a.md", "end")
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await desk.start("a.md") == "written"


async def test_subagent_shares_lock_of_its_run(desk: Desk) -> None:
    inner = desk.agent()

    async def direct(input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        assert await callback("write_file", {"path": "a.md"})
        return await inner.run(AgentInput('["a.md", "b.md"]'), callback)

    outer = LockingAgent(ScriptedAgent(direct), desk.locks, _writes)
    assert await outer.run(AgentInput("go"), desk) == "written; written"


async def test_assistant_locks_written_files(tmp_path: Path) -> None:
    from genie_core.assistant.build import build_assistant
    from genie_core.assistant.config import AssistantConfig

    assistant = build_assistant(AssistantConfig(workspace=tmp_path), owner="ann")
    asking, allowed = asyncio.Event(), asyncio.Event()

    async def approve(_name: str, _arguments: dict[str, Any]) -> bool:
        asking.set()
        await allowed.wait()
        return True

    agents = [await assistant.agent_factory.make_agent("system", "ann", _chat()) for _ in range(2)]
    query = AgentInput('write "two" to a.md')
    first = asyncio.create_task(agents[0].run(query, approve))
    await asyncio.wait_for(asking.wait(), 50)
    assert "another answer" in await agents[1].run(query, approve)
    allowed.set()
    await first


def _chat() -> dict[str, Any]:
    async def get_group_chat_messages() -> str:
        return "[]"

    return {"get_group_chat_messages": get_group_chat_messages}
