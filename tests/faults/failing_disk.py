"""A disk that fails as told, under one file."""

import errno
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from unittest import mock

Call: TypeAlias = Literal["write", "fdatasync", "ftruncate"]

NO_SPACE: Final = errno.ENOSPC
ERRORS: Final = (errno.ENOSPC, errno.EIO, errno.EINTR, errno.EDQUOT)


@dataclass(frozen=True)
class Fault:
    """What becomes of one call: of a write `taken` bytes are done, and then comes the error, if any."""

    call: Call
    error: int = 0
    taken: int = 0


@dataclass
class FailingDisk:
    """The next calls for the file at `path` go as `faults` say, in order; or all of them fail."""

    path: Path
    faults: deque[Fault] = field(default_factory=deque)
    full: bool = False

    @contextmanager
    def installed(self) -> Iterator["FailingDisk"]:
        with (
            mock.patch.object(os, "write", self._around("write", os.write)),
            mock.patch.object(os, "fdatasync", self._around("fdatasync", os.fdatasync)),
            mock.patch.object(os, "ftruncate", self._around("ftruncate", os.ftruncate)),
        ):
            yield self

    def next(self, faults: Sequence[Fault]) -> None:
        """Let these come next, and forget those that have not come."""
        self.faults = deque(faults)

    def _around(self, call: Call, real: Callable[..., Any]) -> Callable[..., Any]:
        def faulty(descriptor: int, *arguments: Any) -> Any:
            if not self._concerns(descriptor):
                return real(descriptor, *arguments)
            if self.full and call == "write":
                raise OSError(NO_SPACE, os.strerror(NO_SPACE))
            if not self.faults or self.faults[0].call != call:
                return real(descriptor, *arguments)
            fault = self.faults.popleft()
            done = None
            if call == "write" and fault.taken:
                done = real(descriptor, arguments[0][: fault.taken])
            if fault.error:
                raise OSError(fault.error, os.strerror(fault.error))
            return 0 if done is None else done

        return faulty

    def _concerns(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        except OSError:
            return False
