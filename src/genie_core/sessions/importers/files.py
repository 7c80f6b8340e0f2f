"""The files of another program's export: a file, a folder or a zip archive. Nothing is trusted."""

import mmap
import shutil
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec

from genie_core.sessions.errors import NotImportable
from genie_core.storage.archives import BROKEN_ARCHIVE, MOST_TIMES, SLACK
from genie_core.storage.atomic import reason

T = TypeVar("T")

MOST_FILES: Final = 1_000_000
SMALL_BYTES: Final = 64 * 1024 * 1024
"""The largest file that is read at once, and the largest conversation in a file."""

NOT_UNDERSTOOD: Final = "entry that can't be understood"


@contextmanager
def opened_export(path: Path, name: str) -> Iterator[Traversable]:
    """Open a folder, an archive, or another file; `name` is its name in errors.

    Raises:
        NotImportable: it can't be read or is damaged, also for reads in the block.
    """
    try:
        if path.is_dir() or not zipfile.is_zipfile(path):
            yield path
            return
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            total, most = sum(each.file_size for each in entries), path.stat().st_size
            if len(entries) > MOST_FILES or total > MOST_TIMES * most + SLACK:
                raise NotImportable(name, "it unpacks to far more than any export")
            yield cast("Traversable", zipfile.Path(archive))
    except OSError as error:
        raise NotImportable(name, reason(error)) from error
    except RecursionError as error:
        raise NotImportable(name, "it is nested too deeply") from error
    except BROKEN_ARCHIVE as error:
        raise NotImportable(name, f"it is damaged: {error}") from error


def read_small(file: Traversable) -> bytes:
    """Return the content of a file; raises `ValueError` if it is too large."""
    with file.open("rb") as opened:
        content = opened.read(SMALL_BYTES + 1)
    if len(content) > SMALL_BYTES:
        raise ValueError(f"{file.name} is larger than {SMALL_BYTES:,} bytes")
    return content


def head_of(file: Traversable, size: int = 64 * 1024) -> bytes:
    """Return the beginning of a file."""
    with file.open("rb") as opened:
        return opened.read(size)


@contextmanager
def mapped(file: Traversable) -> Iterator[memoryview]:
    """Map a file of any size into memory, so that only what is used of it takes any.

    Values that refer to it must not outlive the block.
    """
    with file.open("rb") as opened:
        if isinstance(file, Path):
            with _view(opened.fileno()) as view:
                yield view
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(opened, copy)
            copy.flush()
            with _view(copy.fileno()) as view:
                yield view


@contextmanager
def _view(descriptor: int) -> Iterator[memoryview]:
    # Closing fails while values refer to it, which an error's traceback may hold: it is not closed
    # here but with the last of them.
    yield memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))


def each_in(items: list[msgspec.Raw], kind: type[T], left: Counter[str]) -> Iterator[T]:
    """Decode the items of a list one by one; those that can't be understood are counted."""
    for item in items:
        try:
            found = _decoded(item, kind)
        except (ValueError, RecursionError):
            left[NOT_UNDERSTOOD] += 1
        else:
            yield found


def _decoded(item: msgspec.Raw, kind: type[T]) -> T:
    if len(memoryview(item)) > SMALL_BYTES:
        raise ValueError("it is too large")
    return msgspec.json.decode(item, type=kind)


def decoded(file: Traversable, kind: type[T]) -> T:
    """Decode a small file; raises `ValueError`."""
    try:
        return msgspec.json.decode(read_small(file), type=kind)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file.name}: {error}") from error


def text_at(value: Any, *path: str) -> str:
    """Return the text at a path of keys in a JSON value; empty if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def names_in(value: Any) -> list[str]:
    """Return the names of the files in a JSON list; none if it is no list."""
    files = value if isinstance(value, list) else []
    return [name for each in files if (name := text_at(each, "name"))]
