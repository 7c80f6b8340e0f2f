import asyncio
import threading
from contextvars import ContextVar

import pytest

from genie_core.runtime.threads import in_thread, off_loop

pytestmark = pytest.mark.timeout(100)

mark: ContextVar[str] = ContextVar("mark", default="unset")


async def test_thread_has_callers_context() -> None:
    mark.set("mine")
    ident, value, name = await off_loop(
        lambda: (threading.get_ident(), mark.get(), threading.current_thread().name), "lookup"
    )
    assert ident != threading.get_ident()
    assert (value, name) == ("mine", "lookup")


async def test_the_loop_goes_on_meanwhile() -> None:
    released = threading.Event()
    waiting = asyncio.create_task(off_loop(lambda: released.wait(10), "lookup"))
    await asyncio.sleep(0)
    released.set()
    assert await waiting


async def test_what_it_raises_is_raised_here() -> None:
    def fail() -> None:
        raise PermissionError("locked")

    with pytest.raises(PermissionError, match="locked"):
        await off_loop(fail, "lookup")


async def test_stop_iteration_leaves_no_waiter() -> None:
    def stop() -> None:
        raise StopIteration

    with pytest.raises(RuntimeError):
        await off_loop(stop, "lookup")


async def test_a_cancelled_wait_leaves_the_call_behind() -> None:
    released, ended = threading.Event(), threading.Event()

    def call() -> None:
        released.wait(10)
        ended.set()

    waiting = asyncio.create_task(off_loop(call, "lookup"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    released.set()
    assert await asyncio.to_thread(ended.wait, 10)


def test_call_may_outlive_loop() -> None:
    released = threading.Event()

    async def leave() -> threading.Thread:
        waiting = asyncio.create_task(off_loop(lambda: released.wait(10), "late one"))
        await asyncio.sleep(0)
        waiting.cancel()
        (thread,) = [each for each in threading.enumerate() if each.name == "late one"]
        assert thread.daemon
        return thread

    thread = asyncio.run(leave())
    released.set()
    thread.join(10)
    assert not thread.is_alive()


async def test_pool_call_has_context_and_args() -> None:
    mark.set("mine")

    def call(first: int, *, second: int) -> tuple[int, str, str]:
        return first + second, mark.get(), threading.current_thread().name

    total, value, thread = await in_thread(call, 1, second=2)
    assert (total, value) == (3, "mine")
    assert thread.startswith("genie")


async def test_pool_call_error_is_raised() -> None:
    def fail() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        await in_thread(fail)
