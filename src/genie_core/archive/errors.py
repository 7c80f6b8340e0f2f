"""What can go wrong with saved rooms.

ArchiveError
├── UnknownRoom     no saved room has this id
├── AmbiguousRoom   several saved rooms begin like this
├── NewerVersion    a later version of the program wrote it
├── DamagedRoom     a file of it can't be understood
├── RoomInUse       another process has it open
├── InvalidTag      what should be a tag can't be one
├── NoSuchEvent     a saved room has no event of that number
├── NotTrashed      the system's trash does not take a saved room
├── NotExported     a saved room can't be written down as it is
├── NotImportable   what should be an exported session is none, or is no longer whole
├── AlreadySaved    the room to be imported is here already
├── DiskFailure     the system refuses to read or write what belongs to it
├── NoAttachment    what somebody wants to attach is no file that can be
├── BlobTooLarge    a file is larger than a room takes
├── InvalidDigest   what should be a SHA-256 is not
├── UnknownBlob     no complete file has this SHA-256
└── DamagedBlob     what arrived is not the file that it should be
"""

import errno
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from genie_core.archive.holder import Holder
from genie_core.errors import GenieError

_NO_SPACE: Final = "free some space on that disk"
_NOT_OURS: Final = "make it writable for you"
_IN_THE_WAY: Final = "move away the file that stands where a folder should be"
_ADVICE: Final = {
    errno.ENOSPC: _NO_SPACE,
    errno.EDQUOT: _NO_SPACE,
    errno.EFBIG: _NO_SPACE,
    errno.EACCES: _NOT_OURS,
    errno.EPERM: _NOT_OURS,
    errno.EROFS: _NOT_OURS,
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EEXIST: _IN_THE_WAY,
}


class ArchiveError(GenieError):
    """Root of this package's errors."""


class UnknownRoom(ArchiveError):
    """No saved room has this id, nor one that begins like it."""

    def __init__(self, wanted: str, nearest: Sequence[str]) -> None:
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else ""
        super().__init__(f"there is no saved room {wanted!r}{hint}")
        self.wanted = wanted
        self.nearest = tuple(nearest)


class AmbiguousRoom(ArchiveError):
    """More than one saved room begins like this."""

    def __init__(self, wanted: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{wanted!r} could be any of {', '.join(candidates)}; type more of it")
        self.wanted = wanted
        self.candidates = tuple(candidates)


class NewerVersion(ArchiveError):
    """A saved room in a format that this version does not know."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            f"{path} was written by a newer version of the program (format {found}, this one "
            f"knows up to {known}); update the program to open it"
        )
        self.path = path
        self.found = found
        self.known = known


class DamagedRoom(ArchiveError):
    """A file of a saved room that can't be read as what it should be."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} can't be read: {why}; what can be done: genie-tui sessions check")
        self.path = path
        self.why = why


def about(error: ArchiveError, folder: Path) -> str:
    """What an error says, where it is clear that it is about this folder."""
    return str(error).replace(f"{folder}/", "")


class RoomInUse(ArchiveError):
    """Another process works in the folder of a saved room."""

    def __init__(self, room: str, holder: Holder) -> None:
        super().__init__(f"the room {room} is open in {holder}; close it there first")
        self.room = room
        self.holder = holder


class InvalidTag(ArchiveError):
    """A text that can't be a tag of a saved room, or can't be one more."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text[:80]!r} can't be a tag: {why}")
        self.text = text
        self.why = why


class NoSuchEvent(ArchiveError):
    """A saved room has no event of that number; the last one is `head`."""

    def __init__(self, room: str, seq: int, head: int) -> None:
        last = f"its last one is {head:,}" if head else "it has none"
        super().__init__(f"the room {room} has no event {seq:,}; {last}")
        self.room = room
        self.seq = seq
        self.head = head


class NotTrashed(ArchiveError):
    """The system's trash does not take the folder of a saved room, which is as it was."""

    def __init__(self, folder: Path, why: str) -> None:
        super().__init__(
            f"{folder} can't be moved to the trash: {why}; to be rid of it, delete the folder"
        )
        self.folder = folder
        self.why = why


class NotExported(ArchiveError):
    """A saved room can't be written down the way that was asked for."""

    def __init__(self, room: str, why: str) -> None:
        super().__init__(f"the room {room} can't be exported: {why}")
        self.room = room
        self.why = why


class NotImportable(ArchiveError):
    """What should be an exported session is something else, or was changed on its way.

    Nothing of it is kept.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} can't be imported: {why}")
        self.name = name
        self.why = why


class AlreadySaved(ArchiveError):
    """The room to be imported is among the saved ones, under the same id."""

    def __init__(self, room: str) -> None:
        super().__init__(f"the room {room} is here already; to keep both, import it with --as-copy")
        self.room = room


class DiskFailure(ArchiveError):
    """The operating system refused to do something with a file or folder."""

    def __init__(self, action: str, path: Path, error: OSError) -> None:
        why = error.strerror or str(error) or type(error).__name__
        advice = _ADVICE.get(error.errno or 0, "see whether the disk is in order")
        super().__init__(f"can't {action} {path}: {why}; {advice}, or keep your rooms elsewhere")
        self.path = path
        self.errno = error.errno


class NoAttachment(ArchiveError):
    """Something that a person named can't be attached, because of what it is."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} can't be attached: {why}")
        self.path = path
        self.why = why


class BlobTooLarge(ArchiveError):
    """A file is larger than a room takes; `size` is how much of it has been seen, in bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"the file has more than the {limit:,} bytes that this room takes")
        self.size = size
        self.limit = limit


class InvalidDigest(ArchiveError):
    """A text that is no SHA-256 in lower-case hexadecimal."""

    def __init__(self, digest: str) -> None:
        super().__init__(f"{digest[:80]!r} is no SHA-256")
        self.digest = digest


class UnknownBlob(ArchiveError):
    """No complete file with this SHA-256 is stored."""

    def __init__(self, digest: str) -> None:
        super().__init__(f"the file {digest[:12]}… is not stored here")
        self.digest = digest


class DamagedBlob(ArchiveError):
    """What arrived does not have the size and SHA-256 that it should; it was thrown away."""

    def __init__(self, digest: str, why: str) -> None:
        super().__init__(f"the file {digest[:12]}… arrived damaged: {why}; send it again")
        self.digest = digest
        self.why = why


@contextmanager
def disk_access(action: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` inside into a `DiskFailure` that says what could not be done where."""
    try:
        yield
    except OSError as error:
        raise DiskFailure(action, path, error) from error


def check_ordinary(path: Path) -> None:
    """See that reading a path can't take forever, as it would with a pipe or a device.

    Raises:
        DamagedRoom: it could. Folders pass: they fail by themselves when they are opened.
        OSError: there is nothing, or it can't be looked at.

    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DamagedRoom(path, "it is not an ordinary file")
