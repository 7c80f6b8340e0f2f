import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.limits import scaled

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.errors import EventsMissed
from genie_core.execution import (
    Answered,
    ApprovalClosed,
    ApprovalPending,
    Cancelled,
    Decided,
    Execution,
    TextDelta,
)
from genie_core.message import Message
from genie_core.session import GroupSession
from genie_core.session_events import Received, SessionEvent, SessionEvents
from genie_testing import Emit, RunFn, agent_factory, echo, reasoner_factory


def session(run: RunFn = echo) -> GroupSession:
    return GroupSession("s", reasoner_factory(), agent_factory(run))


async def read(events: AsyncIterator[SessionEvent]) -> list[SessionEvent]:
    async with asyncio.timeout(scaled(60)):
        return [event async for event in events]


async def asking(input: AgentInput, callback: ApprovalCallback, emit: Emit) -> str:  # noqa: A002 - the contract's name
    emit("so ")
    emit("far")
    return f"{input.query}: {bool(await callback('tool', {}))}"


async def test_early_and_late_readers_see_same() -> None:
    chat = session()
    early = asyncio.create_task(read(chat.events()))
    await asyncio.sleep(0)
    executions = [chat.handle(Message("hi", who)) for who in ("alice", "bob")]
    await asyncio.gather(*(each.result() for each in executions))
    await chat.join()
    events = await early
    assert [event.number for event in events] == [1, 2, 3, 4, 5, 6]
    for execution, who in zip(executions, ("alice", "bob"), strict=True):
        own = [event for event in events if event.execution is execution]
        assert {event.message.sender for event in own} == {who}
        assert [type(event.event) for event in own] == [Received, Decided, Answered]
        assert [event.event for event in own[1:]] == [each async for each in execution.events()]
    assert await read(chat.events()) == events


async def test_context_messages_emit_events() -> None:
    async with session() as chat:
        chat.append(Message("for your information", "bob"))
    (event,) = await read(chat.events())
    assert (event.message.content, event.execution) == ("for your information", None)
    assert isinstance(event.event, Received)


async def test_reading_goes_on_after_a_number() -> None:
    async with session() as chat:
        await chat.handle(Message("one", "alice")).result()
        await chat.delegate("two", sender="alice").result()
    events = await read(chat.events(after=3))
    assert [event.number for event in events] == [4, 5, 6]
    assert {event.message.content for event in events} == {"two"}
    assert await read(chat.events(after=9)) == []


async def test_private_query_emits_no_events() -> None:
    async with session() as chat:
        answer = await chat.delegate("secret", sender="alice", private=True).result()
    assert answer is not None
    assert await read(chat.events()) == []


async def test_previews_vanish_after_answer() -> None:
    async with session(asking) as chat:
        chat.handle(Message("hi", "alice"))
        seen = []
        async for event in chat.events():
            seen.append(type(event.event))
            if isinstance(event.event, ApprovalPending):
                event.event.approval.approve()
            if isinstance(event.event, Answered):
                break
        late = await read_until_now(chat)
    assert seen == [
        *(Received, Decided, TextDelta, TextDelta),
        *(ApprovalPending, ApprovalClosed, Answered),
    ]
    assert [event.number for event in late] == [1, 2, 5, 6, 7]


async def read_until_now(chat: GroupSession) -> list[SessionEvent]:
    events = []
    async for event in chat.events():
        events.append(event)
        if isinstance(event.event, Answered):
            break
    return events


async def test_lagging_reader_learns_next_number() -> None:
    events, message, execution = SessionEvents(kept=3), Message("hi", "alice"), Execution()
    reader = events.read(0)
    for number in range(1, 6):
        events.record(message, execution, TextDelta("a preview"))
        events.record(message, Execution(), Cancelled(str(number)))
        if number == 1:
            assert (await anext(reader)).number == 1
    events.close()
    with pytest.raises(EventsMissed, match=r"from number 5 on; .* events\(after=4\)") as missed:
        await read(reader)
    with pytest.raises(EventsMissed):
        await read(events.read(3))
    rest = await read(events.read(missed.value.last))
    assert [event.number for event in rest] == [5, 6, 7, 8, 9, 10]


async def test_previews_evict_no_events() -> None:
    events, message, execution = SessionEvents(kept=2), Message("hi", "alice"), Execution()
    events.record(message, Execution(), Cancelled("first"))
    for _ in range(100):
        events.record(message, execution, TextDelta("a preview"))
    events.record(message, execution, Cancelled("last"))
    events.close()
    assert [event.number for event in await read(events.read(0))] == [1, 102]


async def test_events_are_bound_to_session_loop() -> None:
    chat = session()
    await chat.handle(Message("hi", "alice")).result()
    with pytest.raises(RuntimeError, match=r"GroupSession\.events"):
        await asyncio.to_thread(lambda: asyncio.run(read(chat.events())))
    await chat.join()
