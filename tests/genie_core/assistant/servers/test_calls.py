"""To which call a server's request belongs, and how long calls may take."""

import asyncio
from contextvars import copy_context

import pytest

from genie_core.agent.approval import asking, asking_with
from genie_core.assistant.servers import launch
from genie_core.assistant.servers.calls import CallsInProgress, CallTimeout


async def allow(_tool: str, _arguments: dict[str, object]) -> bool:
    return True


async def other(_tool: str, _arguments: dict[str, object]) -> bool:
    return True


async def who_is_asked() -> str:
    found = asking.get()
    return found.__name__ if found is not None else ""


async def test_request_without_call_gets_default() -> None:
    calls = CallsInProgress()
    assert await calls.answer(who_is_asked, "nobody") == "nobody"
    with asking_with(allow):
        async with calls.call():
            pass
    assert await calls.answer(who_is_asked, "nobody") == "nobody"


async def test_outside_request_belongs_to_call() -> None:
    calls, outside = CallsInProgress(), copy_context()
    begun, end = asyncio.Event(), asyncio.Event()

    async def call() -> None:
        with asking_with(allow):
            async with calls.call():
                begun.set()
                await end.wait()

    running = [asyncio.create_task(call()) for _ in range(2)]
    await begun.wait()
    assert await calls.answer(who_is_asked, "nobody") == "allow"
    with asking_with(other):
        async with calls.call():
            assert await calls.answer(who_is_asked, "nobody") == "other", "it is in the call"
            message = outside.run(asyncio.create_task, calls.answer(who_is_asked, "nobody"))
            assert await message == "nobody", "it may belong to either run"
    end.set()
    await asyncio.gather(*running)


async def test_answer_time_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "CALL_TIMEOUT", 0.3)
    calls = CallsInProgress()

    async def answers_late() -> str:
        await asyncio.sleep(0.6)  # twice the limit of a call
        return "late"

    async with calls.call():
        assert await calls.answer(answers_late, "nobody") == "late"


async def test_repeated_questions_keep_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "CALL_TIMEOUT", 0.3)
    calls = CallsInProgress()

    async def asked_again_and_again() -> None:
        async with calls.call():
            while True:
                await calls.answer(who_is_asked, "nobody")
                await asyncio.sleep(0.01)  # as a server's work does

    with pytest.raises(CallTimeout, match="timed out after 0 seconds"):
        await asked_again_and_again()
