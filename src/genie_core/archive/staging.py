"""Folders in which sessions are put together before any list of saved rooms finds them."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from genie_core.archive.errors import ArchiveError
from genie_core.archive.lock import hold, in_turn
from genie_core.storage.atomic import make_private_folder

PREFIX: Final = ".importing-"
"""How such a folder begins, among those of the saved rooms."""


@contextmanager
def staged(base: Path) -> Iterator[Path]:
    """Make a folder for a room below `base`, on the same disk, that does not exist yet. Blocks.

    What is left in it is removed in the end; if the process is killed, by the next `sweep`.

    Raises:
        DiskFailure: the folders can't be locked.
        OSError: there is no place for them.

    """
    make_private_folder(base)
    sweep(base)
    with ExitStack() as stack:
        with in_turn(base):  # a folder without a lock is one that a killed process left
            staging = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
            stack.enter_context(hold(staging))
        stack.callback(shutil.rmtree, staging, ignore_errors=True)
        yield staging / "room"


def sweep(base: Path) -> None:
    """Remove what was left by processes that were killed; what can't be removed stays. Blocks."""
    if not any(base.glob(f"{PREFIX}*")):
        return
    with in_turn(base):
        for staging in base.glob(f"{PREFIX}*"):
            with suppress(ArchiveError), hold(staging):
                shutil.rmtree(staging, ignore_errors=True)
