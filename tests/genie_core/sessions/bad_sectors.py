"""A disk that can't read some parts of one file."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock


@dataclass
class BadSectors:
    """Reads of the file at `path` that touch one of the `holes`, in bytes, fail with `error`."""

    path: Path
    holes: Sequence[tuple[int, int]]
    error: int = errno.EIO

    @contextmanager
    def installed(self) -> Iterator["BadSectors"]:
        real = os.pread

        def pread(descriptor: int, count: int, offset: int) -> bytes:
            told = os.fstat(descriptor)
            upto = min(offset + count, told.st_size)
            if os.path.samestat(told, self.path.stat()) and any(
                max(start, offset) < min(upto, end) for start, end in self.holes
            ):
                raise OSError(self.error, os.strerror(self.error))
            return real(descriptor, count, offset)

        with mock.patch.object(os, "pread", pread):
            yield self
