"""Sessions as they are on the disk, for what lists and searches them."""

from pathlib import Path

from genie_core.room.protocol.events import (
    ROOM,
    AnyBody,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.service import SessionService
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import Locations

NOW = 1_790_000_000.0


class Recorded:
    """A folder with sessions, a store over it, and a trash."""

    def __init__(self, folder: Path, name: str = "ann") -> None:
        self.locations = Locations(folder / "config", folder / "data", folder / "log")
        self.trash = folder / "trash"
        self.trash.mkdir()
        self.store = SessionService(
            name,
            self.locations.sessions,
            self.locations.search,
            clock=lambda: NOW,
            send=self._throw,
        )

    @property
    def catalog(self) -> Catalog:
        return Catalog(self.locations.sessions)

    def session(
        self, title: str, *bodies: AnyBody, by: str = "ann", at: float = NOW
    ) -> SavedSession:
        """One that `by` hosted, with what they said or did after the first three events."""
        saved = self.catalog.create(title, at)
        log: list[tuple[str, AnyBody]] = [
            (ROOM, RoomCreated(saved.id, title)),
            (ROOM, HostStarted(by)),
            (by, MemberJoined("host")),
            *((by, body) for body in bodies),
        ]
        self.write(saved, log, at)
        return saved

    def said(self, title: str, *texts: str, by: str = "ann", at: float = NOW) -> SavedSession:
        """One in which this was said."""
        bodies = [MessagePosted(str(number), text) for number, text in enumerate(texts)]
        return self.session(title, *bodies, by=by, at=at)

    def write(self, saved: SavedSession, log: list[tuple[str, AnyBody]], at: float) -> None:
        """Give a session this log."""
        state = RoomState()
        events = [Event(seq, at + seq, by, body) for seq, (by, body) in enumerate(log, 1)]
        for event in events:
            state.apply(event)
        saved.log_path.write_bytes(b"".join(map(encode_line, events)))
        saved.summarise(state, at)

    def titles(self) -> set[str]:
        """What the sessions are called that are there."""
        return {listing.title for listing in self.catalog.all()}

    def _throw(self, folder: Path) -> None:
        folder.rename(self.trash / folder.name)
