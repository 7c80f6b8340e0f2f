import asyncio
import contextvars
import sys

import pytest

from genie_core.errors import NotOnEventLoop
from genie_core.runtime.tasks import check_loop, start_task

VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")


@pytest.fixture(params=["lazy", "eager"])
async def task_factory(request: pytest.FixtureRequest) -> None:
    loop = asyncio.get_running_loop()
    if request.param == "lazy":
        loop.set_task_factory(None)
    elif sys.version_info >= (3, 12):
        loop.set_task_factory(asyncio.eager_task_factory)
    else:
        pytest.skip("tasks are never eager before Python 3.12")


@pytest.mark.usefixtures("task_factory")
async def test_task_begins_after_caller_stores() -> None:
    steps = []

    async def work() -> str:
        steps.append("work")
        return "done"

    task = start_task(work(), name="a name")
    steps.append("stored")
    assert await task == "done"
    assert steps == ["stored", "work"]
    assert task.get_name() == "a name"


@pytest.mark.usefixtures("task_factory")
async def test_task_cancelled_early_never_begins() -> None:
    steps = []

    async def work() -> None:
        steps.append("work")

    task = start_task(work())
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert steps == []


@pytest.mark.usefixtures("task_factory")
async def test_a_task_has_the_given_context() -> None:
    context = contextvars.copy_context()
    context.run(VARIABLE.set, "given")

    async def work() -> str:
        return VARIABLE.get()

    assert await start_task(work(), context=context) == "given"
    assert await start_task(work()) == "unset"


async def test_a_call_on_its_own_loop_passes() -> None:
    check_loop(asyncio.get_running_loop(), "Room.say")
    check_loop(None, "Room.say")


def test_what_belonged_to_a_closed_loop_is_free() -> None:
    loop = asyncio.new_event_loop()
    with pytest.raises(NotOnEventLoop, match=r"^Room\.say belongs to one event loop"):
        check_loop(loop, "Room.say")
    loop.close()
    check_loop(loop, "Room.say")
