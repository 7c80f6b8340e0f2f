"""Readers come, leave and come back; the work is done once and does not care."""

import asyncio
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

from genie_core.agent import AgentInput, Approval, Decision
from genie_core.execution import Answered, Cancelled, Decided, Failed, TextDelta
from genie_core.message import Message
from genie_core.reasoner import Response
from genie_core.session import Execution
from genie_testing import Emit, ignore_all

pytestmark = pytest.mark.timeout(100)


async def stream(execution: Execution) -> list[Any]:
    async with asyncio.timeout(DEADLINE):
        return [element async for element in execution.stream()]


async def test_repeated_reads_reason_once() -> None:
    calls = []

    def decide(updates: list[Message]) -> Response:
        calls.append(updates)
        return ignore_all(updates)

    chat = session(decide=decide)
    execution = chat.handle(Message("hi", "alice"))
    readers = await asyncio.gather(*(events(execution) for _ in range(3)))
    assert len(calls) == 1
    assert all(record == readers[0] for record in readers)
    (decided,) = readers[0]
    assert isinstance(decided, Decided)
    assert decided.reason
    assert decided.elapsed >= 0
    assert await stream(execution) == await stream(execution) == [Decision.IGNORE]
    assert await execution.result() is None
    assert len(calls) == 1
    await joined(chat)


async def test_failure_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def decide(_updates: list[Message]) -> Response:
        raise RuntimeError("no key")

    chat = session(decide=decide)
    execution = chat.handle(Message("hi", "alice"))
    assert isinstance(await last_event(execution), Failed)
    for _ in range(2):
        assert await stream(execution) == [Decision.IGNORE]
    (record,) = [each for each in caplog.records if each.name == "genie_core.execution"]
    assert record.levelname == "WARNING"
    assert "reasoner of alice: RuntimeError: no key" in record.getMessage()
    await joined(chat)


async def test_silence_and_cancel_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chat = session(decide=ignore_all)
    ignored = chat.handle(Message("hi", "alice"))
    cancelled = chat.handle(Message("hi", "alice"))
    cancelled.cancel()
    assert await stream(ignored) == await stream(cancelled) == [Decision.IGNORE]
    await joined(chat)
    assert [each for each in caplog.records if each.name == "genie_core.execution"] == []


async def test_the_work_is_done_without_any_reader() -> None:
    done = asyncio.Event()

    async def run(*_: Any) -> str:
        done.set()
        return "ok"

    chat = session(run)
    chat.handle(Message("hi", "alice"))
    async with asyncio.timeout(DEADLINE):
        await done.wait()
    await joined(chat)


async def test_late_readers_get_same_elements() -> None:
    chat = session(asks)
    execution = chat.handle(Message("hi", "alice"))
    early = [asyncio.create_task(stream(execution)) for _ in range(2)]
    approval = await first_approval(execution)
    middle = asyncio.create_task(stream(execution))
    approval.approve()
    answer = await execution.result()
    expected = [Decision.DELEGATE, approval, answer]
    for reader in (*early, middle, asyncio.create_task(stream(execution))):
        assert await reader == expected
    await joined(chat)


@pytest.mark.parametrize("how", ["cancelled", "leaves"])
async def test_departing_reader_changes_nothing(how: str) -> None:
    runs = 0

    async def run(*arguments: Any) -> str:
        nonlocal runs
        runs += 1
        return await asks(*arguments)

    chat = session(run)
    execution = chat.handle(Message("hi", "alice"))
    approval = await first_approval(execution)
    reading = asyncio.create_task(stream(execution))
    await asyncio.sleep(0)
    if how == "cancelled":
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    else:
        async for _ in execution.events():
            break
    approval.approve()
    last = await last_event(execution)
    assert isinstance(last, Answered)
    assert last.message.content == "done"
    if how == "leaves":
        assert (await reading)[-1] == last.message
    assert runs == 1
    await joined(chat)


async def test_slow_text_reader_delays_nobody() -> None:
    async def run(_input: AgentInput, _callback: Any, emit: Emit) -> str:
        for letter in "abc":
            emit(letter)
        return "abc"

    chat = session(run)
    execution = chat.handle(Message("hi", "alice"))
    slow = execution.events()
    assert isinstance(await anext(slow), Decided)
    assert isinstance(await last_event(execution), Answered)
    rest = [event async for event in slow]
    assert isinstance(rest[-1], Answered)
    assert all(isinstance(event, TextDelta) for event in rest[:-1])
    await joined(chat)


async def test_immediate_cancel_skips_reasoner() -> None:
    calls = []

    def decide(updates: list[Message]) -> Response:
        calls.append([message.content for message in updates])
        return ignore_all(updates)

    chat = session(decide=decide)
    execution = chat.handle(Message("never mind", "alice"))
    execution.cancel()
    assert await events(execution) == [Cancelled("")]
    await events(chat.handle(Message("hi", "alice")))
    assert calls == [["never mind", "hi"]]
    await joined(chat)


async def test_own_execution_can_be_cancelled() -> None:
    execution = Execution()
    reading = asyncio.create_task(stream(execution))
    await asyncio.sleep(0)
    assert execution.pending_approvals == []
    assert execution.cancel("not needed")
    assert await reading == [Decision.IGNORE]
    assert not execution.cancel()
    assert await execution.result() is None


async def test_done_is_set_only_at_last_event() -> None:
    chat = session(asks)
    execution = chat.handle(Message("hi", "alice"))
    seen = [(type(each), execution.done) async for each in _approving(execution)]
    assert seen == [(Decision, False), (Approval, False), (Message, True)]
    await joined(chat)


async def _approving(execution: Execution) -> Any:
    async with asyncio.timeout(DEADLINE):
        async for element in execution.stream():
            yield element
            if isinstance(element, Approval):
                element.approve()
