"""Writing and editing text files, planned before anything is written."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Concatenate, Final, ParamSpec

from genie_core.agent.approval import shown_original
from genie_core.assistant.tools.files.changes import FileChanges, Replaced, write_lock
from genie_core.assistant.tools.files.diff import unified_diff
from genie_core.assistant.tools.files.workspace import (
    BYTE_ORDER_MARK,
    MAX_FILE_BYTES,
    AccessRefused,
    Workspace,
    as_text,
    whole_text,
)
from genie_core.assistant.tools.output import fenced, refusing, size
from genie_core.text.format import counted

P = ParamSpec("P")

MAX_WRITTEN_BYTES: Final = 1_000_000
MAX_EDITS: Final = 50


@dataclass(frozen=True, slots=True)
class Change:
    """The content of a file before (None for a new file), and its text after (None if removed).

    `mark` is its byte order mark. A file that moves goes `to` another place as it is.
    """

    file: Path
    original: bytes | None
    after: str | None
    mark: bytes = b""
    to: Path | None = None

    @property
    def content(self) -> bytes | None:
        """The bytes to write. Raises `AccessRefused` if they are too long or not valid text."""
        if self.after is None:
            return None
        try:
            content = self.mark + self.after.encode()
        except UnicodeEncodeError:
            raise AccessRefused("the text contains an incomplete character") from None
        if len(content) > MAX_WRITTEN_BYTES:
            raise AccessRefused(
                f"the file would have {len(content):,} bytes; the limit is {MAX_WRITTEN_BYTES:,}"
            )
        return content

    def diff(self, workspace: Workspace, *, whole: bool = False) -> str:
        name = workspace.name(self.file)
        if self.to is not None:
            return f"--- {name}\n+++ {workspace.name(self.to)}\nmoved to {workspace.name(self.to)} as it is"
        old = as_text(self.original or b"")
        if old is None:
            lines = [f"-binary, {size(len(self.original or b''))}"]
        elif self.after is None:  # it is kept, so its beginning is enough
            lines = unified_diff(old, "", name).split("\n")[2:]
        else:
            return unified_diff(old, self.after, name, whole=whole)
        deleted = ["deleted"] if self.after is None else []
        return "\n".join([f"--- {name}", f"+++ {name}", *deleted, *lines])


@dataclass(frozen=True, slots=True)
class TextEdit:
    """One replacement of `old` by `new`, as in `edit_file`."""

    path: str
    old: str
    new: str


def diff_of(workspace: Workspace, changes: Sequence[Change], *, whole: bool = False) -> str:
    """Return one diff of all changes."""
    diffs = [change.diff(workspace, whole=whole) for change in changes]
    if len(changes) > 1:
        title = counted(len(changes), "file")  # the card leaves the first names out
        diffs.insert(0, f"--- {title}\n+++ {title}")
    return "\n".join(filter(None, diffs))


def fingerprint(workspace: Workspace, changes: Sequence[Change]) -> str:
    """Return a digest of the files' paths and contents before, in hex."""
    files = [
        (workspace.key(each.file), each.original, workspace.key(each.to) if each.to else "")
        for each in changes
    ]
    return hashlib.sha256(repr(files).encode()).hexdigest()


def planned_deletion(workspace: Workspace, path: str) -> list[Change]:
    """Plan to remove a file. Raises `AccessRefused`."""
    file = workspace.resolve(path)
    return [Change(file, _whole_file(workspace, file), None)]


def planned_move(workspace: Workspace, path: str, to: str) -> list[Change]:
    """Plan to move a file. Raises `AccessRefused`."""
    if not to.strip():
        raise AccessRefused("the new path is empty")
    file, target = workspace.resolve(path), workspace.place(to)
    if target.is_dir():
        target = workspace.place(os.path.join(workspace.key(target), file.name))  # noqa: PTH118 - "" stays ""
    if os.path.lexists(target):
        raise AccessRefused(f"{workspace.name(target)!r} already exists")
    return [Change(file, _whole_file(workspace, file), None, to=target)]


def planned_edits(workspace: Workspace, edits: Sequence[TextEdit]) -> list[Change]:
    """Plan several edits, one after the other. Raises `AccessRefused` if one of them can't be made."""
    if not 0 < len(edits) <= MAX_EDITS:
        raise AccessRefused(f"give at least one edit and at most {MAX_EDITS}")
    planned: dict[Path, Change] = {}
    for number, edit in enumerate(edits, 1):
        try:
            file = workspace.resolve(edit.path)
            earlier = planned.get(file) or _unchanged(workspace, file)
            planned[file] = _edited(workspace, earlier, edit.old, edit.new, everywhere=False)
        except AccessRefused as refusal:
            raise AccessRefused(f"edit {number} of {len(edits)}: {refusal}") from None
    return list(planned.values())


def planned_write(
    workspace: Workspace, path: str, content: str, *, overwrite: bool
) -> list[Change]:
    """Plan to replace the whole content of a file. Raises `AccessRefused`."""
    file = workspace.place(path)
    if file.is_dir():
        raise AccessRefused(f"{path!r} is a folder")
    if not file.exists():
        return [Change(file, None, content)]
    if not overwrite:
        raise AccessRefused(
            f"{workspace.name(file)!r} already exists; edit it, or set overwrite to replace it"
        )
    return [Change(file, _whole_file(workspace, file), content)]


def planned_edit(
    workspace: Workspace, path: str, old: str, new: str, *, everywhere: bool
) -> list[Change]:
    """Plan to replace `old` by `new` in a text file. Raises `AccessRefused`."""
    change = _unchanged(workspace, workspace.resolve(path))
    return [_edited(workspace, change, old, new, everywhere=everywhere)]


def _unchanged(workspace: Workspace, file: Path) -> Change:
    """Return a text file as it is. Raises `AccessRefused`."""
    content = _whole_file(workspace, file)
    text = whole_text(content)
    if text is None:
        raise AccessRefused(f"{workspace.name(file)!r} is not a text file")
    mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else b""
    return Change(file, content, text, mark)


def _edited(
    workspace: Workspace, change: Change, old: str, new: str, *, everywhere: bool
) -> Change:
    """Replace `old` in the text of a change. Raises `AccessRefused`."""
    name, text = workspace.name(change.file), change.after or ""
    if not old:
        raise AccessRefused("old is empty; use write_file to create a file")
    if old == new:
        raise AccessRefused("old and new are the same")
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
    return replace(change, after=text.replace(old, new))


def _whole_file(workspace: Workspace, file: Path) -> bytes:
    content = workspace.read_bytes(file, MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise AccessRefused(f"{workspace.name(file)!r} has more than {MAX_FILE_BYTES:,} bytes")
    return content


def _with_returns(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


EDIT_TOOLS: Final = ("write_file", "edit_file", "edit_files", "move_file", "delete_file")


@dataclass(frozen=True)
class Edits:
    """The tools that change files of one workspace. They answer refusals with a sentence.

    A cancelled call may still complete, but never partially. `changes` keeps the content of a file
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
            path: Relative to the workspace. Missing folders are created.
            content: The complete text, at most 400,000 characters.
            overwrite: Replace the file if it exists; otherwise nothing is written then.
        """
        return await refusing(self._change, planned_write, path, content, overwrite=overwrite)

    async def edit_file(
        self,
        path: str,
        old: str,
        new: str,
        everywhere: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
    ) -> str:
        """Replace text in a file of the workspace. Returns the diff.

        Args:
            path: Relative to the workspace.
            old: Exactly as in the file, and only once there: include some surrounding lines.
            new: Empty deletes the old text.
            everywhere: Replace all occurrences.
        """
        return await refusing(self._change, planned_edit, path, old, new, everywhere=everywhere)

    async def edit_files(self, edits: list[TextEdit]) -> str:
        """Make several edits of files of the workspace, all or none. Returns the diff.

        Args:
            edits: Each replaces `old`, which must occur only once, by `new` in the file `path`.
        """
        return await refusing(self._change, planned_edits, edits)

    async def move_file(self, path: str, to: str) -> str:
        """Move or rename a file of the workspace.

        Args:
            path: Relative to the workspace.
            to: Its new path, or a folder. An existing file is never replaced.
        """
        return await refusing(self._change, planned_move, path, to)

    async def delete_file(self, path: str) -> str:
        """Delete a file of the workspace. Its owner can undo this.

        Args:
            path: Relative to the workspace.
        """
        return await refusing(self._change, planned_deletion, path)

    def put(self, path: str, content: str) -> None:
        """Write a whole file, as `write_file` does. Blocks. Raises `AccessRefused`."""
        self._change(planned_write, path, content, overwrite=True)

    def _change(
        self,
        plan: Callable[Concatenate[Workspace, P], Sequence[Change]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> str:
        with write_lock:
            return self._apply(plan(self.workspace, *arguments, **named))

    def _apply(self, changes: Sequence[Change]) -> str:
        """Make all changes or, if one fails, none."""
        workspace, shown = self.workspace, shown_original.get()
        contents = [change.content for change in changes]
        if shown and shown != fingerprint(workspace, changes):
            names = ", ".join(repr(workspace.name(change.file)) for change in changes)
            raise AccessRefused(
                f"{names} has changed since this call was shown to its owner; read it again and "
                "repeat the call"
            )
        replaced = [each for change in changes for each in self._replaced(change)]
        with self.changes.kept(workspace, replaced), ExitStack() as made:
            for change, content in zip(changes, contents, strict=True):
                self._make(change, content)
                if len(changes) > 1:
                    made.callback(self._restore, change)
            made.pop_all()
        return _told(workspace, changes)

    def _replaced(self, change: Change) -> Iterator[Replaced]:
        mode = self.workspace.mode(change.file) if change.after is None else 0
        yield Replaced(change.file, change.original, change.content, mode)
        if change.to is not None:
            yield Replaced(change.to, None, change.original)

    def _make(self, change: Change, content: bytes | None) -> None:
        if change.to is not None:
            self.workspace.move(change.file, change.to)
        elif content is None:
            self.workspace.remove(change.file)
        else:
            replace_it = change.original is not None
            self.workspace.write_bytes(change.file, content, replace=replace_it)

    def _restore(self, change: Change) -> None:
        """Write the earlier content of a file of several, as another of them could not be written."""
        if change.original is not None:
            self.workspace.write_bytes(change.file, change.original, replace=True)


def _told(workspace: Workspace, changes: Sequence[Change]) -> str:
    """Describe the change."""
    if len(changes) > 1:
        diff = fenced(diff_of(workspace, changes).split("\n")[2:])
        return "\n".join([f"Changed {counted(len(changes), 'file')}:", *diff])
    [change] = changes
    name = workspace.name(change.file)
    if change.to is not None:
        return f"Moved {name} to {workspace.name(change.to)}."
    if change.after is None:
        return f"Deleted {name} ({size(len(change.original or b''))})."
    lines = counted(len(change.after.splitlines()), "line")
    if change.original is None:
        return f"Wrote the new file {name} ({lines}, {size(len(change.content or b''))})."
    difference = change.diff(workspace)
    if not difference:
        return f"{name} is unchanged: it already had this content."
    return "\n".join([f"Changed {name} (now {lines}):", *fenced(difference.split("\n"))])
