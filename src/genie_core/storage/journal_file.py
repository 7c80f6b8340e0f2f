"""One journal on disk, and the state of its end."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from genie_core.storage.atomic import (
    make_private_folder,
    read_file,
    sync_data,
    sync_file,
    sync_folder,
    write_whole,
)
from genie_core.storage.journal import Journal, decode_journal
from genie_core.storage.legacy import convert


class JournalFile:
    """A file that only grows, for use by one thread.

    Lines that could not be written are written before the next ones, so that no journal has a gap.
    A line is written completely or cut off again. Without `syncs`, it is never synced. After an
    append, the file stays open until `close`: opening it takes longer than writing a line.
    """

    def __init__(self, path: Path, report: Callable[[str], None], *, syncs: bool = True) -> None:
        self._path = path
        self._report = report
        self._syncs = syncs
        self._owed: list[bytes] = []
        self._cut: int | None = None  # bytes to go back to: the rest was not written whole
        self._torn_at: int | None = None  # the size at which that was seen in a file read
        self._plain: bool | None = None  # unknown before the first look
        self._ready = False  # to be appended to
        self._unsynced = False
        self._descriptor: int | None = None

    def read(self) -> Journal:
        """Return the content up to a torn end, which the next append cuts off."""
        try:
            content = read_file(self._path)[: self._cut]
        except FileNotFoundError:
            return Journal([], [], 0)
        journal = decode_journal(content)
        self._plain = journal.plain
        if torn := len(content) - journal.intact:
            self._cut, self._torn_at = journal.intact, len(content)
            self._report(f"{self._path}: cut off an unfinished last line of {torn} bytes")
        if journal.damaged:
            self._report(f"{self._path}: {journal.damage} left out")
        return journal

    @property
    def behind(self) -> bool:
        """Whether lines are not written or not synced yet."""
        return bool(self._owed) or self._unsynced

    def append(self, content: bytes, *, sync: bool) -> None:
        """Append complete lines, after those still pending.

        After `OSError` these are pending, too.
        """
        self._owed.append(content)
        self._write_owed(sync=sync)

    def catch_up(self) -> None:
        """Write and sync everything pending."""
        if self._owed:
            self._write_owed(sync=True)
        elif self._unsynced:
            self._unsynced = False  # after a failure the system may have forgotten the data
            sync_file(self._path)

    def _write_owed(self, *, sync: bool) -> None:
        if not self._ready:
            self._prepare()
        descriptor = self._opened()
        try:
            self._write(descriptor, b"".join(self._owed), sync=sync)
            self._owed.clear()
        except OSError:
            if len(self._owed) == 1:
                raise
            self._write_what_fits(descriptor, sync=sync)

    def close(self) -> None:
        """Close the file until the next append."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        if self._descriptor is None:
            try:
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            except OSError:
                self._ready = False  # the file or its folder may have gone
                raise
        return self._descriptor

    def _size(self, descriptor: int) -> int:
        status = os.fstat(descriptor)
        if not status.st_nlink:
            self.close()
            self._ready = False
            raise FileNotFoundError(errno.ENOENT, "The file was removed")
        return status.st_size

    def _write_what_fits(self, descriptor: int, *, sync: bool) -> None:
        """Write pending lines in pieces, to use the little space there is."""
        while self._owed:
            self._write(descriptor, self._owed[0], sync=sync)
            del self._owed[0]

    def _prepare(self) -> None:
        make_private_folder(self._path.parent)
        if not self._path.exists():
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
        sync_folder(self._path.parent)
        if self._plain is None:
            self.read()
        if self._plain:
            convert(self._path)
            self._plain = False
        self._ready = True

    def _write(self, descriptor: int, content: bytes, *, sync: bool) -> None:
        self._cut_back(descriptor)
        before = self._size(descriptor)
        try:
            write_whole(descriptor, content)
            if sync and self._syncs:
                sync_data(descriptor)
        except OSError:
            self._cut, self._torn_at = before, None
            with suppress(OSError):
                self._cut_back(descriptor)
            raise
        self._unsynced = self._syncs and not sync

    def _cut_back(self, descriptor: int) -> None:
        if self._cut is None:
            return
        if self._torn_at in {None, os.fstat(descriptor).st_size}:
            os.ftruncate(descriptor, self._cut)
        # Otherwise another process was in the midst of writing that line, and it is whole now.
        self._cut = None
