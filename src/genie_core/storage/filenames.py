"""Make names of received files safe to show and to save under."""

import os
import re
import shutil
import unicodedata
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

from genie_core.errors import FileNotSaved
from genie_core.storage.atomic import create_file
from genie_core.text.safe import BLANK

NAME_BYTES: Final = 200
"""Longest name in UTF-8; file systems allow 255, which leaves room for a number."""

NAMELESS: Final = "file"

_ENDING_BYTES: Final = 24
_TRIES: Final = 10_000
_SEPARATORS: Final = re.compile(r"[/\\]")
_FORBIDDEN: Final = re.compile(r'[<>:"|?*\x00-\x1f\x7f-\x9f]')
_MARKS_IN_A_ROW: Final = 4
_HIDDEN: Final = frozenset({"Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_RESERVED: Final = re.compile(
    r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)\s*(\.|$)", re.IGNORECASE
)


def safe_name(raw: str, longest: int = NAME_BYTES) -> str:
    """Return a name that every file system, shell and terminal takes for a plain name.

    Only the last part of a path stays. Invisible characters and those that change the reading order
    are removed; those that some system forbids become underscores. The suffix survives a cut to
    `longest` bytes. Idempotent.
    """
    name = unicodedata.normalize("NFC", _without_hidden(_last_part(raw)))
    name = " ".join(_FORBIDDEN.sub("_", name).split())
    name = _trimmed(_cut(_trimmed(name), longest - 1))
    return f"_{name}" if _RESERVED.match(name) else name or NAMELESS


def create_new(folder: Path, name: str) -> tuple[Path, BinaryIO]:
    """Create a new file, with a number if the name is taken.

    `name` is made safe first, so that the file is always in the folder. Only its owner may read it,
    and it is not executable. Blocks.

    Raises:
        FileNotSaved: the system refuses.
    """
    name = safe_name(name)
    stem, ending = _split(name)
    for number in count(1):
        path = folder / (name if number == 1 else f"{stem} ({number}){ending}")
        try:
            descriptor = create_file(path)
        except FileExistsError as error:
            if number < _TRIES:
                continue
            raise FileNotSaved(name, str(folder), "too many files have this name") from error
        except OSError as error:
            raise _failure(name, folder, error) from error
        return path, os.fdopen(descriptor, "wb")
    raise AssertionError


def save_copy(source: Path, folder: Path, name: str) -> Path:
    """Copy a file into a folder under a new, safe name; returns its path.

    Raises:
        FileNotSaved: the system refuses; nothing is left behind.
    """
    path, target = create_new(folder, name)
    try:
        with target, source.open("rb") as file:
            shutil.copyfileobj(file, target)
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise _failure(path.name, folder, error) from error
    return path


def _failure(name: str, folder: Path, error: OSError) -> FileNotSaved:
    return FileNotSaved(name, str(folder), (error.strerror or str(error)).lower())


def _last_part(raw: str) -> str:
    parts = [part for part in _SEPARATORS.split(raw) if part.strip(" .")]
    return parts[-1] if parts else ""


def _without_hidden(name: str) -> str:
    kept: list[str] = []
    marks = 0
    for char in name:
        kind = unicodedata.category(char)
        if kind in _HIDDEN or char in BLANK or _selects_a_variant(char):
            continue
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if marks <= _MARKS_IN_A_ROW:
            kept.append(char)
    return "".join(kept)


def _selects_a_variant(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _trimmed(name: str) -> str:
    """Remove characters that hide a file, look like an option, or is dropped by some systems."""
    return name.lstrip(" .-").rstrip(" .")


def _cut(name: str, longest: int) -> str:
    if len(name.encode()) <= longest:
        return name
    stem, ending = _split(name)
    return _head(stem, longest - len(ending.encode())).rstrip(" .") + ending


def _head(text: str, longest: int) -> str:
    return text.encode()[:longest].decode("utf-8", "ignore")


def _split(name: str) -> tuple[str, str]:
    """Return stem and suffix; the suffix may have two parts like .tar.gz, but is never long."""
    stem, dot, last = name.rpartition(".")
    if not stem or len(last.encode()) >= _ENDING_BYTES:
        return name, ""
    front, inner, before = stem.rpartition(".")
    if front and before.lower() == "tar":
        return front, f"{inner}{before}{dot}{last}"
    return stem, f"{dot}{last}"
