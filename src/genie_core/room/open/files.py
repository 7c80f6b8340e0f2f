"""The files of a saved room on disk."""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from genie_core.errors import GenieError
from genie_core.room.protocol.events import FileRef
from genie_core.sessions.session import SavedSession
from genie_core.storage.atomic import make_private_folder
from genie_core.storage.blobs import BLOBS_NAME, LEFTOVER, BlobStore
from genie_core.storage.errors import DiskFailure


def blobs_of(saved: SavedSession) -> BlobStore:
    """Return the store of a session's files; its folder need not exist yet."""
    return BlobStore(saved.folder / BLOBS_NAME)


def take_over(old: Path, new: SavedSession) -> None:
    """Link the files of an old copy into a new one. Blocks.

    On disks without hard links, the files move to the new copy.
    """
    source, target = BlobStore(old / BLOBS_NAME), blobs_of(new)
    with suppress(OSError, GenieError):  # they can be fetched again
        make_private_folder(target.folder)
        for digest in source.digests():
            path = target.path(digest)
            try:
                path.hardlink_to(source.path(digest))
            except FileExistsError:
                continue
            except OSError:
                source.path(digest).rename(path)


async def open_store(saved: SavedSession, keep: Iterable[FileRef]) -> BlobStore:
    """Open a copy's files, and delete those older than an hour that `keep` does not name.

    The caller holds the copy's lock.
    """
    blobs, digests = blobs_of(saved), {file.digest for file in keep}
    with suppress(DiskFailure):  # a remaining file only takes space
        await asyncio.to_thread(blobs.prune, digests, time.time() - LEFTOVER)
    return blobs
