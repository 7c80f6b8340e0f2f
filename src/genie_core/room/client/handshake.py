"""The client's side of the handshake with a room."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from genie_core.room.protocol.errors import (
    ConnectionLost,
    Diverged,
    KnownRoom,
    OtherHost,
    RoomRefused,
)
from genie_core.room.protocol.events import Kind, MemberJoined, tag
from genie_core.room.protocol.frames import (
    KNOWN,
    Arrival,
    Challenge,
    ForkPoints,
    FrameRefused,
    Hello,
    JoinPending,
    Prove,
    ServerFrame,
    Welcome,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.challenge import InviteSecret, Transcript, new_nonce
from genie_core.room.security.founding import earlier_id
from genie_core.room.security.identity import Identity, words
from genie_core.room.security.keys import verify
from genie_core.room.security.signing import PREVIOUS_BYTES, sign
from genie_core.room.state.hosting import Claim
from genie_core.room.transport.connection import ClientConnection

WELCOME_TIMEOUT: Final = 10.0


@dataclass(slots=True)
class ClientHandshake:
    """The client's identity, room and credentials; the same on each connection."""

    name: str
    identity: Identity = field(default_factory=Identity.generate)
    device: str = ""
    """Tells this terminal from others of the person; by default a new one."""
    engine: bool = False
    """Whether the person brings agents, which `agent` describes."""
    agent: str = ""
    room: str = ""
    """Empty for any room."""
    token: str = ""
    """Gives access as the host, inside the host's process."""
    ticket: InviteSecret | None = None
    """Comes from an invite."""
    recognises: Callable[[str], bool] | None = None
    """Whether this machine has a copy of a room, if `room` is empty; called in a thread."""
    accepts: Callable[[Claim], Awaitable[bool]] | None = None
    """Gets a host's claim to the room before the host learns more than a name and a key."""
    visit: str = field(default_factory=partial(secrets.token_urlsafe, 12))
    """Identifies this run of the program among the person's terminals."""
    previous: Callable[[], bytes] = bytes
    """Returns the start of the person's latest signature in the room."""
    kind: Kind = ""
    """Tells an agent from a person."""
    digest: str = ""
    """That in the id of the room that an invite is for, while `room` is empty."""
    _named: set[bytes] = field(default_factory=set)
    """The signatures that arrivals have named as the one before."""
    _arrived: bytes = b""
    """The start of the last arrival's signature."""

    def __post_init__(self) -> None:
        self.device = self.device or secrets.token_hex(8)

    async def meet(
        self, link: ClientConnection, since: int, mark: int, pending: Callable[[str], None]
    ) -> Welcome | FrameRefused:
        """Shake hands on a new connection; calls `pending` if the host has to decide first.

        `since` and `mark` describe the last known event. The host may take any time to decide;
        every other answer must arrive within `WELCOME_TIMEOUT` seconds.

        Raises:
            ConnectionLost: the connection ended, or the room did not answer in time.
            FrameError: the room sent an invalid frame.
            RoomRefused: another room answered, or the welcome is for another person.
            OtherHost: `accepts` rejected the host.
            Diverged: the room's log has another event in place of the last known one.
            KnownRoom: this machine has a copy of the room to resume from.
        """
        nonce, points, room = new_nonce(), ForkPoints(()), self.room
        arrival = Arrival(
            since, mark, self.engine, self.agent, self.device, self.visit, kind=self.kind
        )
        patience: float | None = WELCOME_TIMEOUT
        proven = link.channel is None  # the host is this process
        hello = self._hello(nonce, self._signed(arrival, room) if proven else None)
        with suppress(ConnectionLost):  # the host may have sent a reason before it disconnected
            await link.send([hello])
        while True:
            match await _answer(link, patience):
                case Welcome() as welcome if proven:
                    self._check(welcome, room)
                    return welcome
                case Challenge() as challenge if not proven:
                    prove = await self._proof(challenge, nonce, link.channel or "", arrival)
                    proven, room = True, challenge.room
                    await link.send([prove])
                case JoinPending(text=text) if proven and patience is not None:
                    patience = None
                    pending(f"{text}; your key in words: {words(self.identity.key)}")
                case ForkPoints() as points if proven:
                    pass
                case FrameRefused(code="diverged") if proven:
                    raise Diverged(since, since, points.points)
                case FrameRefused() as refused:
                    return refused
                case frame:
                    kind = tag(frame)
                    raise ConnectionLost(f"the room sent {kind} instead of a welcome")

    def _check(self, welcome: Welcome, room: str) -> None:
        """Check that the welcome names the right room and person; signatures depend on both."""
        if room and welcome.room != room:
            raise RoomRefused("wrong_room", f"the host names another room than {room}")
        if fold_name(welcome.name) != fold_name(self.name):
            raise RoomRefused("name_taken", f"the host takes {self.name} for another person")

    def _hello(self, nonce: str, arrival: Arrival | None) -> Hello:
        """Return the first frame; over a network, it has nothing that only the host may know."""
        key = self.identity.key
        digest = "" if self.room else self.digest
        hello = Hello(self.name, room=self.room, key=key, nonce=nonce, knows=KNOWN, digest=digest)
        if arrival is None:
            return hello
        return replace(hello, token=self.token, **msgspec.structs.asdict(arrival))

    async def _proof(
        self, challenge: Challenge, nonce: str, channel: str, arrival: Arrival
    ) -> Prove:
        continued = earlier_id(challenge.founding)
        if self.room not in ("", challenge.room, continued):
            why = f"the room at this address is not {self.room}"
            raise RoomRefused("wrong_room", why)
        key = self.identity.key
        transcript = Transcript(challenge.room, self.name, key, nonce, challenge.nonce, channel)
        claim = claim_of(challenge, transcript)
        for known in (challenge.room, continued):
            if known and await self._is_known(known):
                raise KnownRoom(known, claim.pin, claim.key, challenge)
        if self.accepts is not None and not await self.accepts(claim):
            raise OtherHost(challenge.room)
        self.room = self.room and challenge.room  # founded, since this copy was made
        arrival = self._signed(arrival, challenge.room)
        signature = self.identity.sign(transcript.encode())
        if self.ticket is None:
            return Prove(signature, arrival=arrival)
        proof = transcript.prove(self.ticket.secret)
        return Prove(signature, self.ticket.id, proof, arrival)

    def _signed(self, arrival: Arrival, room: str) -> Arrival:
        """Return the arrival with the signature of the `MemberJoined` event that follows from it.

        An arrival that was perhaps recorded and not heard of is named, so that no two are alike.
        """
        identity = self.identity
        joined = MemberJoined(
            "member",
            arrival.engine,
            "",
            identity.key,
            arrival.device,
            visit=arrival.visit,
            kind=arrival.kind,
        )
        latest = self.previous()
        previous = self._arrived if latest in self._named else latest
        signed = sign(identity, room, joined, fold_name(self.name), previous)
        self._named.add(signed.previous)
        self._arrived = signed.signature[:PREVIOUS_BYTES]
        return replace(arrival, previous=signed.previous, signature=signed.signature)

    async def _is_known(self, room: str) -> bool:
        if self.room or self.recognises is None:
            return False
        return await asyncio.to_thread(self.recognises, room)


def claim_of(challenge: Challenge, transcript: Transcript) -> Claim:
    """Return a host's claim to a room, with its key if it signed the handshake."""
    is_valid = verify(challenge.key, challenge.signature, transcript.encode_for_host())
    return Claim(transcript.channel, challenge.key if is_valid else "", challenge)


async def _answer(link: ClientConnection, patience: float | None) -> ServerFrame:
    try:
        async with asyncio.timeout(patience):
            return await link.receive()
    except TimeoutError:
        raise ConnectionLost("the room did not answer in time") from None
