"""Start tasks in the same order on every event loop, and refuse calls from outside it.

Futures that are done from the beginning come from here, too.
"""

import asyncio
from asyncio import AbstractEventLoop, Future, Task
from collections.abc import Coroutine
from contextvars import Context
from typing import Any, TypeVar

from genie_core.errors import NotOnEventLoop

Result = TypeVar("Result")


def start_task(
    work: Coroutine[Any, Any, Result], *, name: str | None = None, context: Context | None = None
) -> "Task[Result]":
    """Start a task whose first step runs after the caller's current step, never inside this call.

    On a loop with `asyncio.eager_task_factory`, which Textual sets from Python 3.12 on,
    `asyncio.create_task` runs the first step immediately: the work may end before its task is
    stored, and change the same data as its caller. This function ignores the task factory.
    """
    return Task(work, loop=asyncio.get_running_loop(), name=name, context=context)


def running_loop() -> AbstractEventLoop | None:
    """Return this thread's running event loop, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def check_loop(own: AbstractEventLoop | None, call: str) -> None:
    """Raise `NotOnEventLoop` unless running on `own`, or `own` is None or closed."""
    if own is not None and not own.is_closed() and running_loop() is not own:
        raise NotOnEventLoop(call)


def settled(error: Exception | None = None) -> "Future[None]":
    """Return a future that is done, or has failed; awaiting it is optional."""
    promise: Future[None] = asyncio.get_running_loop().create_future()
    if error is None:
        promise.set_result(None)
    else:
        promise.set_exception(error)
        promise.exception()  # retrieved, so that ignoring it is not logged
    return promise
