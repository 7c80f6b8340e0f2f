import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.limits import scaled

from genie_core.errors import ActorStopped
from genie_core.runtime.resource_task import ResourceTask

pytestmark = pytest.mark.timeout(100)


@pytest.fixture(autouse=True)
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.runtime.resource_task.CLOSE_GRACE", 0.05)
    monkeypatch.setattr("genie_core.runtime.resource_task.CANCEL_GRACE", 0.05)


class Place:
    """A context that notes who enters and leaves it, and can be told to misbehave."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.tasks: set[Any] = set()
        self.enter: Any = None
        self.leave: Any = None

    @asynccontextmanager
    async def context(self) -> AsyncIterator[None]:
        self.tasks.add(asyncio.current_task())
        if self.enter:
            await self.enter()
        self.log.append("in")
        try:
            yield
        finally:
            self.tasks.add(asyncio.current_task())
            if self.leave:
                await self.leave()
            self.log.append("out")


async def forever() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise OSError("broken")


async def test_one_task_of_its_own_enters_and_leaves() -> None:
    place = Place()
    held = ResourceTask("it", place.context)
    await held.started
    assert place.log == ["in"]
    await held.end()
    assert place.log == ["in", "out"]
    assert place.tasks == {held.task}


async def test_what_keeps_it_from_starting_is_told() -> None:
    place = Place()
    place.enter = fail
    held = ResourceTask("it", place.context)
    with pytest.raises(OSError, match="broken"):
        await held.started
    await held.end()
    assert place.log == []


async def test_ending_during_the_start_cancels_it() -> None:
    place = Place()
    place.enter = forever
    held = ResourceTask("it", place.context)
    await asyncio.sleep(0)
    await held.end()
    assert held.task.cancelled()
    with pytest.raises(ActorStopped, match="it did not start"):
        await held.started


async def test_a_close_that_hangs_is_cancelled() -> None:
    place = Place()
    place.leave = forever
    held = ResourceTask("it", place.context)
    await held.started
    async with asyncio.timeout(scaled(60)):
        await held.end()
    assert held.task.cancelled()


async def test_stubborn_close_is_left_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    may_end = asyncio.Event()

    async def stubborn() -> None:
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue

    place = Place()
    place.leave = stubborn
    held = ResourceTask("it", place.context)
    await held.started
    async with asyncio.timeout(scaled(60)):
        await held.end()
    assert not held.task.done()
    assert "going on without it" in caplog.text
    may_end.set()
    await asyncio.wait({held.task}, timeout=scaled(60))
    assert place.log == ["in", "out"]


async def test_failed_close_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    place = Place()
    place.leave = fail
    held = ResourceTask("it", place.context)
    await held.started
    await held.end()
    assert "it did not close cleanly" in caplog.text


async def test_broken_context_ends_task(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A task group in the context cancels the task that holds it when one of its own fails."""

    @asynccontextmanager
    async def grouped() -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            yield

    held = ResourceTask("it", grouped)
    await held.started
    await asyncio.wait({held.task}, timeout=scaled(60))
    assert held.task.done()
    await held.end()
    assert "it did not close cleanly" in caplog.text
