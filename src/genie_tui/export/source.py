"""What a session is imported from: a file, a pipe, or what the program is given to read."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from genie_core.sessions.errors import NotImportable
from genie_core.storage.atomic import make_private_folder, reason
from genie_core.storage.errors import disk_access
from genie_tui.export.form import STANDARD
from genie_tui.locations import folder_at


@contextmanager
def opened_source(text: str, base: Path) -> Iterator[tuple[BinaryIO, str]]:
    """What is to be read, from any place in it, and what to call it. Blocks.

    What comes through a pipe is kept below `base` meanwhile.

    Raises:
        NoSuchPlace: this names no file.
        NotImportable: it can't be opened.
        DiskFailure: there is no place for it.

    """
    if text == STANDARD:
        with _kept(sys.stdin.buffer, base) as kept:
            yield kept, "the standard input"
        return
    path = folder_at(text)
    try:
        opened = path.open("rb")
    except OSError as error:
        raise NotImportable(text, reason(error)) from error
    with opened:
        if opened.seekable():
            yield opened, text
            return
        with _kept(opened, base) as kept:
            yield kept, text


@contextmanager
def _kept(source: IO[bytes], base: Path) -> Iterator[BinaryIO]:
    """What comes through a pipe, in a file without a name, where there should be place for it."""
    with disk_access("write in", base):
        make_private_folder(base)
        file = tempfile.TemporaryFile(dir=base)  # noqa: SIM115 - it is closed below
    with file:
        with disk_access("write in", base):
            shutil.copyfileobj(source, file)
            file.seek(0)
        yield cast("BinaryIO", file)
