"""What an edit of a file would make of it, worked out before anything is written."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from genie_core.assistant.tools.diff import unified_diff
from genie_core.assistant.tools.workspace import (
    MAX_FILE_BYTES,
    AccessRefused,
    Workspace,
    as_text,
)

MAX_WRITTEN_BYTES: Final = 1_000_000
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Change:
    """A file's text before, None where there is no file, and after. `mark` is what goes before."""

    file: Path
    before: str | None
    after: str
    mark: bytes = b""

    @property
    def content(self) -> bytes:
        """The bytes to write. Raises `AccessRefused` for what is no text or too long."""
        try:
            content = self.mark + self.after.encode()
        except UnicodeEncodeError:
            raise AccessRefused("the text contains half a character, which no file can") from None
        if len(content) > MAX_WRITTEN_BYTES:
            raise AccessRefused(
                f"the file would have {len(content):,} bytes, more than {MAX_WRITTEN_BYTES:,}"
            )
        return content

    def diff(self, name: str) -> str:
        """What changes, as a unified diff; empty if nothing does."""
        return unified_diff(self.before or "", self.after, name)


def planned_write(workspace: Workspace, path: str, content: str, *, overwrite: bool) -> Change:
    """Plan to give a file new content. Raises `AccessRefused`."""
    file = workspace.place(path)
    if file.is_dir():
        raise AccessRefused(f"{path!r} is a folder")
    if not file.exists():
        return Change(file, None, content)
    if not overwrite:
        raise AccessRefused(
            f"{workspace.name(file)!r} exists already; edit it, or set overwrite to replace it"
        )
    return Change(file, as_text(workspace.read_bytes(file)) or "", content)


def planned_edit(
    workspace: Workspace, path: str, old: str, new: str, *, everywhere: bool
) -> Change:
    """Plan to put `new` in the place of `old` in a text file. Raises `AccessRefused`."""
    file = workspace.resolve(path)
    name = workspace.name(file)
    if not old:
        raise AccessRefused("there is no text to replace; write_file makes new files")
    if old == new:
        raise AccessRefused("the new text is the same as the old one")
    content = workspace.read_bytes(file, MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise AccessRefused(f"{name!r} has more than {MAX_FILE_BYTES:,} bytes")
    text = _whole_text(content)
    if text is None:
        raise AccessRefused(f"{name!r} is not a text file")
    if "\r\n" in text and old not in text:  # a model sees lines, not how they end
        old, new = _with_returns(old), _with_returns(new)
    found = text.count(old)
    if not found:
        raise AccessRefused(
            f"{name!r} does not contain the old text; it has to match exactly, with its "
            "indentation and without what read_file adds"
        )
    if found > 1 and not everywhere:
        raise AccessRefused(
            f"{name!r} contains the old text {found:,} times; include more of the lines around it "
            "or set everywhere to replace them all"
        )
    mark = _MARK if content.startswith(_MARK) else b""
    return Change(file, text, text.replace(old, new), mark)


def _whole_text(content: bytes) -> str | None:
    """Decode text all of whose bytes are kept when it is encoded again."""
    text = as_text(content)
    whole = text is not None and len(text.encode()) == len(content.removeprefix(_MARK))
    return text if whole else None


def _with_returns(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
