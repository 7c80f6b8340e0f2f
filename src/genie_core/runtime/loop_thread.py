"""An event loop in a thread of its own, which goes on while the caller's is busy."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from genie_core.runtime.threads import off_loop

P = ParamSpec("P")
Result = TypeVar("Result")


@asynccontextmanager
async def loop_thread(name: str) -> AsyncIterator[AbstractEventLoop]:
    """Run an event loop in a thread while the block runs; then cancel its remaining tasks.

    Cancelling the wait for its end abandons the thread, which keeps no program from ending.
    """
    loop, done = asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(done.wait())

    thread = Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(done.set)
        await off_loop(thread.join, name)


async def run_on(loop: AbstractEventLoop, work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on another thread's event loop; cancelling the wait cancels it."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


async def call_on(
    loop: AbstractEventLoop, call: Callable[P, Result], *args: P.args, **kwargs: P.kwargs
) -> Result:
    """Call a function on another thread's event loop."""

    async def make_call() -> Result:
        return call(*args, **kwargs)

    return await run_on(loop, make_call())
