"""Histories of a room that several people host after and beside each other, without a network.

The rooms, states and decisions are the program's; connections and files are lists, time is a number.
"""

import json
from dataclasses import dataclass, field
from random import Random
from secrets import token_hex
from typing import Final

import msgspec
from tests.genie_core.room.scribe import Chain

from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.events import (
    AnyBody,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    SignedBody,
)
from genie_core.room.protocol.frames import (
    AcceptHosting,
    Arrival,
    Challenge,
    ClientFrame,
    Entries,
    EventsRecovered,
    ForkPoints,
    FrameRefused,
    Hello,
    Moderate,
    OfferHosting,
    PostMessage,
    Prove,
    RecoverEvents,
    ServerFrame,
    SetHeirs,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.chain import link_of
from genie_core.room.security.challenge import Transcript
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.security.signing import sign
from genie_core.room.server.peers import Peer
from genie_core.room.server.recovery import WORTH_KEEPING
from genie_core.room.server.room import Room
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.hosting import Claim, KnownHosts, may_host
from genie_core.room.state.proofs import view_of
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.origin import LOOPBACK

NAMES: Final = ("ann", "bob", "cleo", "dan", "eve")
"""The founder, three who join her, and one who comes later."""

MALLORY: Final = Identity.generate()
KEYS: Final = {name: Identity.generate() for name in NAMES}
PIN: Final = "p" * 43
LIMITS: Final = Limits(burst=10**6, per_second=1e6, joins=10**6)
STEP: Final = 20.0
"""Seconds after which everyone looks around again."""

ROUNDS: Final = 40


@dataclass(eq=False)
class Player:
    """One person: a copy of the log, and perhaps a room that they host, or a place in another's."""

    name: str
    log: list[Event] = field(default_factory=list)
    copy: RoomState = field(default_factory=RoomState)
    room: Room | None = None
    peer: Peer | None = None
    at: "Player | None" = None
    bequest: list[Event] = field(default_factory=list)
    unsent: list[MessagePosted] = field(default_factory=list)
    hosts: KnownHosts = field(init=False)
    is_banned: bool = False

    @property
    def identity(self) -> Identity:
        return KEYS[self.name]

    @property
    def state(self) -> RoomState:
        return self.room.state if self.room is not None else self.copy

    def fold(self, events: list[Event]) -> None:
        self.log, self.copy = events, RoomState()
        for event in events:
            self.copy.apply(event)

    def signed(self, body: SignedBody, about: str = "", room: str = "") -> AnyBody:
        latest = self.state.signatures.get(self.name, [b""])[-1]
        return sign(self.identity, room or self.state.room, body, about, latest)


class World:
    """Some people, of whom those of one `side` reach each other."""

    def __init__(self) -> None:
        self.now = 1e9
        self.players = {name: Player(name) for name in NAMES}
        self.side = dict.fromkeys(NAMES, 0)
        self.told: list[str] = []
        self.wrong: list[str] = []
        self.accepted: set[str] = set()
        self.founding = found_room(KEYS["ann"], "team", "Team")
        self.id = room_id(self.founding)
        for player in self.players.values():
            self._know(player)
        ann, *others = self.players.values()
        self.host(ann)
        for player in others:
            player.hosts = KnownHosts(lambda p=player: p.state, first=True)  # type: ignore[misc] # bound early
            assert player.name == "eve" or self.visit(player, ann)

    def tell(self, line: str) -> None:
        self.told.append(f"{self.now - 1e9:6.0f} {line}")

    def _know(self, player: Player) -> None:
        player.hosts = KnownHosts(lambda: player.state)

    def reach(self, one: Player, other: Player) -> bool:
        return one is not other and self.side[one.name] == self.side[other.name]

    def hosts_near(self, player: Player) -> list[Player]:
        return [
            other
            for other in self.players.values()
            if other.room is not None and self.reach(player, other)
        ]

    # -- hosting

    def host(self, player: Player) -> None:
        self.tell(f"{player.name} hosts")
        self.leave(player)
        founding = None if player.log else self.founding
        key = player.identity.key
        setup = RoomSetup(
            self.id, "Team", player.name, player.identity, founding=founding, limits=LIMITS
        )
        room = Room(player.log, setup)
        room.open("token", self.now, pin=pin_of(player))
        player.room, player.at = room, player
        joined = player.signed(MemberJoined("member", True, "", key, visit=visit()), player.name)
        assert isinstance(joined, MemberJoined)
        hello = Hello(player.name, engine=True, token="token", key=key)
        hello = msgspec.structs.replace(
            hello, visit=joined.visit, previous=joined.previous, signature=joined.signature
        )
        player.peer = room.connect()
        room.receive(player.peer, hello, self.now)
        self.pump(player)
        self.flush(player)

    def end(self, player: Player, *, properly: bool) -> None:
        """End a room: closed by its host, or with a crash."""
        room = player.room
        assert room is not None
        self.tell(f"{player.name} {'closes' if properly else 'dies'}")
        if properly:
            room.suspend("", self.now)
        self.pump(player)
        events = room.log.remembered()
        player.room = player.peer = player.at = None
        player.fold(events)
        self._know(player)
        for other in self.players.values():
            if other.at is player:
                self.leave(other)

    def leave(self, player: Player) -> None:
        host = player.at
        player.at = None
        if host is None or host is player or player.peer is None:
            return
        if host.room is not None:
            host.room.disconnect(player.peer, "", self.now)
            self.pump(host)
        player.peer = None

    def may_host(self, player: Player) -> bool:
        return bool(player.log) and may_host(player.state, player.identity.key)

    # -- visits

    def ask(self, player: Player, host: Player) -> tuple[Peer, Claim, Transcript]:
        """The first half of a handshake."""
        assert host.room is not None
        key = player.identity.key
        peer = host.room.connect(LOOPBACK, pin_of(host))
        host.room.receive(peer, Hello(player.name, room=self.id, key=key, nonce="n"), self.now)
        (challenge,) = host.room.pull(peer)
        assert isinstance(challenge, Challenge), challenge
        meeting = Transcript(self.id, player.name, key, "n", challenge.nonce, pin_of(host))
        return peer, Claim(pin_of(host), challenge.key, challenge), meeting

    def claim(self, player: Player, host: Player) -> Claim:
        peer, claim, _ = self.ask(player, host)
        assert host.room is not None
        host.room.disconnect(peer, "", self.now)
        return claim

    def visit(self, player: Player, host: Player) -> bool:
        """Join at a host if the copy follows them; what only the copy has is brought along."""
        assert host.room is not None
        for _ in range(3):
            peer, claim, meeting = self.ask(player, host)
            if self._answers_above(player, claim) or not player.hosts.accepts(claim):
                host.room.disconnect(peer, "", self.now)
                return False
            if claim.pin != player.hosts.found:
                self._check(player, claim)
            last = player.log[-1] if player.log else None
            joined = player.signed(
                MemberJoined("member", True, "", player.identity.key, visit=visit()),
                player.name,
                self.id,
            )
            assert isinstance(joined, MemberJoined)
            arrival = Arrival(
                last.seq if last else 0,
                event_mark(last) if last else 0,
                engine=True,
                visit=joined.visit,
                previous=joined.previous,
                signature=joined.signature,
            )
            prove = Prove(player.identity.sign(meeting.encode()), arrival=arrival)
            host.room.receive(peer, prove, self.now)
            host.room.commit(host.room.log.head)
            frames = host.room.pull(peer)
            if any(isinstance(frame, Welcome) for frame in frames):
                self.tell(f"{player.name} joins {host.name}")
                player.peer, player.at = peer, host
                self._take(player, frames)
                self.pump(host)
                self.flush(player)
                return True
            self._part(player, frames)
            player.hosts.found = claim.pin
            host.room.disconnect(peer, "", self.now)
            if player.is_banned:
                return False
        raise AssertionError(f"{player.name} and {host.name} part again and again")

    def _answers_above(self, player: Player, claim: Claim) -> bool:
        """Whether a host who comes first answers, too; see `conflicts.answering_above`."""
        above = player.hosts.above(claim)
        return any(
            other.identity.key in above and player.hosts.follows(self.claim(player, other))
            for other in self.hosts_near(player)
        )

    def _part(self, player: Player, frames: list[ServerFrame]) -> None:
        """Keep the part of the copy that the host has, too; see `Copies.part`."""
        for frame in frames:
            match frame:
                case ForkPoints(points=points):
                    marks = {event.seq: event_mark(event) for event in player.log}
                    shared = [seq for seq, mark in points if marks.get(seq) == mark]
                    common = max(shared, default=0)
                    rest = player.log[common:]
                    known = {(event.seq, event_mark(event)) for event in player.bequest}
                    player.bequest += [
                        event
                        for event in (each.original for each in rest)
                        if isinstance(event.body, WORTH_KEEPING)
                        and (event.seq, event_mark(event)) not in known
                    ]
                    self.tell(f"{player.name} parts after {common}, brings {len(player.bequest)}")
                    player.fold(player.log[:common])
                    self._know(player)
                case FrameRefused(code="banned"):
                    player.is_banned = True
                case FrameRefused(code="diverged"):
                    pass
                case _:
                    raise AssertionError(f"{player.name} got {frame}")

    def _check(self, player: Player, claim: Claim) -> None:
        """Note a host outside the chain, by a check that is not the program's.

        On a first visit there is no copy to check it with.
        """
        if not player.log:
            return
        links = json.loads(msgspec.json.encode(claim.challenge.links))
        entries = json.loads(msgspec.json.encode(player.log))
        founder = json.loads(msgspec.json.encode(self.founding))["key"]
        if not Chain(entries, self.id, founder).leads_to(links, claim.key):
            self.wrong.append(f"{player.name} followed {claim.key}")

    # -- frames

    def send(self, player: Player, frame: ClientFrame) -> None:
        host = player.at
        assert host is not None
        assert host.room is not None
        assert player.peer is not None
        host.room.receive(player.peer, frame, self.now)
        self.pump(host)

    def pump(self, host: Player) -> None:
        """Write what a room recorded, and deliver it."""
        room = host.room
        assert room is not None
        room.commit(room.log.head)
        for player in self.players.values():
            if player.at is host and player.peer is not None:
                self._take(player, room.pull(player.peer))
        for event in room.log.remembered():
            if isinstance(event.body, MessagePosted):
                self.accepted.add(event.body.id)

    def _take(self, player: Player, frames: list[ServerFrame]) -> None:
        for frame in frames:
            match frame:
                case Entries(events=events) if player.room is None:
                    for event in events:
                        if player.copy.apply(event):
                            player.log.append(event)
                case FrameRefused(code="banned"):
                    player.is_banned = True
                    player.at = player.peer = None
                case FrameRefused(final=True):
                    player.at = player.peer = None
                case FrameRefused(code="unproven" | "malformed"):
                    raise AssertionError(f"{player.name} is told {frame.text}")
                case EventsRecovered(seq=seq):
                    player.bequest = [event for event in player.bequest if event.seq > seq]

    def flush(self, player: Player) -> None:
        """Send what waits."""
        if player.bequest and player.room is None:
            self.send(player, RecoverEvents(tuple(sorted(player.bequest, key=_number))))
        elif player.bequest:
            player.bequest = []  # a host's own entries are in the log
        while player.unsent and player.at is not None:
            waiting = player.unsent.pop(0)
            said = player.signed(waiting)
            assert isinstance(said, MessagePosted)
            frame = PostMessage(
                said.id, said.text, signature=said.signature, previous=said.previous
            )
            self.send(player, frame)

    # -- what people do

    def say(self, player: Player, id_: str) -> None:
        self.tell(f"{player.name} says {id_}")
        player.unsent.append(MessagePosted(id_, f"text {id_}"))
        if player.at is not None:
            self.flush(player)

    def hand_over(self, host: Player, heir: Player) -> None:
        self.tell(f"{host.name} hands over to {heir.name}")
        self.send(host, OfferHosting(heir.name))
        host_record = sign_host_record(
            heir.identity, room=self.id, host=heir.name, pin=pin_of(heir), addresses=(), at=self.now
        )
        self.send(heir, AcceptHosting(host_record))

    def set_heirs(self, host: Player, names: tuple[str, ...]) -> None:
        self.tell(f"{host.name} names {names or 'the usual heirs'}")
        self.send(host, SetHeirs(names, automatic=not names))

    def ban(self, host: Player, name: str) -> None:
        self.tell(f"{host.name} bans {name}")
        self.send(host, Moderate("ban", name))

    def move(self, player: Player, side: int) -> None:
        """Put a person on a side of the network; connections to the others break."""
        self.tell(f"{player.name} moves to side {side}")
        self.side[player.name] = side
        for other in self.players.values():
            if other.at is not None and other.at is not other and not self.reach(other, other.at):
                self.leave(other)

    # -- time

    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    def look_around(self) -> None:
        """Everyone looks for other hosts once, as the program does; see `open.conflicts`."""
        for player in self.honest():
            if player.log:
                self._lure(player)
        hosts = [player for player in self.honest() if player.room is not None]
        ways = {host: rival for host in hosts if (rival := self._right_rival(host))}
        for host, rival in ways.items():  # all at once, as none knows what others do
            if ways.get(rival) is host:
                self.wrong.append(f"{host.name} and {rival.name} give way to each other")
            self.tell(f"{host.name} gives way to {rival.name}")
            self.end(host, properly=True)
            if rival.room is not None:
                self.visit(host, rival)
        for player in self.players.values():
            if player.is_banned or player.room is not None:
                continue
            if player.at is not None:
                self._meet_as_member(player)
            else:
                any(self.visit(player, host) for host in self.hosts_near(player))

    def _right_rival(self, player: Player) -> "Player | None":
        """Return the host to whom this one gives way now, if any."""
        assert player.room is not None
        view = view_of(player.room.state)
        rivals = [each for each in self.hosts_near(player) if not each.is_banned]
        claims = {rival: self.claim(player, rival) for rival in rivals}
        above = [
            rival
            for rival, claim in claims.items()
            if view.outranks(claim.challenge.links, claim.key)
        ]
        return above[0] if above else None

    def _lure(self, player: Player) -> None:
        """Claim the room with all that a stranger can have: the founding and links of the log."""
        links = [link.event for link in player.state.links]
        for name, upto in (("mallory", len(links)), ("mallory", 1), ("bob", len(links))):
            body = HostStarted(name, key=MALLORY.key, pin=PIN)
            parent = link_of(links[upto - 1])
            signed = sign(MALLORY, self.id, body, parent)
            event = Event(player.state.head + 1, self.now, "", signed, parent)
            shown = (*links[:upto], event)
            challenge = Challenge("n", self.id, MALLORY.key, b"", player.state.founding, shown)
            claim = Claim(PIN, MALLORY.key, challenge)
            if player.hosts.outranks(claim) or player.hosts.accepts(claim):
                self.wrong.append(f"{player.name} follows a stranger called {name}")

    def _meet_as_member(self, player: Player) -> None:
        for rival in self.hosts_near(player):
            if rival is player.at or player.at is None:
                continue
            claim = self.claim(player, rival)
            if player.hosts.outranks(claim):
                self.tell(f"{player.name} leaves for {rival.name}")
                self.leave(player)
                self.visit(player, rival)

    def settle(self) -> bool:
        """Mend the network and wait; whether all came together at one host."""
        self.tell("healed")
        for player in self.players.values():
            self.side[player.name] = 0
        for turn in range(ROUNDS):
            self.pass_time(STEP)
            self.look_around()
            if self.is_together():
                return True
            lost = [each for each in self.honest() if each.at is None and self.may_host(each)]
            is_time = turn % 5 == 4 or not any(each.room for each in self.players.values())
            if lost and is_time:  # they find no host that they could follow
                self.host(lost[0])
        return False

    def honest(self) -> list[Player]:
        return [player for player in self.players.values() if not player.is_banned]

    def is_together(self) -> bool:
        at = {player.at for player in self.honest()}
        waits = any(player.bequest or player.unsent for player in self.honest())
        return len(at) == 1 and None not in at and not waits


def visit() -> str:
    """The id of a run of a program, which is never the same."""
    return token_hex(8)


def pin_of(player: Player) -> str:
    return player.name.ljust(43, "p")


def _number(event: Event) -> int:
    return event.seq


def play(world: World, seed: int, steps: int) -> None:
    """Do things at random, each possible at that moment."""
    chance = Random(seed)
    for step in range(steps):
        world.pass_time(chance.choice((1.0, 7.0, 40.0, 70.0, 200.0)))
        player = chance.choice(world.honest())
        hosts = [each for each in world.honest() if each.room is not None]
        kind = chance.random()
        if kind < 0.3:
            world.say(player, f"{step}")
        elif kind < 0.5:
            world.move(player, chance.choice((0, 0, 1, 1, 2)))
        elif kind < 0.64:
            _begin(world, chance, player)
        elif kind < 0.75 and hosts:
            _end(world, chance, chance.choice(hosts))
        elif kind < 0.79 and hosts:
            names = tuple(chance.sample(NAMES, chance.choice((0, 0, 2, 3))))
            host = chance.choice(hosts)
            world.set_heirs(host, tuple(each for each in names if each != host.name))
        elif kind < 0.88:
            _cut(world, chance)
        elif kind < 0.90 and hosts:
            _ban(world, chance, chance.choice(hosts))
        else:
            world.look_around()


def _cut(world: World, chance: Random) -> None:
    """Cut the network in two for a while, in which one takes over on the other side."""
    for player in world.honest():
        world.move(player, chance.choice((0, 1)))
    world.pass_time(chance.choice((15.0, 70.0, 130.0)))
    player = chance.choice(world.honest())
    _begin(world, chance, player)
    world.look_around()
    for each in world.honest():
        world.say(each, f"{len(world.told)} in the cut")
    for player in world.honest():
        world.move(player, 0)
    world.look_around()


def _begin(world: World, chance: Random, player: Player) -> None:
    """Host again, or in another's place, after a look around for hosts, or rarely without."""
    if player.room is not None or not world.may_host(player) or player.at is not None:
        return
    is_careless = chance.random() < 0.2
    if not is_careless and any(world.visit(player, host) for host in world.hosts_near(player)):
        return
    world.host(player)


def _end(world: World, chance: Random, host: Player) -> None:
    members = [each for each in world.honest() if each.at is host and each is not host]
    kind = chance.random()
    if kind < 0.4 and members:
        heir = chance.choice(members)
        world.hand_over(host, heir)
        world.end(host, properly=True)
        if chance.random() < 0.8:
            world.host(heir)
    else:
        world.end(host, properly=kind < 0.7)


def _ban(world: World, chance: Random, host: Player) -> None:
    members = [each for each in world.honest() if each.at is host and each is not host]
    if len(world.honest()) > 4 and members:
        world.ban(host, chance.choice(members).name)
