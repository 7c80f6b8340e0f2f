"""Messages and drafts that the room's disk did not take, and where else they can go."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import strftime

from genie_core.errors import GenieError
from genie_core.storage.atomic import create_file, reason, sync_data, write_whole
from genie_core.storage.filenames import safe_name
from genie_tui.amounts import counted
from genie_tui.text import visible, visible_line


class NotWritten(GenieError):
    """A file could not be written."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"can't write {path}: {why}")
        self.path = path


@dataclass(frozen=True, slots=True)
class UnsentText:
    """A message that was not sent, with the names of its attachments."""

    text: str
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Messages that were not sent and the draft, oldest first. `title` is that of the room.

    `why` says in one line why the room's own disk did not take them.
    """

    title: str
    messages: tuple[UnsentText, ...] = ()
    draft: UnsentText = UnsentText("")
    why: str = ""

    @property
    def what(self) -> str:
        """Summarize it in a few words."""
        parts = [counted(len(self.messages), "unsent message")] if self.messages else []
        if self.draft.text:
            parts.append("your draft")
        elif self.draft.attachments:
            parts.append("what is attached to your draft")
        return " and ".join(parts)

    @property
    def text(self) -> str:
        """All of it, to be read; as it was written, so not safe to show."""
        return "\n".join([f"Not saved in {self.title or 'the room'}:", *self._parts(), ""])

    def lines(self) -> Iterator[str]:
        """All of it for a terminal, safe to show."""
        yield from (visible_line(line) for line in visible(self.text).splitlines())

    def _parts(self) -> Iterator[str]:
        for number, message in enumerate(self.messages, 1):
            yield from _part(f"Unsent message {number}", message)
        if self.draft != UnsentText(""):
            yield from _part("Draft", self.draft)


def _part(heading: str, message: UnsentText) -> Iterator[str]:
    yield f"\n--- {heading} ---"
    if message.text:
        yield message.text
    for name in message.attachments:
        yield f"[attached: {name}]"


def default_path(title: str) -> str:
    """A new file among the temporary ones, which are often on another disk."""
    name = f"genie-tui-{safe_name(title)[:40] or 'room'}-{strftime('%Y%m%d-%H%M%S')}.txt"
    return str(Path(tempfile.gettempdir()) / name)


def write_unsaved(typed: str, unsaved: Unsaved) -> Path:
    """Write it to a new file that only this user can read; nothing is replaced. Returns the file.

    It blocks, so call it off the event loop.

    Raises:
        NotWritten: there is such a file already, or the disk does not take it.

    """
    path = Path(typed)
    try:
        path = path.expanduser().absolute()
        descriptor = create_file(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise NotWritten(path, reason(error)) from error
    try:
        write_whole(descriptor, unsaved.text.encode("utf-8", "surrogatepass"))
        sync_data(descriptor)
    except OSError as error:
        with suppress(OSError):
            path.unlink()  # a part of it would pass for all
        raise NotWritten(path, reason(error)) from error
    finally:
        os.close(descriptor)
    return path
