"""Watches a room from outside and objects when it does what it never may.

It keeps its own account of who proved what and what the log says, made of as little as possible of
what it watches.
"""

from dataclasses import dataclass, field

from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    DecisionMade,
    Event,
    HeirsChanged,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessagePosted,
    RecoveredEvent,
    Role,
    RoomCreated,
    RoomSuspended,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    ApprovalAnswered,
    Entries,
    FrameRefused,
    Hello,
    HostingAccepted,
    HostingOffered,
    InviteIssued,
    JoinRequested,
    ServerFrame,
    Stopping,
    Welcome,
)
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.host_records import is_valid
from genie_core.room.server.peers import Peer
from genie_core.room.transport.origin import LOOPBACK

RUN = (DecisionMade, ApprovalRequested, ApprovalResolved, AnswerPosted, RunFailed, RunCancelled)


@dataclass(eq=False)
class Arrival:
    """A connection, as whoever made it knows it."""

    peer: Peer
    source: str
    channel: str | None
    hello: Hello | None = None
    nonce: str = ""
    proven: bool = False
    ticket: str = ""
    invited_as: Role | None = None
    admitted: bool = False
    name: str = ""
    device: str = ""
    welcomed: bool = False
    position: int = 0
    until: int | None = None
    gone: bool = False
    over: bool = False
    knocks: set[int] = field(default_factory=set)

    @property
    def id(self) -> int:
        return self.peer.id

    def is_at(self, name: str, device: str) -> bool:
        return (self.name, self.device) == (name, device) and not self.gone


@dataclass
class Witness:
    """What must be true of a room, told step by step what happens to it.

    `tickets` has the uses that are left of each invite, by its id, and `given` the role that some of
    them give. `trusted` are all who ever had the host's role.
    """

    host: str
    host_key: str
    ask: bool
    tickets: dict[str, int | None]
    given: dict[str, Role] = field(default_factory=dict)
    trusted: set[str] = field(default_factory=set)
    seq: int = 0
    keys: dict[str, str] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    muted: set[str] = field(default_factory=set)
    banned: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    terminals: dict[str, set[str]] = field(default_factory=dict)
    said: dict[int, MessagePosted] = field(default_factory=dict)
    authors: dict[int, str] = field(default_factory=dict)
    owners: dict[str, int] = field(default_factory=dict)
    ids: set[tuple[str, str]] = field(default_factory=set)
    recovered: set[tuple[int, int]] = field(default_factory=set)
    hostings: int = 0
    files: set[str] = field(default_factory=set)
    offered: set[str] = field(default_factory=set)
    willing: set[str] = field(default_factory=set)
    ruled: set[str] = field(default_factory=set)

    def saw(self, event: Event, actor: Arrival | None, everybody: list[Arrival]) -> None:
        """Judge a new event; `actor` sent the frame that led to it, or is who came or went."""
        assert event.seq == self.seq + 1
        self.seq = event.seq
        match event.body:
            case RoomCreated() | HostStarted() | RoomSuspended() | MemberLeft():
                assert event.by == ROOM
                self._room_did(event, actor, everybody)
            case MemberJoined() as joined:
                assert actor is not None
                self._joined(event.by, joined, actor)
            case MemberModerated() | ArgumentSharingChanged() as body:
                assert actor is not None
                assert event.by == self.host
                self._decided(event.seq, body, actor, everybody)
            case body:
                assert actor is not None
                assert event.by == actor.name
                assert not actor.gone
                assert actor.until is None
                assert event.by not in ("", "genie", "system")
                self._acted(event, body, actor, everybody)

    def _room_did(self, event: Event, actor: Arrival | None, everybody: list[Arrival]) -> None:
        match event.body:
            case HostStarted(host=host, key=key):
                self.hostings += 1
                self.terminals.clear()
                self.keys.setdefault(fold_name(host), key)
                self.muted.discard(fold_name(host))
                self.banned.pop(fold_name(host), None)
                self._take_host_role(fold_name(host))
            case RoomSuspended(heir=heir, host_record=host_record):
                self.terminals.clear()
                assert heir in self.willing | {""}
                assert self.roles.get(fold_name(heir)) != "host"
                assert (host_record is not None) == bool(heir)
                if host_record is not None:
                    assert is_valid(host_record)
                    assert host_record.key == self.keys[fold_name(heir)]
            case MemberLeft(name=name, device=device):
                here = [each for each in everybody if each.is_at(name, device)]
                (who,) = [each for each in here if each is actor or each.until is not None]
                self.terminals[name].remove(device)
                who.gone = True

    def _joined(self, by: str, joined: MemberJoined, actor: Arrival) -> None:
        assert actor.hello is not None
        folded = fold_name(by)
        assert folded == fold_name(actor.hello.name.strip())
        assert joined.key == actor.hello.key
        self._may_come_in(actor, folded)
        if folded == fold_name(self.host):
            assert joined.role == "host"
        elif role := actor.invited_as or self.roles.get(folded):
            assert joined.role == role
        else:
            assert joined.role != "host"
        if joined.key:
            self.keys.setdefault(folded, joined.key)
            self.known.add(joined.key)
        self.terminals.setdefault(by, set()).add(joined.device)

    def _may_come_in(self, actor: Arrival, name: str) -> None:
        assert actor.hello is not None
        key = actor.hello.key
        assert actor.proven or actor.channel is None
        assert name not in self.banned
        assert not key or key not in self.banned.values()
        assert self.keys.get(name, "") in ("", key)
        if name == fold_name(self.host):
            assert key == self.host_key
        if key in self.known or key == self.host_key or actor.channel is None:
            return
        if actor.source != LOOPBACK:
            assert actor.ticket in self.tickets
        if actor.ticket:
            left = self.tickets.get(actor.ticket, 0)
            assert left is None or left > 0
            self.tickets[actor.ticket] = None if left is None else left - 1
            actor.invited_as = self.given.get(actor.ticket)
        if self.ask:
            assert actor.admitted

    def _acted(self, event: Event, body: object, actor: Arrival, everybody: list[Arrival]) -> None:
        if isinstance(body, MessagePosted | RecoveredEvent):
            assert fold_name(event.by) not in self.muted
            assert self._role(event.by) != "observer"
        match body:
            case MessagePosted() as said:
                self._said(event, said)
            case RecoveredEvent(event=original):
                self._recovered(event, original)
            case HeirsChanged():
                assert fold_name(event.by) == fold_name(self.host)
            case _ if isinstance(body, RUN):
                self._ran(event, body, actor)

    def _decided(
        self,
        seq: int,
        body: MemberModerated | ArgumentSharingChanged,
        actor: Arrival,
        everybody: list[Arrival],
    ) -> None:
        """Judge what was recorded in the host's name."""
        if not actor.welcomed:
            assert isinstance(body, MemberModerated)
            self._came_with_role(body, actor)
            return
        assert not actor.gone
        assert actor.until is None
        assert body.asked_by == ("" if self.is_host(actor.name) else actor.name)
        assert self.administers(actor.name)
        if isinstance(body, MemberModerated):
            if body.asked_by:
                assert self.roles.get(fold_name(body.name)) != "host"
                assert body.role != "host"
            self._moderated(seq, body, everybody)
        elif body.asked_by:
            assert not body.on

    def _came_with_role(self, given: MemberModerated, actor: Arrival) -> None:
        """Judge the role that an invite gives; those of the witness are the host's."""
        assert actor.hello is not None
        assert actor.invited_as is not None
        assert (given.measure, given.role, given.asked_by) == ("role", actor.invited_as, "")
        assert fold_name(given.name) == fold_name(actor.hello.name.strip())
        assert not self.is_host(given.name)
        actor.invited_as = None
        self._give(fold_name(given.name), given.role)

    def is_host(self, name: str) -> bool:
        return fold_name(name) == fold_name(self.host)

    def administers(self, name: str) -> bool:
        """Whether this is the host, or who was given that role and may speak."""
        folded = fold_name(name)
        return self.is_host(name) or (self.roles.get(folded) == "host" and folded not in self.muted)

    def _give(self, name: str, role: Role | None) -> None:
        assert role is not None
        self.roles[name] = role
        if role == "host":
            assert self.keys.get(name)
            assert name not in self.banned
            self.trusted.add(name)

    def _take_host_role(self, name: str) -> None:
        if self.roles.get(name) == "host":
            del self.roles[name]

    def _role(self, name: str) -> str:
        if fold_name(name) == fold_name(self.host):
            return "host"
        return self.roles.get(fold_name(name), "")

    def _said(self, event: Event, said: MessagePosted) -> None:
        assert (event.by, said.id) not in self.ids
        assert said.handler in (event.by, self.host, "")
        if self._role(event.by) in ("guest", "observer"):
            assert said.handler != event.by
        assert {file.digest for file in said.files} <= self.files
        assert event.has_sane_time()
        self.ids.add((event.by, said.id))
        self.said[event.seq], self.authors[event.seq] = said, event.by

    def _recovered(self, event: Event, original: Event) -> None:
        assert self.keys.get(fold_name(event.by))
        assert self.hostings > 1
        assert isinstance(original.body, (MessagePosted, MemberModerated, *RUN))
        assert original.by not in ("", "genie", "system")
        assert event.has_sane_time()
        assert (original.seq, event_mark(original)) not in self.recovered
        self.recovered.add((original.seq, event_mark(original)))
        if isinstance(original.body, MessagePosted):
            assert (original.by, original.body.id) not in self.ids
            self.ids.add((original.by, original.body.id))

    def _moderated(self, seq: int, moderated: MemberModerated, everybody: list[Arrival]) -> None:
        name = fold_name(moderated.name)
        assert name != fold_name(self.host)
        match moderated.measure:
            case "ban":
                self.banned[name] = self.keys.get(name, "")
                self._take_host_role(name)
            case "pardon":
                del self.banned[name]
            case "mute":
                self.muted.add(name)
            case "unmute":
                self.muted.remove(name)
            case "free":
                for known in (self.keys, self.roles):
                    known.pop(name, None)
                self.muted.discard(name)
            case "role":
                assert moderated.role != "host" or self.roles.get(name) != "host"
                self._give(name, moderated.role)
                if moderated.role == "host":
                    self.willing.discard(moderated.name)
        if moderated.measure in ("kick", "ban"):
            self.willing.discard(moderated.name)
            for each in everybody:
                if each.name == moderated.name and not each.gone and each.until is None:
                    each.until = seq

    def _ran(self, event: Event, body: object, actor: Arrival) -> None:
        assert isinstance(body, RUN)
        said = self.said[body.message]
        assert said.handler == event.by
        assert said.device not in self.terminals.get(event.by, set()) - {actor.device}
        if isinstance(body, ApprovalRequested):
            assert body.approval not in self.owners
            self.owners[body.approval] = body.message
        if isinstance(body, ApprovalResolved):
            assert self.owners[body.approval] == body.message

    def got(self, arrival: Arrival, frames: list[ServerFrame], durable: int) -> None:
        """Judge what somebody was sent."""
        for frame in frames:
            assert not arrival.over, "nothing comes after a farewell"
            match frame:
                case Welcome():
                    self._welcomed(arrival, frame)
                case Entries(events=events):
                    assert arrival.welcomed
                    for event in events:
                        assert event.seq == arrival.position + 1
                        assert event.seq <= durable
                        assert arrival.until is None or event.seq <= arrival.until
                        arrival.position = event.seq
                case JoinRequested(knock=knock, over=over):
                    assert self.is_host(arrival.name) or fold_name(arrival.name) in self.trusted
                    (arrival.knocks.discard if over else arrival.knocks.add)(knock)
                case HostingAccepted():
                    assert fold_name(arrival.name) == fold_name(self.host)
                case InviteIssued():
                    assert self.is_host(arrival.name) or fold_name(arrival.name) in self.trusted
                case HostingOffered(by=by):
                    assert by == self.host
                    assert arrival.name in self.offered
                case Stopping(message=message, by=by):
                    assert self.said[message].handler == arrival.name
                    assert by in (arrival.name, self.authors[message])
                case ApprovalAnswered(approval=approval):
                    assert approval in self.ruled
                    assert self.owner_of(approval) == arrival.name
                case FrameRefused(final=final):
                    arrival.over = final

    def owner_of(self, approval: str) -> str | None:
        message = self.owners.get(approval)
        return None if message is None else self.said[message].handler

    def _welcomed(self, arrival: Arrival, welcome: Welcome) -> None:
        hello = arrival.hello
        assert hello is not None
        assert not arrival.welcomed
        assert hello.since <= self.seq
        assert arrival.invited_as is None
        self._may_be_welcomed(arrival, welcome)
        arrival.welcomed, arrival.name = True, welcome.name
        arrival.device = hello.device.replace("\ud800", "?")
        arrival.position = max(0, hello.since)

    def _may_be_welcomed(self, arrival: Arrival, welcome: Welcome) -> None:
        """Without a new entry in the log, too: whoever replaces their own connection has none."""
        assert arrival.hello is not None
        assert arrival.proven or arrival.channel is None
        assert fold_name(welcome.name) == fold_name(arrival.hello.name.strip())
        assert self.keys.get(fold_name(welcome.name), "") in ("", arrival.hello.key)
        assert (welcome.role == "host") == (self._role(welcome.name) == "host")
