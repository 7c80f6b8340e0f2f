"""Searching a person's saved rooms."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from genie_core.assistant.tools.output import cannot, contains, excerpt, listed, terms_of
from genie_core.assistant.tools.shell.worker_process import TookTooLong, WorkFailed, isolated
from genie_core.room.protocol.events import Event, RecoveredEvent
from genie_core.room.view.spoken import spoken_in
from genie_core.sessions.catalog import Catalog, Listing
from genie_core.sessions.changes import LatestTexts
from genie_core.sessions.errors import DamagedSession, check_ordinary
from genie_core.sessions.log.format import Damages
from genie_core.sessions.log.reader import logged
from genie_core.sessions.session import LOG_NAME
from genie_core.storage.errors import StorageError
from genie_core.text.format import counted

MAX_ROOM_HITS: Final = 50
MAX_LOG_BYTES: Final = 200_000_000
MAX_NOTES: Final = 3
SEARCH_SECONDS: Final = 15.0


class _Hit(NamedTuple):
    at: float
    sender: str
    text: str
    room: str
    title: str


@dataclass
class _Search:
    """The matches so far, and notes about rooms that could not be searched."""

    terms: list[str]
    hits: list[_Hit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rooms: int = 0


@dataclass(frozen=True)
class Rooms:
    """The tool over the saved rooms in a folder; `seconds` limits one call."""

    folder: Path
    seconds: float = SEARCH_SECONDS

    async def search_rooms(self, words: str, room: str = "", limit: int = 10) -> str:
        """Search the user's other, saved conversations for messages with all of these words.

        Matches may not be meant for everyone in this room.

        Args:
            words: Case does not matter; "quotes" mark an exact phrase.
            room: Search only rooms with this text in their title or id.
            limit: How many matches to show, the latest ones; at most 50.
        """
        if not terms_of(words):
            return "Cannot search: no words are given."
        folder = str(self.folder)
        try:
            patience = self.seconds * 0.8  # leaves time to report partial results
            return await isolated(
                self.seconds, search_saved_rooms, folder, words, room, limit, patience
            )
        except (TookTooLong, WorkFailed):
            return cannot("the search of the saved rooms took too long; name one room")


def search_saved_rooms(folder: str, words: str, room: str, limit: int, seconds: float) -> str:
    """Do the work of `search_rooms`; start no further room after `seconds`."""
    until = monotonic() + seconds
    search = _Search(terms_of(words))
    try:
        listings = Catalog(Path(folder)).all()
    except StorageError as error:
        return cannot(str(error))
    wanted = [each for each in listings if _fits(each, room)]
    for place, listing in enumerate(wanted):
        if monotonic() > until:
            search.notes.append(
                f"{counted(len(wanted) - place, 'room')}: the time limit was reached"
            )
            break
        _look_into(search, Path(folder) / listing.id, listing)
    return _report(search, max(1, min(limit, MAX_ROOM_HITS)))


def _fits(listing: Listing, room: str) -> bool:
    wanted = room.strip().casefold()
    return wanted in listing.title.casefold() or wanted in listing.id.casefold()


def _look_into(search: _Search, folder: Path, listing: Listing) -> None:
    if listing.note:
        search.notes.append(f"{listing.id}: {listing.note}")
        return
    try:
        events = _events(folder / LOG_NAME)
    except (OSError, StorageError) as error:
        search.notes.append(f"{listing.id}: {' '.join(str(error).split())}")
        return
    search.rooms += 1
    search.hits += (
        _Hit(at, sender, text, listing.id, listing.title)
        for at, sender, text in _lines(events)
        if contains(text, search.terms)
    )


def _events(log: Path) -> list[Event]:
    """Return the readable events of a log. Raises `OSError` or `StorageError`."""
    if not log.exists():
        return []
    check_ordinary(log)
    if log.stat().st_size > MAX_LOG_BYTES:
        raise DamagedSession(log, f"it has more than {MAX_LOG_BYTES:,} bytes")
    return [found.event for found in logged(log, Damages())]


def _lines(events: list[Event]) -> Iterator[tuple[float, str, str]]:
    recovered = {
        each.body.event.seq: each.seq for each in events if isinstance(each.body, RecoveredEvent)
    }
    for event in LatestTexts(recovered).of(events):
        said = spoken_in(event)
        if said is not None and said.is_whole and not said.is_private:
            yield said.at, said.by, said.text


def _report(search: _Search, limit: int) -> str:
    among = f"({counted(search.rooms, 'room')} searched)"
    notes = search.notes[:MAX_NOTES]
    if len(search.notes) > MAX_NOTES:
        notes.append(f"and {len(search.notes) - MAX_NOTES} more")
    skipped = [f"Not searched: {'; '.join(notes)}."] if notes else []
    if not search.hits:
        return "\n".join([f"No saved message contains {listed(search.terms)} {among}.", *skipped])
    hits = sorted(search.hits, key=lambda hit: hit.at, reverse=True)[:limit]
    heading = f"{counted(len(search.hits), 'message')} with {listed(search.terms)} {among}"
    if len(hits) < len(search.hits):
        heading += f", the latest {len(hits)}"
    return "\n".join([f"{heading}:", *(_line(hit, search.terms[0]) for hit in hits), *skipped])


def _line(hit: _Hit, term: str) -> str:
    when = datetime.fromtimestamp(hit.at).astimezone()
    return f"- {hit.title} ({hit.room}), {when:%Y-%m-%d %H:%M}, {hit.sender}: {excerpt(hit.text, term)}"
