"""The copies that a person has of rooms which others host."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.errors import Diverged, KnownRoom, OtherHost
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.invite import looks_like_invite
from genie_core.room.server.recovery import WORTH_KEEPING
from genie_core.room.state.hosting import KnownHosts
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import apart_of
from genie_core.sessions.lock import SessionInUse
from genie_core.sessions.log.reader import PART, LogReader
from genie_core.sessions.session import SavedSession
from genie_core.sessions.view_state import ViewNotKept, read_view, write_view
from genie_core.storage.errors import StorageError
from genie_tui.files import take_over
from genie_tui.place import Person


class Copies:
    """Finds the copies of one person, and begins others. Everything here blocks."""

    def __init__(self, person: Person) -> None:
        self._person = person

    def named(self, text: str) -> SavedSession | None:
        """The copy whose name somebody typed, if it can't be anything else."""
        with suppress(StorageError):
            if not looks_like_invite(text) and ":" not in text:
                return self._person.catalog.find(text.strip())
        return None

    def has(self, room: str) -> bool:
        """Whether there is a copy of a room."""
        return next(self.of(room), None) is not None

    def met(self, error: KnownRoom | SessionInUse) -> SavedSession | None:
        """The copy that goes on with the host that was met, or that another terminal just began.

        None if there is no copy any more.

        Raises:
            OtherHost: there is a copy of a room with that id, and it knows no such host.

        """
        if isinstance(error, SessionInUse):
            return self._person.catalog.find(error.room)
        other: SavedSession | None = None
        for copy in self.of(error.room):
            if allegiance_of(copy, partial(_same, known_state(copy))).accepts(error.pin, error.key):
                return copy
            other = other or copy
        if other is not None:
            raise other_host(other)
        return None

    def of(self, room: str) -> Iterator[SavedSession]:
        """The own copies of rooms with an id, also of one that this person has hosted."""
        catalog, name = self._person.catalog, fold_name(self._person.name)
        for listing in catalog.all():
            with suppress(StorageError):
                saved = catalog.find(listing.id)
                record = saved.metadata
                owner = record.name or record.host
                if record.id == room and fold_name(owner) == name and "~" not in listing.id:
                    yield saved

    def part(self, saved: SavedSession, parted: Diverged) -> tuple[SavedSession, list[Event]]:
        """Put a copy aside and begin another one with what both logs have.

        With it comes what only the old one has and the room should get.
        """
        record = saved.metadata
        aside = saved.put_aside()
        old = SavedSession.load(aside).reader()
        common = _common_end(old, parted.points)
        fresh = self._person.catalog.copy_of(
            record.id,
            record.title,
            record.name or self._person.name,
            time.time(),
            address=record.address,
            addresses=record.addresses,
            pin=record.pin,
            device=record.device,
            apart=apart_of(saved),
        )
        with old, fresh.held(), fresh.open_log().log as log:
            while part := old.read(log.head, min(PART, common - log.head)):
                log.write(part)
            take_over(aside, fresh)
            with suppress(ViewNotKept):
                write_view(fresh.folder, read_view(aside))
            rest = old.events(common) if common else iter(())
            bequest = [event for event in rest if isinstance(event.body, WORTH_KEEPING)]
        return fresh, bequest


def known_state(saved: SavedSession) -> RoomState:
    """The room as a copy knows it; an empty one if the copy can't be read."""
    with suppress(StorageError, OSError), saved.reader() as log:
        return log.state()
    return RoomState()


def allegiance_of(saved: SavedSession, state: Callable[[], RoomState], met: str = "") -> KnownHosts:
    """Decide by what a copy knows with which hosts it goes on; one that knows nothing, with any.

    `met` is the pin of a host that was found to be one of them before.
    """
    known, pin = state(), saved.metadata.pin
    return KnownHosts(state, (pin, known.pin, met), first=not (pin or known.head or met))


def _same(state: RoomState) -> RoomState:
    return state


def other_host(saved: SavedSession) -> OtherHost:
    """The refusal of a host that a copy doesn't know."""
    record = saved.metadata
    return OtherHost(record.id, record.shown_title, record.host)


def _common_end(copy: LogReader, points: Sequence[tuple[int, int]]) -> int:
    """How many events of a copy the host's log begins with, going by where it may have parted."""
    for seq, mark in sorted(points, reverse=True):
        if seq > 0 and any(event_mark(event) == mark for event in copy.read(seq - 1, 1)):
            return seq
    return 0
