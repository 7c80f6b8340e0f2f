"""Errors of sessions on disk.

StorageError             see `genie_core.storage.errors`
├── UnknownSession       no session has this id
├── AmbiguousSession     several ids begin like this
├── NewerVersion         a later version of the program wrote the session
├── DamagedSession       a file of the session can't be parsed
├── SessionInUse         another process has it open; see `genie_core.sessions.lock`
├── InvalidTag           a text can't be a tag, or can't be one more
├── NoSuchEvent          a session has no event of that number
├── NotTrashed           the system's trash does not take the session
├── NotExported          a session can't be exported as asked
├── NotImportable        a file is no exported session, or is not as it was exported
├── NotSalvaged nothing can be put together from the remains of a session
└── AlreadySaved         the session to be imported is here already
"""

import stat
from collections.abc import Sequence
from pathlib import Path

from genie_core.storage.errors import StorageError


class UnknownSession(StorageError):
    """No session has this id, or one that begins like it."""

    def __init__(self, wanted: str, nearest: Sequence[str]) -> None:
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        super().__init__(f"there is no saved room {wanted!r}{hint}")
        self.wanted = wanted
        self.nearest = tuple(nearest)


class AmbiguousSession(StorageError):
    """The ids of several sessions begin like this."""

    def __init__(self, wanted: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{wanted!r} could be any of {', '.join(candidates)}; type more of it")
        self.wanted = wanted
        self.candidates = tuple(candidates)


class NewerVersion(StorageError):
    """A session in a format that this version does not know."""

    template = (
        "{path} was written by a newer version of the program (format {found}, this one "
        "knows up to {known}); update the program to open it"
    )
    path: Path
    found: int
    known: int


class DamagedSession(StorageError):
    """A file of a session can't be parsed."""

    template = "{path} can't be read: {why}; what can be done: genie-tui sessions check"
    path: Path
    why: str


def about(error: StorageError, folder: Path) -> str:
    """Return an error's text without the folder's path."""
    return str(error).replace(f"{folder}/", "")


class InvalidTag(StorageError):
    """A text can't be a tag, or the session has too many tags."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text[:80]!r} can't be a tag: {why}")
        self.text = text
        self.why = why


class NoSuchEvent(StorageError):
    """A session has no event of that number; the last one is `head`."""

    def __init__(self, room: str, seq: int, head: int) -> None:
        last = f"its last one is {head:,}" if head else "it has none"
        super().__init__(f"the room {room} has no event {seq:,}; {last}")
        self.room = room
        self.seq = seq
        self.head = head


class NotTrashed(StorageError):
    """The system's trash refused a session's folder, which stays."""

    template = "{folder} can't be moved to the trash: {why}; to be rid of it, delete the folder"
    folder: Path
    why: str


class NotExported(StorageError):
    """A session can't be exported as asked."""

    template = "the room {room} can't be exported: {why}"
    room: str
    why: str


class NotImportable(StorageError):
    """A file is no exported session, or was changed after the export.

    Nothing is imported.
    """

    template = "{name} can't be imported: {why}"
    name: str
    why: str


class NotSalvaged(StorageError):
    """Nothing can be put together from the remains of a session. Nothing has changed."""

    template = "nothing is salvaged: {why}"
    why: str


class AlreadySaved(StorageError):
    """The session to import is here already, under the same id."""

    template = "the room {room} is here already; to keep both, import it with --as-copy"
    room: str


def check_ordinary(path: Path) -> None:
    """Refuse a path that could block forever when read, such as a pipe or a device.

    Raises:
        DamagedSession: it could block. Folders pass: opening them fails.
        OSError: it is missing or can't be examined.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DamagedSession(path, "it is not an ordinary file")
