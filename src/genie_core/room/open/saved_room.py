"""Open a saved room: its lock, its log, and its founding if it is to be hosted."""

import asyncio
import logging
from contextlib import AsyncExitStack, ExitStack

from genie_core.datastore import path_name
from genie_core.errors import GenieError
from genie_core.room.protocol.errors import NotAnHeir
from genie_core.room.protocol.events import Copied
from genie_core.room.protocol.founding import Founding
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.founding import found_room, hash_in, room_id
from genie_core.room.security.identity import Identity
from genie_core.room.state.hosting import may_host
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.sessions.lock import holder
from genie_core.sessions.log.writer import OpenedLog
from genie_core.sessions.session import METADATA_NAME, SavedSession
from genie_core.storage.atomic import sync_folder
from genie_core.storage.errors import StorageError

logger = logging.getLogger(__name__)


class NotYours(GenieError):
    """In the saved room, the name belongs to another person's key."""

    template = (
        "in this room the name {name} belongs to another key than yours; "
        "host it under another name with --name, or a copy of it: genie-tui sessions fork"
    )
    name: str


async def open_held(saved: SavedSession, name: str, resources: AsyncExitStack) -> OpenedLog:
    """Lock the room and open its log, until `resources` are closed.

    `name` is the person's. Cancelling or an error unlocks the room.

    Raises:
        SessionInUse: another process has the room open.
        StorageError: the log can't be opened.
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
    """Close the open files; cancelling leaves it open, so a hanging disk can't block leaving."""
    await off_loop(held.close, "closing a room")


def _hold_again(saved: SavedSession, name: str, anew: ExitStack) -> None:
    """Restore the other files of a folder whose log had to be rewritten."""
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


def make_own(
    saved: SavedSession, opened: OpenedLog, name: str, identity: Identity
) -> tuple[Copied, Founding | None]:
    """Return how a room was copied that becomes the host's own, and its founding if it needs one.

    A new room, a copied one, and one from before there were foundings are founded, and get an id by
    it. A person whose key an imported room knows continues it unchanged, if it was founded: in
    another log, any person can write any key. Blocks.

    Raises:
        NotYours: in that room the name belongs to another key.
        NotAnHeir: this person is neither its host nor an heir.
    """
    state = opened.state()
    copied, founding = _founded(saved, state, identity)
    if not copied:
        _check_name(state, name, identity)
    if founding is None:
        _check_heir(state, identity)
    return copied, founding


def _founded(
    saved: SavedSession, state: RoomState, identity: Identity
) -> tuple[Copied, Founding | None]:
    record = saved.metadata
    copied = record.copied
    is_founded = state.founding is not None
    if copied == "import" and is_founded and state.owner_of(identity.key) is not None:
        copied = ""
    if state.founding is not None and not copied:
        return "", None
    name = record.id.removesuffix(f"-{hash_in(record.id)}")
    founding = found_room(identity, name, record.title, state.room)
    saved.update(id=room_id(founding), founding=founding)
    _take_memory_along(saved, record.id)
    return copied, founding


def _take_memory_along(saved: SavedSession, before: str) -> None:
    """Rename the engine's memory of a room that has a new id."""
    kept, place = (saved.engine_path / path_name(id_) for id_ in (before, saved.metadata.id))
    try:
        if kept.is_dir() and not place.exists():
            kept.rename(place)
            sync_folder(saved.engine_path)
    except OSError:
        logger.warning("agents begin without memory: %s can't be renamed", kept, exc_info=True)


def _check_heir(state: RoomState, identity: Identity) -> None:
    """Raise `NotAnHeir` if members would not follow this person."""
    if not may_host(state, identity.key):
        raise NotAnHeir(state.title, state.host)


def _check_name(state: RoomState, name: str, identity: Identity) -> None:
    bound = state.keys.get(fold_name(name), "")
    if bound and bound != identity.key:
        raise NotYours(name)
