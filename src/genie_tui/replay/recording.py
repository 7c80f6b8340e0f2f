"""A saved room that is opened to be watched."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from genie_tui.replay.player import Log


@dataclass(frozen=True, slots=True)
class Recording:
    """What a replay is made from. `me` is the person from whose side the room is shown.

    `place` tells where a file of the room is on this machine. `growing` says that a process had the
    room open, which may add to the log. `close` gives the log back; it may
    block, as all methods of the log do.
    """

    id: str
    title: str
    me: str
    log: Log
    place: Callable[[str], Path | None] = lambda _: None
    problems: tuple[str, ...] = ()
    growing: bool = False
    close: Callable[[], None] = field(default=lambda: None)


def open_recording(sessions: Path, wanted: str) -> Recording:
    """Open a saved room by its id, or the start of it, without holding or changing it. Blocks.

    Raises:
        StorageError: there is no such room, several are meant, or it can't be read.

    """
    from genie_core.sessions.catalog import Catalog
    from genie_tui.files import blobs_of

    saved = Catalog(sessions).find(wanted)
    log, blobs, record = saved.reader(), blobs_of(saved), saved.metadata

    def place(digest: str) -> Path | None:
        return blobs.path(digest) if blobs.size(digest) is not None else None

    return Recording(
        saved.id,
        record.title,
        record.name or record.host,
        log,
        place,
        tuple(log.problems),
        _is_held(saved.folder),
        log.close,
    )


def _is_held(folder: Path) -> bool:
    from genie_core.sessions.lock import holder
    from genie_core.storage.errors import StorageError

    try:
        return holder(folder) is not None
    except StorageError:  # whoever can read the log may watch it all the same
        return False
