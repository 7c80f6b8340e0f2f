"""A person's view of a room: draft, scroll position, panels; kept for their return."""

import heapq
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from genie_core.errors import GenieError
from genie_core.room.client.model import PendingMessage, PendingReport
from genie_core.room.protocol.events import FileRef, Quote
from genie_core.storage.atomic import read_file, reason, replace_file

VIEW_NAME: Final = "view.json"
LARGEST: Final = 32 * 1024 * 1024
"""Largest size in bytes of a file that is read."""

logger = logging.getLogger(__name__)


class ViewNotKept(GenieError):
    """The view could not be written."""

    template = "your draft can't be kept in {file}: {why}"
    file: Path
    why: str


class View(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The state of a room's screen, and the unsent text.

    `files` and `quotes` were to go with the draft; of a file only the name is kept here, its
    content is among those of the room. `at` is the event that was being read, `distance` how many
    lines below the top it was; None while the end was followed. `hidden` says that the panel was
    put away, `tab` and `shown` are names of its page and of the filter of the activity, and `find`
    the text in that. `seen` is the last event that was there to be seen. `unsent` is to be sent by
    the next connection, and `unrecorded` are reports of the engine that the room has yet to record.
    """

    draft: str = ""
    at: int | None = None
    distance: int = 0
    hidden: bool = False
    tab: str = ""
    shown: str = ""
    find: str = ""
    reasons: bool = False
    seen: int = 0
    unsent: tuple[PendingMessage, ...] = ()
    unrecorded: tuple[PendingReport, ...] = ()
    files: tuple[FileRef, ...] = ()
    quotes: tuple[Quote, ...] = ()

    def files_needed(self) -> Iterator[FileRef]:
        """Return the files of the draft and of unsent messages, which must be kept."""
        yield from self.files
        for unsent in self.unsent:
            yield from unsent.files


def read_view(folder: Path) -> View:
    """Read the kept view of a room's folder. An unreadable one counts as none.

    It blocks, so call it off the event loop.
    """
    file = folder / VIEW_NAME
    try:
        if file.stat().st_size <= LARGEST:
            return msgspec.json.decode(read_file(file), type=View)
        logger.warning("%s is far too large, and left out of account", file)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("%s is left out of account: %s", file, reason(error))
    return View()


def write_view(folder: Path, view: View) -> None:
    """Keep a view in a room's folder, which must exist; the file is the old or the new one.

    It blocks, so call it off the event loop.

    Raises:
        ViewNotKept: the disk does not take it.
    """
    file = folder / VIEW_NAME
    try:
        if not folder.is_dir():  # it was deleted or renamed meanwhile, and is not to come back
            raise FileNotFoundError(2, "the room's folder is gone")
        content = msgspec.json.encode(view)
        if len(content) > LARGEST:  # nothing that a person wrote gets so long; it is worth more
            content = msgspec.json.encode(msgspec.structs.replace(view, unrecorded=()))
        replace_file(file, content)
    except (OSError, ValueError) as error:
        raise ViewNotKept(file, reason(error)) from error


def together(*kept: tuple[PendingMessage, ...]) -> tuple[PendingMessage, ...]:
    """Merge unsent messages without duplicates, in the order in which they were typed."""
    merged = heapq.merge(*kept, key=lambda unsent: unsent.at)  # which a clock set back can't mix up
    return tuple({unsent.id: unsent for unsent in merged}.values())


def forget_unsent(folder: Path) -> None:
    """Remove the unsent messages of a room that another room has taken. Blocks.

    Raises:
        ViewNotKept: the disk does not take it.
    """
    view = read_view(folder)
    if view.unsent:
        write_view(folder, msgspec.structs.replace(view, unsent=()))
