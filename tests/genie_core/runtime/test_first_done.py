"""A wait that leaves alone what it waits for."""

import asyncio
from asyncio import Future

import pytest
from tests.limits import scaled

from genie_core.runtime.threads import first_done


def promises(count: int) -> "list[Future[int]]":
    loop = asyncio.get_running_loop()
    return [loop.create_future() for _ in range(count)]


@pytest.mark.parametrize("which", [0, 1, 2])
async def test_any_of_them_ends_the_wait(which: int) -> None:
    three = promises(3)
    asyncio.get_running_loop().call_soon(three[which].set_result, 1)
    async with asyncio.timeout(scaled(60)):
        await first_done(*three)
    assert [promise.done() for promise in three].index(True) == which


async def test_what_is_done_already_is_not_waited_for() -> None:
    done, open_ = promises(2)
    done.set_result(1)
    async with asyncio.timeout(scaled(60)):
        await first_done(open_, done)


async def test_failure_and_cancel_end_wait() -> None:
    failing, cancelled = promises(2)
    loop = asyncio.get_running_loop()
    loop.call_soon(failing.set_exception, ValueError("not for the one who waits"))
    loop.call_soon(cancelled.cancel)
    async with asyncio.timeout(scaled(60)):
        await first_done(failing)
        await first_done(cancelled)
    assert isinstance(failing.exception(), ValueError)


async def test_cancelled_wait_cancels_no_future() -> None:
    two = promises(2)
    waiting = asyncio.create_task(first_done(*two))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    for promise in two:
        promise.set_result(1)
