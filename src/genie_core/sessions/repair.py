"""Repair a session, keeping a copy of every changed file beside it."""

import os
import shutil
from pathlib import Path

from genie_core.datastore import path_name
from genie_core.room.protocol.codec import whole_text
from genie_core.sessions.catalog import APART
from genie_core.sessions.check import CheckedLog, examine
from genie_core.sessions.lock import hold
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.log.reader import copy_log
from genie_core.sessions.log.writer import EventLog
from genie_core.sessions.metadata import SessionMetadata, one_line, summary_of
from genie_core.sessions.session import LOG_NAME, METADATA_NAME, SavedSession
from genie_core.storage.atomic import sync_folder, unused_path
from genie_core.storage.blobs import BLOBS_NAME, BlobStore
from genie_core.storage.errors import disk_access


def repair(folder: Path) -> list[str]:
    """Repair a session that no process has open; returns a report, one line per repair. Blocks.

    Every readable line of the log is kept, in the order of the events; a placeholder replaces each
    lost event, and a torn end is cut off. The metadata is updated from the log, or rebuilt from it;
    if the log can't be read, nothing is changed. Damaged attached files are renamed, so that they
    can be fetched again. The originals are kept under names that end in `.damaged-` and a number.

    Raises:
        SessionInUse: a process has it open.
        DiskFailure: something can't be written; the rest is unchanged.
    """
    with hold(folder):
        checkup = examine(folder)
        if checkup.skipped or (log := checkup.log) is None:
            return []
        report = _repair_log(folder) if log.broken else []
        report += _repair_metadata(folder, checkup.metadata, log)
        for digest in checkup.spoilt:
            backup = _back_up(BlobStore(folder / BLOBS_NAME).path(digest), folder)
            report.append(f"the damaged file {digest[:12]}… was renamed to {backup.name}")
        return report


def _repair_log(folder: Path) -> list[str]:
    path, repaired = folder / LOG_NAME, folder / f"{LOG_NAME}.new"
    with disk_access("write", repaired):
        repaired.unlink(missing_ok=True)
        state, lost = copy_log(path, repaired)
        backup = replace_log(folder, repaired)
    events = f"events kept: {state.head - lost:,}, lost: {lost:,}"
    return [f"{LOG_NAME} was repaired ({events}); the original is {backup.name}"]


def replace_log(folder: Path, repaired: Path) -> Path:
    """Put a repaired log in place and rebuild its index; return where the original is kept.

    The caller holds the session. Raises `OSError`.
    """
    path = folder / LOG_NAME
    backup = unused_path(folder / path.name, ".damaged-")
    if path.exists():
        original = path.stat()
        _keep(path, backup)
        os.utime(repaired, ns=(original.st_atime_ns, original.st_mtime_ns))  # not an activity
    repaired.replace(path)
    (folder / INDEX_NAME).unlink(missing_ok=True)
    sync_folder(folder)
    EventLog.open(path).log.close()
    return backup


def update_metadata(folder: Path) -> list[str]:
    """Update the metadata from a log that was repaired; returns a report. The caller holds it."""
    checkup = examine(folder)
    if checkup.log is None:
        return []
    return _repair_metadata(folder, checkup.metadata, checkup.log)


def _repair_metadata(folder: Path, metadata: SessionMetadata | None, log: CheckedLog) -> list[str]:
    state = log.state
    if not state.head:
        return []  # the log is gone; keep the metadata
    if metadata is None:
        path = folder / METADATA_NAME
        backup = _back_up(path, folder) if path.is_file() else None
        SavedSession(folder, _metadata_from(folder.name, log)).write()
        original = f"; the original is {backup.name}" if backup else ""
        return [f"{METADATA_NAME} was rebuilt from the log{original}"]
    if (metadata.head, metadata.messages) == (state.head, state.messages):
        return []
    summary = summary_of(state, metadata.seen, metadata.owner)
    summary["host"] = state.host or metadata.host
    active = max(metadata.last_activity, log.last_at)
    SavedSession.load(folder).update(last_activity=active, **summary)
    return [f"{METADATA_NAME} was updated from the log"]


def _metadata_from(id_: str, log: CheckedLog) -> SessionMetadata:
    """Derive metadata from the log and the folder's name."""
    room, copy, owner = id_.partition("~")[0].partition(APART)[0].partition("@")
    state = log.state
    names = [name for name in state.people if path_name(name) == owner]
    name = names[0] if names else state.host
    joined = bool(copy) and name != state.host
    return SessionMetadata(
        id=whole_text((state.room or room) if copy else room),
        title=one_line(state.title or room),
        kind="joined" if joined else "hosted",
        created=log.first_at,
        name=name,
        last_activity=log.last_at,
        **summary_of(state, 0, name),
    )


def _back_up(path: Path, folder: Path) -> Path:
    """Rename a file to an unused name in the session's folder."""
    backup = unused_path(folder / path.name, ".damaged-")
    with disk_access("rename", path):
        path.rename(backup)
        sync_folder(folder)
    return backup


def _keep(path: Path, backup: Path) -> None:
    """Keep a file as it is under a second name."""
    try:
        backup.hardlink_to(path)
    except OSError:  # the disk has no hard links
        try:
            shutil.copy2(path, backup)
        except OSError:  # nor can it read all of the file
            path.rename(backup)
