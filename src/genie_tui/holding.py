"""Holding a saved room while somebody is in it."""

import asyncio
from contextlib import AsyncExitStack, ExitStack

from genie_core.archive.log import OpenedLog
from genie_core.archive.saved import SavedRoom


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
            opening.result()[0].close()
        raise
    resources.callback(held.close)
    return opened


def _opened(saved: SavedRoom, name: str) -> tuple[ExitStack, OpenedLog]:
    with ExitStack() as stack:
        stack.enter_context(saved.held(name))
        opened = saved.open_log()
        stack.callback(opened.log.close)
        return stack.pop_all(), opened
