"""Files that hold a private key: made once, whoever comes first, and for their owner's eyes only."""

import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from genie_core.durable import make_private_folder, read_file, replace_file

logger = logging.getLogger(__name__)

_OTHERS: Final = 0o077


def read_or_make(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return what the file holds; if there is none, make it and write what `make` returns.

    Several processes at once make one file and all return its content. `OSError` if it can be
    neither read nor written.
    """
    try:
        return read_private(path)
    except FileNotFoundError:
        pass
    with holding(path):
        try:
            return read_private(path)
        except FileNotFoundError:
            content = make()
            replace_file(path, content)
            return content


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> bytes:
    """Replace what the file holds by what `change` makes of it, one process at a time.

    `change` returns what it is given if there is nothing to do any more. `OSError` as above.
    """
    with holding(path):
        old = read_private(path)
        new = change(old)
        if new != old:
            replace_file(path, new)
    return new


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Keep other processes from making or rewriting a file until the block ends; they wait."""
    make_private_folder(path.parent)
    descriptor = os.open(path.parent / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_private(path: Path) -> bytes:
    """Return what the file holds, and close it to others if it is not. `OSError` if it can't be read."""
    content = read_file(path)
    _close_to_others(path)
    return content


def _close_to_others(path: Path) -> None:
    """Take away the rights that others have on a file, and say so: they may have read it."""
    mode = path.stat().st_mode & 0o777
    if not mode & _OTHERS:
        return
    try:
        path.chmod(mode & ~_OTHERS)
    except OSError:
        logger.warning("%s is open to others (%o), and that can't be changed", path, mode)
    else:
        logger.warning("%s was open to others (%o); it is private now", path, mode)
