"""All sessions of one person on one machine."""

import difflib
import hashlib
import os
import re
import secrets
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from genie_core.datastore import path_name
from genie_core.sessions.errors import AmbiguousSession, UnknownSession, about
from genie_core.sessions.lock import LockHolder, hold, holder, in_turn
from genie_core.sessions.log.reader import last_logged
from genie_core.sessions.metadata import SessionKind, SessionMetadata, one_line
from genie_core.sessions.session import LOG_NAME, METADATA_NAME, SavedSession
from genie_core.storage.atomic import make_private_folder, sync_folder
from genie_core.storage.blobs import on_disk
from genie_core.storage.errors import StorageError, disk_access

SLUG_CHARS: Final = 24
MOST_NEAR: Final = 3
"""How many ids are suggested for an unknown one."""

APART: Final = "+"
"""Separates an id from the suffix of a copy whose host claims an id in use."""

STAGING: Final = ".importing-"
"""The prefix of the folder of an unfinished import or fork."""

_DAY: Final = re.compile(r"\A\d{4}-\d\d-\d\d-?")
_LETTERS: Final = "23456789abcdefghjkmnpqrstuvwxyz"  # none that are easily misread


@dataclass(frozen=True, slots=True)
class Listing:
    """A saved session in a list.

    `note` describes its damage, usually empty; without `metadata` it can't be opened. `size` is its
    folder's size on disk in bytes; 0 unless it was measured. `log` is where its log is.
    """

    id: str
    title: str
    kind: SessionKind
    last_activity: float
    people: int
    messages: int
    note: str = ""
    metadata: SessionMetadata | None = None
    size: int = 0
    log: Path = field(default=Path(), compare=False)


class Catalog:
    """The saved rooms below a folder, which need not exist yet.

    All methods block. Every refusal of the system is a `DiskFailure`.
    """

    def __init__(self, base: Path) -> None:
        self._base = base

    @property
    def base(self) -> Path:
        """The folder of all sessions."""
        return self._base

    def create(
        self,
        title: str,
        now: float,
        *,
        suffix: Callable[[], str] | None = None,
        **settings: Any,
    ) -> SavedSession:
        """Create the folder of a new room; `settings` are further fields of its metadata.

        The id consists of day, title and a random suffix: 2026-11-21-standup-3fk9. The title
        becomes one line of at most 120 characters without control characters.
        """
        title = one_line(title)
        with disk_access("make a folder in", self._base):
            make_private_folder(self._base)
            with in_turn(self._base):
                folder = self._base / unused_id(self._base, _stem(title, now), suffix)
                folder.mkdir(mode=0o700)
        metadata = SessionMetadata(
            id=folder.name, title=title, kind="hosted", created=now, last_activity=now, **settings
        )
        return self._enter(folder, metadata)

    def take_in(self, folder: Path, metadata: SessionMetadata) -> SavedSession:
        """Give a session that was built in a folder on the same disk its id and place."""
        with disk_access("make a folder in", self._base), in_turn(self._base):
            id_ = unused_id(self._base, _stem(metadata.title, metadata.created))
            SavedSession(folder, msgspec.structs.replace(metadata, id=id_)).write()
            sync_folder(folder)
            folder.rename(self._base / id_)
            sync_folder(self._base)
        return SavedSession.load(self._base / id_)

    def _enter(self, folder: Path, metadata: SessionMetadata) -> SavedSession:
        """Write a session's metadata into its folder durably."""
        saved = SavedSession(folder, metadata)
        saved.write()
        with disk_access("sync the folder", self._base):
            sync_folder(self._base)
        return saved

    def copy_of(
        self, room: str, title: str, name: str, now: float, *, apart: str = "", **settings: Any
    ) -> SavedSession:
        """Return the session of a person's copy of a room they joined; create it if it is missing.

        The room's id and the person's name come from elsewhere and never act as paths. `apart`
        keeps rooms separate whose hosts claim the same id; see `apart_by`.
        """
        own = f"{path_name(room)}@{path_name(name)}"
        folder = self._base / (f"{own}{APART}{apart}" if apart else own)
        with disk_access("make the folder", folder):
            make_private_folder(folder)
        with in_turn(self._base):  # several terminals of theirs may come in at the same moment
            if (folder / METADATA_NAME).exists():
                return SavedSession.load(folder)
            metadata = SessionMetadata(
                id=room,
                title=one_line(title),
                kind="joined",
                created=now,
                last_activity=now,
                name=name,
                **settings,
            )
            return self._enter(folder, metadata)

    def find(self, wanted: str) -> SavedSession:
        """Return the session that a text names, as `match` does.

        Raises:
            UnknownSession: there is none.
            AmbiguousSession: there are several.
            NewerVersion: this version can't read it.
            DamagedSession: it can't be parsed.
        """
        return SavedSession.load(self._base / self.match(wanted))

    def find_titled(self, wanted: str) -> SavedSession:
        """Return the session with this id or title, or the only one with this prefix of an id.

        Unlike `find`, this refuses a title that several sessions have. Errors as `find`.
        """
        titled = wanted.casefold().strip()
        matches = [each.id for each in self.all() if each.title.casefold() == titled]
        if len(matches) > 1:
            raise AmbiguousSession(wanted, matches)
        try:
            return self.find(wanted)
        except UnknownSession:
            if not matches:
                raise
            return self.find(matches[0])

    def match(self, wanted: str) -> str:
        """Return the id that equals a text, or the only one with this prefix, room's id or title.

        Renamed copies count only if there is no other. Unreadable sessions are found by their ids.

        Raises:
            UnknownSession: there is none.
            AmbiguousSession: there are several.
        """
        known = self.ids()
        matches = [wanted] if wanted in known else [id_ for id_ in known if id_.startswith(wanted)]
        if not wanted.strip():
            raise UnknownSession(wanted, ())
        matches = matches or self._of_room(wanted) or self._titled(wanted)
        if not matches:
            raise UnknownSession(wanted, self._nearest(wanted, known))
        in_use = [id_ for id_ in matches if "~" not in id_] or matches
        if len(in_use) > 1:
            raise AmbiguousSession(wanted, matches)
        return in_use[0]

    def own_titled(self, title: str, name: str, but: str = "") -> Listing | None:
        """Return the latest room with this title that the person continues by hosting it.

        Rooms count that others came to or something was said in, and that no process has open; `but`
        is the id of one that does not.
        """
        titled = title.casefold().strip()
        for each in self.all():
            metadata = each.metadata
            if metadata is None or each.id == but or each.title.casefold() != titled:
                continue
            is_own = metadata.is_own and metadata.owner.casefold() == name.casefold()
            is_used = each.messages > 0 or each.people > 1
            if is_own and is_used and self.holder(each.id) is None:
                return each
        return None

    def _of_room(self, wanted: str) -> list[str]:
        records = ((each.id, each.metadata) for each in self.all())
        return [id_ for id_, record in records if record is not None and record.id == wanted]

    def ids(self) -> list[str]:
        """Return the ids of all sessions, unreadable ones included, sorted."""
        with disk_access("list the rooms in", self._base):
            try:
                entries = sorted(self._base.iterdir())
            except FileNotFoundError:
                return []
        return [entry.name for entry in entries if _holds_room(entry)]

    def all(self, *, sized: bool = False) -> list[Listing]:
        """Return all sessions, unreadable ones included, latest first.

        With `sized` each is measured, which walks its folder, and open ones are listed as they are
        now.
        """
        listings = [self.listing(id_, now=sized) for id_ in self.ids()]
        if sized:
            listings = [replace(each, size=extent(self._base / each.id)) for each in listings]
        return sorted(listings, key=lambda listing: listing.last_activity, reverse=True)

    def catch_up(self) -> None:
        """Update the metadata of rooms whose program crashed, where possible.

        Removes leftovers of killed imports and forks. Quick if nothing crashed since the last call.
        """
        with suppress(StorageError):
            sweep(self._base)
        for id_ in self.ids():
            with suppress(StorageError):
                SavedSession.load(self._base / id_).catch_up()

    def folder(self, id_: str) -> Path:
        """Return a session's folder; it may be gone by now."""
        return self._base / id_

    def holder(self, id_: str) -> LockHolder | None:
        """Return the process that has a session open; None if that can't be determined."""
        with suppress(StorageError):
            return holder(self._base / id_)
        return None

    def _titled(self, title: str) -> list[str]:
        folded = title.casefold().strip()
        return [each.id for each in self.all() if each.title.casefold() == folded]

    def _nearest(self, wanted: str, known: Sequence[str]) -> list[str]:
        """Return ids and titles that contain the text, then similar ones."""
        folded = wanted.casefold().strip()
        titles = {each.title.casefold(): each.id for each in self.all()}
        near = [id_ for id_ in known if folded in id_.casefold()]
        near += [id_ for title, id_ in titles.items() if folded in title]
        words = {**{_word(id_): id_ for id_ in known}, **titles}
        names = {**words, **{_without_day(id_): id_ for id_ in known}}
        likely = difflib.get_close_matches(_without_day(folded), names, 3 * MOST_NEAR)
        near += [names[each] for each in likely]  # one room may have been likely thrice
        return list(dict.fromkeys(near))[:MOST_NEAR]

    def listing(self, id_: str, *, now: bool = False) -> Listing:
        """Return a session; with `now` as its log is now."""
        folder = self._base / id_
        last = last_logged(folder / LOG_NAME)  # the metadata of a room in use is older
        happened = 0.0 if last is None else last.at
        try:
            saved = SavedSession.load(folder)
        except StorageError as error:
            active = happened or _changed_at(folder)
            note = about(error, folder)
            return Listing(id_, id_, "hosted", active, 0, 0, note, log=folder / LOG_NAME)
        metadata = saved.metadata
        if now:
            with suppress(StorageError):  # the metadata is better than nothing
                metadata = saved.as_logged()
        return Listing(
            id_,
            metadata.shown_title,
            metadata.kind,
            max(metadata.last_activity, happened),
            metadata.people,
            metadata.messages,
            metadata=metadata,
            log=folder / LOG_NAME,
        )


def apart_by(pin: str) -> str:
    """Return the folder suffix of a room kept separately by its host's pin."""
    return hashlib.sha256(pin.encode()).hexdigest()[:8]


def apart_of(saved: SavedSession) -> str:
    """Return the mark that keeps a copy separate from others of the same id.

    Empty for the usual one.
    """
    return saved.id.partition("~")[0].partition(APART)[2]


def extent(folder: Path) -> int:
    """Estimate the bytes that a folder takes on disk; unreadable parts are left out."""
    total = 0
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                total += extent(Path(entry.path))
            else:
                total += on_disk(entry.stat(follow_symlinks=False).st_size)
    return total


def _word(id_: str) -> str:
    """Return the part of an id that comes from the title, between day and random suffix."""
    return _without_day(id_).partition("@")[0][: -len("-3fk9")]


def _without_day(id_: str) -> str:
    return _DAY.sub("", id_)


def _holds_room(folder: Path) -> bool:
    try:
        return any((folder / name).exists() for name in (METADATA_NAME, LOG_NAME))
    except OSError:  # it is listed with the error
        return True


def _changed_at(folder: Path) -> float:
    """Return when the files of an unreadable session were changed."""
    for name in (LOG_NAME, METADATA_NAME):
        with suppress(OSError):
            return (folder / name).stat().st_mtime
    return 0.0


def _stem(title: str, now: float) -> str:
    return f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}-{_slug(one_line(title))}"


def _slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain)[:SLUG_CHARS].strip("-")
    return words or "room"


def unused_id(base: Path, stem: str, suffix: Callable[[], str] | None = None) -> str:
    """Return an id without a folder: a stem and a suffix, by default four random letters."""
    ids = (f"{stem}-{(suffix or _random)()}" for _ in count())
    return next(each for each in ids if not (base / each).exists())


def _random() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(4))


@contextmanager
def staged(base: Path) -> Iterator[Path]:
    """Create a temporary folder for a session below `base`, on the same disk. Blocks.

    Its remaining content is removed in the end; if the process is killed, by the next `sweep`.

    Raises:
        DiskFailure: the folders can't be locked.
        OSError: it can't be created.
    """
    make_private_folder(base)
    sweep(base)
    with ExitStack() as stack:
        with in_turn(base):  # a folder without a lock is one that a killed process left
            staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=base))
            stack.enter_context(hold(staging))
        stack.callback(shutil.rmtree, staging, ignore_errors=True)
        yield staging / "room"


def sweep(base: Path) -> None:
    """Remove leftovers of killed processes as far as possible. Blocks."""
    if not any(base.glob(f"{STAGING}*")):
        return
    with in_turn(base):
        for staging in base.glob(f"{STAGING}*"):
            with suppress(StorageError), hold(staging):
                shutil.rmtree(staging, ignore_errors=True)
