import asyncio
import json
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Thread, current_thread, main_thread
from typing import Any
from unittest.mock import AsyncMock

import pytest
from tests.limits import scaled

from genie_core.agent import Approval, ApprovalContext, Verdict
from genie_core.agent.approval import approval_id, ask_about
from genie_core.errors import InvalidSetting


def request() -> Approval:
    return Approval("system", "add", (), {"a": 1, "b": "x"})


async def test_the_answer_reaches_whoever_waits() -> None:
    approval = request()
    waiting = asyncio.create_task(approval.approved())
    await asyncio.sleep(0)
    assert approval.approve(by="alice")
    async with asyncio.timeout(scaled(60)):
        assert await waiting
    assert approval.by == "alice"
    assert approval.resolved_at is not None


async def test_denial_has_reason_and_is_false() -> None:
    approval = request()
    approval.deny("too risky")
    verdict = await approval.verdict()
    assert not verdict
    assert verdict.reason == "too risky"


async def test_an_approval_may_carry_other_arguments() -> None:
    approval = request()
    approval.approve(arguments={"a": 2})
    assert await approval.verdict() == Verdict(approved=True, arguments={"a": 2})


async def test_approved_is_bool_verdict_has_rest() -> None:
    approval, other = request(), request()
    approval.approve(arguments={"a": 2}, by="alice")
    other.deny("too risky", by="bob")
    assert await approval.approved() is True
    assert await other.approved() is False
    assert json.dumps({"ok": await approval.approved()}) == '{"ok": true}'
    given, refused = await approval.verdict(), await other.verdict()
    assert (given.approved, given.arguments, given.by) == (True, {"a": 2}, "alice")
    assert (refused.approved, refused.reason, refused.by) == (False, "too risky", "bob")
    assert given.at is not None
    assert given.at >= approval.requested_at


async def test_engine_callback_returns_bool() -> None:
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    context = ApprovalContext(queue)
    callback = context.approval_callback("system")
    for asked in (callback("f", {}), context.approval("system", "f", {})):
        waiting = asyncio.ensure_future(asked)
        (await queue.get()).deny("no")
        assert await waiting is False
    assert await ApprovalContext(queue, auto_approve=True).approval_callback("s")("f", {}) is True


async def test_non_dict_arguments_are_refused() -> None:
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    callback: Any = ApprovalContext(queue).approval_callback("system")
    with pytest.raises(InvalidSetting, match="tool_args must be a dict, not 'no dictionary'"):
        await callback("f", "no dictionary")
    assert queue.empty()


async def test_callback_returns_bool_or_verdict() -> None:
    edited = Verdict(approved=True, arguments={"a": 1})
    for answer, whole in ((True, Verdict(approved=True)), (False, Verdict(approved=False))):
        assert await ask_about(AsyncMock(return_value=answer), "f", {}) == whole
    assert await ask_about(AsyncMock(return_value=edited), "f", {}) is edited


async def test_the_first_answer_counts() -> None:
    approval = request()
    assert approval.approve(by="alice")
    assert not approval.approve(by="bob")
    assert not approval.deny("no", by="bob")
    assert await approval.approved()
    assert approval.by == "alice"


async def test_one_thread_wins_and_wakes_loop() -> None:
    for _ in range(20):
        approval = request()
        barrier = Barrier(4)
        wins: list[str] = []

        def answer(
            name: str,
            approval: Approval = approval,
            barrier: Barrier = barrier,
            wins: list[str] = wins,
        ) -> None:
            barrier.wait()
            if approval.deny(name, by=name):
                wins.append(name)

        threads = [Thread(target=answer, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        async with asyncio.timeout(scaled(60)):
            verdict = await approval.verdict()
        for thread in threads:
            thread.join()
        assert wins == [verdict.reason] == [approval.by]


class Crossroads(asyncio.Future[bool]):
    """A future at which two threads meet, if nothing keeps them apart, when they look at it."""

    def __init__(self) -> None:
        super().__init__()
        self.meeting = Barrier(2)

    def done(self) -> bool:
        found = super().done()
        if current_thread() is not main_thread():
            with suppress(BrokenBarrierError):
                self.meeting.wait(0.2)
        return found


async def test_simultaneous_answers_let_one_win() -> None:
    approval = Approval("system", "f", (), {}, Crossroads())
    async with asyncio.timeout(scaled(60)):
        wins = await asyncio.gather(
            asyncio.to_thread(approval.approve), asyncio.to_thread(approval.deny, "no")
        )
        verdict = await approval.verdict()
    assert sorted(wins) == [False, True]
    assert wins[0] is verdict.approved


async def test_cancelled_wait_keeps_request_open() -> None:
    approval = request()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(approval.approved(), 0.01)
    assert approval.answer is None
    approval.approve()
    assert await approval.approved()


@pytest.mark.parametrize("answer", [True, False])
async def test_contract_future_gets_bool(answer: bool) -> None:
    ftr: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    approval = Approval("system", "add", (1,), {}, ftr)
    assert approval.approve() if answer else approval.deny("no")
    assert await ftr is answer


async def test_outside_result_is_answer() -> None:
    approval = request()
    approval.ftr.set_result(True)
    assert not approval.deny()
    assert await approval.verdict() == Verdict(approved=True) == approval.answer
    assert approval.resolved_at is not None


async def test_future_callback_finds_verdict() -> None:
    approval = request()
    seen: list[Verdict | None] = []
    approval.ftr.add_done_callback(lambda _: seen.append(approval.answer))
    approval.ftr.set_result(True)
    await asyncio.sleep(0)
    assert seen == [Verdict(approved=True)]


async def test_cancelled_future_is_denial() -> None:
    withdrawn, failed = request(), request()
    withdrawn.ftr.cancel()
    failed.ftr.set_exception(ConnectionError("the terminal is gone"))
    for approval, reason in ((withdrawn, "withdrawn"), (failed, "the terminal is gone")):
        verdict = await approval.verdict()
        assert not verdict
        assert reason in (verdict.reason or "")


async def test_one_of_several_waiters_may_leave() -> None:
    approval = request()
    waiting = [asyncio.create_task(approval.verdict()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    approval.deny("no")
    async with asyncio.timeout(scaled(60)):
        answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    assert answers[1:] == [Verdict(approved=False, reason="no")] * 2
    assert await approval.verdict() is answers[1]


def test_closed_loop_accepts_no_answer() -> None:
    async def ask() -> Approval:
        return request()

    approval = asyncio.run(ask())
    assert not approval.approve()
    assert approval.answer is None


async def test_thread_or_future_answer_counts() -> None:
    for _ in range(200):
        approval = request()
        outcome: list[bool] = []
        thread = Thread(target=lambda ask=approval, won=outcome: won.append(ask.deny("thread")))
        thread.start()
        if not approval.ftr.done():
            approval.ftr.set_result(True)
        async with asyncio.timeout(scaled(60)):
            verdict = await approval.verdict()
        thread.join()
        assert outcome == [verdict.reason == "thread"]
        assert verdict is approval.answer


async def test_ids_are_unique_hexadecimal() -> None:
    one, other = request(), request()
    assert one.id != other.id
    assert int(one.id, 16) >= 0


async def test_a_call_is_written_like_python() -> None:
    assert request().call_repr() == "add(a=1, b='x')"
    assert str(Approval("search:0a", "f", (1,), {})) == '[sender="search:0a"] f(1)'
    assert str(Approval("system", "f", ("x",), {"n": 1})) == "[sender=\"system\"] f('x', n=1)"


async def test_context_queues_and_returns_answer() -> None:
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    callback = ApprovalContext(queue).approval_callback("search:0a")
    asked = asyncio.ensure_future(ask_about(callback, "find", {"q": "x"}))
    approval = await queue.get()
    assert (approval.sender, approval.tool_name, approval.tool_kwargs) == (
        "search:0a",
        "find",
        {"q": "x"},
    )
    approval.deny("no")
    assert await asked == Verdict(approved=False, reason="no")


async def test_an_auto_approving_context_asks_nobody() -> None:
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    assert await ApprovalContext(queue, auto_approve=True).approval("system", "f", {})
    assert queue.empty()


async def test_call_knows_its_approval_id() -> None:
    queue: asyncio.Queue[Approval] = asyncio.Queue()

    async def call(context: ApprovalContext) -> str:
        await context.approval("system", "f", {})
        return approval_id.get()

    calls = [asyncio.create_task(call(ApprovalContext(queue))) for _ in range(2)]
    approvals = [await queue.get() for _ in calls]
    for approval in approvals:
        approval.approve()
    assert [await each for each in calls] == [each.id for each in approvals]
    approval_id.set("another")
    assert not await call(ApprovalContext(queue, auto_approve=True))


async def test_cancelled_asker_withdraws_request() -> None:
    queue: asyncio.Queue[Approval] = asyncio.Queue()
    asking = asyncio.create_task(ApprovalContext(queue).approval("search:0a", "f", {}))
    approval = await queue.get()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not approval.approve()
    assert (await approval.verdict()).reason == "the request was withdrawn"


async def test_callback_follows_contract_names() -> None:
    context = ApprovalContext(queue=asyncio.Queue(), auto_approve=True)
    callback: Any = context.approval_callback(sender="system")  # whose type has no names
    assert await callback(tool_name="f", tool_args={})
    assert await context.approval(sender="system", tool_name="f", tool_args={})
