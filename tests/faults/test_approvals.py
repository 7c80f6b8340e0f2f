"""Answers to approvals: late, twice, from anywhere, from nobody."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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

from genie_core.agent import AgentInput, Approval, ApprovalCallback
from genie_core.agent.approval import ask_about
from genie_core.execution import Answered, ApprovalClosed, ApprovalPending, Cancelled, Decided
from genie_core.message import Message
from genie_testing import Emit

pytestmark = pytest.mark.timeout(100)

Answer = Callable[[Approval], bool]


def approve(approval: Approval) -> bool:
    return approval.approve()


def deny(approval: Approval) -> bool:
    return approval.deny("no")


async def in_turn(answers: list[Answer], approval: Approval) -> list[bool]:
    return [answer(approval) for answer in answers]


async def from_tasks(answers: list[Answer], approval: Approval) -> list[bool]:
    async def give(answer: Answer) -> bool:
        await asyncio.sleep(0)
        return answer(approval)

    return await asyncio.gather(*map(give, answers))


async def from_threads(answers: list[Answer], approval: Approval) -> list[bool]:
    with ThreadPoolExecutor(len(answers)) as pool:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(
            *(loop.run_in_executor(pool, answer, approval) for answer in answers)
        )


@pytest.mark.parametrize("give", [in_turn, from_tasks, from_threads])
@pytest.mark.parametrize(
    "answers", [[approve, approve], [approve, deny], [deny, approve], [approve, deny] * 4]
)
async def test_only_one_answer_counts(give: Any, answers: Any) -> None:
    chat = session(asks)
    execution = chat.handle(Message("hi", "alice"))
    approval = await first_approval(execution)
    async with asyncio.timeout(DEADLINE):
        outcomes = await give(answers, approval)
    assert outcomes.count(True) == 1
    approved = answers[outcomes.index(True)] is approve
    recorded = await events(execution)
    (resolved,) = [event for event in recorded if isinstance(event, ApprovalClosed)]
    assert bool(resolved.verdict) is approved
    last = recorded[-1]
    assert isinstance(last, Answered)
    assert last.message.content == ("done" if approved else "refused: no")
    await joined(chat)


async def test_abandoned_approval_blocks_nobody() -> None:
    chat = session(asks)
    execution = chat.handle(Message("hi", "alice"))
    reader = asyncio.create_task(execution.result())  # approves, once it comes to it
    reader.cancel()
    approval = await first_approval(execution)
    others = [chat.handle(Message(text, "bob")) for text in "12"]
    for other in others:
        (await first_approval(other)).approve()
        assert isinstance(await last_event(other), Answered)
    next_one = chat.handle(Message("meanwhile", "alice"))
    async with asyncio.timeout(DEADLINE):
        assert isinstance(await anext(next_one.events()), Decided)
    assert execution.pending_approvals == [approval]
    assert approval.approve()
    assert isinstance(await last_event(execution), Answered)
    (await first_approval(next_one)).approve()
    await joined(chat)


async def test_parallel_requests_take_any_order() -> None:
    async def run(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        verdicts = await asyncio.gather(*(ask_about(callback, "tool", {"n": n}) for n in range(3)))
        return ",".join("yes" if verdict else str(verdict.reason) for verdict in verdicts)

    chat = session(run)
    execution = chat.handle(Message("hi", "alice"))
    async with asyncio.timeout(DEADLINE):
        async for event in execution.events():
            if isinstance(event, ApprovalPending) and len(execution.pending_approvals) == 3:
                break
    first, second, third = execution.pending_approvals
    third.approve()
    first.deny("not that")
    second.approve()
    last = await last_event(execution)
    assert isinstance(last, Answered)
    assert last.message.content == "not that,yes,yes"
    await joined(chat)


async def test_cancel_ends_pending_approval() -> None:
    chat = session(asks)
    execution = chat.handle(Message("hi", "alice"))
    approval = await first_approval(execution)
    assert execution.cancel("enough")
    assert await last_event(execution) == Cancelled("enough")
    assert not approval.approve()
    assert not approval.answer
    following = chat.handle(Message("again", "alice"))
    (await first_approval(following)).approve()
    assert isinstance(await last_event(following), Answered)
    await joined(chat)


async def test_approval_after_answer_is_refused() -> None:
    late: list[asyncio.Task[Any]] = []

    async def run(_input: AgentInput, callback: ApprovalCallback, _emit: Emit) -> str:
        async def straggle() -> Any:
            await answered.wait()
            return await callback("tool", {})

        late.append(asyncio.create_task(straggle()))
        return "ok"

    answered = asyncio.Event()
    chat = session(run)
    execution = chat.handle(Message("hi", "alice"))
    before = await events(execution)
    answered.set()
    async with asyncio.timeout(DEADLINE):
        assert not await late[0]
    assert await events(execution) == before
    await joined(chat)
