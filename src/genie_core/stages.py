"""Telling apart where the handling of a message failed."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from genie_core.errors import Stage, StageFailed


@contextmanager
def stage(name: Stage, subject: str) -> Iterator[None]:
    """Turn what is raised inside into `StageFailed`, unless it is that already.

    That goes for a cancellation too if nobody cancelled the running task: then it is one that a
    library let out of its own affairs.
    """
    try:
        yield
    except (StageFailed, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except asyncio.CancelledError as error:
        if _is_being_cancelled():
            raise
        raise StageFailed(name, subject, "was cancelled from within") from error
    except BaseException as error:
        raise StageFailed(name, subject, error) from error


def _is_being_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # not on an event loop
        return False
    return task is not None and task.cancelling() > 0
