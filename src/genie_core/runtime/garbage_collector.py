"""Keep the garbage collector from examining classes, functions and the first screen repeatedly."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Import heavy packages in the block, which may run in a thread while a screen is up.

    With the collector on, imports hold the interpreter for 100 ms at a time and typing stutters. What
    they make is never looked at again.
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
