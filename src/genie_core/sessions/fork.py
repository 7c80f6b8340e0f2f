"""Fork a session: a new one that starts with the events of another."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from genie_core.room.protocol.events import Copied
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog, staged
from genie_core.sessions.errors import NoSuchEvent
from genie_core.sessions.labels import LABELS_NAME, Labels
from genie_core.sessions.log.reader import copy_log
from genie_core.sessions.metadata import TITLE_CHARS, SessionMetadata, one_line, summary_of
from genie_core.sessions.session import LOG_NAME, WITHHELD_NAME, SavedSession
from genie_core.sessions.view_state import read_view, write_view
from genie_core.storage.archives import copy_pieces, pieces_of
from genie_core.storage.atomic import (
    create_file,
    make_private_folder,
    sync_data,
    sync_folder,
)
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import disk_access

MARK: Final = " (fork)"
"""The suffix of a fork's title."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A session that was made from another one.

    `head` is the last event that both have; `lacking` counts files missing on this machine.
    """

    saved: SavedSession
    head: int
    lacking: int


def fork(catalog: Catalog, saved: SavedSession, now: float, at: int | None = None) -> Fork:
    """Create a session from the events of another up to `at`, by default all. Blocks.

    The original may be open elsewhere; nothing in it changes. Running work and open tool calls are
    as in a room that was left at that moment. Agents' memories and invites are not copied. This
    person hosts the fork. After an error, nothing is left.

    Raises:
        NoSuchEvent: the room has no event of that number.
        DamagedSession: the log is no file.
        DiskFailure: something can't be read or written.
    """
    title = one_line(saved.metadata.shown_title.removesuffix(MARK), TITLE_CHARS - len(MARK)) + MARK
    with disk_access("write", catalog.base), staged(catalog.base) as folder:
        make_private_folder(folder)
        state = _copy_log(saved, folder / LOG_NAME, at)
        lacking = _fill(folder, saved, state.files)
        _take_labels(folder, saved, state)
        metadata = _metadata(title, saved, state, now, "fork")
        return Fork(catalog.take_in(folder, metadata), state.head, lacking)


def continued(catalog: Catalog, saved: SavedSession, now: float) -> SavedSession:
    """Create a session in which this person continues a room as a new one. Blocks.

    As `fork`, with the same title, the draft and the unsent messages.

    Raises:
        DamagedSession: the log is no file.
        DiskFailure: something can't be read or written.
    """
    view = read_view(saved.folder)
    with disk_access("write", catalog.base), staged(catalog.base) as folder:
        make_private_folder(folder)
        state = _copy_log(saved, folder / LOG_NAME, None)
        _fill(folder, saved, [*state.files, *(file.digest for file in view.files_needed())])
        _take_labels(folder, saved, state)
        write_view(folder, msgspec.structs.replace(view, unrecorded=()))
        metadata = _metadata(saved.metadata.title, saved, state, now, "continuation")
        return catalog.take_in(folder, metadata)


def _copy_log(saved: SavedSession, target: Path, at: int | None) -> RoomState:
    """Copy the log up to an event; return the state there."""
    with disk_access("read", saved.log_path):
        if not saved.log_path.exists():
            raise NoSuchEvent(saved.id, at or 1, 0)
        state, _lost = copy_log(saved.log_path, target, at)
    if state.head != at and (at is not None or not state.head):
        raise NoSuchEvent(saved.id, at or 1, state.head)
    return state


def _fill(folder: Path, saved: SavedSession, digests: Collection[str]) -> int:
    """Copy attached files and withheld arguments; return how many files were missing."""
    lacking = link_files(saved.folder, folder, digests)
    withheld = saved.folder / WITHHELD_NAME
    if withheld.is_file():
        _copy(withheld, folder / WITHHELD_NAME, withheld.stat().st_size)
    return lacking


def _take_labels(folder: Path, saved: SavedSession, state: RoomState) -> None:
    labels = Labels(folder / LABELS_NAME)
    for label in Labels.read(saved.folder).wrong.values():
        if label.seq <= state.head:
            labels.put(label)


def _copy(source: Path, target: Path, size: int) -> None:
    """Copy the start of a file durably."""
    with source.open("rb") as data, os.fdopen(create_file(target), "wb") as out:
        copy_pieces(pieces_of(data, size), out.write)
        out.flush()
        sync_data(out.fileno())


def link_files(old: Path, new: Path, digests: Collection[str]) -> int:
    """Link an old room's files into a new one; return how many are missing."""
    source, target = BlobStore(old / BLOBS_NAME), BlobStore(new / BLOBS_NAME)
    here = source.digests()
    found = [digest for digest in digests if digest in here]
    if found:
        make_private_folder(target.folder)
    for digest in found:
        try:
            target.path(digest).hardlink_to(source.path(digest))
        except OSError:  # the disk knows no second names for files
            _copy(source.path(digest), target.path(digest), here[digest])
            target.path(digest).chmod(0o400)
    if found:
        sync_folder(target.folder)
    return len(set(digests)) - len(found)


def _metadata(
    title: str, saved: SavedSession, state: RoomState, now: float, copied: Copied
) -> SessionMetadata:
    before = saved.metadata
    return SessionMetadata(
        id="",
        title=title,
        kind="hosted",
        created=now,
        name=before.owner,
        copied=copied,
        origin=before.id,
        model=before.model,
        template=before.template,
        workspace=before.workspace,
        tags=before.tags,
        seen=state.head,
        last_activity=now,
        **summary_of(state, state.head, before.owner),
    )
