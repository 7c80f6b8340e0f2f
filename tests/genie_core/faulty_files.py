"""System calls on files that fail when a test says so."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

CALLS: Final = ("open", "write", "fsync", "fdatasync", "ftruncate", "replace", "mkdir")


class FaultyFiles:
    """Notes the calls on files below a folder, and lets some of them fail.

    `fails` is asked before each call, by its number from 0 and its name, and returns the error
    to raise. `room` is the number of bytes that fit on the disk. `piece` is how much one write
    takes at most.
    """

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.calls: list[tuple[str, str]] = []
        self.fails: Callable[[int, str], OSError | None] = lambda _number, _name: None
        self.room: int | None = None
        self.piece: int | None = None
        self._folder = str(folder)
        for name in CALLS:
            patch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(subject: Any, *arguments: Any, **options: Any) -> Any:
            path = _path_of(subject)
            if not path.startswith(self._folder):
                return real(subject, *arguments, **options)
            number = len(self.calls)
            self.calls.append((name, path.removeprefix(self._folder).lstrip("/")))
            if (error := self.fails(number, name)) is not None:
                raise error
            if name == "write":
                arguments = (self._what_fits(arguments[0]),)
            if name == "ftruncate" and self.room is not None:
                self.room += os.fstat(subject).st_size - arguments[0]
            return real(subject, *arguments, **options)

        return call

    def _what_fits(self, content: Any) -> Any:
        if self.room is not None:
            if not self.room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            content = content[: self.room]
        if self.piece is not None:
            content = content[: self.piece]
        if self.room is not None:
            self.room -= len(content)
        return content


def _path_of(subject: Any) -> str:
    if isinstance(subject, int):
        return str(Path(f"/proc/self/fd/{subject}").readlink())
    return str(subject)


def failing(number: int, code: int = errno.EIO) -> Callable[[int, str], OSError | None]:
    """Let one call fail."""

    def fails(current: int, _name: str) -> OSError | None:
        return OSError(code, os.strerror(code)) if current == number else None

    return fails


def failing_from(number: int, code: int = errno.EROFS) -> Callable[[int, str], OSError | None]:
    """Let that call and all later ones fail."""

    def fails(current: int, _name: str) -> OSError | None:
        return OSError(code, os.strerror(code)) if current >= number else None

    return fails
