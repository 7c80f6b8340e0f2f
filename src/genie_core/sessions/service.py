"""The sessions of one person: list, search, change and read them.

Cheap to import: methods import their own needs. Every method reads or writes files, so call it off
the event loop. Errors are `GenieError`s whose text is one line for the person.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from genie_core.sessions.listing import OpenMode, SessionRow
from genie_core.sessions.retention import RetentionLimits
from genie_core.sessions.view_state import View, read_view, write_view

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from genie_core.room.protocol.events import Quote
    from genie_core.sessions.catalog import Catalog, Listing
    from genie_core.sessions.excerpts import TranscriptLine
    from genie_core.sessions.labels import Labels
    from genie_core.sessions.lock import LockHolder
    from genie_core.sessions.replay.player import Recording
    from genie_core.sessions.search.index import SearchResult
    from genie_core.sessions.session import SavedSession
    from genie_core.sessions.trash import Send

PREVIEWED: Final = 12
"""How many of the last messages and answers the preview of a session has."""


class SessionService:
    """The sessions in a folder, for the person called `name`.

    `index` is the file of the search index. `send` moves a folder to the trash, by default the
    system's.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        index: Path,
        limits: RetentionLimits | None = None,
        clock: Callable[[], float] = time.time,
        send: "Send | None" = None,
    ) -> None:
        self._name = name
        self._folder = folder
        self._index = index
        self._limits = limits or RetentionLimits()
        self._clock = clock
        self._send = send

    def limit(self, limits: RetentionLimits) -> None:
        """Use other limits from the next listing on; may be called on the event loop."""
        self._limits = limits

    # Listing

    def rows(self, *, sized: bool = True) -> list[SessionRow]:
        """Return a row per session.

        With `sized` each is measured, and updated from its log if its program crashed; both take a
        while.
        """
        if sized:
            self.update_metadata()
        catalog = self._catalog()
        listings = catalog.all(sized=sized)
        due = self._due(listings) if sized else {}
        rows = [self._row(each, due.get(each.id, ""), sized=sized) for each in listings]
        return [_held(row, catalog.holder(row.id)) for row in rows]

    def resumable(self) -> "list[Listing]":
        """Return the sessions that this person can host or join again, latest first."""
        return [
            each
            for each in self._catalog().all()
            if each.metadata is None or each.metadata.leads_back(self._name)
        ]

    def holders(self) -> "dict[str, LockHolder]":
        """Return who has which sessions open now; fast even for many sessions."""
        catalog = self._catalog()
        found = {id_: catalog.holder(id_) for id_ in catalog.ids()}
        return {id_: each for id_, each in found.items() if each is not None}

    def check_free(self, id_: str) -> str:
        """Raise `SessionInUse` if a process has a session open; returns its id."""
        from genie_core.sessions.lock import SessionInUse

        if (holder := self._catalog().holder(id_)) is not None:
            raise SessionInUse(id_, holder)
        return id_

    def update_metadata(self) -> None:
        """Update the metadata of sessions whose program crashed."""
        self._catalog().catch_up()

    def past_limits(self) -> int:
        """Count the sessions past a limit; measures them only if there is a limit."""
        if self._limits == RetentionLimits():
            return 0
        return len(self._due(self._catalog().all(sized=True)))

    # Reading

    def search(self, text: str, is_wanted: Callable[[], bool]) -> "SearchResult":
        """Search all sessions; reading new ones ends early once `is_wanted` returns False."""
        from genie_core.sessions.search.index import SearchIndex

        sessions = self._catalog().all()
        return SearchIndex(self._index).look_up(sessions, text, is_wanted=is_wanted)

    def last_lines(self, id_: str) -> "list[TranscriptLine]":
        """Return the last messages and answers of a session, oldest first."""
        from genie_core.sessions.excerpts import last_spoken
        from genie_core.sessions.log.reader import LogReader
        from genie_core.sessions.session import LOG_NAME

        with LogReader.open(self._folder / id_ / LOG_NAME) as reader:
            return last_spoken(reader, PREVIEWED)

    def quote(self, wanted: str, last: int) -> "Quote":
        """Quote the last messages of the session with this id or title, oldest first.

        At most 200, and as many of the newest as fit into 50,000 characters.
        """
        return self._catalog().find_titled(wanted).quote(last)

    def attached(self, id_: str) -> list[int]:
        """Return the sizes in bytes of the attached files on this machine."""
        saved = self.session(id_)
        with saved.reader() as log:
            digests = log.state().files
        return [size for digest, size in saved.blobs.digests().items() if digest in digests]

    def recording(self, wanted: str) -> "Recording":
        """Open a session for replay by its id or a prefix of it, without locking it."""
        from genie_core.sessions.replay.player import open_recording

        return open_recording(self._folder, wanted)

    def labels(self, id_: str) -> "Labels":
        """Return this person's labels of the decisions in a session."""
        from genie_core.sessions.labels import Labels

        return Labels.read(self._folder / id_)

    def view(self, id_: str) -> View:
        """Return this person's saved view of a session."""
        return read_view(self._folder / id_)

    def session(self, id_: str) -> "SavedSession":
        from genie_core.sessions.session import SavedSession

        return SavedSession.load(self._folder / id_)

    # Changing

    def keep_view(self, id_: str, view: View) -> None:
        """Save this person's view of a session."""
        write_view(self._folder / id_, view)

    def rename(self, id_: str, title: str) -> str:
        """Rename a session; return its title as saved."""
        saved = self.session(id_)
        with saved.held(self._name):
            saved.rename(title)
        return saved.metadata.shown_title

    def tag(self, id_: str, tags: Sequence[str]) -> tuple[str, ...]:
        """Replace a session's tags; return them as saved."""
        from genie_core.sessions.metadata import check_tag

        saved = self.session(id_)
        kept = {check_tag(tag).casefold() for tag in tags}
        gone = [tag for tag in saved.metadata.tags if tag.casefold() not in kept]
        return saved.tag(tags, gone)

    def delete(self, id_: str) -> str:
        """Move a session to the trash and out of the search index; return its id."""
        from genie_core.sessions.search.index import IndexBusy, SearchIndex
        from genie_core.sessions.trash import trash

        trash(self._folder / id_, self._send)
        try:
            SearchIndex(self._index).forget([id_])
        except (IndexBusy, OSError):
            logger.warning("a deleted session is still in the search index", exc_info=True)
        return id_

    def note_shared(self, id_: str) -> None:
        """Note that a room's invite was shown, so that others may come."""
        saved = self.session(id_)
        if saved.metadata.unshared:
            saved.update(unshared=False)

    def drop_if_unused(self, id_: str) -> bool:
        """Remove a session if nothing happened in its room; see `unused.drop_if_unused`."""
        from genie_core.sessions.unused import drop_if_unused

        return drop_if_unused(self._folder / id_)

    def fork(self, id_: str, at: int | None = None) -> str:
        """Fork a session after an event, by default its last; return the fork's id."""
        from genie_core.sessions.fork import fork

        return fork(self._catalog(), self.session(id_), self._clock(), at).saved.id

    def _catalog(self) -> "Catalog":
        from genie_core.sessions.catalog import Catalog

        return Catalog(self._folder)

    def _due(self, listings: "Sequence[Listing]") -> dict[str, str]:
        from genie_core.sessions.retention import due

        found, holder = due(listings, self._limits, self._clock()), self._catalog().holder
        return {each.listing.id: each.why for each in found if not holder(each.listing.id)}

    def _row(self, listing: "Listing", due: str, *, sized: bool) -> SessionRow:
        from genie_core.sessions.metadata import SessionMetadata

        unknown = SessionMetadata(id="", title="", kind="joined", created=0.0)
        metadata = listing.metadata or unknown
        returns = OpenMode.JOIN if metadata.leads_back(self._name) else OpenMode.WATCH
        return SessionRow(
            listing.id,
            listing.title,
            OpenMode.HOST if metadata.is_own else returns,
            host=metadata.host,
            people=listing.people,
            names=metadata.names,
            last_activity=listing.last_activity,
            size=listing.size if sized else None,
            messages=listing.messages,
            unread=metadata.unread,
            parked=metadata.parked,
            tags=metadata.tags,
            preview=metadata.preview,
            note=listing.note,
            due=due,
        )


def _held(row: SessionRow, holder: "LockHolder | None") -> SessionRow:
    """Add who has a session open; drop notes that concern only people who are away."""
    return row if holder is None else replace(row, holder=holder, unread=0, due="")
