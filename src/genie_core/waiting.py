"""Waiting for promises without touching them."""

import asyncio
from asyncio import Future
from typing import Any


async def first_done(*promises: "Future[Any]") -> None:
    """Wait until one of the promises is done, whatever its outcome.

    They are never cancelled, whatever becomes of the wait. `asyncio.wait` does the same and more:
    on the way of every message, where this is used, it took a tenth of the processor time.
    """
    if any(promise.done() for promise in promises):
        return
    waiter: Future[None] = asyncio.get_running_loop().create_future()

    def wake(_promise: "Future[Any]") -> None:
        if not waiter.done():
            waiter.set_result(None)

    for promise in promises:
        promise.add_done_callback(wake)
    try:
        await waiter
    finally:
        for promise in promises:
            promise.remove_done_callback(wake)
