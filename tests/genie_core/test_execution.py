import asyncio
from typing import Any

import pytest

from genie_core.agent import Approval, Decision
from genie_core.errors import ExecutionFailed, InvalidSetting, ModelFailed, StageFailed
from genie_core.execution import (
    Answered,
    ApprovalClosed,
    ApprovalPending,
    Cancelled,
    Decided,
    Execution,
    Failed,
    TextDelta,
)
from genie_core.message import Message

IGNORED = Decided(Decision.IGNORE, None, None, "small talk", 0.1)
DELEGATED = Decided(Decision.DELEGATE, "q", "alice", None, 0.1)
ANSWERED = Answered(Message("a", "system"), 1.0)


pytestmark = pytest.mark.timeout(100)


async def events(execution: Execution) -> list[object]:
    return [event async for event in execution.events()]


async def stream(execution: Execution) -> list[object]:
    return [element async for element in execution.stream()]


async def test_ignored_message_ends_at_decision() -> None:
    execution = Execution()
    execution.record(IGNORED)
    assert execution.done
    assert await events(execution) == [IGNORED]
    assert await stream(execution) == await stream(execution) == [Decision.IGNORE]
    assert await execution.result() is None


async def test_deltas_are_live_until_answer() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    execution.emit("hel")
    reader = execution.events()
    live = [await anext(reader), await anext(reader)]
    execution.emit("lo")
    live.append(await anext(reader))
    execution.record(ANSWERED)
    live += [event async for event in reader]
    assert live == [DELEGATED, TextDelta("hel"), TextDelta("lo"), ANSWERED]
    assert await events(execution) == [DELEGATED, ANSWERED]


async def test_nothing_follows_the_last_event() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    execution.record(ANSWERED)
    execution.record(Cancelled("late"))
    execution.emit("late")
    assert not execution.cancel()
    assert await events(execution) == [DELEGATED, ANSWERED]


async def test_failure_before_decision_is_ignore() -> None:
    execution = Execution()
    cause = ConnectionError("away")
    execution.fail(StageFailed("secrets", "secrets of alice", cause), "reasoner")
    assert await stream(execution) == [Decision.IGNORE]
    assert await events(execution) == [
        Failed(
            "secrets",
            "secrets of alice: ConnectionError: away",
            cause,
            "secrets of alice: ConnectionError",
        )
    ]


async def test_failure_after_decision_raises() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    execution.fail(ValueError("odd"), "agent")
    for _ in range(2):
        with pytest.raises(ExecutionFailed, match="odd") as caught:
            await execution.result()
        assert caught.value.stage == "agent"
        assert isinstance(caught.value.__cause__, ValueError)


async def test_failure_streams_as_message() -> None:
    execution = Execution()
    execution.origin = Message("hi", "alice", request_id="r")
    execution.record(DELEGATED)
    failure = ModelFailed("key", "gpt", "https://secret.example", "key sk-1234 is no good")
    execution.fail(failure, "agent")
    elements = [each async for each in execution.stream(errors="message")]
    said = "the model's provider refused the key"
    assert elements == [Decision.DELEGATE, Message(said, "system", "alice", request_id="r")]
    with pytest.raises(ExecutionFailed):
        await execution.result()


async def test_early_failure_streams_no_message() -> None:
    failed, cancelled = Execution(), Execution()
    failed.fail(ValueError("odd"), "reasoner")
    cancelled.record(DELEGATED)
    cancelled.cancel()
    for execution, decided in ((failed, Decision.IGNORE), (cancelled, Decision.DELEGATE)):
        assert [each async for each in execution.stream(errors="message")] == [decided]


async def test_unknown_errors_mode_is_refused() -> None:
    asked: Any = "ignore"
    with pytest.raises(InvalidSetting, match='errors must be "raise" or "message"'):
        await anext(Execution().stream(errors=asked))


@pytest.mark.parametrize("error", [None, ValueError("odd")])
async def test_end_keeps_partial_answer_text(error: ValueError | None) -> None:
    execution = Execution()
    execution.record(DELEGATED)
    execution.emit("Once ")
    execution.emit("upon")
    if error is None:
        execution.cancel("stopped")
    else:
        execution.fail(error, "agent")
    execution.emit(" a time")
    *_, last = await events(execution)
    assert isinstance(last, Cancelled | Failed)
    assert last.text == "Once upon"


async def test_approval_records_answerer_and_time() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    asked = asyncio.create_task(execution.approvals().verdict("system", "f", {"x": 1}))
    reader = execution.events()
    await anext(reader)
    requested = await anext(reader)
    assert isinstance(requested, ApprovalPending)
    approval = requested.approval
    assert execution.pending_approvals == [approval]
    approval.deny("no", by="alice")
    resolved = await anext(reader)
    assert isinstance(resolved, ApprovalClosed)
    assert (resolved.approval, resolved.by, resolved.at) == (
        approval,
        "alice",
        approval.resolved_at,
    )
    assert (await asked) == resolved.verdict
    assert resolved.verdict.reason == "no"
    assert execution.pending_approvals == []


async def test_refusal_denies_later_approvals() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    pending = asyncio.create_task(execution.approvals().verdict("system", "f", {}))
    await asyncio.sleep(0)
    execution.refuse_approvals("closing time")
    verdicts = [await pending, await execution.approvals().verdict("system", "g", {})]
    assert [(verdict.approved, verdict.reason) for verdict in verdicts] == [
        (False, "closing time")
    ] * 2
    kinds = [type(event).__name__ for event in (await anext_all(execution, 5))]
    assert kinds == ["Decided", *["ApprovalPending", "ApprovalClosed"] * 2]


async def test_answered_approvals_keep_verdict() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    for name in ("f", "g", "h"):
        await execution.put(Approval("system", name, (), {}))
    first, second, third = execution.pending_approvals
    first.deny("no")
    second.ftr.set_result(True)
    assert execution.pending_approvals == [third]
    execution.refuse_approvals("closing time")
    assert execution.pending_approvals == []
    resolved = [e for e in await anext_all(execution, 7) if isinstance(e, ApprovalClosed)]
    assert [(each.verdict.approved, each.verdict.reason) for each in resolved] == [
        (False, "no"),
        (True, None),
        (False, "closing time"),
    ]


async def anext_all(execution: Execution, count: int) -> list[object]:
    reader = execution.events()
    return [await anext(reader) for _ in range(count)]


async def test_cancel_denies_pending_approvals() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    pending = asyncio.create_task(execution.approvals().verdict("system", "f", {}))
    await asyncio.sleep(0)
    assert execution.cancel("enough")
    assert not execution.cancel("again")
    assert not await pending
    recorded = await events(execution)
    assert recorded[-1] == Cancelled("enough")
    assert isinstance(recorded[-2], ApprovalClosed)
    assert [type(each) for each in await stream(execution)] == [Decision, Approval]


async def test_approval_after_end_is_denied() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    execution.record(ANSWERED)
    assert not await execution.approvals().verdict("system", "f", {})
    assert await events(execution) == [DELEGATED, ANSWERED]


async def test_result_approves_everything() -> None:
    execution = Execution()
    execution.record(DELEGATED)
    result = asyncio.create_task(execution.result())
    assert await execution.approvals().verdict("system", "f", {})
    execution.record(ANSWERED)
    assert await result == ANSWERED.message


async def test_task_given_late_is_cancelled() -> None:
    execution = Execution()
    execution.cancel()
    task = asyncio.create_task(asyncio.sleep(60))
    execution.run_in(task)
    with pytest.raises(asyncio.CancelledError):
        await task
