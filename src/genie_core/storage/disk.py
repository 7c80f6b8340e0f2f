"""All file work of a store, in one thread."""

import asyncio
import logging
from asyncio import Future
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from genie_core.errors import StateError
from genie_core.storage.atomic import reason, replace_file, sync_folder
from genie_core.storage.journal import Journal
from genie_core.storage.journal_file import JournalFile
from genie_core.storage.store import Sync
from genie_core.storage.worker import Outcome, StoreWorker

log = logging.getLogger(__name__)

_MOST_OPEN: Final = 64  # files; a session has two for each of its people


@dataclass(slots=True, eq=False)
class _Write:
    path: Path
    content: bytes
    promise: "Future[Any]"
    replaces: bool
    sync: bool = True
    ousted: Path | None = None


class Disk(StoreWorker[_Write]):
    """Writes files in a thread, in the order of the requests.

    Requests that gather while the thread is busy are combined: appends to one file become one write
    and one sync, and of several replacements of a file only the last is written. A future completes
    when the bytes are synced; for appends without sync, when the operating system has them, which
    survives the death of this process; they are synced within a second. `mode` "each" syncs every
    append by itself, and "os" syncs nothing.

    The future of a failed write raises `StateError`. Failed appends are repeated in order once the
    disk permits; replacements are not.
    """

    def __init__(self, mode: Sync = "group") -> None:
        super().__init__()
        self._mode = mode
        self._journals: dict[Path, JournalFile] = {}
        self._behind: set[Path] = set()  # journals to write to or to sync
        self._open: dict[JournalFile, None] = {}  # in the order of their last use

    def append(self, path: Path, content: bytes, *, sync: bool = True) -> "Future[None]":
        """Append complete lines to a file, after cutting off a torn one."""
        promise: Future[None] = asyncio.get_running_loop().create_future()
        self._submit(_Write(path, content, promise, replaces=False, sync=sync))
        return promise

    def replace(self, path: Path, content: bytes, *, ousted: Path | None = None) -> "Future[None]":
        """Replace a file; a reader sees the old or the new content, never a mixture.

        A replaced journal is renamed afterwards.
        """
        promise: Future[None] = asyncio.get_running_loop().create_future()
        self._submit(_Write(path, content, promise, replaces=True, ousted=ousted))
        return promise

    def read_journal(self, path: Path) -> Journal:
        """Read the intact part of a journal; only for use inside `read`."""
        return self._journal(path).read()

    def _sync(self) -> None:
        for path in list(self._behind):
            journal = self._journal(path)
            try:
                journal.catch_up()
            except Exception as error:
                # The thread must survive any of them; the caller got it when the promise was
                # broken.
                log.debug("%s: still behind", path, exc_info=True)
                if not journal.behind:  # written, but perhaps not for long
                    self._report_failure(path, error)
            if not journal.behind:
                self._behind.discard(path)

    def _write(self, writes: list[_Write]) -> "Iterable[Outcome]":
        by_file: dict[tuple[Path | None, bool], list[_Write]] = {}
        ousted: set[Path] = set()
        for write in writes:
            if (ousted and write.path in ousted) or (
                write.ousted and (write.ousted, False) in by_file
            ):
                # A journal loses entries added before it is put aside, and nothing else.
                yield from self._write_together(by_file.values())
                by_file, ousted = {}, set()
            if self._mode == "each":
                yield from self._write_together([[write]])
                continue
            by_file.setdefault((write.path, write.replaces), []).append(write)
            if write.ousted is not None:
                ousted.add(write.ousted)
        yield from self._write_together(by_file.values())

    def _write_together(self, groups: Iterable[list[_Write]]) -> "Iterable[Outcome]":
        for group in groups:
            path, replaces = group[0].path, group[0].replaces
            error = self._attempt(path, self._replace if replaces else self._append, group)
            yield from [(write.promise, None, error) for write in group]

    def _attempt(
        self, path: Path, write: Callable[[Path, list[_Write]], None], group: list[_Write]
    ) -> StateError | None:
        try:
            write(path, group)
        except Exception as error:  # noqa: BLE001 - the thread must survive; the promise carries it on
            failure = self._report_failure(path, error)
            failure.__cause__ = error
            return failure
        return None

    def _report_failure(self, path: Path, error: Exception) -> StateError:
        failure = StateError("save", str(path), reason(error))
        self.report(str(failure), f"saving {path}")
        return failure

    def _append(self, path: Path, group: list[_Write]) -> None:
        journal = self._journal(path)
        content = b"".join([write.content for write in group])
        self._behind.add(path)
        self._keep_open(journal)
        journal.append(content, sync=self._mode == "each" or any(write.sync for write in group))
        if not journal.behind:
            self._behind.discard(path)

    def _keep_open(self, journal: JournalFile) -> None:
        self._open.pop(journal, None)
        self._open[journal] = None
        if len(self._open) > _MOST_OPEN:
            eldest = next(iter(self._open))
            del self._open[eldest]
            eldest.close()

    def _rest(self) -> None:
        for journal in self._open:
            journal.close()
        self._open.clear()

    def _replace(self, path: Path, group: list[_Write]) -> None:
        replace_file(path, group[-1].content, sync=self._mode != "os")
        for write in group:
            if write.ousted is not None:
                self._put_aside(write.ousted)

    def _put_aside(self, path: Path) -> None:
        if (journal := self._journals.pop(path, None)) is not None:
            self._open.pop(journal, None)
            journal.close()
        self._behind.discard(path)
        try:
            path.replace(path.with_name(f"{path.name}.replaced"))
        except FileNotFoundError:
            return
        sync_folder(path.parent)

    def _journal(self, path: Path) -> JournalFile:
        journal = self._journals.get(path)
        if journal is None:
            journal = JournalFile(path, self.report, syncs=self._mode != "os")
            self._journals[path] = journal
        return journal
