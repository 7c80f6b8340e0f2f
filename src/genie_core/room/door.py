"""Who may come into a room: what is asked at the door, in which order, and what is answered."""

import hmac
import math
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from genie_core.room.budget import Budget
from genie_core.room.history import NO_DISK, History
from genie_core.room.peer import Peer, Stage
from genie_core.room.protocol.codec import event_mark, whole_text
from genie_core.room.protocol.errors import InvalidName
from genie_core.room.protocol.events import Role
from genie_core.room.protocol.frames import (
    VERSION,
    AnswerJoinRequest,
    Challenge,
    ForkPoints,
    Hello,
    JoinPending,
    JoinRequested,
    Prove,
    Refusal,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import check_name, fold_name, is_reserved, skeletons
from genie_core.room.roster import Roster
from genie_core.room.security.challenge import NONCE_CHARS, Transcript, new_nonce
from genie_core.room.security.identity import Identity, is_key, verify
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.transport.origin import LOOPBACK, site_of

DEVICE_CHARS: Final = 64
MAX_HELD: Final = 16
"""How many strangers may wait for the host's word."""

MAX_HELD_FROM_ONE: Final = 4
"""How many of them from one machine."""

MAX_HELD_FROM_SITE: Final = 8
"""How many of them from one network, in which a machine can choose its IPv6 address."""

LONGEST_HOLD: Final = 600.0
"""Seconds after which somebody has waited long enough, if others want to."""

MAX_POINTS: Final = 32

NOT_VALID: Final = "this invite is not valid (any more); ask the host for a new one"
WAIT: Final = "the host is asked whether you may come in"


class Door:
    """Leads a connection from its hello to a seat.

    A stranger, whose key the room does not know, needs a valid pass unless they come from the
    host's own machine, and with `ask` the host's word. Whoever was here before needs their key.
    With an `identity`, the host's, each challenge is signed by it.
    `seat` is called for those who are in.
    """

    def __init__(
        self,
        history: History,
        roster: Roster,
        budget: Budget,
        limits: Limits,
        passes: InviteTokens | None,
        *,
        room: str,
        ask: bool,
        seat: Callable[[Peer, str, Role, float], None],
        identity: Identity | None = None,
    ) -> None:
        self._history = history
        self._roster = roster
        self._budget = budget
        self._limits = limits
        self._passes = passes
        self._room = room
        self._seat = seat
        self._identity = identity
        self.ask = ask
        self.host_token = ""
        self.passes_used = 0

    def greet(self, peer: Peer, hello: Hello, now: float) -> None:
        """Take in a hello: challenge whoever comes from outside, judge the rest at once."""
        peer.hello = hello
        refusal = self._refusal_of_form(hello)
        if refusal is not None:
            self._turn_away(peer, *refusal)
        elif peer.channel is None:
            if self._may_arrive(peer, now):
                self._admit(peer, now)
        elif not (is_key(hello.key) and 0 < len(hello.nonce) <= NONCE_CHARS):
            self._turn_away(peer, "unproven", "this room only lets people in who have a key")
        else:
            peer.stage, peer.nonce = Stage.PROVING, new_nonce()
            self._roster.reply(peer, self._challenge(peer))

    def prove(self, peer: Peer, prove: Prove, now: float) -> None:
        """Judge the answer to a challenge."""
        hello, meeting = peer.hello, self._meeting(peer)
        if not verify(hello.key, prove.signature, meeting.encode()):
            why = "the signature is not by your key over this connection; is somebody between us?"
            self._turn_away(peer, "unproven", why)
            return
        if prove.arrival is not None:
            peer.hello = replace(hello, **msgspec.structs.asdict(prove.arrival))
            refusal = self._refusal_of_form(peer.hello)
            if refusal is not None:
                self._turn_away(peer, *refusal)
                return
        if prove.pass_id or not (self._knows(peer) or peer.source == LOOPBACK):
            refusal = self._refusal_of_pass(peer, prove, meeting, now)
            if refusal is not None:
                self._turn_away(peer, *refusal)
                return
        if not self._may_arrive(peer, now):
            return
        if self.ask and not self._knows(peer):
            self._hold(peer, now)
        else:
            self._admit(peer, now)

    def _challenge(self, peer: Peer) -> Challenge:
        if self._identity is None:
            return Challenge(peer.nonce, self._room)
        signature = self._identity.sign(self._meeting(peer).encode_for_host())
        return Challenge(peer.nonce, self._room, self._identity.key, signature)

    def _meeting(self, peer: Peer) -> Transcript:
        hello, channel = peer.hello, peer.channel or ""
        return Transcript(self._room, hello.name, hello.key, hello.nonce, peer.nonce, channel)

    def admit(self, host: Peer, admit: AnswerJoinRequest, now: float) -> None:
        """Act on the host's word about somebody who waits, at all terminals where they do."""
        peer = self._roster.get(admit.knock)
        if peer is None or peer.stage is not Stage.HELD:
            self._roster.refuse(host, "unknown_person", "they don't wait at the door any more")
            return
        for each in [other for other in self._roster.held if other.key == peer.key]:
            self.forget_knock(each)
            if admit.allow:
                self._admit(each, now)
            else:
                self._turn_away(each, "turned_away", "the host did not let you in")

    def forget_knock(self, peer: Peer) -> None:
        """Tell the host that nobody waits there any more."""
        self._tell_host(replace(self._knock_of(peer), over=True))

    def recall_knocks(self, host: Peer) -> None:
        """Tell a terminal of the host who waits; for one that has just come in."""
        for peer in self._roster.held:
            self._roster.reply(host, self._knock_of(peer))

    def _may_arrive(self, peer: Peer, now: float) -> bool:
        """Count an arrival; if there were too many, they are told.

        Only those are counted who may come in, so that nobody else can use up what they have. Who
        is known has a share of their own, wherever they come from.
        """
        if self._budget.join(peer.source, now, peer.key if self._knows(peer) else ""):
            return True
        why = "too many people come in at once; try again in a moment"
        self._roster.dismiss(peer, "too_fast", why, final=False)
        return False

    def _hold(self, peer: Peer, now: float) -> None:
        self._end_long_holds(now)
        if self._is_crowded(peer.source):
            why = "too many people wait for the host's word; try again later"
            self._roster.dismiss(peer, "room_full", why, final=False)
            return
        objection = self._objection(peer)
        if objection is not None:
            self._turn_away(peer, *objection)
            return
        peer.stage, peer.held_at = Stage.HELD, now
        self._roster.reply(peer, JoinPending(WAIT))
        self._tell_host(self._knock_of(peer))

    def _is_crowded(self, source: str) -> bool:
        """Whether so many wait for the host's word that none may from there."""
        waiting = [other.source for other in self._roster.held]
        beside = sum(site_of(other) == site_of(source) for other in waiting)
        return (
            len(waiting) >= MAX_HELD
            or waiting.count(source) >= MAX_HELD_FROM_ONE
            or beside >= MAX_HELD_FROM_SITE
        )

    def _end_long_holds(self, now: float) -> None:
        """Let nobody stand in the way of others for ever."""
        for peer in self._roster.held:
            if now - peer.held_at > LONGEST_HOLD:
                self.forget_knock(peer)
                why = "the host has not answered; try again later"
                self._roster.dismiss(peer, "turned_away", why, final=True)

    def _knock_of(self, peer: Peer) -> JoinRequested:
        return JoinRequested(peer.id, check_name(peer.hello.name), peer.key, peer.source)

    def _tell_host(self, knocking: JoinRequested) -> None:
        for host in self._roster.at(self._history.state.host):
            self._roster.reply(host, knocking)

    def _admit(self, peer: Peer, now: float) -> None:
        objection = self._objection(peer)
        if objection is not None:
            self._turn_away(peer, *objection)
        elif self._parts(peer.hello):
            self._roster.reply(peer, self._points())
            why = "your copy of this room and the host's contradict each other"
            self._turn_away(peer, "diverged", why)
        elif (seconds := self._budget.exclusion(peer.hello.name, now)) > 0:
            why = f"you sent too much that changes nothing; come back in {math.ceil(seconds)} s"
            self._roster.dismiss(peer, "too_fast", why, final=False)
        elif self._history.refusal:
            self._turn_away(peer, "disk", self._history.refusal)
        elif self._history.congested:  # this passes, so it is of use to come back
            self._roster.dismiss(peer, "disk", NO_DISK, final=False)
        elif not self._is_consumed(peer, now):
            self._turn_away(peer, "no_invite", NOT_VALID)
        else:
            name = self._spelling_of(peer)
            self._seat(peer, name, self._role_of(peer, name), now)

    def _is_consumed(self, peer: Peer, now: float) -> bool:
        """Use up what let somebody in, if anything did; no if it has ended meanwhile."""
        if not peer.pass_id or self._passes is None or self._knows(peer):
            return True
        self.passes_used += 1
        return self._passes.consume(peer.pass_id, now)

    def _refusal_of_form(self, hello: Hello) -> tuple[Refusal, str] | None:
        """What is wrong with a hello whoever says it."""
        if hello.version != VERSION:
            why = f"this room speaks version {VERSION} of the protocol, you speak {hello.version}"
            return "version", why
        try:
            check_name(hello.name)
        except InvalidName as error:
            return "name_invalid", str(error)
        if hello.room and hello.room != self._room:
            return "wrong_room", "another room is at this address"  # strangers hear no title
        if len(hello.device) > DEVICE_CHARS:
            return "malformed", f"a device is named in at most {DEVICE_CHARS} characters"
        return None

    def _refusal_of_pass(
        self, peer: Peer, prove: Prove, meeting: Transcript, now: float
    ) -> tuple[Refusal, str] | None:
        if not prove.pass_id:
            return "no_invite", "this room needs an invite; ask the host for one"
        passes = self._passes
        if passes is None or not passes.check(prove.pass_id, prove.proof, meeting.encode(), now):
            if self._knows(peer):
                return None  # an old invite takes nothing away from a member
            return "no_invite", NOT_VALID
        peer.pass_id = prove.pass_id
        return None

    def _objection(self, peer: Peer) -> tuple[Refusal, str] | None:
        """Why this person can't be in the room now."""
        state, name = self._history.state, fold_name(check_name(peer.hello.name))
        if name in state.banned or (peer.key and peer.key in state.banned.values()):
            return "banned", "the host does not want you in this room"
        if self._is_hosts(name) and not self._is_host(peer):
            return "name_taken", f"{state.host} is the host's name in this room; choose another"
        bound = state.keys.get(name, "")
        if bound and peer.key != bound:
            why = f"the name {peer.hello.name} belongs to somebody else's key in this room"
            return "name_taken", f"{why}; choose another with --name"
        known_as = state.owner_of(peer.key)
        if known_as is not None and fold_name(known_as) != name:
            return "name_taken", f"your key goes by {known_as} in this room; join with that --name"
        here = self._roster.at(name)
        if any(other.key != peer.key for other in here):
            return "name_taken", f"{here[0].name} is in the room already; choose another name"
        return self._likeness(peer, name) or self._lack_of_space(peer, here)

    def _likeness(self, peer: Peer, name: str) -> tuple[Refusal, str] | None:
        """Refuse a new name that reads like another; those who have been here keep theirs."""
        state, wanted = self._history.state, check_name(peer.hello.name)
        known = {*(person.name for person in state.people.values()), state.host} - {""}
        if any(fold_name(other) == name for other in known):
            return None
        if is_reserved(wanted):
            return (
                "name_invalid",
                f"the name {wanted} looks like one that is reserved; choose another",
            )
        for other in known:
            if skeletons(other) & skeletons(wanted):
                why = f"the name {wanted} looks like {other}, a name already used in this room"
                return "name_taken", f"{why}; choose another with --name"
        return None

    def _lack_of_space(self, peer: Peer, here: list[Peer]) -> tuple[Refusal, str] | None:
        others = [other for other in here if other.device != peer.hello.device]
        if len(others) >= self._limits.terminals:
            return "room_full", f"you are in the room at {len(others)} terminals already"
        if not here and self._roster.people >= self._limits.members:
            return "room_full", f"the room is full: {self._limits.members} people are in it"
        return None

    def _parts(self, hello: Hello) -> bool:
        """Whether the last event that somebody has is not the one that the log has there."""
        if hello.since > self._history.head:
            return True
        if not hello.mark or hello.since <= 0:
            return False
        event = self._history.event(hello.since)
        return event is not None and event_mark(event) not in (0, hello.mark)

    def _points(self) -> ForkPoints:
        ends = [self._history.head, *(seq - 1 for seq in reversed(self._history.state.hostings))]
        events = (self._history.event(seq) for seq in ends[:MAX_POINTS])
        marks = ((event.seq, event_mark(event)) for event in events if event is not None)
        return ForkPoints(tuple((seq, mark) for seq, mark in marks if mark))

    def _knows(self, peer: Peer) -> bool:
        """Whether the room has met this key; proven by now."""
        return self._history.state.owner_of(peer.key) is not None

    def _is_hosts(self, name: str) -> bool:
        return name == fold_name(self._history.state.host)

    def _is_host(self, peer: Peer) -> bool:
        if peer.channel is None and self._passes_as_host(peer.hello.token):
            return True
        return bool(peer.key) and peer.key == self._history.state.host_key

    def _passes_as_host(self, token: str) -> bool:
        given, expected = token.encode("utf-8", "replace"), self.host_token.encode()
        return bool(expected) and hmac.compare_digest(given, expected)

    def _spelling_of(self, peer: Peer) -> str:
        """The name as the room has written it before, if it has."""
        name = check_name(peer.hello.name)
        if self._is_hosts(fold_name(name)):
            return self._history.state.host
        here = self._roster.at(name)
        if here:
            return here[0].name
        return self._history.state.owner_of(peer.key) or name

    def _role_of(self, peer: Peer, name: str) -> Role:
        if self._is_hosts(fold_name(name)):
            return "host"
        person, device = self._history.state.people.get(name), peer.hello.device
        others = person.terminals.items() if person is not None else ()
        engine = peer.hello.engine or any(each.engine for at, each in others if at != device)
        own: Role = "member" if engine else "guest"
        return self._history.state.roles.get(fold_name(name), own)

    def _turn_away(self, peer: Peer, code: Refusal, text: str) -> None:
        self._roster.dismiss(peer, code, whole_text(text), final=True)
