"""Approvals as the documented API describes them."""

import asyncio
import json
from asyncio import Queue

import pytest
from tests.reference.conftest import Toys

from genie_core.agent import AgentInput, Approval, ApprovalCallback, ApprovalContext
from genie_core.message import Message


def request() -> Approval:
    future = asyncio.get_running_loop().create_future()
    return Approval(
        sender="system", tool_name="add", tool_args=(), tool_kwargs={"a": 1, "b": "x"}, ftr=future
    )


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_answer_is_a_plain_bool(allowed: bool) -> None:
    approval = request()
    waiting = asyncio.gather(approval.approved(), approval.approved())
    (approval.approve if allowed else approval.deny)()
    answers = list(await waiting)
    assert [type(each) for each in answers] == [bool, bool]
    assert answers == [allowed, allowed]
    assert await approval.ftr is allowed


async def test_a_call_is_written_as_python() -> None:
    assert request().call_repr() == "add(a=1, b='x')"
    assert str(request()) == "[sender=\"system\"] add(a=1, b='x')"


@pytest.mark.parametrize("allowed", [True, False])
async def test_context_queues_request_for_answer(allowed: bool) -> None:
    queue: Queue[Approval] = Queue()
    context = ApprovalContext(queue=queue)
    assert context.auto_approve is False
    asked = asyncio.gather(context.approval("search:1a2b3c4d", "find", {"word": "tea"}))
    approval = await queue.get()
    assert (approval.sender, approval.tool_name) == ("search:1a2b3c4d", "find")
    assert (approval.tool_args, approval.tool_kwargs) == ((), {"word": "tea"})
    assert not asked.done()
    (approval.approve if allowed else approval.deny)()
    [answer] = await asked
    assert answer is allowed


async def test_a_callback_names_its_sender() -> None:
    queue: Queue[Approval] = Queue()
    callback = ApprovalContext(queue=queue).approval_callback("system")
    asked = asyncio.gather(callback("find", {"word": "tea"}))
    approval = await queue.get()
    assert approval.sender == "system"
    approval.approve()
    assert list(await asked) == [True]


async def test_automatic_approval_queues_nothing() -> None:
    queue: Queue[Approval] = Queue()
    context = ApprovalContext(queue=queue, auto_approve=True)
    assert await context.approval("system", "find", {}) is True
    assert await context.approval_callback("system")("find", {}) is True
    assert queue.empty()


async def test_callback_returns_plain_bool(toys: Toys) -> None:
    answers: list[object] = []

    async def keep(given: AgentInput, callback: ApprovalCallback) -> str:
        answers.append(await callback("one", {}))
        answers.append(await callback("two", {}))
        return json.dumps(answers)

    toys.run = keep
    async for element in toys.session().handle(Message("well?", "ann")).stream():
        if isinstance(element, Approval):
            (element.approve if element.tool_name == "one" else element.deny)()
    assert isinstance(element, Message)
    assert element.content == "[true, false]"
    assert answers[0] is True
    assert answers[1] is False


async def test_parallel_calls_answer_in_any_order(toys: Toys) -> None:
    async def both(given: AgentInput, callback: ApprovalCallback) -> str:
        answers = await asyncio.gather(callback("one", {}), callback("two", {}))
        return ", ".join("yes" if each else "no" for each in answers)

    toys.run = both
    waiting: list[Approval] = []
    async for element in toys.session().handle(Message("well?", "ann")).stream():
        if isinstance(element, Approval):
            waiting.append(element)
        if len(waiting) == 2:
            waiting[1].approve()
            waiting[0].deny()
            waiting = []
    assert isinstance(element, Message)
    assert element.content == "no, yes"
