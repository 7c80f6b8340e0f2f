"""Whatever hangs, it can be cancelled, holds up nobody else, and lets the session end."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.faults.scene import (
    DEADLINE,
    VICTIM,
    Stubborn,
    joined,
    last_event,
)
from tests.faults.traps import Trap, trapped_session

from genie_core.agent import AgentFactory, AgentInfo, AgentInput, AsyncTool
from genie_core.execution import Answered, Cancelled, Failed
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import ScriptedAgent, reasoner_factory

pytestmark = [pytest.mark.timeout(100), pytest.mark.usefixtures("hurried")]

WORK = ["reasoner run", "agent run"]
AROUND_IT = ["reasoner secrets", "agent secrets", "preferences", "tools start"]


class Hang:
    """A fault that never ends by itself: politely, stubbornly, or blocking its thread."""

    def __init__(self, place: str, kind: str) -> None:
        self._blocking = "secrets" in place
        self._stubborn = Stubborn()
        self._polite = kind == "polite"
        self._released = threading.Event()
        self._loop = asyncio.get_running_loop()
        self.began = asyncio.Event()

    def __call__(self) -> Any:
        self._loop.call_soon_threadsafe(self.began.set)
        if self._blocking:
            self._released.wait(DEADLINE)
            return None
        return asyncio.Event().wait() if self._polite else self._stubborn()

    def let_go(self) -> None:
        self._released.set()
        self._stubborn.let_go()


KINDS = ["polite", "stubborn"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", WORK + AROUND_IT)
async def test_hanging_work_is_cancelled(place: str, kind: str) -> None:
    hang = Hang(place, kind)
    trap = Trap(place, hang)
    chat = trapped_session(trap)
    execution = chat.handle(Message("1", VICTIM))
    async with asyncio.timeout(DEADLINE):
        await hang.began.wait()
    assert isinstance(await last_event(chat.handle(Message("hi", "alice"))), Answered)
    trap.armed = False
    assert execution.cancel("enough")
    assert await last_event(execution) == Cancelled("enough")
    assert isinstance(await last_event(chat.handle(Message("2", VICTIM))), Answered)
    await joined(chat)
    hang.let_go()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", AROUND_IT)
async def test_stop_abandons_hanging_preparation(place: str, kind: str) -> None:
    hang = Hang(place, kind)
    chat = trapped_session(Trap(place, hang))
    executions = [chat.handle(Message(text, VICTIM)) for text in "123"]
    async with asyncio.timeout(DEADLINE):
        await hang.began.wait()
    await joined(chat)
    for execution in executions:
        assert isinstance(await last_event(execution), Failed)
    hang.let_go()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", WORK)
async def test_work_delays_join_until_cancelled(place: str, kind: str) -> None:
    hang = Hang(place, kind)
    chat = trapped_session(Trap(place, hang))
    executions = [chat.handle(Message(text, VICTIM)) for text in "12"]
    async with asyncio.timeout(DEADLINE):
        await hang.began.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):  # several times as long as anything else may take here
            await chat.join()
    for execution in chat.running:
        execution.cancel("no more time")
    await joined(chat)
    for execution in executions:
        assert await last_event(execution) == Cancelled("no more time")
    hang.let_go()


@pytest.mark.parametrize("kind", KINDS)
async def test_hanging_tool_close_blocks_nothing(
    kind: str,
) -> None:
    hang = Hang("tools end", kind)
    chat = trapped_session(Trap("tools end", hang), idle_timeout=0.01)
    assert isinstance(await last_event(chat.handle(Message("1", VICTIM))), Answered)
    async with asyncio.timeout(DEADLINE):
        await hang.began.wait()
    assert isinstance(await last_event(chat.handle(Message("2", VICTIM))), Answered)
    await joined(chat)
    hang.let_go()


async def test_late_start_keeps_successor() -> None:
    hang = Hang("tools start", "stubborn")
    trap = Trap("tools start", hang)
    chat = trapped_session(trap)
    execution = chat.handle(Message("1", VICTIM))
    async with asyncio.timeout(DEADLINE):
        await hang.began.wait()
    trap.armed = False
    execution.cancel()
    assert isinstance(await last_event(chat.handle(Message("2", VICTIM))), Answered)
    name = "agent 'system' of mallory: resources"
    (left,) = [t for t in asyncio.all_tasks() if t.get_name() == name and t.cancelling()]
    hang.let_go()
    await asyncio.wait({left}, timeout=DEADLINE)
    assert isinstance(await last_event(chat.handle(Message("3", VICTIM))), Answered)
    await joined(chat)


async def test_unstarted_subagent_is_abandoned() -> None:
    began = asyncio.Event()

    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    class Unreachable(ScriptedAgent):
        def mcp(self) -> Any:
            return _Entering(hang)

    def directing(_secrets: Any, tools: dict[str, AsyncTool], _infos: Any) -> ScriptedAgent:
        async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
            return str(await tools["run_subagent"](input.query, "remote"))

        return ScriptedAgent(run)

    agents = AgentFactory(directing)
    agents.add_agent_factory_fn(lambda _secrets: Unreachable(), AgentInfo("remote", ""))
    chat = GroupSession("s", reasoner_factory(), agents)
    execution = chat.handle(Message("hi", "alice"))
    async with asyncio.timeout(DEADLINE):
        await began.wait()
    await joined(chat)
    last = await last_event(execution)
    assert isinstance(last, Answered)
    assert "did not start" in last.message.content


class _Entering:
    def __init__(self, enter: Callable[[], Any]) -> None:
        self._enter = enter

    async def __aenter__(self) -> None:
        await self._enter()

    async def __aexit__(self, *_: object) -> None:
        raise AssertionError("it was never entered")


HANGING_VAULT = """
import asyncio, threading
from genie_core.agent import AgentFactory
from genie_core.message import Message
from genie_core.secrets import SecretsProvider
from genie_core.session import GroupSession
from genie_testing import ScriptedAgent, reasoner_factory

class Vault(SecretsProvider):
    def get_secrets(self, username):
        threading.Event().wait()

async def main():
    agents = AgentFactory(lambda _: ScriptedAgent(), secrets_provider=Vault())
    chat = GroupSession("s", reasoner_factory(), agents)
    execution = chat.handle(Message("hi", "alice"))
    await anext(execution.events())
    execution.cancel()
    await chat.join()

asyncio.run(main())
print("ended")
"""


def test_hanging_secrets_let_program_end() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGING_VAULT], capture_output=True, timeout=DEADLINE, check=True
    )
    assert ended.stdout.strip() == b"ended"
