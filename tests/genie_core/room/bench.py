"""A room core with a clock that stands still, and people who prove who they are."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec.structs import replace

from genie_core.room.protocol.events import Event, FileRef, MemberJoined, RoomCreated
from genie_core.room.protocol.frames import (
    Challenge,
    ClientFrame,
    Entries,
    FrameRefused,
    Hello,
    PostMessage,
    Prove,
    ServerFrame,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.challenge import InviteSecret, Transcript
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite_tokens import InviteToken, InviteTokens
from genie_core.room.security.signing import PREVIOUS_BYTES, sign
from genie_core.room.server.log_window import ReadEvents
from genie_core.room.server.peers import Peer
from genie_core.room.server.room import Room
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.origin import LOOPBACK

ROOMY = Limits(burst=1000, joins=1000)
HOST_TOKEN = "the host's"
LAN = "192.0.2.7"
PIN = "p" * 43
NONCE = "the client's nonce"


@cache
def identity(name: str) -> Identity:
    """Make the key of somebody, the same one each time."""
    return Identity.generate()


def ticket_of(made: InviteToken) -> InviteSecret:
    return InviteSecret(made.id, made.secret)


def signed(
    hello: Hello,
    challenge: Challenge,
    *,
    by: Identity,
    channel: str = PIN,
    ticket: InviteSecret | None = None,
) -> Prove:
    """Answer a challenge, as an honest client does that sees this channel."""
    meeting = Transcript(
        challenge.room, hello.name, hello.key, hello.nonce, challenge.nonce, channel
    )
    signature = by.sign(meeting.encode())
    if ticket is None:
        return Prove(signature)
    return Prove(signature, ticket.id, meeting.prove(ticket.secret))


class Bench:
    """A room whose disk keeps everything at once."""

    def __init__(
        self,
        events: Iterable[Event] = (),
        *,
        limits: Limits = ROOMY,
        tokens: InviteTokens | None = None,
        ask: bool = False,
        trusts_loopback: bool = True,
        files: Mapping[str, FileRef] | None = None,
        host: str = "hana",
        key: str = "",
        base: RoomState | None = None,
        disk: ReadEvents | None = None,
        founded: bool = False,
    ) -> None:
        past = list(events)
        is_new = founded and not past
        founding = found_room(identity(host), "standup", "Standup") if is_new else None
        self.id = room_id(founding) if founding is not None else "r1"
        if founded and past and isinstance(past[0].body, RoomCreated):
            self.id = past[0].body.room
        key = identity(host).key if founded else key
        self.room = Room(
            past,
            RoomSetup(
                self.id,
                "Standup",
                host,
                identity(host) if founded else None,
                key,
                tokens,
                ask=ask,
                trusts_loopback=trusts_loopback,
                base=base,
                past=disk,
                founding=founding,
                limits=limits,
            ),
            files,
        )
        self.now = 1000.0
        self.host, self.founded = host, founded
        self.key = key
        self.room.open(HOST_TOKEN, self.now)
        self.written = past
        self.commit()

    def commit(self) -> None:
        pending = self.room.log.pending()
        if pending:
            self.written += pending
            self.room.commit(pending[-1].seq)

    def connect(self, hello: Hello | None = None) -> Peer:
        """Come in from inside the host's process, where nobody proves anything."""
        peer = self.room.connect()
        if hello is not None:
            self.send(peer, hello)
        return peer

    def join(self, name: str, **fields: Any) -> Peer:
        peer = self.connect(Hello(name, **fields))
        self.pull(peer)
        return peer

    def join_host(self, *, engine: bool = True) -> Peer:
        return self.join(self.host, engine=engine, token=HOST_TOKEN, key=self.key)

    def greet(
        self,
        name: str,
        *,
        by: Identity | None = None,
        source: str = LOOPBACK,
        channel: str = PIN,
        device: str = "d1",
        **fields: Any,
    ) -> tuple[Peer, Hello, list[ServerFrame]]:
        """Say hello from outside; returns also what the room answers."""
        key = (by or identity(name)).key
        hello = Hello(name, key=key, nonce=NONCE, device=device, **fields)
        if self.founded and not hello.signature:
            hello = self.signed_by(hello, by or identity(name))
        peer = self.room.connect(source, channel)
        self.send(peer, hello)
        return peer, hello, self.pull(peer)

    def signed_by(self, hello: Hello, by: Identity) -> Hello:
        """The hello with the signature of the arrival that follows from it."""
        joined = MemberJoined(
            "member",
            hello.engine,
            key=hello.key,
            device=hello.device,
            visit=hello.visit,
            kind=hello.kind,
        )
        previous = self.room.state.head.to_bytes(PREVIOUS_BYTES)  # so that no two are alike
        joined = sign(by, self.id, joined, fold_name(hello.name), previous)
        return replace(hello, previous=joined.previous, signature=joined.signature)

    def meet(
        self,
        name: str,
        *,
        by: Identity | None = None,
        ticket: InviteSecret | None = None,
        channel: str = PIN,
        **fields: Any,
    ) -> tuple[Peer, list[ServerFrame]]:
        """Say hello and prove it; returns also what the room answers to that."""
        peer, hello, answers = self.greet(name, by=by, channel=channel, **fields)
        (challenge,) = answers
        assert isinstance(challenge, Challenge)
        by = by or identity(name)
        self.send(peer, signed(hello, challenge, by=by, channel=channel, ticket=ticket))
        return peer, self.pull(peer)

    def joined(self, name: str, **fields: Any) -> Peer:
        """Come in from outside, as somebody who is let in."""
        peer, answers = self.meet(name, **fields)
        assert refusals(answers) == []
        return peer

    def send(self, peer: Peer, *frames: ClientFrame) -> None:
        for frame in frames:
            self.room.receive(peer, frame, self.now)
        self.commit()

    def pull(self, peer: Peer) -> list[ServerFrame]:
        frames: list[ServerFrame] = []
        while more := self.room.pull(peer):
            frames += more
        return frames

    def tell(self, peer: Peer, *frames: ClientFrame) -> list[ServerFrame]:
        """Send frames and return what the same peer gets because of them."""
        self.pull(peer)
        self.send(peer, *frames)
        return self.pull(peer)

    def lose(self, peer: Peer) -> None:
        self.room.disconnect(peer, "gone", self.now)
        self.commit()

    def bodies(self, kind: type | None = None) -> list[Any]:
        bodies = [event.body for event in self.written]
        return bodies if kind is None else [body for body in bodies if isinstance(body, kind)]

    def say(self, peer: Peer, text: str = "hello", id_: str = "1") -> int:
        self.send(peer, PostMessage(id_, text))
        return self.room.state.head


def events_in(frames: list[ServerFrame]) -> list[Event]:
    return [event for frame in frames if isinstance(frame, Entries) for event in frame.events]


def answers_in(frames: list[ServerFrame]) -> list[ServerFrame]:
    """What was sent to one peer in particular."""
    return [frame for frame in frames if not isinstance(frame, Entries)]


def refusals(frames: list[ServerFrame]) -> list[FrameRefused]:
    return [frame for frame in frames if isinstance(frame, FrameRefused)]


def only_refusal(frames: list[ServerFrame]) -> FrameRefused:
    (refusal,) = refusals(frames)
    return refusal
