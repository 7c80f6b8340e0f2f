"""The log of a founded room, whose people sign what they do."""

from collections.abc import Sequence

from msgspec.structs import replace
from tests.genie_core.room.bench import identity

from genie_core.room.protocol.events import (
    AnyBody,
    ChangeBody,
    Event,
    HeirsChanged,
    HostStarted,
    MemberJoined,
    MessagePosted,
    Role,
    RoomCreated,
    RunBody,
    SignedBody,
)
from genie_core.room.protocol.frames import Challenge
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.signing import HOST_SIGNED, About, sign
from genie_core.room.state.hosting import Claim
from genie_core.room.state.room_state import RoomState

PIN = "p" * 43


class FoundedLog:
    """A log that a program writes which checks nothing; `state` says what others make of it.

    Times are in seconds, one for each entry unless they are given.
    """

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events: list[Event] = []
        self.state = RoomState()
        for event in events:
            self.take(event)

    def take(self, event: Event) -> Event:
        self.state.apply(event)
        self.events.append(event)
        return event

    def fork(self) -> "FoundedLog":
        """The same log, which may go on in another way."""
        return FoundedLog(self.events)

    def add(
        self,
        by: str,
        body: AnyBody,
        *,
        at: float | None = None,
        signer: str = "",
        previous: bytes = b"",
    ) -> Event:
        return self.take(self.next(by, body, at=at, signer=signer, previous=previous))

    def next(
        self,
        by: str,
        body: AnyBody,
        *,
        at: float | None = None,
        signer: str = "",
        previous: bytes = b"",
    ) -> Event:
        """The next entry; signed by its author, or the host where the host decides."""
        parent = self.state.link if self.state.head else b""
        at = self.state.head + 1.0 if at is None else at
        if isinstance(body, SignedBody):
            if isinstance(body, HOST_SIGNED):
                signer = signer or (body.host if isinstance(body, HostStarted) else self.state.host)
            room = (body.room if isinstance(body, HostStarted) else "") or self.state.room
            if isinstance(body, MessagePosted) and body.reply_to and not body.about:
                body = replace(body, about=self.state.signature_of(body.reply_to) or b"")
            about = self._about(by, body, parent)
            body = sign(identity(signer or by), room, body, about, previous)
        return Event(self.state.head + 1, at, by, body, parent)

    def _about(self, by: str, body: SignedBody, parent: bytes) -> About:
        if isinstance(body, HOST_SIGNED):
            return parent
        if isinstance(body, MemberJoined):
            return fold_name(by)
        if isinstance(body, RunBody | ChangeBody):
            return self.state.threads[body.message].about(body, by)
        return ""

    def hosts(self, name: str, *, at: float | None = None, signer: str = "") -> Event:
        started = HostStarted(name, key=identity(signer or name).key, pin=PIN)
        return self.add("", started, at=at, signer=signer)

    def joins(self, name: str, role: Role = "member", *, signer: str = "") -> Event:
        key = identity(signer or name).key
        joined = MemberJoined(role, engine=True, key=key, device="d1", visit=f"v{self.state.head}")
        return self.add(name, joined, signer=signer)

    def names(self, *heirs: str, automatic: bool = False) -> Event:
        """The present host's next list of heirs."""
        keys = tuple(identity(name).key for name in heirs)
        issue = self.state.succession.own.issue + 1
        return self.add(
            self.state.host, HeirsChanged(heirs, keys=keys, automatic=automatic, issue=issue)
        )

    def says(
        self, name: str, text: str = "hello", *, at: float | None = None, previous: bytes = b""
    ) -> Event:
        id_ = str(self.state.head)
        return self.add(name, MessagePosted(id_, text, name, device="d1"), at=at, previous=previous)

    @property
    def shown(self) -> tuple[Event, ...]:
        """The links that a host with this log shows."""
        return tuple(link.event for link in self.state.links)

    def claim(self, by: str = "") -> Claim:
        """The claim of one who proves a key, by default the host's."""
        key = identity(by).key if by else self.state.host_key
        challenge = Challenge("n", self.state.room, founding=self.state.founding, links=self.shown)
        return Claim(PIN, key, challenge)

    def host_record_of(self, name: str) -> HostRecord:
        return sign_host_record(
            identity(name), room=self.state.room, host=name, pin=PIN, addresses=(), at=1.0
        )


def founded(*members: str, founder: str = "ann", listed: bool = True) -> FoundedLog:
    """A room that its founder hosts, with these members, who are heirs if `listed`."""
    log = FoundedLog()
    founding = found_room(identity(founder), "team", "Team")
    log.add("", RoomCreated(room_id(founding), "Team", founding))
    log.hosts(founder)
    log.joins(founder, "host")
    for name in members:
        log.joins(name)
    if members and listed:
        log.names(*members, automatic=True)
    assert log.state.doubts == {}
    return log


def unsigned(event: Event) -> Event:
    return replace(event, body=replace(event.body, signature=b""))
