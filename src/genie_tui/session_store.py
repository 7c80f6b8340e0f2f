"""The saved sessions of one person, as the screen that lists them needs them.

Cheap to import; every method reads or writes files, so call them off the event loop. What goes
wrong is a `GenieError` whose text is one line for the person.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from genie_tui.locations import Locations, folder_at
from genie_tui.session_row import SessionRow, Way
from genie_tui.settings_tables import RetentionTable

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from genie_core.archive.catalogue import Catalogue, Listing
    from genie_core.archive.holder import Holder
    from genie_core.archive.saved import SavedRoom
    from genie_core.archive.search import Found
    from genie_core.archive.spoken import Line
    from genie_core.archive.trash import Send

PREVIEWED: Final = 12
"""So many of the last messages and answers are shown beside the list."""


class SessionStore:
    """Lists, searches and changes what is in this person's folders.

    `send` moves a folder to the trash, by default the system's.
    """

    def __init__(
        self,
        name: str,
        locations: Locations,
        retention: RetentionTable | None = None,
        clock: Callable[[], float] = time.time,
        send: "Send | None" = None,
    ) -> None:
        self._name = name
        self._locations = locations
        self._retention = retention or RetentionTable()
        self._clock = clock
        self._send = send

    def limit(self, retention: RetentionTable) -> None:
        """Go by other limits from the next listing on; may be called on the event loop."""
        self._retention = retention

    def rows(self, *, sized: bool = True) -> list[SessionRow]:
        """Every session; if they are measured, also as they were when their programs crashed.

        Both take a while if there are many.
        """
        if sized:
            self.catch_up()
        catalogue = self._catalogue()
        listings = catalogue.all(sized=sized)
        due = self._due(listings) if sized else {}
        rows = [self._row(each, due.get(each.id, ""), sized=sized) for each in listings]
        return [_held(row, catalogue.holder(row.id)) for row in rows]

    def check_free(self, id_: str) -> str:
        """Raise `RoomInUse` if somebody has a session open; returns its id."""
        from genie_core.archive.errors import RoomInUse

        if (holder := self._catalogue().holder(id_)) is not None:
            raise RoomInUse(id_, holder)
        return id_

    def holders(self) -> "dict[str, Holder]":
        """Who has which sessions open now. Quick, also where there are many."""
        catalogue = self._catalogue()
        found = {id_: catalogue.holder(id_) for id_ in catalogue.ids()}
        return {id_: each for id_, each in found.items() if each is not None}

    def catch_up(self) -> None:
        """Bring what is told of sessions up to their logs where programs crashed."""
        self._catalogue().catch_up()

    def past_limits(self) -> int:
        """How many sessions are past a limit of this person; they are measured if there is one."""
        if self._retention == RetentionTable():
            return 0
        return len(self._due(self._catalogue().all(sized=True)))

    def search(self, text: str, is_wanted: Callable[[], bool]) -> "Found":
        """What is said in sessions. Reading new ones ends early once it `is_wanted` no more."""
        from genie_core.archive.search import SearchIndex, searched

        sessions = searched(self._locations.sessions, self._catalogue().all())
        return SearchIndex(self._locations.search).look_up(sessions, text, is_wanted=is_wanted)

    def last_lines(self, id_: str) -> "list[Line]":
        """The last messages and answers of a session, oldest first."""
        from genie_core.archive.reader import LogReader
        from genie_core.archive.saved import LOG_NAME
        from genie_core.archive.spoken import last_spoken

        with LogReader.open(self._catalogue().folder(id_) / LOG_NAME) as reader:
            return last_spoken(reader, PREVIEWED)

    def rename(self, id_: str, title: str) -> str:
        """Call a session otherwise; returns what it is called then."""
        saved = self._saved(id_)
        with saved.held(self._name):
            saved.rename(title)
        return saved.record.shown_title

    def tag(self, id_: str, tags: Sequence[str]) -> tuple[str, ...]:
        """Give a session exactly these tags; returns them as they are kept."""
        from genie_core.archive.record import check_tag

        saved = self._saved(id_)
        kept = {check_tag(tag).casefold() for tag in tags}
        return saved.tag(tags, [tag for tag in saved.record.tags if tag.casefold() not in kept])

    def delete(self, id_: str) -> str:
        """Move a session to the system's trash, and take its words out of the search index.

        Returns its id.
        """
        from genie_core.archive.search import IndexBusy, SearchIndex
        from genie_core.archive.trash import trash

        trash(self._catalogue().folder(id_), self._send)
        try:
            SearchIndex(self._locations.search).forget([id_])
        except (IndexBusy, OSError):
            logger.warning("a deleted session is still in the search index", exc_info=True)
        return id_

    def fork(self, id_: str, at: int | None = None) -> str:
        """Make a session of what one was after an event, by default its last; returns its id."""
        from genie_core.archive.fork import fork

        return fork(self._catalogue(), self._saved(id_), self._clock(), at).saved.id

    def attached(self, id_: str) -> list[int]:
        """The sizes in bytes of the files that people attached, as far as they are here."""
        from genie_core.archive.blobs import BLOBS_NAME, BlobStore

        saved = self._saved(id_)
        with saved.reader() as log:
            digests = log.state().files
        here = BlobStore(saved.folder / BLOBS_NAME).digests()
        return [size for digest, size in here.items() if digest in digests]

    def export(
        self, id_: str, wanted: str, *, attachments: bool = False, force: bool = False
    ) -> tuple[Path, list[str]]:
        """Write a session to a file, in the form that its ending asks for.

        A zip archive always has the attached files. Without `force` nothing is replaced. Returns
        where it is, and what to know about it.
        """
        from genie_tui.export.form import ENDINGS, Form, NoForm
        from genie_tui.export.writing import write_file

        path = folder_at(wanted)
        form = ENDINGS.get(path.suffix.lower())
        if form is None:
            raise NoForm(wanted)
        attachments |= form is Form.LINES and path.suffix.lower() == ".zip"
        saved = self._saved(id_)
        return path, write_file(saved, form, path, attachments=attachments, force=force)

    def _catalogue(self) -> "Catalogue":
        from genie_core.archive.catalogue import Catalogue

        return Catalogue(self._locations.sessions)

    def _saved(self, id_: str) -> "SavedRoom":
        from genie_core.archive.saved import SavedRoom

        return SavedRoom.load(self._catalogue().folder(id_))

    def _due(self, listings: "Sequence[Listing]") -> dict[str, str]:
        from genie_core.archive.retention import Limits, due

        limits = Limits(**msgspec.structs.asdict(self._retention))
        found, holder = due(listings, limits, self._clock()), self._catalogue().holder
        return {each.listing.id: each.why for each in found if not holder(each.listing.id)}

    def _row(self, listing: "Listing", due: str, *, sized: bool) -> SessionRow:
        size = listing.size if sized else None
        record = listing.record
        if record is None:
            return SessionRow(
                listing.id,
                listing.title,
                Way.WATCH,
                last_activity=listing.last_activity,
                size=size,
                note=listing.note,
            )
        return SessionRow(
            listing.id,
            record.shown_title,
            self._way(listing),
            host=record.host,
            people=listing.people,
            names=record.names,
            last_activity=listing.last_activity,
            size=size,
            messages=listing.messages,
            unread=record.unread,
            parked=record.parked,
            tags=record.tags,
            preview=record.preview,
            note=listing.note,
            due=due,
        )

    def _way(self, listing: "Listing") -> Way:
        record = listing.record
        if record is None:
            return Way.WATCH
        if record.is_own:
            return Way.HOST
        return Way.JOIN if record.leads_back(self._name) else Way.WATCH


def _held(row: SessionRow, holder: "Holder | None") -> SessionRow:
    """A row with who has it open, and without what is news to somebody who is not there."""
    return row if holder is None else replace(row, holder=holder, unread=0, due="")
