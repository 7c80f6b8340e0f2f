"""People, honest and not, who do anything at all to a room while a witness watches."""

from collections import Counter
from typing import Any, Final

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.genie_core.room import nonsense
from tests.genie_core.room.bench import HOST_TOKEN, LAN, NONCE, PIN, identity, signed
from tests.genie_core.room.witness import Arrival, Witness

from genie_core.room.protocol.events import (
    ApprovalRequested,
    DecisionMade,
    Event,
    Measure,
    MessagePosted,
    Role,
)
from genie_core.room.protocol.frames import (
    AcceptHosting,
    AnswerApproval,
    AnswerJoinRequest,
    Challenge,
    ClientFrame,
    FilePiece,
    FileStored,
    FrameRefused,
    Hello,
    JoinRequested,
    Moderate,
    OfferHosting,
    PostMessage,
    Prove,
    Publish,
    RecoverEvents,
    ReportDelta,
    ServerFrame,
    Stop,
    VoidInvites,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.invite_tokens import InviteToken, InviteTokens
from genie_core.room.server.admission import MAX_PENDING
from genie_core.room.server.file_requests import MAX_JOBS
from genie_core.room.server.peers import Stage
from genie_core.room.server.room import Room
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.origin import LOOPBACK

LIMITS: Final = Limits(
    text_chars=100,
    members=6,
    burst=30,
    replies=8,
    signals=1,
    terminals=2,
    quote_chars=200,
    joins=200,
)
CROWD: Final = 8
peers = st.integers(0, CROWD - 1)
origins = st.sampled_from(
    [("", None), (LOOPBACK, PIN), (LOOPBACK, ""), (LAN, PIN), ("10.0.0.9", PIN)]
)
tricks = st.sampled_from(["honest", "honest", "honest", "relayed", "forged", "stale", "renamed"])
tokens = st.sampled_from(["", "many", "single", "host", "reader", "ended", "wrong", "unknown"])
VALID: Final = ("many", "single", "host", "reader")


class Crowd(RuleBasedStateMachine):
    """Everything that reaches a room goes through here, so that the witness knows who did what."""

    @initialize(ask=st.booleans(), again=st.booleans())
    def open(self, ask: bool, again: bool) -> None:
        self.now = 1000.0
        self.strangers = 0
        self.tokens = InviteTokens()
        self.tickets: dict[str, InviteSecret] = {}
        self.proofs: list[Prove] = [Prove(b"")]
        self.written: list[Event] = []
        self.witness = Witness("hana", identity("hana").key, ask, {})
        self._issue(self.tokens.issue(0.0, lifetime=10.0))
        self.witness.files.add(nonsense.KNOWN)
        self._open("hana")
        self._arrive(1, (LOOPBACK, PIN), "alice", engine=True)
        self._arrive(2, (LAN, PIN), "bob", ticket="many")
        self._let_in()
        self._arrive(3, (LOOPBACK, PIN), "alice", device="d2", engine=True)
        if again:
            self.open_again("hana")

    def _issue(self, ended: InviteToken) -> None:
        """Issue the host's invites, beside one that has ended."""
        many, single = self.tokens.issue(0.0), self.tokens.issue(0.0, uses=1)
        given: tuple[Role, ...] = ("host", "observer")
        host, reader = (self.tokens.issue(0.0, role=role) for role in given)
        self.tickets = {
            "many": InviteSecret(many.id, many.secret),
            "single": InviteSecret(single.id, single.secret),
            "host": InviteSecret(host.id, host.secret),
            "reader": InviteSecret(reader.id, reader.secret),
            "ended": InviteSecret(ended.id, ended.secret),
            "wrong": InviteSecret(many.id, b"w" * 16),
            "unknown": InviteSecret("unknown", many.secret),
        }
        self.witness.tickets |= {many.id: None, single.id: 1, host.id: 1, reader.id: 1}
        self.witness.given |= {host.id: "host", reader.id: "observer"}

    def _open(self, host: str) -> None:
        self.host = host
        self.room = Room(
            self.written,
            RoomSetup(
                "r1",
                "Standup",
                host,
                key=identity(host).key,
                tokens=self.tokens,
                ask=self.witness.ask,
                limits=LIMITS,
            ),
            {nonsense.KNOWN: nonsense.FILE},
        )
        self.witness.host, self.witness.host_key = host, identity(host).key
        self.witness.offered.clear()
        self.witness.willing.clear()
        self.room.host_record = sign_host_record(
            identity(host), room="r1", host=host, pin="A" * 43, addresses=("192.0.2.7:1",), at=1.0
        )
        self.room.open(HOST_TOKEN, self.now)
        self.seen = len(self.written)
        self._look(None)
        self.crowd = [self._connect("", None) for _ in range(CROWD)]
        self._arrive(0, ("", None), host, engine=True)

    def _let_in(self) -> None:
        for frame in self._pull(self.crowd[0]):
            if isinstance(frame, JoinRequested):
                self._send(self.crowd[0], AnswerJoinRequest(frame.knock, allow=True))

    # -- what happens to connections

    def _connect(self, source: str, channel: str | None) -> Arrival:
        return Arrival(self.room.connect(source, channel), source, channel)

    def _look(self, actor: Arrival | None) -> None:
        """Show the witness what has been recorded since the last time."""
        for event in self.room.log.pending():
            if event.seq > self.seen:
                self.seen = event.seq
                self.witness.saw(event, actor, getattr(self, "crowd", []))

    def _pull(self, peer: Arrival) -> list[ServerFrame]:
        frames = self.room.pull(peer.peer)
        self.witness.got(peer, frames, self.room.log.durable)
        for frame in frames:
            if isinstance(frame, Challenge):
                peer.nonce = frame.nonce
        return frames

    def _send(self, peer: Arrival, frame: ClientFrame) -> None:
        if isinstance(frame, Hello) and peer.hello is None:
            peer.hello = frame
        came = peer
        if isinstance(frame, AnswerJoinRequest):
            came = next((each for each in self.crowd if each.id == frame.knock), peer)
            came.admitted |= frame.allow and self.witness.administers(peer.name)
        if isinstance(frame, OfferHosting) and self._is_host(peer):
            wanted = nonsense_name(frame.name)
            self.witness.offered |= {each for each in nonsense.PEOPLE if each == wanted}
        if isinstance(frame, AnswerApproval) and peer.name == self.witness.owner_of(frame.approval):
            self.witness.ruled.add(frame.approval)
        if isinstance(frame, AcceptHosting) and peer.name in self.witness.offered:
            self.witness.willing.add(peer.name)
        voided = self.room.admission.passes_voided
        self.room.receive(peer.peer, frame, self.now)
        if isinstance(frame, VoidInvites) and self.room.admission.passes_voided > voided:
            assert self.witness.administers(peer.name)
            self.witness.tickets.clear()
            self._issue(InviteToken(self.tickets["many"].id, self.tickets["many"].secret))
        self._look(came)
        if not came.welcomed:
            self._pull(came)
            self._replaced_by(came)

    def _is_host(self, peer: Arrival) -> bool:
        return peer.name == self.host

    def _replaced_by(self, new: Arrival) -> None:
        for old in self.crowd:
            same = (old.name, old.device) == (new.name, new.device)
            if new.welcomed and old is not new and same and not old.gone:
                old.gone = True

    def _swap(self, index: int, source: str, channel: str | None) -> Arrival:
        """Cut a connection and make another one."""
        old = self.crowd[index]
        self.room.disconnect(old.peer, "lost", self.now)
        self._look(old)
        self.crowd[index] = self._connect(source, channel)
        return self.crowd[index]

    # -- what people do

    @rule(index=peers, origin=origins)
    def come_and_go(self, index: int, origin: tuple[str, str | None]) -> None:
        self._swap(index, *origin)

    @rule(
        index=peers,
        origin=origins,
        name=nonsense.people,
        engine=st.booleans(),
        device=st.sampled_from(["d1", "d2", "d3"]),
        owner=st.none() | nonsense.people,
        trick=tricks,
        ticket=tokens,
        behind=st.integers(-2, 5),
    )
    def arrive(
        self,
        index: int,
        origin: tuple[str, str | None],
        name: str,
        engine: bool,
        device: str,
        owner: str | None,
        trick: str,
        ticket: str,
        behind: int,
    ) -> None:
        """Come in as somebody, with or without what it takes."""
        free = [each for each in range(CROWD) if not self.crowd[each].name]
        self._arrive(
            free[index % len(free)] if free else index,
            origin,
            name,
            owner=owner,
            engine=engine,
            device=device,
            trick=trick,
            ticket=ticket,
            since=max(0, self.room.log.durable - behind),
        )

    @rule(name=nonsense.people, thief=nonsense.people | st.just("nobody"), origin=origins)
    def impersonate(self, name: str, thief: str, origin: tuple[str, str | None]) -> None:
        """Come in by a name whose owner is away."""
        for index, peer in enumerate(self.crowd):
            if peer.name == name:
                self._swap(index, "", None)
        self._arrive(CROWD - 1, origin, name, owner=thief, ticket="many")

    @rule(trick=tricks, ticket=tokens, origin=origins)
    def sneak_in(self, trick: str, ticket: str, origin: tuple[str, str | None]) -> None:
        """Come in as somebody who never was here."""
        self.strangers += 1
        name = f"stranger{self.strangers}"
        self._arrive(CROWD - 1, origin, name, trick=trick, ticket=ticket)

    @precondition(lambda self: self.witness.ask)
    @rule(frame=nonsense.frames)
    def lose_patience(self, frame: ClientFrame) -> None:
        """Do something else than to wait for the host's word."""
        for held in self.room.peers.pending[:1]:
            self._send(next(each for each in self.crowd if each.id == held.id), frame)

    @rule(people=st.lists(nonsense.people, min_size=2, max_size=3, unique=True))
    def share_an_invite(self, people: list[str]) -> None:
        for index, name in enumerate(people):
            self._arrive(CROWD - 1 - index, (LAN, PIN), name, ticket="single")

    def _arrive(
        self,
        index: int,
        origin: tuple[str, str | None],
        name: str,
        *,
        owner: str | None = None,
        trick: str = "honest",
        ticket: str = "",
        **fields: Any,
    ) -> None:
        peer = self._swap(index, *origin)
        token = HOST_TOKEN if trick == "honest" else ""
        key = identity(owner or name).key
        hello = Hello(name, key=key, nonce=NONCE, token=token)
        self._send(peer, msgspec.structs.replace(hello, **fields))
        if peer.nonce:
            self._prove(peer, owner or name, trick, ticket)

    def _prove(self, peer: Arrival, owner: str, trick: str, ticket: str) -> None:
        hello = peer.hello
        assert hello is not None
        by = identity("mallory" if trick == "forged" else owner)
        peer.proven = trick == "honest" or (trick == "forged" and owner == "mallory")
        peer.ticket = "worthless" if ticket else ""
        if ticket in VALID:
            peer.ticket = self.tickets[ticket].id
        if trick == "stale":
            self._send(peer, self.proofs[-1])
            return
        said = Hello(
            "alice" if trick == "renamed" else hello.name, key=hello.key, nonce=hello.nonce
        )
        peer.proven |= trick == "renamed" and hello.name == "alice"
        channel = "m" * 43 if trick == "relayed" else peer.channel or ""
        challenge = Challenge(peer.nonce, "r1")
        proof = signed(said, challenge, by=by, channel=channel, ticket=self.tickets.get(ticket))
        self.proofs.append(proof)
        self._send(peer, proof)

    @rule(index=peers, frame=nonsense.frames)
    def send(self, index: int, frame: ClientFrame) -> None:
        self._send(self.crowd[index], frame)

    @rule(index=peers, frames=st.lists(nonsense.talk, min_size=1, max_size=8))
    def talk(self, index: int, frames: list[ClientFrame]) -> None:
        peer = self._joined_at(index)
        for frame in frames:
            self._send(peer, frame)

    @rule(index=peers, say=nonsense.says)
    def say(self, index: int, say: PostMessage) -> None:
        self._send(self._joined_at(index), say)

    @rule(index=peers, events=st.lists(nonsense.heritage, min_size=1, max_size=8))
    def bequeath(self, index: int, events: list[Event]) -> None:
        self._send(self._joined_at(index), RecoverEvents(tuple(events)))

    @rule(index=peers, frame=nonsense.filing, times=st.sampled_from([1, 1, 2, 12]))
    def file(self, index: int, frame: ClientFrame, times: int) -> None:
        peer = self._joined_at(index)
        for _ in range(times):
            self._send(peer, frame)

    def _joined_at(self, index: int) -> Arrival:
        """Somebody who is in the room, if anybody is."""
        seated = [each for each in self.crowd if each.name and not each.gone and not each.over]
        return seated[index % len(seated)] if seated else self.crowd[index]

    @rule(frame=nonsense.authority, index=peers)
    def use_authority(self, frame: ClientFrame, index: int) -> None:
        """Try what only hosts may, mostly as the host."""
        hosts = [each for each in self.crowd if self._is_host(each) and not each.over]
        self._send(hosts[0] if hosts else self._joined_at(index), frame)

    @rule(index=peers, frame=nonsense.authority)
    def share_authority(self, index: int, frame: ClientFrame) -> None:
        """Give a member the host's role, which they may have already, and let them use it."""
        peer = self._joined_at(index)
        for host in [each for each in self.crowd if self._is_host(each) and not each.over][:1]:
            self._send(host, Moderate("role", peer.name, "host"))
        self.know_who_waits()
        self._send(peer, frame)

    @rule(frame=nonsense.authority, measure=nonsense.measures, role=nonsense.roles)
    def use_a_role(self, frame: ClientFrame, measure: Measure, role: Role | None) -> None:
        """Try what only hosts may, as those who share the host's authority, also on each other."""
        sharing = [
            each
            for each in self.crowd
            if each.name and not self._is_host(each) and self.witness.administers(each.name)
        ]
        for peer in sharing:
            self._send(peer, frame)
            self._send(peer, Moderate(measure, sharing[0].name, role))
            self._send(peer, Moderate("role", "alice", role))

    @rule(index=peers, data=st.data())
    def work(self, index: int, data: st.DataObject) -> None:
        """Report about a message that somebody's engine is to answer."""
        running = list(self.room.state.running) or list(self.room.state.threads)
        if running:
            message = data.draw(st.sampled_from(running))
            body = data.draw(nonsense.sensible_bodies(message))
            at = [
                each for each in self.crowd if each.name == self.room.state.threads[message].handler
            ]
            peer = at[index % len(at)] if at else self.crowd[index]
            self._send(peer, Publish(f"report {self.seen}", body))
            self._send(peer, ReportDelta(message, "more"))
            self._send(self._joined_at(index), Stop(message))

    @rule(index=peers)
    def get_stuck(self, index: int) -> None:
        """Let an engine ask for what waits at one terminal of its owner."""
        for message, thread in list(self.room.state.running.items()):
            for peer in self.crowd:
                if (peer.name, peer.device) == (thread.handler, thread.device):
                    self._send(
                        peer, Publish(f"{message}d", DecisionMade(message, "delegate", query="q"))
                    )
                    asked = ApprovalRequested(message, f"{message}a", "agent", "rm", {})
                    self._send(peer, Publish(f"{message}a", asked))
            self._send(self._joined_at(index), AnswerApproval(f"{message}a", allow=True))

    @rule(index=peers, measure=nonsense.measures, name=nonsense.people, role=nonsense.roles)
    def moderate(self, index: int, measure: Measure, name: str, role: Role | None) -> None:
        hosts = [each for each in self.crowd if self._is_host(each) and not each.over]
        self._send(
            hosts[0] if hosts and index else self._joined_at(index), Moderate(measure, name, role)
        )

    @rule(index=peers, muted=st.booleans(), say=nonsense.says)
    def silence(self, index: int, muted: bool, say: PostMessage) -> None:
        """Take the word from somebody who then tries to speak."""
        peer = self._joined_at(index)
        wish = Moderate("mute", peer.name) if muted else Moderate("role", peer.name, "observer")
        for host in [each for each in self.crowd if self._is_host(each) and not each.over][:1]:
            self._send(host, wish)
        self._send(peer, say)
        self._send(peer, RecoverEvents((Event(self.seen, 1.0, "bob", MessagePosted("b", "x")),)))

    @rule(index=peers, allow=st.booleans())
    def rule_elsewhere(self, index: int, allow: bool) -> None:
        for approval in list(self.room.state.open):
            self._send(self._joined_at(index), AnswerApproval(approval, allow))

    @precondition(lambda self: self.witness.ask)
    @rule(index=peers, allow=st.booleans())
    def answer_a_knock(self, index: int, allow: bool) -> None:
        """Let the host, or somebody else, speak for those who wait."""
        for host in [each for each in self.crowd if self._is_host(each)]:
            self._pull(host)
            for knock in sorted(host.knocks):
                self._send(self._joined_at(index), AnswerJoinRequest(knock, allow))
                self._send(host, AnswerJoinRequest(knock, allow))

    @rule(index=peers, asked=st.booleans(), regretted=st.booleans(), data=st.data())
    def hand_over(self, index: int, asked: bool, regretted: bool, data: st.DataObject) -> None:
        """Ask somebody to host and close the room, perhaps after a quarrel."""
        hosts = [each for each in self.crowd if self._is_host(each) and not each.over]
        heir = self._joined_at(index)
        if hosts and asked:
            self._send(hosts[0], OfferHosting(heir.name))
        self._send(heir, AcceptHosting(data.draw(nonsense.host_records(heir.name or "bob"))))
        if hosts and regretted:
            self._send(hosts[0], Moderate("kick", heir.name))
        if asked and data.draw(st.booleans()):
            self.open_again("hana")

    # -- what the host's process does

    @rule(index=peers)
    def read(self, index: int) -> None:
        self._pull(self._joined_at(index))

    @rule()
    def write(self) -> None:
        pending = self.room.log.pending()
        if pending:
            self.written += pending
            self.room.commit(pending[-1].seq)

    @rule(seconds=st.sampled_from([0.1, 1.0, 60.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.seen % 3 == 0)  # or few stay long
    @rule(index=peers)
    def reject(self, index: int) -> None:
        self.room.reject(self.crowd[index].peer, "malformed", "no frame", self.now)
        self._look(self.crowd[index])

    @rule(text=st.sampled_from(["", "disk full"]))
    def trouble(self, text: str) -> None:
        self.room.trouble(text)

    @rule(answer=st.sampled_from([FileStored("b" * 64, 1), FilePiece("a" * 64, 0, b"x", 3), None]))
    def run_jobs(self, answer: FileStored | FilePiece | None) -> None:
        jobs = self.room.files.take_jobs()
        for job in jobs:
            assert job.frame.digest in (nonsense.KNOWN, "b" * 64)
            assert [each.name for each in self.crowd if each.id == job.peer] == [job.name]
            self.room.files.answer(
                job, answer or FrameRefused("corrupt", "damaged", job.frame.digest)
            )
        assert max(Counter(each.peer for each in jobs).values(), default=0) <= MAX_JOBS

    @precondition(lambda self: self.seen % 4 == 0)
    @rule(host=st.sampled_from(["hana", "hana", "bob"]))
    def open_again(self, host: str) -> None:
        """Close the doors; somebody, perhaps somebody else, opens them from the log."""
        self.room.suspend("later", self.now)
        self._look(None)
        self.write()
        for peer in self.crowd:
            while self._pull(peer):
                pass
            assert peer.peer.done
            self.room.disconnect(peer.peer, "gone", self.now)
        self._look(None)
        self._open(host)
        for index, name in enumerate(("alice", "bob", "carol"), 1):
            if name != host:
                self._arrive(index, (LAN, PIN), name, engine=name == "alice", ticket="many")
        self._let_in()

    # -- what always holds

    @invariant()
    def what_waits_for_a_peer_is_bounded(self) -> None:
        held = 0
        for each in self.crowd:
            peer = self.room.peers.get(each.id)
            assert peer is not None
            assert len(peer.replies) <= LIMITS.replies
            assert len(peer.signals) <= LIMITS.signals
            held += peer.stage.value == "pending"
        assert held <= MAX_PENDING
        seated = {each.name for each in self.crowd if each.name and not each.gone}
        assert len(self.room.peers.members) <= LIMITS.members * LIMITS.terminals
        assert max(Counter(self._places()).values(), default=0) <= LIMITS.terminals
        assert {person.name for person in self.room.state.present()} <= seated

    def _places(self) -> list[str]:
        return [each.name for each in self.crowd if each.welcomed and not each.gone]

    @rule()
    def know_who_waits(self) -> None:
        """Look whether those who may answer know who waits, and no one else does."""
        waiting = {peer.id for peer in self.room.peers.pending}
        for each in self.crowd:
            while self._pull(each):
                pass
            if each.welcomed and each.peer.stage is Stage.JOINED:  # one that leaves hears no more
                may = self.witness.administers(each.name)
                assert each.knocks == (waiting if may else set())

    def teardown(self) -> None:
        """Called when there is a room and when there is none."""
        if hasattr(self, "room"):
            self.know_who_waits()

    @invariant()
    def the_state_is_what_the_log_says(self) -> None:
        folded = RoomState()
        for event in [*self.written, *self.room.log.pending()]:
            folded.apply(event)
        assert vars(folded) == vars(self.room.state)


def nonsense_name(name: str) -> str:
    return name.lower()
