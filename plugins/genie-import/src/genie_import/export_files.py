"""The files of another program's export: a file, a folder or a zip archive. Nothing is trusted."""

import mmap
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

import msgspec

from genie_core.sessions.errors import NotImportable
from genie_core.storage.archives import BROKEN_ARCHIVE, MOST_TIMES, SLACK
from genie_core.storage.atomic import reason
from genie_import.importer import NOT_UNDERSTOOD, LeftOut

MOST_FILES: Final = 1_000_000
SMALL_BYTES: Final = 64 * 1024 * 1024
"""The largest file that is read in one go, and the largest conversation in a file."""

_BOM: Final = b"\xef\xbb\xbf"
_HIDDEN: Final = re.compile(r"\.(?!\.?$)|__MACOSX$")
_NUMBERS: Final = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A file of an export; `path` is its place in the folder or archive, and `open` opens it."""

    path: PurePosixPath
    open: Callable[[], IO[bytes]]
    is_on_disk: bool = False

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def order(self) -> tuple[str, list[str | int]]:
        """A key by which numbered parts follow each other."""
        pieces = _NUMBERS.split(self.path.stem)
        numbered = [int(each) if each.isdecimal() else each for each in pieces]
        return str(self.path.parent), numbered


@contextmanager
def opened_export(path: Path, name: str) -> Iterator[list[ExportFile]]:
    """Open the files of a folder or an archive, or another file; `name` is its name in errors.

    Raises:
        NotImportable: it can't be read or is damaged, also for reads in the block.
    """
    try:
        if path.is_dir():
            yield _in_folder(path, name)
        elif zipfile.is_zipfile(path):
            with _opened_archive(path) as archive:
                yield _in_archive(archive, path.stat().st_size, name)
        else:
            yield [ExportFile(PurePosixPath(path.name), partial(_open, path), is_on_disk=True)]
    except OSError as error:
        raise NotImportable(name, reason(error)) from error
    except RecursionError as error:
        raise NotImportable(name, "it is nested too deeply") from error
    except BROKEN_ARCHIVE as error:
        raise NotImportable(name, f"it is damaged: {error}") from error


def _open(path: Path) -> IO[bytes]:
    return path.open("rb")


def _opened_archive(path: Path) -> zipfile.ZipFile:
    """Open an archive; many programs write UTF-8 names without the flag that says so."""
    try:
        return zipfile.ZipFile(path, metadata_encoding="utf-8")
    except UnicodeDecodeError:
        return zipfile.ZipFile(path)


def _in_archive(archive: zipfile.ZipFile, size: int, name: str) -> list[ExportFile]:
    entries = archive.infolist()
    total = sum(each.file_size for each in entries)
    if len(entries) > MOST_FILES or total > MOST_TIMES * size + SLACK:
        raise NotImportable(name, "it unpacks to far more than any export")
    paths = {each.filename.replace("\\", "/"): each for each in entries}
    files = (
        ExportFile(PurePosixPath(path), partial(archive.open, entry))
        for path, entry in paths.items()
        if not path.endswith("/")
    )
    return _shown(files)


def _in_folder(folder: Path, name: str) -> list[ExportFile]:
    found: list[ExportFile] = []
    for place, _, names in os.walk(folder):
        paths = (path for each in names if (path := Path(place, each)).is_file())
        found += [
            ExportFile(
                PurePosixPath(each.relative_to(folder)), partial(_open, each), is_on_disk=True
            )
            for each in paths
        ]
        if len(found) > MOST_FILES:
            raise NotImportable(name, f"it has more than {MOST_FILES:,} files")
    return _shown(found)


def _shown(files: Iterable[ExportFile]) -> list[ExportFile]:
    """Return the files but hidden ones and those that macOS adds, in order."""
    shown = (file for file in files if not any(_HIDDEN.match(part) for part in file.path.parts))
    return sorted(shown, key=lambda each: each.order)


def head_of(file: ExportFile, size: int = 64 * 1024) -> bytes:
    """Return the beginning of a file, without a byte order mark of UTF-8."""
    with file.open() as opened:
        return opened.read(size).removeprefix(_BOM)


@contextmanager
def mapped(file: ExportFile) -> Iterator[memoryview]:
    """Map a file of any size into memory, so that only the used part takes any.

    Values that refer to it must not outlive the block.
    """
    with file.open() as opened:
        if file.is_on_disk:
            yield _view(opened.fileno())
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(opened, copy)
            copy.flush()
            yield _view(copy.fileno())


def _view(descriptor: int) -> memoryview:
    # Closing fails while values refer to it, which an error's traceback may hold: it is not closed
    # here but with the last of them.
    view = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    return view[len(_BOM) :] if bytes(view[: len(_BOM)]) == _BOM else view


def each_in(items: Iterable[msgspec.Raw]) -> Iterator[dict[str, Any] | LeftOut]:
    """Decode the objects of a list one by one; other items are left out."""
    for item in items:
        data = memoryview(item)
        text = bytes(data[:SMALL_BYTES]).decode("utf-8", "replace")
        if len(data) > SMALL_BYTES:
            yield LeftOut(f"entry larger than {SMALL_BYTES:,} bytes", text)
            continue
        try:
            yield msgspec.json.decode(item, type=dict[str, Any])
        except (ValueError, RecursionError):
            yield LeftOut(NOT_UNDERSTOOD, text)


def raw_fields(data: memoryview | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """Return the fields of a JSON object undecoded; none if it is none or is damaged."""
    try:
        return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return {}


def raw_items(data: memoryview | msgspec.Raw, name: str) -> list[msgspec.Raw]:
    """Return the items of a JSON list undecoded; raises `ValueError` if it is none."""
    try:
        return msgspec.json.decode(data, type=list[msgspec.Raw])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {error}; export it again") from error


def listed(file: ExportFile) -> list[msgspec.Raw]:
    """Return the items of a JSON file that is a list; raises `ValueError` if it is none."""
    with file.open() as opened:
        content = opened.read(SMALL_BYTES + 1).removeprefix(_BOM)
    if len(content) > SMALL_BYTES:
        raise ValueError(f"{file.path} is larger than {SMALL_BYTES:,} bytes")
    return raw_items(memoryview(content), str(file.path))
