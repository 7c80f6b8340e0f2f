"""Holding a saved room while somebody is in it."""

import asyncio
import logging
from contextlib import AsyncExitStack, ExitStack

from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.sessions.lock import holder
from genie_core.sessions.log.writer import OpenedLog
from genie_core.sessions.session import METADATA_NAME, SavedSession
from genie_core.storage.errors import StorageError

logger = logging.getLogger(__name__)


async def open_held(saved: SavedSession, name: str, resources: AsyncExitStack) -> OpenedLog:
    """Keep other processes out and open the log, until `resources` are closed.

    `name` is the person's. When this is cancelled, or raises, the room is free again.

    Raises:
        SessionInUse: another process has the room open.
        StorageError: its log can't be opened.

    """
    opening = start_task(asyncio.to_thread(_opened, saved, name))
    try:
        held, opened = await asyncio.shield(opening)
    except asyncio.CancelledError:
        await asyncio.wait([opening])  # a thread can't be cancelled
        if opening.exception() is None:
            await _give_back(opening.result()[0])
        raise
    resources.push_async_callback(_give_back, held)
    return opened


async def _give_back(held: ExitStack) -> None:
    """Close what is open. Cancelling leaves that behind: nobody has to stay with a disk that hangs."""
    await off_loop(held.close, "closing a room")


def _hold_again(saved: SavedSession, name: str, anew: ExitStack) -> None:
    """Put back what else belongs to a folder whose log had to be written anew."""
    try:
        if holder(saved.folder) is None:  # the lock went with the folder
            anew.enter_context(saved.held(name))
        if not (saved.folder / METADATA_NAME).exists():
            saved.write()
    except StorageError:
        logger.warning("the folder of the room is not as it was", exc_info=True)


def _opened(saved: SavedSession, name: str) -> tuple[ExitStack, OpenedLog]:
    with ExitStack() as stack:
        stack.enter_context(saved.held(name))
        opened = saved.open_log()
        anew = stack.enter_context(ExitStack())
        opened.log.on_restored.append(lambda _told: _hold_again(saved, name, anew))
        stack.callback(opened.log.close)
        return stack.pop_all(), opened
