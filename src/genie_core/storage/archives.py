"""Zip archives of other programs and machines, which may be damaged."""

import lzma
import struct
import zipfile
import zlib
from typing import Final

MOST_TIMES: Final = 200
SLACK: Final = 256 * 1024 * 1024
"""An archive may unpack to this many times its size, plus this many bytes."""

BROKEN_ARCHIVE: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, OverflowError, struct.error),  # places and names that can't be
)
"""Errors of `zipfile` for a damaged archive."""
