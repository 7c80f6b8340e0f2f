"""`async with GroupSession(…)`, and the live list of messages."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.limits import scaled

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.datastore import DataStore
from genie_core.errors import SessionStopped
from genie_core.execution import Answered, ApprovalClosed, ApprovalPending, Cancelled, Execution
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_testing import Emit, RunFn, agent_factory, echo, reasoner_factory


def session(run: RunFn = echo, store: DataStore | None = None) -> GroupSession:
    return GroupSession("s", reasoner_factory(), agent_factory(run), store)


class Endless:
    """Works until it is cancelled."""

    def __init__(self) -> None:
        self.runs = asyncio.Event()

    async def __call__(self, _: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:
        self.runs.set()
        await asyncio.Event().wait()
        raise AssertionError("it is cancelled")


async def last(execution: Execution) -> object:
    return [event async for event in execution.events()][-1]


def contents(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages]


async def test_leaving_awaits_running_work() -> None:
    async with session() as chat:
        execution = chat.handle(Message("hi", "alice"))
    assert isinstance(await last(execution), Answered)
    with pytest.raises(SessionStopped):
        chat.handle(Message("too late", "alice"))


async def test_leaving_denies_what_waits_for_an_answer() -> None:
    async def ask(_: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        return "yes" if await callback("tool", {}) else "no"

    async with session(ask) as chat:
        execution = chat.handle(Message("hi", "alice"))
        await anext(
            event async for event in chat.events() if isinstance(event.event, ApprovalPending)
        )
    (closed,) = [each async for each in execution.events() if isinstance(each, ApprovalClosed)]
    assert closed.verdict.reason == "session is stopping"
    assert contents(chat.messages) == ["hi", "no"]


async def test_exception_cancels_and_propagates(tmp_path: Path) -> None:
    run = Endless()

    async def fail(chat: GroupSession) -> None:
        async with asyncio.timeout(scaled(60)), chat:
            chat.handle(Message("hi", "alice"))
            await run.runs.wait()
            raise LookupError

    async with DataStore(tmp_path) as store:
        chat = session(run, store)
        with pytest.raises(LookupError):
            await fail(chat)
        event = [each.event async for each in chat.events()][-1]
        assert isinstance(event, Cancelled)
        async with session(store=store) as again:
            assert contents(again.messages) == ["hi"]


@pytest.mark.parametrize("inside", [True, False])
async def test_cancellation_ends_session_in_order(*, inside: bool) -> None:
    run = Endless()
    chat = session(run)

    async def talk() -> None:
        async with chat:
            chat.handle(Message("hi", "alice"))
            if inside:
                await asyncio.Event().wait()

    task = asyncio.create_task(talk())
    await run.runs.wait()
    (execution,) = chat.running
    task.cancel()
    async with asyncio.timeout(scaled(60)):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert isinstance(await last(execution), Cancelled)
    assert chat.running == []


async def test_saved_messages_are_there_on_enter(tmp_path: Path) -> None:
    async with DataStore(tmp_path) as store:
        async with session(store=store) as chat:
            await chat.handle(Message("one", "alice")).result()
        async with session(store=store) as chat:
            assert contents(chat.messages) == ["one", "echo: one"]


async def test_message_list_is_live_and_read_only() -> None:
    async with session() as chat:
        messages = chat.messages
        assert len(messages) == 0
        chat.append(Message("one", "alice"))
        chat.append(Message("two", "bob"))
        assert contents(messages) == ["one", "two"]
        assert contents(messages[1:]) == ["two"]
        assert messages[-1].sender == "bob"
        assert not hasattr(messages, "append")
        messages[:].clear()  # type: ignore[attr-defined]  # a copy, as slices of lists are
        assert len(chat.messages) == 2
