"""Files with secrets: readable by their owner only, and shared by processes under a lock."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from genie_core.storage.atomic import make_private_folder, read_file, replace_file
from genie_core.storage.locks import locked, open_lock

logger = logging.getLogger(__name__)

_OTHERS: Final = 0o077


def read_or_make(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return the file's content; create the file with the result of `make` if it is missing.

    Concurrent processes create one file and all return its content. Raises `OSError`.
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
    """Replace the file's content by the result of `change`, one process at a time.

    `change` returns its argument if there is nothing to change. Raises `OSError`.
    """
    with holding(path):
        old = read_private(path)
        new = change(old)
        if new != old:
            replace_file(path, new)
    return new


@contextmanager
def holding(path: Path) -> Iterator[None]:
    """Lock a file against creation or rewriting by other processes; they wait."""
    make_private_folder(path.parent)
    with locked(open_lock(path.parent / "lock")):
        yield


def read_private(path: Path) -> bytes:
    """Read the file and make it private if it is not; raises `OSError`."""
    content = read_file(path)
    _close_to_others(path)
    return content


def _close_to_others(path: Path) -> None:
    """Remove other users' permissions and log it: they may have read the file."""
    mode = path.stat().st_mode & 0o777
    if not mode & _OTHERS:
        return
    try:
        path.chmod(mode & ~_OTHERS)
    except OSError:
        logger.warning("%s is open to others (%o), and that can't be changed", path, mode)
    else:
        logger.warning("%s was open to others (%o); it is private now", path, mode)
