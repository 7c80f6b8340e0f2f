import asyncio
import logging
from contextlib import suppress
from time import monotonic

import pytest

from genie_core.runtime.resource_task import WaitLimit, abandon, raise_if_cancelled

pytestmark = pytest.mark.timeout(100)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.runtime.resource_task.GRACE", 0.05)


async def test_wait_ends_with_first_future() -> None:
    loop = asyncio.get_running_loop()
    first, second = loop.create_future(), loop.create_future()
    waiting = asyncio.create_task(WaitLimit().wait(first, second))
    await asyncio.sleep(0)
    second.set_result(None)
    assert await waiting
    assert not first.done()


async def test_wait_lasts_until_limit_and_grace() -> None:
    patience = WaitLimit()
    never = asyncio.get_running_loop().create_future()
    waiting = [asyncio.create_task(patience.wait(never)) for _ in range(2)]
    done, _ = await asyncio.wait(waiting, timeout=0.2)
    assert not done
    patience.limit()
    patience.limit()
    assert await asyncio.gather(*waiting) == [False, False]
    began = monotonic()
    assert not await patience.wait(never)
    assert monotonic() - began >= 0.04
    assert not never.done()


async def test_what_is_done_already_needs_no_patience() -> None:
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    patience = WaitLimit()
    assert await patience.wait(done)
    patience.limit()
    assert await patience.wait(done)


async def test_abandoned_task_is_cancelled_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("after all") from None

    task = asyncio.create_task(stubborn(), name="the stubborn one")
    await asyncio.sleep(0)
    abandon(task)
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert "the stubborn one raised after it was abandoned" in caplog.text


async def test_abandoning_what_has_ended_does_nothing() -> None:
    async def end() -> int:
        return 1

    task = asyncio.create_task(end())
    await task
    abandon(task)
    assert task.result() == 1


async def test_swallowed_cancellation_is_raised() -> None:
    async def swallow() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise_if_cancelled()

    raise_if_cancelled()
    task = asyncio.create_task(swallow())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_waits_share_one_deadline() -> None:
    patience = WaitLimit()
    never = asyncio.get_running_loop().create_future()
    began = monotonic()
    patience.limit()
    assert not await patience.wait(never, since=began)
    over = monotonic()
    for _ in range(2_000):
        assert not await patience.wait(never, since=began)
    assert monotonic() - over < 2_000 * 0.05 / 2


async def test_a_wait_may_begin_long_before_the_limit() -> None:
    patience = WaitLimit()
    never = asyncio.get_running_loop().create_future()
    patience.limit()
    began = monotonic()
    assert not await patience.wait(never, since=began - 1000)
    assert monotonic() - began >= 0.04
