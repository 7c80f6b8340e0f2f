"""Files of rooms in a folder that several machines see, such as a mounted bucket."""

import asyncio
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

from genie_core.storage.atomic import (
    create_file,
    make_private_folder,
    reason,
    sync_folder,
    write_whole,
)
from genie_core.storage.blobs import check_digest
from genie_serve.stores.store import StoreUnavailable

_READ_BYTES: Final = 1024 * 1024


class FolderObjects:
    """A folder per room, with files under their digests; see `Objects`.

    A file has another name until it is complete, and is compared with its digest whenever it is
    read, since not every bucket renames atomically.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, room: str, digest: str, path: str) -> None:
        await asyncio.to_thread(self._put, self._path(room, digest), Path(path))

    async def get(self, room: str, digest: str, path: str) -> bool:
        return await asyncio.to_thread(self._get, self._path(room, digest), Path(path))

    async def remove(self, room: str) -> None:
        await asyncio.to_thread(self._remove, self._room(room))

    def _room(self, room: str) -> Path:
        return self._folder / f"room-{quote(room, safe='')}"

    def _path(self, room: str, digest: str) -> Path:
        return self._room(room) / check_digest(digest)

    def _put(self, target: Path, path: Path) -> None:
        with path.open("rb") as source, _access(target):
            if _is_whole(target):
                return
            make_private_folder(target.parent)
            if _copy(source, target, target.name) != target.name:
                raise ValueError(f"{path} has another SHA-256 than {target.name}")

    def _get(self, source: Path, target: Path) -> bool:
        with _access(source):
            try:
                file = source.open("rb")
            except FileNotFoundError:
                return False
            with file:
                if _copy(file, target, source.name) != source.name:
                    raise StoreUnavailable(f"{source} is damaged: its SHA-256 is another")
        return True

    def _remove(self, room: Path) -> None:
        with _access(room), suppress(FileNotFoundError):
            shutil.rmtree(room)


def _copy(source: BinaryIO, target: Path, digest: str) -> str:
    """Copy a file durably; return its digest. If it is another one, nothing is left."""
    fresh = target.with_name(f"{target.name}.{secrets.token_hex(8)}.new")
    descriptor = create_file(fresh)
    try:
        found = hashlib.sha256()
        while data := source.read(_READ_BYTES):
            found.update(data)
            write_whole(descriptor, data)
        os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        fresh.unlink(missing_ok=True)
        raise
    os.close(descriptor)
    if found.hexdigest() == digest:
        fresh.replace(target)
        sync_folder(target.parent)
    else:
        fresh.unlink(missing_ok=True)
    return found.hexdigest()


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == path.name
    except FileNotFoundError:
        return False


@contextmanager
def _access(path: Path) -> Iterator[None]:
    try:
        yield
    except StoreUnavailable:
        raise
    except OSError as error:
        raise StoreUnavailable(f"{path} can't be used: {reason(error)}") from error
