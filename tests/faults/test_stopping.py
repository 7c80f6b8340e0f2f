"""Every way to end a session, and what becomes of what was going on."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.faults.scene import (
    DEADLINE,
    asks,
    events,
    first_approval,
    joined,
    last_event,
    session,
)

from genie_core.agent import Agent, AgentFactory, AgentInfo, AgentInput
from genie_core.datastore import DataStore
from genie_core.errors import SessionStopped
from genie_core.execution import Answered, ApprovalClosed, Cancelled
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import ScriptedAgent, reasoner_factory

pytestmark = pytest.mark.timeout(100)


async def test_stop_denies_all_approvals() -> None:
    chat = session(asks)
    waiting = chat.handle(Message("hi", "alice"))
    await first_approval(waiting)
    behind = chat.handle(Message("behind it", "alice"))
    chat.stop()
    chat.stop()
    await joined(chat)
    for execution in (waiting, behind):
        recorded = await events(execution)
        (resolved,) = [event for event in recorded if isinstance(event, ApprovalClosed)]
        assert resolved.verdict.reason == "session is stopping"
        last = recorded[-1]
        assert isinstance(last, Answered)
        assert last.message.content == "refused: session is stopping"
    await joined(chat)


async def test_stopped_session_refuses_new_work() -> None:
    chat = session()
    chat.stop()
    for call in (
        lambda: chat.handle(Message("hi", "alice")),
        lambda: chat.append(Message("hi", "alice")),
        lambda: chat.delegate("hi", sender="alice"),
    ):
        with pytest.raises(SessionStopped):
            call()
    await joined(chat)


async def test_joining_without_stopping_stops() -> None:
    chat = session()
    execution = chat.handle(Message("hi", "alice"))
    await joined(chat)
    assert execution.done
    with pytest.raises(SessionStopped):
        chat.handle(Message("hi", "alice"))


async def test_a_session_that_was_never_used_ends(tmp_path: Path) -> None:
    for store in (None, DataStore(tmp_path)):
        await joined(session(store=store))


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_abandoned_join_can_be_repeated(how: str) -> None:
    release = asyncio.Event()

    async def run(*_: Any) -> str:
        await release.wait()
        return "at last"

    chat = session(run)
    execution = chat.handle(Message("hi", "alice"))
    if how == "timeout":
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(chat.join(), 0.02)
    else:
        joining = asyncio.create_task(chat.join())
        await asyncio.sleep(0)
        joining.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joining
    assert chat.running == [execution]
    release.set()
    await joined(chat)
    assert isinstance(await last_event(execution), Answered)
    assert chat.running == []


async def test_many_can_join_at_once() -> None:
    chat = session()
    execution = chat.handle(Message("hi", "alice"))
    async with asyncio.timeout(DEADLINE):
        await asyncio.gather(*(chat.join() for _ in range(5)))
    assert execution.done


async def test_one_join_that_is_given_up_ends_no_other() -> None:
    release = asyncio.Event()

    async def run(*_: Any) -> str:
        await release.wait()
        return "at last"

    chat = session(run)
    execution = chat.handle(Message("hi", "alice"))
    patient, hasty = (asyncio.create_task(chat.join()) for _ in range(2))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(hasty, 0.02)
    release.set()
    async with asyncio.timeout(DEADLINE):
        await patient
    assert isinstance(await last_event(execution), Answered)


async def test_join_waits_for_unawaited_writes(tmp_path: Path) -> None:
    store = DataStore(tmp_path)
    chat = session(store=store)
    await chat.remembered()
    release = threading.Event()
    held_up = asyncio.ensure_future(store.run(lambda: release.wait(DEADLINE)))
    chat.append(Message("last words", "alice"))
    joining = asyncio.create_task(chat.join())
    await asyncio.wait({joining}, timeout=0.05)
    assert not joining.done()
    release.set()
    async with asyncio.timeout(DEADLINE):
        await joining
    assert b"last words" in (tmp_path / "s" / "session.jsonl").read_bytes()
    assert await held_up
    store.close()


async def test_work_before_stop_is_completed(tmp_path: Path) -> None:
    """Also what could not begin yet, since the messages from disk were still being read."""
    chat = session(store=DataStore(tmp_path))
    executions = [chat.handle(Message(text, sender)) for text in "12" for sender in ("a", "b")]
    chat.append(Message("context", "c"))
    chat.stop()
    await joined(chat)
    for execution in executions:
        assert isinstance(await last_event(execution), Answered)
    saved = await GroupSession.load_messages(DataStore(tmp_path))
    assert saved is not None
    assert len(saved) == 4 + 4 + 1


async def test_closed_store_lets_session_end(
    tmp_path: Path,
) -> None:
    store = DataStore(tmp_path)
    chat = session(store=store)
    assert isinstance(await last_event(chat.handle(Message("hi", "alice"))), Answered)
    await store.aclose()
    late = chat.handle(Message("late", "alice"))
    await joined(chat)
    assert late.done


async def test_killed_close_can_be_joined_again() -> None:
    chat = session()
    before = asyncio.all_tasks()
    joining = asyncio.create_task(chat.join())
    while not (closing := [t for t in asyncio.all_tasks() - before if t is not joining]):
        await asyncio.sleep(0)
    closing[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await joining
    await joined(chat)


@pytest.mark.parametrize("with_store", [True, False])
def test_session_precedes_event_loop(tmp_path: Path, with_store: bool) -> None:
    chat = session(store=DataStore(tmp_path) if with_store else None)

    async def use() -> Message | None:
        answer = await chat.handle(Message("hi", "alice")).result()
        await joined(chat)
        return answer

    assert asyncio.run(use()) is not None


def test_forgotten_stop_still_ends() -> None:
    chat = session(asks)

    async def forget() -> Any:
        execution = chat.handle(Message("hi", "alice"))
        await first_approval(execution)
        return execution

    execution = asyncio.run(forget())
    assert execution.done
    assert asyncio.run(events(execution))[-1] == Cancelled("interrupted")


async def test_agents_close_concurrently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However many people there are, and whatever their agents direct: ending takes one closing."""
    monkeypatch.setattr("genie_core.runtime.resource_task.GRACE", 600.0)
    people = 4
    closing = asyncio.Barrier(people)

    class Together(ScriptedAgent):
        @asynccontextmanager
        async def mcp(self) -> AsyncIterator[ScriptedAgent]:
            yield self
            await closing.wait()

    def coordinator(_secrets: Any, tools: Any, _infos: Any) -> Agent:
        async def run(input: AgentInput, *_: Any) -> str:  # noqa: A002 - as in Agent.run
            return str(await tools["run_subagent"](input.query, "closer"))

        return ScriptedAgent(run)

    agents = AgentFactory(coordinator)
    agents.add_agent_factory_fn(lambda _secrets: Together(), AgentInfo("closer", ""))
    chat = GroupSession("s", reasoner_factory(), agents)
    executions = [chat.handle(Message("hi", f"person {each}")) for each in range(people)]
    for execution in executions:
        assert isinstance(await last_event(execution), Answered)
    async with asyncio.timeout(DEADLINE):  # one that waits for the others in vain waits for longer
        await chat.join()
