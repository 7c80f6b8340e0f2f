"""Time that passes at once on the clock of a test's event loop."""

import asyncio
from typing import Any


async def pass_at_once(seconds: float) -> None:
    """Let so much time pass without waiting for it; whatever was to be over by then is.

    What may not take longer than that is then late on an idle machine too, and what may take
    longer has all the time it needs on a busy one.
    """
    loop: Any = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_later(seconds, over.set_result, None)
    now = loop.time
    loop.time = lambda: now() + seconds
    await over


async def pass_until(done: "asyncio.Task[Any]", seconds: float) -> None:
    """Let so much time pass, and again if what is to end did not know of any limit yet."""
    while not done.done():
        await pass_at_once(seconds)
        await asyncio.wait({done}, timeout=0.2)
