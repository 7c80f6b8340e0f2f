"""Repair a session, keeping a copy of every changed file beside it."""

import os
import shutil
from collections import Counter
from pathlib import Path

from genie_core.datastore import path_name
from genie_core.room.protocol.codec import whole_text
from genie_core.sessions.catalog import APART
from genie_core.sessions.check import CheckedLog, examine, scanned
from genie_core.sessions.lock import hold
from genie_core.sessions.log.format import Damages, encode_line
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.log.writer import EventLog
from genie_core.sessions.metadata import SessionMetadata, one_line, summary_of
from genie_core.sessions.session import LOG_NAME, METADATA_NAME, SavedSession
from genie_core.storage.atomic import create_file, sync_data, sync_folder
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
        if checkup.skipped:
            return []
        if (log := checkup.log) is None:
            return []  # whatever else is wrong could only be told by the log
        done = _mend_log(folder) if log.broken else []
        done += _mend_metadata(folder, checkup.metadata, log)
        for digest in checkup.spoilt:
            aside = _put_aside(BlobStore(folder / BLOBS_NAME).path(digest), folder)
            done.append(f"the file {digest[:12]}… is put aside as {aside.name}")
        return done


def _mend_log(folder: Path) -> list[str]:
    path, fresh = folder / LOG_NAME, folder / f"{LOG_NAME}.new"
    with disk_access("write", fresh):
        kept, lost = _write_mended(path, fresh)
        aside, told = _free(path, folder), path.stat()
        _keep(path, aside)
        os.utime(fresh, ns=(told.st_atime_ns, told.st_mtime_ns))  # mending is no activity
        fresh.replace(path)
        (folder / INDEX_NAME).unlink(missing_ok=True)
        sync_folder(folder)
    EventLog.open(path).log.close()  # makes the index anew
    events = f"events kept: {kept:,}, lost: {lost:,}"
    return [f"{LOG_NAME} is mended ({events}); as it was, it is kept as {aside.name}"]


def _write_mended(path: Path, fresh: Path) -> tuple[int, int]:
    """Write the log in order, with placeholders; return the numbers of kept and lost events."""
    fresh.unlink(missing_ok=True)
    descriptor = create_file(fresh)
    count = Counter[bool]()
    with os.fdopen(descriptor, "wb") as out, path.open("rb") as log:
        for found in scanned(path, Damages()):
            count[found.lost] += 1
            if found.lost:
                out.write(encode_line(found.event))
            else:
                out.write(os.pread(log.fileno(), found.end - found.start, found.start))
        out.flush()
        sync_data(out.fileno())
    return count[False], count[True]


def _mend_metadata(folder: Path, metadata: SessionMetadata | None, log: CheckedLog) -> list[str]:
    path = folder / METADATA_NAME
    if metadata is None:
        if not log.state.head:
            return []
        if path.is_file():
            aside = _put_aside(path, folder)
            told = f"{METADATA_NAME} is made anew; as it was, it is kept as {aside.name}"
        else:
            told = f"{METADATA_NAME} is made anew"
        SavedSession(folder, _record_from(folder.name, log)).write()
        return [told]
    if not log.state.head or (metadata.head, metadata.messages) == (
        log.state.head,
        log.state.messages,
    ):
        return []  # of a log that is gone, what the metadata tells is all that is left
    summary = summary_of(log.state, metadata.seen, metadata.owner)
    summary["host"] = log.state.host or metadata.host
    active = max(metadata.last_activity, log.last_at)
    SavedSession.load(folder).update(last_activity=active, **summary)
    return [f"{METADATA_NAME} is brought up to the log"]


def _record_from(id_: str, log: CheckedLog) -> SessionMetadata:
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


def _put_aside(path: Path, folder: Path) -> Path:
    """Rename a file to an unused name in the session's folder."""
    aside = _free(path, folder)
    with disk_access("rename", path):
        path.rename(aside)
        sync_folder(folder)
    return aside


def _keep(path: Path, aside: Path) -> None:
    """Keep a file as it is under a second name."""
    try:
        aside.hardlink_to(path)
    except OSError:  # the disk knows no second names for files
        try:
            shutil.copy2(path, aside)
        except OSError:  # nor can it read all of this one
            path.rename(aside)


def _free(path: Path, folder: Path) -> Path:
    number = 1
    while (aside := folder / f"{path.name}.damaged-{number}").exists():
        number += 1
    return aside
