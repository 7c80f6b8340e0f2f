"""Keep the garbage collector from lasting objects: classes, open rooms, a screen."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Make lasting objects in the block, which may run in a thread.

    With the collector on, imports hold the interpreter for 100 ms at a time and typing stutters,
    and 400 rooms for seconds. Objects that exist at the end are never looked at again.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


def start_collecting() -> None:
    """Turn on a collector that was off at the start; it examines the present objects only once."""
    gc.collect()
    gc.freeze()
    gc.enable()
