"""The changes of tools in files, kept so that a person can undo it.

The folder has `changes.jsonl`, which is only appended to, and the earlier contents of files, each
under its SHA-256. The last line about a change counts. All is private to the owner.
"""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Final, NamedTuple

import msgspec

from genie_core.agent.approval import approval_id
from genie_core.assistant.tools.files.diff import unified_diff
from genie_core.assistant.tools.files.workspace import (
    MAX_FILE_BYTES,
    AccessRefused,
    Workspace,
    whole_text,
)
from genie_core.errors import GenieError
from genie_core.room.engine.controls import UndoPlan
from genie_core.storage.atomic import (
    append_line,
    make_private_folder,
    read_file,
    reason,
    replace_file,
)
from genie_core.storage.blobs import check_digest, on_disk

MAX_KEPT_BYTES: Final = 200_000_000
"""The most that earlier contents take on disk; the oldest are dropped first."""

RECORDS_NAME: Final = "changes.jsonl"

NOT_KEPT: Final = "what tools change in files is not kept here, so it can't be undone"
NO_CHANGE: Final = "no change of {} is left that could be undone"

write_lock: Final = threading.Lock()
"""Serializes file changes, so that concurrent edits don't overwrite each other."""

logger = logging.getLogger(__name__)


class UndoRefused(GenieError):
    """A change can't be undone; the text gives the reason."""


class FileChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of a file by a tool.

    `path` is relative to the workspace at `folder`. `before` and `after` are SHA-256 digests of the
    contents, empty if there was no file. `at` is in seconds since the epoch. `approval` is the id
    of the request that allowed the tool call. Changes of one call are undone together: `first` is
    the number of the first of them, 0 for a call with one change. `mode` are the permissions of a
    file that was removed.
    """

    number: int
    at: float
    folder: str
    path: str
    before: str
    after: str
    approval: str = ""
    undone: bool = False
    first: int = 0
    mode: int = 0


class Replaced(NamedTuple):
    """The contents of a file before and after; None if there is no file."""

    file: Path
    before: bytes | None
    after: bytes | None
    mode: int = 0


class FileChanges:
    """The changes of one session. Without a `folder` nothing is kept.

    Methods block. The caller of `kept` holds `write_lock`; the others take it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._changes: dict[int, FileChange] | None = None
        self._sizes: dict[str, int] = {}  # of the kept contents, the oldest first

    @contextmanager
    def kept(self, workspace: Workspace, replaced: Sequence[Replaced]) -> Iterator[None]:
        """Keep the contents of files, while the block changes them.

        If the block fails, nothing changed.

        Raises:
            AccessRefused: it can't be kept; the block does not run.
        """
        wanted = [each for each in replaced if each.before != each.after]
        if self.folder is None or not wanted:
            yield
            return
        changes: list[FileChange] = []
        try:
            for each in wanted:
                first = changes[0].number if changes else 0
                changes.append(self._keep(self.folder, workspace, each, first))
        except (OSError, ValueError) as error:  # a ValueError for a name that is no valid text
            self._mark_undone(*changes)
            name, why = workspace.name(each.file), reason(error)
            raise AccessRefused(
                f"what {name!r} has now can't be kept for undo ({why}), so it was not changed"
            ) from error
        try:
            yield
        except BaseException:
            self._mark_undone(*changes)
            raise

    def plan(self, workspace: Workspace | None, file: str = "", approval: str = "") -> UndoPlan:
        """Return the latest change that is not undone; of one file or approved tool call if given.

        Changes whose file has its earlier content anyway are left out. Raises `UndoRefused`.
        """
        with write_lock, _refusals():
            workspace, changes = self._latest(workspace, file, approval)
            diffs, created = [], 0
            for change in changes:
                now, then = self._contents(workspace, change)
                name = workspace.name(workspace.root / change.path)
                diffs.append(_difference(now, then, name))
                created += then is None
            if len(changes) > 1:
                name = f"{len(changes)} files"
            last = changes[-1]
            return UndoPlan(last.number, name, last.at, "\n".join(diffs), created == len(changes))

    def undo(self, workspace: Workspace | None, number: int) -> None:
        """Bring back the contents of files before a call, or remove them if there were none.

        Raises:
            UndoRefused: nothing has changed, or, if the system fails, not all of the files.
        """
        with write_lock, _refusals():
            change = self._loaded().get(number)
            if change is None or change.undone or workspace is None:
                raise UndoRefused("that change is undone already")
            changes = self._together(workspace, change)
            contents = [self._contents(workspace, each) for each in changes]
            for each, (now, then) in zip(changes, contents, strict=True):
                self._bring_back(workspace, each, now, then)
                self._mark_undone(each)

    def _bring_back(
        self, workspace: Workspace, change: FileChange, now: bytes | None, then: bytes | None
    ) -> None:
        file = workspace.root / change.path
        if then is not None:
            mode = change.mode or None
            workspace.write_bytes(file, then, replace=now is not None, mode=mode)
        elif now is not None:
            workspace.remove(file)

    def _together(self, workspace: Workspace, change: FileChange) -> list[FileChange]:
        """Return the changes of the call that made this one that are not undone."""
        first = change.first or change.number
        return [
            each
            for each in self._loaded().values()
            if not each.undone
            and first in (each.first, each.number)
            and _digest(_current(workspace, each)) != each.before
        ]

    def _latest(
        self, workspace: Workspace | None, file: str, approval: str
    ) -> tuple[Workspace, list[FileChange]]:
        changes = self._loaded()
        if workspace is None:
            raise UndoRefused(NO_CHANGE.format("a file"))
        path = PurePath(file).as_posix() if file else ""
        for change in reversed(changes.values()):
            if (
                not change.undone
                and change.folder == str(workspace.root)
                and path in ("", change.path)
                and approval in ("", change.approval)
                and _digest(_current(workspace, change)) != change.before
            ):
                return workspace, self._together(workspace, change)
        raise UndoRefused(NO_CHANGE.format(file or ("this call" if approval else "a file")))

    def _contents(
        self, workspace: Workspace, change: FileChange
    ) -> tuple[bytes | None, bytes | None]:
        """Return the content now and before; raise `UndoRefused` unless it is as the tool left it."""
        name = workspace.name(workspace.root / change.path)
        now = _current(workspace, change)
        if now is None and change.after:
            raise UndoRefused(f"{name} is gone; {self._where(change)}")
        if _digest(now) != change.after:
            raise UndoRefused(f"{name} has changed since; {self._where(change)}")
        if not change.before:
            return now, None
        if change.before == _digest(b""):
            return now, b""
        try:
            then = read_file(self._path(change.before))
        except FileNotFoundError:
            raise UndoRefused(f"{name} can't be brought back: {self._where(change)}") from None
        if _digest(then) != change.before:
            raise UndoRefused(
                f"{name} can't be brought back: its kept copy {self._path(change.before)} is damaged"
            )
        return now, then

    def _where(self, change: FileChange) -> str:
        if not change.before:
            return "it did not exist before"
        if change.before == _digest(b""):
            return "it was empty before"
        path = self._path(change.before)
        if not path.exists():
            return "its earlier content is no longer kept"
        return f"its earlier content is kept in {path}"

    def _path(self, digest: str) -> Path:
        assert self.folder is not None, "changes are loaded from a folder"  # noqa: S101 - an invariant
        return self.folder / digest

    def _keep(
        self, folder: Path, workspace: Workspace, replaced: Replaced, first: int
    ) -> FileChange:
        changes = self._loaded()
        make_private_folder(folder)
        if replaced.before:
            self._keep_content(replaced.before)
        change = FileChange(
            max(changes, default=0) + 1,
            time.time(),
            str(workspace.root),
            workspace.key(replaced.file),
            _digest(replaced.before),
            _digest(replaced.after),
            approval_id.get(),
            first=first,
            mode=replaced.mode,
        )
        append_line(folder / RECORDS_NAME, msgspec.json.encode(change) + b"\n")
        changes[change.number] = change
        return change

    def _keep_content(self, content: bytes) -> None:
        digest = _digest(content)
        path = self._path(digest)
        if not path.is_file() or path.stat().st_size != len(content):
            replace_file(path, content)
        self._sizes.pop(digest, None)
        self._sizes[digest] = on_disk(len(content))
        while len(self._sizes) > 1 and sum(self._sizes.values()) > MAX_KEPT_BYTES:
            oldest = next(iter(self._sizes))
            self._path(oldest).unlink(missing_ok=True)
            del self._sizes[oldest]

    def _mark_undone(self, *changes: FileChange) -> None:
        """Mark changes. If that can't be written, the contents of their files still show it."""
        for change in changes:
            undone = msgspec.structs.replace(change, undone=True)
            self._loaded()[change.number] = undone
            try:
                append_line(self._path(RECORDS_NAME), msgspec.json.encode(undone) + b"\n")
            except OSError:
                logger.warning("can't record that a change is undone", exc_info=True)

    def _loaded(self) -> dict[int, FileChange]:
        """Return the changes by number, the oldest first; read them first if necessary."""
        if self.folder is None:
            raise UndoRefused(NOT_KEPT)
        if self._changes is None:
            changes = _read(self.folder / RECORDS_NAME)
            found = _sizes_in(self.folder)
            for change in changes.values():
                if change.before in found:
                    found[change.before] = found.pop(change.before)  # which moves it to the end
            self._changes, self._sizes = changes, found
        return self._changes


def _current(workspace: Workspace, change: FileChange) -> bytes | None:
    file = workspace.place(change.path)
    if file != workspace.root / change.path:
        raise AccessRefused(f"{change.path!r} leads to another place now")
    if not os.path.lexists(file):
        return None
    return workspace.read_bytes(file, MAX_FILE_BYTES + 1)


def _difference(now: bytes | None, then: bytes | None, name: str) -> str:
    old, new = whole_text(now or b""), whole_text(then or b"")
    sizes = f"{len(now or b''):,} bytes → {len(then or b''):,} bytes"
    if old is None or new is None:
        return f"binary, {sizes}"
    return unified_diff(old, new, name) or sizes


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def _read(path: Path) -> dict[int, FileChange]:
    changes: dict[int, FileChange] = {}
    try:
        lines = read_file(path).splitlines()
    except FileNotFoundError:
        return changes
    for line in filter(None, lines):
        try:
            change = msgspec.json.decode(line, type=FileChange)
            for digest in filter(None, (change.before, change.after)):
                check_digest(digest)
        except (ValueError, RecursionError, GenieError):
            logger.warning("skipping a damaged line of %s", path)
        else:
            changes[change.number] = change
    return changes


def _sizes_in(folder: Path) -> dict[str, int]:
    """Return the sizes of the kept contents."""
    sizes: dict[str, int] = {}
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(GenieError):
                sizes[check_digest(entry.name)] = on_disk(entry.stat().st_size)
    return sizes


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise `UndoRefused` for the errors of workspaces and of the system."""
    try:
        yield
    except AccessRefused as error:
        raise UndoRefused(str(error)) from error
    except OSError as error:
        raise UndoRefused(f"the change can't be undone: {reason(error)}") from error
