"""Who may join a room: authenticates a connection and admits it, or says why not."""

import hmac
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec.structs import replace

from genie_core.room.protocol.codec import event_mark, whole_text
from genie_core.room.protocol.errors import InvalidName
from genie_core.room.protocol.events import Role
from genie_core.room.protocol.frames import (
    MOST_PRESENT,
    VERSION,
    AnswerJoinRequest,
    Challenge,
    ForkPoints,
    Hello,
    IssueInvite,
    JoinPending,
    JoinRequested,
    Prove,
)
from genie_core.room.protocol.names import check_name, fold_name, is_reserved, skeletons
from genie_core.room.security.challenge import NONCE_CHARS, Transcript, new_nonce
from genie_core.room.security.founding import continued_room, earlier_id
from genie_core.room.security.invite_tokens import InviteToken, InviteTokens
from genie_core.room.security.keys import is_key, verify
from genie_core.room.server.log_window import NO_DISK, LogWindow
from genie_core.room.server.peers import Peer, PeerRegistry, Refused, Stage
from genie_core.room.server.quotas import Quotas
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.members import Person
from genie_core.room.transport.origin import LOOPBACK, site_of

DEVICE_CHARS: Final = 64
MAX_PENDING: Final = 16
"""How many strangers may wait for the host's answer."""

MAX_PENDING_FROM_ONE: Final = 4
"""How many of them from one machine."""

MAX_PENDING_FROM_SITE: Final = 8
"""How many of them from one network, in which a machine can choose its IPv6 address."""

LONGEST_PENDING: Final = 600.0
"""Seconds after which a waiting person is dismissed if others want to wait."""

MOST_USES: Final = 1_000
LONGEST_INVITE: Final = 366 * 86_400.0
"""Limits of an invite that a member issues; the time is in seconds."""

DENSE_POINTS: Final = 64
"""How many of the last events are fork points, one by one; before them, at doubling distances."""

MOST_SILENT: Final = 32
"""How many names an open invite may bind for people who left again and never wrote."""

TOO_SILENT: Final = (
    f"{MOST_SILENT} people came by this invite and left without a word; ask the host for a new one"
)
NOT_VALID: Final = "this invite is not valid (any more); ask the host for a new one"
NO_INVITES: Final = "this room has no invites"
TOO_FAST: Final = "too much at once; slow down"
WAIT: Final = "the host is asked whether you may come in"


class Admission:
    """Takes a connection from its hello to membership.

    A stranger, whose key the room does not know, needs a valid invite, and with `ask` the host's
    consent. With `trusts_loopback` those who connect from the host's own machine need no invite. A
    returning member needs their key. `join` is called for each that is admitted.
    """

    def __init__(
        self,
        log: LogWindow,
        peers: PeerRegistry,
        quotas: Quotas,
        setup: RoomSetup,
        join: Callable[[Peer, str, Role, float], None],
    ) -> None:
        self._log = log
        self._peers = peers
        self._quotas = quotas
        self._setup = setup
        self._tokens = setup.tokens
        self._join = join
        self.host_token = ""
        self.passes_used = 0
        """How often an invite was used or issued, so that the invites have to be saved."""
        self.passes_voided = 0
        """How often invites were voided; those saved before must not count any more."""

    def greet(self, peer: Peer, hello: Hello, now: float) -> None:
        """Challenge an outside connection; decide directly about one of this process."""
        peer.hello = hello
        with self._turning_away(peer):
            self._check_form(hello)
            if peer.channel is None:
                self._check_rate(peer, now)
                self._admit(peer, now)
            elif not (is_key(hello.key) and 0 < len(hello.nonce) <= NONCE_CHARS):
                raise Refused("unproven", "this room only lets people in who have a key")
            else:
                peer.stage, peer.nonce = Stage.PROVING, new_nonce()
                self._peers.reply(peer, self._challenge(peer))

    def prove(self, peer: Peer, prove: Prove, now: float) -> None:
        """Check the response to a challenge."""
        with self._turning_away(peer):
            self._check_proof(peer, prove, now)
            self._check_rate(peer, now)
            if self._setup.ask and not self._knows(peer):
                self._let_wait(peer, now)
            else:
                self._admit(peer, now)

    @contextmanager
    def _turning_away(self, peer: Peer) -> Iterator[None]:
        """Dismiss a connection that the block refuses."""
        try:
            yield
        except Refused as refused:
            text = whole_text(refused.text)
            self._peers.dismiss(peer, refused.code, text, final=refused.final)

    def _check_proof(self, peer: Peer, prove: Prove, now: float) -> None:
        hello, meeting = peer.hello, self._meeting(peer)
        if not verify(hello.key, prove.signature, meeting.encode()):
            why = "the signature is not by your key over this connection; a machine in between may relay it"
            raise Refused("unproven", why)
        if prove.arrival is not None:
            peer.hello = replace(hello, **msgspec.structs.asdict(prove.arrival))
            self._check_form(peer.hello)
        is_trusted = self._setup.trusts_loopback and peer.source == LOOPBACK
        if prove.pass_id or not (self._knows(peer) or is_trusted):
            self._check_pass(peer, prove, meeting, now)

    def _challenge(self, peer: Peer) -> Challenge:
        identity = self._setup.identity
        if identity is None:
            return Challenge(peer.nonce, self._setup.room)
        signature = identity.sign(self._meeting(peer).encode_for_host())
        state = self._log.state
        is_banned = peer.key in state.banned.values()
        links = () if is_banned else tuple(link.event for link in state.links)
        present = () if is_banned else self._present_for(peer)
        return Challenge(
            peer.nonce, self._setup.room, identity.key, signature, state.founding, links, present
        )

    def _present_for(self, peer: Peer) -> tuple[str, ...]:
        """Return who is here, for a person who may follow them from the room that this continues."""
        state = self._log.state
        if not (continued_room(state.founding) and self._knows(peer)):
            return ()
        return tuple(person.name for person in state.present())[:MOST_PRESENT]

    def _meeting(self, peer: Peer) -> Transcript:
        hello, channel = peer.hello, peer.channel or ""
        return Transcript(self._setup.room, hello.name, hello.key, hello.nonce, peer.nonce, channel)

    def answer_request(self, admit: AnswerJoinRequest, now: float) -> None:
        """Admit or refuse a waiting person, at all their terminals; the first answer counts."""
        peer = self._peers.get(admit.knock)
        if peer is None or peer.stage is not Stage.PENDING:
            raise Refused("unknown_person", "they no longer wait to be admitted")
        for each in [other for other in self._peers.pending if other.key == peer.key]:
            self.withdraw_request(each)
            with self._turning_away(each):
                if not admit.allow:
                    raise Refused("turned_away", "the host did not let you in")
                self._admit(each, now)

    def withdraw_request(self, peer: Peer) -> None:
        """Tell those who may answer that a connection no longer waits."""
        self._tell_hosts(replace(self._request_of(peer), over=True))

    def resend_requests(self, host: Peer, *, over: bool = False) -> None:
        """Send the open requests to a terminal whose person may answer from now on, or no longer."""
        for peer in self._peers.pending:
            self._peers.reply(host, replace(self._request_of(peer), over=over))

    def authority_changed(self, name: str) -> None:
        """Let a person answer requests from now on; or no longer, and void the invites they issued."""
        may = self._log.state.administers(name)
        for terminal in self._peers.at(name):
            self.resend_requests(terminal, over=not may)
        if not may and self._tokens is not None and self._tokens.void_of(name):
            self.passes_voided += 1

    def issue(self, peer: Peer, frame: IssueInvite, now: float) -> InviteToken:
        """Issue an invite of a member with the host's role, or return their open one."""
        tokens, state = self._check_invites(), self._log.state
        if frame.role == "host" and not state.is_host(peer.name):
            raise Refused("not_allowed", f"only {state.host} gives the host's role")
        if not (
            (frame.uses is None or 0 < frame.uses <= MOST_USES)
            and (frame.lifetime is None or 0 < frame.lifetime <= LONGEST_INVITE)
        ):
            why = f"an invite is for at most {MOST_USES} people and {LONGEST_INVITE / 86_400:.0f} days"
            raise Refused("too_long", why)
        if not self._quotas.nudge(peer, now):
            raise Refused("too_fast", TOO_FAST)
        by = "" if state.is_host(peer.name) else peer.name
        if frame.uses is None and frame.lifetime is None and frame.role is None:
            known = tokens.newest(now, by)
            if known is not None and known.uses is None and known.expires is None:
                return known
        self.passes_used += 1
        return tokens.issue(now, uses=frame.uses, lifetime=frame.lifetime, role=frame.role, by=by)

    def void_invites(self, peer: Peer, now: float) -> None:
        """Void the invites of all members and of the host."""
        tokens = self._check_invites()
        if not self._quotas.nudge(peer, now):
            raise Refused("too_fast", TOO_FAST)
        tokens.void()
        self.passes_voided += 1

    def _check_invites(self) -> InviteTokens:
        if self._tokens is None:
            raise Refused("out_of_state", NO_INVITES)
        return self._tokens

    def _check_rate(self, peer: Peer, now: float) -> None:
        """Count an arrival; refuse it if there were too many.

        Only those who may join are counted, so that others can't use up the quota. Known people
        have a quota of their own, wherever they connect from.
        """
        if not self._quotas.join(peer.source, now, peer.key if self._knows(peer) else ""):
            why = "too many people come in at once; try again in a moment"
            raise Refused("too_fast", why, final=False)

    def _let_wait(self, peer: Peer, now: float) -> None:
        self._end_long_waits(now)
        if self._is_crowded(peer.source):
            why = "too many people wait for the host's word; try again later"
            raise Refused("room_full", why, final=False)
        self._check_person(peer)
        peer.stage, peer.waiting_since = Stage.PENDING, now
        self._peers.reply(peer, JoinPending(WAIT))
        self._tell_hosts(self._request_of(peer))

    def _is_crowded(self, source: str) -> bool:
        """Whether too many from this source wait for the host's answer."""
        waiting = [other.source for other in self._peers.pending]
        beside = sum(site_of(other) == site_of(source) for other in waiting)
        return (
            len(waiting) >= MAX_PENDING
            or waiting.count(source) >= MAX_PENDING_FROM_ONE
            or beside >= MAX_PENDING_FROM_SITE
        )

    def _end_long_waits(self, now: float) -> None:
        """Dismiss requests that have waited too long and block others."""
        for peer in self._peers.pending:
            if now - peer.waiting_since > LONGEST_PENDING:
                self.withdraw_request(peer)
                why = "the host has not answered; try again later"
                self._peers.dismiss(peer, "turned_away", why, final=True)

    def _request_of(self, peer: Peer) -> JoinRequested:
        hello = peer.hello
        return JoinRequested(
            peer.id, check_name(hello.name), peer.key, peer.source, kind=hello.kind
        )

    def _tell_hosts(self, knocking: JoinRequested) -> None:
        for peer in self._peers.members:
            if self._log.state.administers(peer.name):
                self._peers.reply(peer, knocking)

    def _admit(self, peer: Peer, now: float) -> None:
        self._check_person(peer)
        if self._diverges(peer.hello):
            self._peers.reply(peer, self._points())
            raise Refused("diverged", "your copy of this room and the host's contradict each other")
        if (seconds := self._quotas.exclusion(peer.hello.name, now)) > 0:
            why = f"you sent too much that changes nothing; come back in {math.ceil(seconds)} s"
            raise Refused("too_fast", why, final=False)
        if self._log.refusal:
            raise Refused("disk", self._log.refusal)
        if self._log.congested:  # this passes, so it is of use to come back
            raise Refused("disk", NO_DISK, final=False)
        self._check_invite(peer, now)
        name = self._spelling_of(peer)
        given = peer.invite.role if peer.invite is not None else None
        if peer.invite is not None and self._tokens is not None:
            silent = [each.name for each in self._silent(peer.pass_id)]
            self._tokens.note_names(peer.pass_id, [*silent, name])
        self._join(peer, name, given or self._role_of(peer, name), now)

    def _check_invite(self, peer: Peer, now: float) -> None:
        """Count a use of the invite, if any; refuse one that the newcomer can't use.

        Known people need none, and none gives them a role: a host may have taken it from them.
        """
        if not peer.pass_id or self._tokens is None or self._knows(peer):
            return
        invite = self._tokens.get(peer.pass_id)
        if invite is not None and peer.hello.kind == "agent" and invite.role in ("host", "member"):
            why = f"this invite gives the role {invite.role}, which no agent can have"
            raise Refused("no_invite", why)
        if invite is not None and invite.uses is None:  # one for so many has a limit of its own
            gone = [person for person in self._silent(peer.pass_id) if not person.present]
            if len(gone) >= MOST_SILENT:
                raise Refused("no_invite", TOO_SILENT)
        self.passes_used += 1
        peer.invite = self._tokens.consume(peer.pass_id, now)
        if peer.invite is None:
            raise Refused("no_invite", NOT_VALID)

    def _silent(self, pass_id: str) -> list[Person]:
        """Return the members who came by an invite and have not written yet."""
        invite = self._tokens.get(pass_id) if self._tokens is not None else None
        people = self._log.state.people
        known = [people[name] for name in (invite.names if invite else ()) if name in people]
        return [person for person in known if not person.spoke]

    def _check_form(self, hello: Hello) -> None:
        """Refuse a hello that is wrong, regardless of its sender."""
        if hello.version != VERSION:
            why = f"this room speaks version {VERSION} of the protocol, you speak {hello.version}"
            raise Refused("version", why)
        try:
            check_name(hello.name)
        except InvalidName as error:
            raise Refused("name_invalid", str(error)) from error
        if hello.room not in ("", self._setup.room, earlier_id(self._log.state.founding)):
            raise Refused("wrong_room", "another room is at this address")  # no title for strangers
        if hello.kind == "agent" and hello.engine:
            raise Refused("malformed", "an agent that is a member has no engine of its own")
        if len(hello.device) > DEVICE_CHARS:
            raise Refused("malformed", f"a device is named in at most {DEVICE_CHARS} characters")

    def _check_pass(self, peer: Peer, prove: Prove, meeting: Transcript, now: float) -> None:
        if not prove.pass_id:
            raise Refused("no_invite", "this room needs an invite; ask the host for one")
        tokens = self._tokens
        if tokens is not None and tokens.check(prove.pass_id, prove.proof, meeting.encode(), now):
            peer.pass_id = prove.pass_id
        elif not self._knows(peer):  # an old invite takes nothing away from a member
            raise Refused("no_invite", NOT_VALID)

    def _check_person(self, peer: Peer) -> None:
        """Refuse a person who can't be in the room now."""
        state, name = self._log.state, fold_name(check_name(peer.hello.name))
        if name in state.banned or (peer.key and peer.key in state.banned.values()):
            raise Refused("banned", "the host does not want you in this room")
        if self._is_hosts(name) and not self._is_host(peer):
            why = f"{state.host} is the host's name in this room; choose another"
            raise Refused("name_taken", why)
        bound = state.keys.get(name, "")
        if bound and peer.key != bound:
            why = f"the name {peer.hello.name} belongs to another key in this room"
            raise Refused("name_taken", f"{why}; choose another with --name")
        known_as = state.owner_of(peer.key)
        if known_as is not None and fold_name(known_as) != name:
            why = f"your key goes by {known_as} in this room; join with that --name"
            raise Refused("name_taken", why)
        self._check_kind(peer, name)
        here = self._peers.at(name)
        if any(other.key != peer.key for other in here):
            why = f"{here[0].name} is in the room already; choose another name"
            raise Refused("name_taken", why)
        self._check_likeness(peer, name)
        self._check_space(peer, here)

    def _check_kind(self, peer: Peer, name: str) -> None:
        """Refuse a name of a person to an agent, and one of an agent to a person."""
        kind, known = peer.hello.kind, self._log.state.people.values()
        before = next((one.kind for one in known if fold_name(one.name) == name), None)
        if self._is_hosts(name):
            before = ""
        if before is not None and before != kind:
            whose = "an agent's" if before == "agent" else "a person's"
            why = f"the name {peer.hello.name} is {whose} in this room; choose another with --name"
            raise Refused("name_taken", why)

    def _check_likeness(self, peer: Peer, name: str) -> None:
        """Refuse a new name that looks like another; known members keep theirs."""
        state, wanted = self._log.state, check_name(peer.hello.name)
        known = {*(person.name for person in state.people.values()), state.host} - {""}
        if any(fold_name(other) == name for other in known):
            return
        if is_reserved(wanted):
            why = f"the name {wanted} reads like a word of the program"
            raise Refused("name_invalid", f"{why}; choose another with --name")
        for other in known:
            if skeletons(other) & skeletons(wanted):
                why = f"the name {wanted} looks like {other}, a name already used in this room"
                raise Refused("name_taken", f"{why}; choose another with --name")

    def _check_space(self, peer: Peer, here: list[Peer]) -> None:
        others = [other for other in here if other.device != peer.hello.device]
        if len(others) >= self._setup.limits.terminals:
            why = f"you are in the room at {len(others)} terminals already"
            raise Refused("room_full", why)
        most = self._setup.limits.members
        if not here and self._peers.people >= most:
            raise Refused("room_full", f"the room is full: {most} people are in it")

    def _diverges(self, hello: Hello) -> bool:
        """Whether the last event of the client's copy differs from the log's."""
        if hello.since > self._log.head:
            return True
        if not hello.mark or hello.since <= 0:
            return False
        event = self._log.event(hello.since)
        return event is not None and event_mark(event) not in (0, hello.mark)

    def _points(self) -> ForkPoints:
        head = self._log.head
        ends = {head - back for back in range(min(head, DENSE_POINTS))}
        ends |= {head - (1 << power) for power in range(6, max(6, head.bit_length()))}
        events = (self._log.event(seq) for seq in sorted(ends, reverse=True) if seq > 0)
        marks = ((event.seq, event_mark(event)) for event in events if event is not None)
        return ForkPoints(tuple((seq, mark) for seq, mark in marks if mark))

    def _knows(self, peer: Peer) -> bool:
        """Whether the room has seen this key, which is proven by now."""
        return self._log.state.owner_of(peer.key) is not None

    def _is_hosts(self, name: str) -> bool:
        return name == fold_name(self._log.state.host)

    def _is_host(self, peer: Peer) -> bool:
        if peer.channel is None and self._passes_as_host(peer.hello.token):
            return True
        return bool(peer.key) and peer.key == self._log.state.host_key

    def _passes_as_host(self, token: str) -> bool:
        given, expected = token.encode("utf-8", "replace"), self.host_token.encode()
        return bool(expected) and hmac.compare_digest(given, expected)

    def _spelling_of(self, peer: Peer) -> str:
        """Return the name as the room wrote it before, if it has."""
        name = check_name(peer.hello.name)
        if self._is_hosts(fold_name(name)):
            return self._log.state.host
        here = self._peers.at(name)
        if here:
            return here[0].name
        return self._log.state.owner_of(peer.key) or name

    def _role_of(self, peer: Peer, name: str) -> Role:
        if self._is_hosts(fold_name(name)):
            return "host"
        person, device = self._log.state.people.get(name), peer.hello.device
        others = person.terminals.items() if person is not None else ()
        engine = peer.hello.engine or any(each.engine for at, each in others if at != device)
        own: Role = "member" if engine else "guest"
        role = self._log.state.roles.get(fold_name(name), own)
        return "guest" if peer.hello.kind == "agent" and role == "member" else role
