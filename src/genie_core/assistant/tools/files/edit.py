"""Writing and editing text files, planned before anything is written."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from genie_core.agent.approval import shown_original
from genie_core.assistant.tools.files.changes import FileChanges, write_lock
from genie_core.assistant.tools.files.diff import unified_diff
from genie_core.assistant.tools.files.workspace import (
    BYTE_ORDER_MARK,
    MAX_FILE_BYTES,
    AccessRefused,
    Workspace,
    as_text,
    whole_text,
)
from genie_core.assistant.tools.output import counted, fenced, refusing, size

MAX_WRITTEN_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """The content of a file before (None for a new file), and its text after.

    `mark` is its byte order mark.
    """

    file: Path
    original: bytes | None
    after: str
    mark: bytes = b""

    @property
    def content(self) -> bytes:
        """The bytes to write. Raises `AccessRefused` if they are too long or not valid text."""
        try:
            content = self.mark + self.after.encode()
        except UnicodeEncodeError:
            raise AccessRefused("the text contains an incomplete character") from None
        if len(content) > MAX_WRITTEN_BYTES:
            raise AccessRefused(
                f"the file would have {len(content):,} bytes; the limit is {MAX_WRITTEN_BYTES:,}"
            )
        return content

    def diff(self, name: str, *, whole: bool = False) -> str:
        return unified_diff(as_text(self.original or b"") or "", self.after, name, whole=whole)


def fingerprint(name: str, original: bytes | None) -> str:
    """Return a digest of a file's path and content, None if there is no file, in hex."""
    return hashlib.sha256(repr((name, original)).encode()).hexdigest()


def planned_write(workspace: Workspace, path: str, content: str, *, overwrite: bool) -> Change:
    """Plan to replace the whole content of a file. Raises `AccessRefused`."""
    file = workspace.place(path)
    if file.is_dir():
        raise AccessRefused(f"{path!r} is a folder")
    if not file.exists():
        return Change(file, None, content)
    if not overwrite:
        raise AccessRefused(
            f"{workspace.name(file)!r} already exists; edit it, or set overwrite to replace it"
        )
    return Change(file, _whole_file(workspace, file), content)


def planned_edit(
    workspace: Workspace, path: str, old: str, new: str, *, everywhere: bool
) -> Change:
    """Plan to replace `old` by `new` in a text file. Raises `AccessRefused`."""
    file = workspace.resolve(path)
    name = workspace.name(file)
    if not old:
        raise AccessRefused("old is empty; use write_file to create a file")
    if old == new:
        raise AccessRefused("old and new are the same")
    content = _whole_file(workspace, file)
    text = whole_text(content)
    if text is None:
        raise AccessRefused(f"{name!r} is not a text file")
    if "\r\n" in text and old not in text:  # models don't see line endings
        old, new = _with_returns(old), _with_returns(new)
    found = text.count(old)
    if not found:
        raise AccessRefused(
            f"{name!r} does not contain the old text; it must match exactly, including "
            "indentation, without the heading and fence that read_file adds"
        )
    if found > 1 and not everywhere:
        raise AccessRefused(
            f"{name!r} contains the old text {found:,} times; include more of the surrounding lines "
            "or set everywhere to replace all"
        )
    length = len(text) + found * (len(new) - len(old))
    if length > MAX_WRITTEN_BYTES:
        raise AccessRefused(
            f"the file would have {length:,} characters; the limit is {MAX_WRITTEN_BYTES:,} bytes"
        )
    mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else b""
    return Change(file, content, text.replace(old, new), mark)


def _whole_file(workspace: Workspace, file: Path) -> bytes:
    content = workspace.read_bytes(file, MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise AccessRefused(f"{workspace.name(file)!r} has more than {MAX_FILE_BYTES:,} bytes")
    return content


def _with_returns(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


EDIT_TOOLS: Final = ("write_file", "edit_file")


@dataclass(frozen=True)
class Edits:
    """The tools that change files of one workspace. They answer refusals with a sentence.

    A cancelled call may still complete, but never partially. `changes` keeps what a file had
    before; a change that can't be kept is refused.
    """

    workspace: Workspace
    changes: FileChanges = field(default_factory=FileChanges)

    async def write_file(
        self,
        path: str,
        content: str,
        overwrite: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
    ) -> str:
        """Create a text file in the workspace, or replace an existing one.

        Args:
            path: Path relative to the workspace. Missing folders are created.
            content: The complete text of the file.
            overwrite: Replace the file if it exists. Otherwise an existing file is left unchanged.
        """
        return await refusing(self._write, path, content, overwrite=overwrite)

    async def edit_file(
        self,
        path: str,
        old: str,
        new: str,
        everywhere: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
    ) -> str:
        """Replace text in a file of the workspace. Returns the diff.

        Args:
            path: Path relative to the workspace.
            old: The text to replace, exactly as in the file. It must occur only once: include some of
                the surrounding lines.
            new: The replacement. Empty deletes the old text.
            everywhere: Replace all occurrences.
        """
        return await refusing(self._edit, path, old, new, everywhere=everywhere)

    def put(self, path: str, content: str) -> None:
        """Write a whole file, as `write_file` does. Blocks. Raises `AccessRefused`."""
        self._write(path, content, overwrite=True)

    def _write(self, path: str, content: str, *, overwrite: bool) -> str:
        with write_lock:
            change = planned_write(self.workspace, path, content, overwrite=overwrite)
            return self._apply(change, replace=overwrite)

    def _edit(self, path: str, old: str, new: str, *, everywhere: bool) -> str:
        with write_lock:
            change = planned_edit(self.workspace, path, old, new, everywhere=everywhere)
            return self._apply(change, replace=True)

    def _apply(self, change: Change, *, replace: bool) -> str:
        content, shown = change.content, shown_original.get()
        if shown and shown != fingerprint(self.workspace.key(change.file), change.original):
            raise AccessRefused(
                f"{self.workspace.name(change.file)!r} has changed since this call was shown to its "
                "owner; read it again and repeat the call"
            )
        with self.changes.kept(self.workspace, change.file, change.original, content):
            self.workspace.write_bytes(change.file, content, replace=replace)
        name = self.workspace.name(change.file)
        lines = counted(len(change.after.splitlines()), "line")
        if change.original is None:
            return f"Wrote the new file {name} ({lines}, {size(len(content))})."
        difference = change.diff(name)
        if not difference:
            return f"{name} is unchanged: it already had this content."
        return "\n".join([f"Changed {name} (now {lines}):", *fenced(difference.split("\n"))])
