"""When an app in a test has nothing more to do."""

import asyncio
from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest

TURN = 1 / 50
"""A timer that is due within so many seconds is waited for: Textual draws 60 times in one."""
IDLE = TURN / 20
MOST_TURNS = 50
MOST_WORK = 1.0
"""For how long on the processor those who never rest are waited for in one turn."""


async def wait_for_idle(_least: float = TURN, _most: float = 1.0) -> None:
    """Wait until the process does nothing, and its loop has nothing to do now or soon.

    Textual itself looks at the process alone, and on a busy machine one that has to wait for a
    processor seems to be done.
    """
    loop: Any = asyncio.get_running_loop()
    for _ in range(MOST_TURNS):
        began = process_time()
        await asyncio.sleep(TURN)
        worked = process_time() - began
        while loop._ready and process_time() - began < MOST_WORK:
            await asyncio.sleep(0)
        soon = loop.time() + TURN
        waits = any(each.when() < soon for each in loop._scheduled if not each.cancelled())
        if worked < IDLE and not waits:
            return


@pytest.fixture(scope="session", autouse=True)
def pilots_wait_for_the_loop() -> Iterator[None]:
    """Let no pilot take a process that has to wait for a processor for one that is done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("textual.app.wait_for_idle", wait_for_idle)
        patch.setattr("textual.pilot.wait_for_idle", wait_for_idle)
        yield
