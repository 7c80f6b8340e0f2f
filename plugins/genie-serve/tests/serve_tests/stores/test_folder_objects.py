import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from genie_core.storage.errors import InvalidDigest
from genie_serve.stores.folder_objects import FolderObjects
from genie_serve.stores.store import SharedStore, StoreUnavailable
from genie_testing.contract.store import ObjectsContract, StorePlace

CONTENT = b"a picture"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class FolderPlace(StorePlace):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def connect(self, machine: str = "a") -> SharedStore:
        return cast("SharedStore", SimpleNamespace(objects=FolderObjects(self._folder)))

    def cut_off(self) -> AbstractAsyncContextManager[None]:
        raise NotImplementedError


class TestFolderObjects(ObjectsContract):
    @asynccontextmanager
    async def places(self, folder: Path) -> AsyncIterator[StorePlace]:
        yield FolderPlace(folder)


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "source"
    path.write_bytes(CONTENT)
    return str(path)


async def test_a_room_is_a_folder_whatever_its_name_is(tmp_path: Path, source: str) -> None:
    objects = FolderObjects(tmp_path / "bucket")
    for room in ("..", ".", "../../outside", "a/b", "", "ünï"):
        await objects.put(room, DIGEST, source)
        assert await objects.get(room, DIGEST, str(tmp_path / "copy"))
        await objects.remove(room)
        assert not await objects.get(room, DIGEST, str(tmp_path / "copy"))
    assert list((tmp_path / "bucket").iterdir()) == []


async def test_a_digest_is_no_path(tmp_path: Path, source: str) -> None:
    objects = FolderObjects(tmp_path / "bucket")
    for digest in ("../source", "", DIGEST.upper()):
        with pytest.raises(InvalidDigest):
            await objects.put("room", digest, source)
        with pytest.raises(InvalidDigest):
            await objects.get("room", digest, str(tmp_path / "copy"))


async def test_a_file_that_is_damaged_is_written_again(tmp_path: Path, source: str) -> None:
    objects = FolderObjects(tmp_path / "bucket")
    await objects.put("room", DIGEST, source)
    (stored,) = (tmp_path / "bucket").rglob(DIGEST)
    stored.write_bytes(CONTENT[:-1])
    with pytest.raises(StoreUnavailable, match="is damaged"):
        await objects.get("room", DIGEST, str(tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()
    await objects.put("room", DIGEST, source)
    assert await objects.get("room", DIGEST, str(tmp_path / "copy"))


async def test_unwritable_folder_is_unavailable(tmp_path: Path, source: str) -> None:
    (tmp_path / "bucket").write_text("a file, where a folder should be")
    with pytest.raises(StoreUnavailable, match="bucket"):
        await FolderObjects(tmp_path / "bucket").put("room", DIGEST, source)
