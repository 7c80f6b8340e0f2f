"""Drop the session of a room in which nothing happened."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from genie_core.room.protocol.events import (
    EngineChanged,
    Event,
    HostStarted,
    MemberJoined,
    MemberLeft,
    PreferencesChanged,
    RoomCreated,
    RoomSuspended,
)
from genie_core.sessions.catalog import STAGING
from genie_core.sessions.lock import LOCK_NAME, hold
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.session import ENGINE_NAME, LOG_NAME, METADATA_NAME, SavedSession
from genie_core.sessions.view_state import VIEW_NAME, View, read_view
from genie_core.storage.atomic import sync_folder
from genie_core.storage.errors import disk_access

LONGEST: Final = 1_000
"""Events of a log that is read to see whether anything happened; a longer one is kept."""

FILES: Final = frozenset(
    {METADATA_NAME, LOG_NAME, INDEX_NAME, LOCK_NAME, VIEW_NAME, ENGINE_NAME, "passes.json"}
)
"""The files that the folder of an unused room may have; with any other one it is kept."""

OPENING: Final = (
    RoomCreated,
    HostStarted,
    MemberJoined,
    MemberLeft,
    EngineChanged,
    PreferencesChanged,
    RoomSuspended,
)
"""The entries that opening and closing a room make."""


def drop_if_unused(folder: Path) -> bool:
    """Remove a session if its room was opened on a screen and nothing happened in it. Blocks.

    It is kept if another member ever joined, its invite was shown, anything was said or changed, or
    the folder has a draft, a file, a tag, or anything that can't be read.

    Raises:
        SessionInUse: a process has it open.
        StorageError: it can't be read or removed; it stays.
    """
    if folder.is_symlink() or not folder.is_dir():
        return False
    with hold(folder), disk_access("remove", folder):
        if not _is_unused(folder):
            return False
        gone = folder.with_name(f"{STAGING}{folder.name}")  # the next start removes the rest
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        sync_folder(folder.parent)
    return True


def _is_unused(folder: Path) -> bool:
    saved = SavedSession.load(folder)
    metadata, view = saved.metadata, read_view(folder)
    is_own = metadata.kind == "hosted" and metadata.unshared and not metadata.copied
    if not is_own or metadata.tags or metadata.alias or not _is_blank(view):
        return False
    if not {entry.name for entry in folder.iterdir()} <= FILES:
        return False
    with saved.reader() as log:
        if log.problems or not 0 < log.head <= LONGEST:
            return False
        return _is_quiet(log.events(), metadata.owner)


def _is_quiet(events: Iterable[Event], owner: str) -> bool:
    """Whether these are the entries of one person who opened and closed a room."""
    people = set[str]()
    for event in events:
        if not isinstance(event.body, OPENING):
            return False
        if isinstance(event.body, MemberJoined):
            people.add(event.by)
    return people <= {owner}


def _is_blank(view: View) -> bool:
    return not (view.draft or view.unsent or view.unrecorded or view.files or view.quotes)
