"""Move sessions to the system's trash, from which a person can restore them."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from genie_core.sessions.errors import NotTrashed
from genie_core.sessions.lock import hold
from genie_core.storage.atomic import reason, sync_folder

Send: TypeAlias = Callable[[Path], None]
"""Moves a folder to the trash; raises `OSError` if it can't."""


def trash(folder: Path, send: Send | None = None) -> None:
    """Move a session's folder to the trash, by default the system's. Blocks.

    Unreadable sessions can be moved as well.

    Raises:
        SessionInUse: a process has it open; it stays.
        NotTrashed: the trash refuses it, or there is no such folder; it stays.
        DiskFailure: it can't be locked.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise NotTrashed(folder, "it is no folder")
    with hold(folder):
        try:
            (send or _send)(folder)
        except OSError as error:
            raise NotTrashed(folder, reason(error)) from error
    with suppress(OSError):
        sync_folder(folder.parent)


def _send(folder: Path) -> None:
    from send2trash import send2trash

    send2trash(folder)
