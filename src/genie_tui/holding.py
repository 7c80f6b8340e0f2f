"""Holding a saved room while somebody is in it."""

import asyncio
from contextlib import AsyncExitStack, ExitStack

from genie_core.archive.log import OpenedLog
from genie_core.archive.saved import SavedRoom
from genie_core.blocking import off_loop


async def open_held(saved: SavedRoom, name: str, resources: AsyncExitStack) -> OpenedLog:
    """Keep other processes out and open the log, until `resources` are closed.

    `name` is the person's. When this is cancelled, or raises, the room is free again.

    Raises:
        RoomInUse: another process has the room open.
        ArchiveError: its log can't be opened.

    """
    opening = asyncio.create_task(asyncio.to_thread(_opened, saved, name))
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


def _opened(saved: SavedRoom, name: str) -> tuple[ExitStack, OpenedLog]:
    with ExitStack() as stack:
        stack.enter_context(saved.held(name))
        opened = saved.open_log()
        stack.callback(opened.log.close)
        return stack.pop_all(), opened
