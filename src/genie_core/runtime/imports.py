"""Import heavy packages in a thread while a screen is up."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Keep the garbage collector off in the block, and leave out later what it has made.

    With the collector on, imports hold the interpreter for 100 ms at a time and typing stutters.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()
