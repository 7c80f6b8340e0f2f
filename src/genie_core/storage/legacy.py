"""Files of group-genie: the same JSON as ours, without checksums."""

import errno
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from genie_core.storage.atomic import replace_file
from genie_core.storage.journal import CHECKED, decode_journal, decode_value, encode_line

JOURNAL: Final = ".jsonl"
VALUE: Final = ".json"


def earlier_name(key: str) -> str:
    """Return group-genie's file name for a key; different keys may share one."""
    return re.sub(r"[^\w\-]", "_", key)


def is_there(path: Path) -> bool:
    """Whether a path exists; its name may be longer than the system allows."""
    try:
        return path.exists()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise


def is_plain(path: Path) -> bool:
    """Whether a file is group-genie's; reads only the start of one of ours."""
    if not is_there(path) or not path.is_file():
        return False
    with path.open("rb") as file:
        beginning = file.read(len(CHECKED))
        if beginning == CHECKED:
            return False
        rest = file.read()
    return path.suffix == VALUE or decode_journal(beginning + rest).plain


def plain_files(folder: Path) -> list[Path]:
    """Return group-genie's files in a folder, which need not exist."""
    if not is_there(folder):
        return []
    paths = (path for suffix in (JOURNAL, VALUE) for path in folder.glob(f"*{suffix}"))
    return sorted(path for path in paths if is_plain(path))


def plain_file(folder: Path, name: str) -> Path | None:
    """Return group-genie's file of that name; a journal is newer than a value."""
    for suffix in (JOURNAL, VALUE):
        path = folder / f"{name}{suffix}"
        if is_plain(path):
            return path
    return None


def taken_over(place: Path) -> Path | None:
    """Return our file at a path without suffix."""
    paths = (place.with_name(f"{place.name}{suffix}") for suffix in (JOURNAL, VALUE))
    return next((path for path in paths if path.is_file()), None)


def keep_original(path: Path) -> None:
    """Copy group-genie's file beside itself, once."""
    content = path.read_bytes()
    for number in count(1):
        more = f".{number}" if number > 1 else ""
        kept = path.with_name(f"{path.name}.group-genie{more}")
        if not kept.exists():
            replace_file(kept, content)
            return
        if kept.read_bytes() == content:
            return


def convert(path: Path) -> None:
    """Add checksums to a plain journal, keeping the original beside it."""
    Memory(path, decode_journal(path.read_bytes()).values, JOURNAL).move(path.with_suffix(""))


@dataclass(frozen=True, slots=True)
class Memory:
    """The content of a group-genie file: the lines of a journal, or one value.

    The suffix is that of the converted file.
    """

    path: Path
    values: list[Any]
    suffix: str

    def move(self, place: Path) -> None:
        """Write it in our format under a name without suffix, and rename the original.

        May be repeated after an interruption; never overwrites a file of ours.
        """
        target = place.with_name(f"{place.name}{self.suffix}")
        if not target.exists() or is_plain(target):
            keep_original(self.path)
            replace_file(target, b"".join(map(encode_line, self.values)))
        if self.path != target:
            keep_original(self.path)
            self.path.unlink()


def read_memory(path: Path, report: Callable[[str], None]) -> Memory | None:
    """Read a file; report and skip damaged parts; leave a fully damaged one alone."""
    content = path.read_bytes()
    if path.suffix == JOURNAL:
        journal = decode_journal(content)
        if journal.damaged:
            report(f"{path}: {journal.damage} left out")
        return Memory(path, journal.values, JOURNAL)
    try:
        return Memory(path, [decode_value(content)], VALUE)
    except ValueError as error:
        report(f"{path} is damaged ({error}) and was not taken over")
        return None
