import asyncio
import threading

import pytest

from genie_core.runtime.loop_thread import call_on, loop_thread, run_on

pytestmark = pytest.mark.timeout(100)


async def test_blocked_caller_loop_stops_nothing() -> None:
    done = threading.Event()

    async def work() -> None:
        await asyncio.sleep(0)
        done.set()

    async with loop_thread("other") as loop:
        asyncio.run_coroutine_threadsafe(work(), loop)
        assert done.wait(60)


async def test_calls_return_and_raise_here() -> None:
    async with loop_thread("other") as loop:
        assert await call_on(loop, threading.current_thread) is not threading.current_thread()
        with pytest.raises(ValueError, match="'x'"):
            await call_on(loop, int, "x")


async def test_cancelling_the_wait_cancels_the_work() -> None:
    began, ended = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with loop_thread("other") as loop:
        waiting = asyncio.create_task(run_on(loop, work()))
        await asyncio.to_thread(began.wait, 60)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.to_thread(ended.wait, 60)


async def test_what_still_runs_at_its_end_is_cancelled() -> None:
    began, ended = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with loop_thread("other") as loop:
        work_there = asyncio.run_coroutine_threadsafe(work(), loop)
        assert await asyncio.to_thread(began.wait, 60)
    assert ended.is_set()
    assert work_there.cancelled()
    assert loop.is_closed()
