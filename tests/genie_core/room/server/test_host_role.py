"""Members who hold the host's role: what they may, what the log says, and what they can't get."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.genie_core.room.bench import (
    HOST_TOKEN,
    LAN,
    ROOMY,
    Bench,
    answers_in,
    events_in,
    identity,
    only_refusal,
    refusals,
    ticket_of,
)

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.events import (
    ArgumentSharingChanged,
    Event,
    HostStarted,
    Measure,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    RecoveredEvent,
    Role,
)
from genie_core.room.protocol.frames import (
    KNOWN,
    AcceptHosting,
    AnswerJoinRequest,
    ClientFrame,
    Hello,
    InviteIssued,
    IssueInvite,
    JoinRequested,
    Moderate,
    OfferHosting,
    RecoverEvents,
    SetHeirs,
    ShareArguments,
    VoidInvites,
    Welcome,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.founding import hash_in
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.invite import read_invite
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.security.signing import sign
from genie_core.room.server.admission import LONGEST_INVITE, MOST_USES
from genie_core.room.server.moderation import PUT_OUT_BY_COHOST
from genie_core.room.server.peers import Peer
from genie_core.room.state.proofs import NOT_HEIR, NOT_HOST, OUT_OF_CHAIN, objection
from genie_core.room.state.room_state import RoomState

HOST_PIN = "A" * 43


class Meeting(Bench):
    """A founded room of hana; bob and dora hold her role, alice and eve don't."""

    def __init__(self, *, ask: bool = False, limits: Limits = ROOMY) -> None:
        self.tokens, self.asks = InviteTokens(), ask
        super().__init__(tokens=self.tokens, ask=ask, limits=limits, founded=True)
        self.room.host_record = host_record(self, "hana")
        self.hana = host_of(self)
        self.bob, self.dora, self.alice, self.eve = map(
            self.let_in, ("bob", "dora", "alice", "eve")
        )
        for name in ("bob", "dora"):
            self.act(Moderate("role", name, "host"))
        for peer in self.room.peers:
            self.pull(peer)

    def let_in(self, name: str) -> Peer:
        peer, _ = self.meet(name, engine=True)
        if self.asks:
            self.send(self.hana, AnswerJoinRequest(peer.id, allow=True))
        return peer

    def act(self, frame: ClientFrame) -> None:
        assert refusals(self.tell(self.hana, frame)) == []

    def asked(self, frame: IssueInvite, by: Peer | None = None) -> InviteSecret:
        """The secret of the invite that a member gets for this frame, bob by default."""
        (issued,) = self.tell(by or self.bob, frame)
        assert isinstance(issued, InviteIssued)
        invite = read_invite(issued.invite)
        return InviteSecret(invite.pass_id, invite.secret)

    def role(self, name: str) -> Role:
        return self.room.state.people[name].role


def host_of(bench: Bench) -> Peer:
    hello = Hello("hana", engine=True, token=HOST_TOKEN, key=bench.key)
    return bench.connect(bench.signed_by(hello, identity("hana")))


def host_record(bench: Bench, name: str) -> HostRecord:
    return sign_host_record(
        identity(name),
        room=bench.id,
        host=name,
        pin=HOST_PIN,
        addresses=("192.0.2.8:7777",),
        at=1.0,
    )


def folded(events: list[Event]) -> RoomState:
    state = RoomState()
    for event in events:
        state.apply(event)
    return state


@pytest.fixture
def meeting() -> Meeting:
    return Meeting()


# -- what they may


@pytest.mark.parametrize(
    ("frame", "recorded"),
    [
        (Moderate("kick", "eve", reason="spam"), MemberModerated("kick", "eve", reason="spam")),
        (Moderate("ban", "eve"), MemberModerated("ban", "eve")),
        (Moderate("mute", "eve"), MemberModerated("mute", "eve")),
        (Moderate("role", "eve", "observer"), MemberModerated("role", "eve", "observer")),
    ],
)
def test_the_host_records_for_whom_it_decides(
    meeting: Meeting, frame: Moderate, recorded: MemberModerated
) -> None:
    before = len(meeting.written)
    assert refusals(meeting.tell(meeting.bob, frame)) == []
    event = meeting.written[before]
    assert event.by == "hana"
    assert isinstance(event.body, MemberModerated)
    assert replace(event.body, signature=b"") == replace(recorded, asked_by="bob")
    assert folded(meeting.written).doubtful == 0


def test_removal_names_its_author(meeting: Meeting) -> None:
    meeting.tell(meeting.bob, Moderate("kick", "eve", reason="spam"))
    assert only_refusal(meeting.pull(meeting.eve)).text == "bob put you out of the room: spam"
    assert meeting.written[-1].body == MemberLeft("eve", PUT_OUT_BY_COHOST, "d1")
    meeting.act(Moderate("kick", "alice"))
    assert only_refusal(meeting.pull(meeting.alice)).text == "the host put you out of the room"
    assert meeting.bodies(MemberModerated)[-1].asked_by == ""


def test_no_other_name_can_be_put_in_afterwards(meeting: Meeting) -> None:
    meeting.tell(meeting.bob, Moderate("ban", "eve"))
    for name in ("alice", ""):
        forged = [
            replace(each, body=replace(each.body, asked_by=name))
            if isinstance(each.body, MemberModerated) and each.body.asked_by
            else each
            for each in meeting.written
        ]
        state = folded(forged)
        changed = next(
            one.seq for one, two in zip(forged, meeting.written, strict=True) if one != two
        )
        assert state.doubts == {changed: NOT_HOST, changed + 1: OUT_OF_CHAIN}
        assert state.banned == {}


def test_holder_only_hides_arguments(meeting: Meeting) -> None:
    assert only_refusal(meeting.tell(meeting.bob, ShareArguments(on=True))).code == "not_allowed"
    meeting.act(ShareArguments(on=True))
    assert refusals(meeting.tell(meeting.bob, ShareArguments(on=False))) == []
    shared = meeting.bodies(ArgumentSharingChanged)
    assert [(each.on, each.asked_by) for each in shared] == [(True, ""), (False, "bob")]
    assert folded(meeting.written).doubtful == 0


# -- what they may not


@pytest.mark.parametrize("target", ["hana", "HANA", "dora", "bob"])
@pytest.mark.parametrize("measure", ["kick", "ban", "mute", "unmute", "pardon", "role"])
def test_host_peers_and_self_are_no_target(meeting: Meeting, target: str, measure: Measure) -> None:
    before = len(meeting.written)
    refusal = only_refusal(meeting.tell(meeting.bob, Moderate(measure, target, "member")))
    assert refusal.code == "out_of_state"
    assert len(meeting.written) == before


@pytest.mark.parametrize(
    "frame",
    [
        Moderate("role", "alice", "host"),
        SetHeirs(("bob",)),
        SetHeirs(automatic=True),
        OfferHosting("bob"),
        OfferHosting("alice"),
        ShareArguments(on=True),
        IssueInvite(role="host"),
        IssueInvite(uses=0),
        IssueInvite(uses=MOST_USES + 1),
        IssueInvite(lifetime=0.0),
        IssueInvite(lifetime=LONGEST_INVITE + 1),
    ],
)
def test_what_is_the_hosts_alone(meeting: Meeting, frame: ClientFrame) -> None:
    before = len(meeting.written), len(meeting.tokens)
    only_refusal(meeting.tell(meeting.bob, frame))
    assert (len(meeting.written), len(meeting.tokens)) == before


def test_the_role_is_not_for_hosting(meeting: Meeting) -> None:
    refusal = only_refusal(meeting.tell(meeting.hana, OfferHosting("bob")))
    assert "/role bob member" in refusal.text
    only_refusal(meeting.tell(meeting.bob, AcceptHosting(host_record(meeting, "bob"))))
    meeting.act(OfferHosting("alice"))
    meeting.act(Moderate("role", "alice", "host"))  # which takes the offer back
    only_refusal(meeting.tell(meeting.alice, AcceptHosting(host_record(meeting, "alice"))))
    assert meeting.room.state.members.entitled(identity("bob").key) is None
    assert meeting.room.state.members.entitled(identity("eve").key) == "eve"


@pytest.mark.parametrize(("name", "doubt"), [("bob", NOT_HEIR), ("eve", "")])
def test_nor_for_taking_the_room_over(meeting: Meeting, name: str, doubt: str) -> None:
    state = folded(meeting.written)
    started = HostStarted(name, key=identity(name).key)
    started = sign(identity(name), meeting.id, started, state.link)
    event = Event(state.head + 1, meeting.now, "", started, state.link)
    assert objection(state, event) == doubt


def test_the_muted_decide_nothing(meeting: Meeting) -> None:
    meeting.act(Moderate("mute", "bob"))
    for frame in (Moderate("unmute", "bob"), Moderate("kick", "eve"), IssueInvite()):
        assert only_refusal(meeting.tell(meeting.bob, frame)).code == "not_allowed"
    meeting.act(Moderate("unmute", "bob"))
    assert refusals(meeting.tell(meeting.bob, Moderate("kick", "eve"))) == []


def test_an_agent_never_holds_it() -> None:
    bench = Bench(founded=True)
    hana = host_of(bench)
    bench.joined("robot", kind="agent")
    refusal = only_refusal(bench.tell(hana, Moderate("role", "robot", "host")))
    assert "agent" in refusal.text


# -- when it is taken


ROLE_FRAMES: list[ClientFrame] = [
    Moderate("kick", "eve"),
    Moderate("role", "bob", "host"),
    ShareArguments(on=False),
    AnswerJoinRequest(1, allow=True),
    IssueInvite(),
    VoidInvites(),
]


@pytest.mark.parametrize("measure", [Moderate("role", "bob", "member"), Moderate("mute", "bob")])
def test_revoked_role_frames_are_refused(meeting: Meeting, measure: Moderate) -> None:
    meeting.pull(meeting.bob)
    meeting.send(meeting.hana, measure)  # before bob has heard of it
    before = len(meeting.written), len(meeting.tokens)
    meeting.send(meeting.bob, *ROLE_FRAMES)
    answers = refusals(meeting.pull(meeting.bob))
    assert [each.code for each in answers] == ["not_allowed"] * len(ROLE_FRAMES)
    assert (len(meeting.written), len(meeting.tokens)) == before


@pytest.mark.parametrize("frame", ROLE_FRAMES)
def test_others_have_none_of_it(meeting: Meeting, frame: ClientFrame) -> None:
    before = len(meeting.written), len(meeting.tokens)
    assert only_refusal(meeting.tell(meeting.alice, frame)).code == "not_allowed"
    assert (len(meeting.written), len(meeting.tokens)) == before


def test_role_survives_restart(meeting: Meeting) -> None:
    for bench in (meeting, Bench(meeting.written, founded=True)):
        peer, answers = bench.meet("bob", device="d2")
        welcome = next(each for each in answers if isinstance(each, Welcome))
        assert (welcome.role, welcome.host, welcome.knows) == ("host", "hana", KNOWN)
        assert refusals(bench.tell(peer, Moderate("kick", "nobody")))[0].code == "unknown_person"
        assert bench.room.state.is_host("hana")
        assert not bench.room.state.is_host("bob")


def test_old_invite_restores_no_lost_role(meeting: Meeting) -> None:
    ticket = ticket_of(meeting.tokens.issue(0.0, role="host", uses=9))
    carol, _ = meeting.meet("carol", ticket=ticket)
    assert meeting.role("carol") == "host"
    meeting.act(Moderate("role", "carol", "guest"))
    meeting.lose(carol)
    again, answers = meeting.meet("carol", ticket=ticket, source=LAN)
    assert refusals(answers) == []
    assert meeting.role("carol") == "guest"
    assert only_refusal(meeting.tell(again, Moderate("kick", "eve"))).code == "not_allowed"


def test_a_ban_takes_it_for_good(meeting: Meeting) -> None:
    meeting.act(Moderate("ban", "bob"))
    meeting.act(Moderate("pardon", "bob"))
    meeting.joined("bob")
    assert meeting.role("bob") == "guest"
    assert not meeting.room.state.administers("bob")
    refusal = only_refusal(meeting.tell(meeting.hana, Moderate("role", "zoe", "host")))
    assert refusal.code == "unknown_person"


def test_a_replayed_measure_is_recorded_once(meeting: Meeting) -> None:
    for frame in (Moderate("mute", "eve"), Moderate("ban", "eve")):
        before = len(meeting.bodies(MemberModerated))
        meeting.send(meeting.bob, frame, frame, frame)
        assert len(meeting.bodies(MemberModerated)) == before + 1
        assert len(refusals(meeting.pull(meeting.bob))) == 2
    assert only_refusal(meeting.tell(meeting.hana, Moderate("role", "bob", "host"))).text


def test_a_copy_of_the_room_has_only_its_host(meeting: Meeting) -> None:
    state = folded(meeting.written)
    started = HostStarted("zoe", room="r2", key=identity("zoe").key, copied="import", origin="x")
    state.founding = None  # of the new founding, only its place matters here
    state.apply(Event(state.head + 1, 2000.0, "", started))
    assert state.is_host("zoe")
    assert not any(map(state.administers, ("bob", "dora", "hana")))


def test_recovered_measure_grants_nothing(
    meeting: Meeting,
) -> None:
    body = MemberModerated("role", "alice", "host", asked_by="bob")
    body = sign(identity("hana"), meeting.id, body, b"parent")
    lost = Event(99, 1000.0, "hana", body, b"parent")
    answers = meeting.tell(meeting.eve, RecoverEvents((lost,)))
    assert refusals(answers) == []
    assert meeting.bodies(RecoveredEvent)[-1].event == lost
    assert not meeting.room.state.administers("alice")


# -- join requests


def waiting(meeting: Meeting) -> Peer:
    peer, _ = meeting.meet("carol")
    return peer


def test_first_answer_to_request_counts() -> None:
    meeting = Meeting(ask=True)
    carol = waiting(meeting)
    for peer in (meeting.hana, meeting.bob, meeting.dora):
        (request,) = answers_in(meeting.pull(peer))
        assert isinstance(request, JoinRequested)
        assert request.knock == carol.id
    assert answers_in(meeting.pull(meeting.alice)) == []
    meeting.send(meeting.bob, AnswerJoinRequest(carol.id, allow=True))
    meeting.send(meeting.dora, AnswerJoinRequest(carol.id, allow=False))
    assert isinstance(meeting.pull(carol)[0], Welcome)
    over, refusal = answers_in(meeting.pull(meeting.dora))
    assert isinstance(over, JoinRequested)
    assert over.over
    assert "no longer wait" in only_refusal([refusal]).text


def test_open_requests_come_and_go_with_the_role() -> None:
    meeting = Meeting(ask=True)
    carol = waiting(meeting)
    for peer in meeting.room.peers:
        meeting.pull(peer)
    changes: list[tuple[Peer, str, Role]] = [
        (meeting.alice, "alice", "host"),
        (meeting.bob, "bob", "member"),
    ]
    for peer, name, role in changes:
        meeting.act(Moderate("role", name, role))
        (request,) = answers_in(meeting.pull(peer))
        assert isinstance(request, JoinRequested)
        assert (request.knock, request.over) == (carol.id, role == "member")


# -- invites


def test_an_invite_leads_to_the_host_and_admits(meeting: Meeting) -> None:
    (issued,) = meeting.tell(meeting.bob, IssueInvite(uses=1))
    assert isinstance(issued, InviteIssued)
    invite = read_invite(issued.invite)
    assert (invite.addresses, invite.pin) == ((Address("192.0.2.8", 7777),), HOST_PIN)
    assert (invite.room, invite.title) == (hash_in(meeting.id), "Standup")
    ticket = InviteSecret(invite.pass_id, invite.secret)
    assert refusals(meeting.meet("carol", ticket=ticket, source=LAN)[1]) == []
    assert only_refusal(meeting.meet("zoe", ticket=ticket, source=LAN)[1]).code == "no_invite"
    assert meeting.room.admission.passes_used >= 2


def test_each_holder_has_own_open_invite(meeting: Meeting) -> None:
    first, other = meeting.asked(IssueInvite()), meeting.asked(IssueInvite(), meeting.dora)
    assert meeting.asked(IssueInvite()) == first != other
    assert meeting.tokens.newest(meeting.now) is None  # which is the host's
    limited = meeting.asked(IssueInvite(lifetime=60.0))
    assert limited not in (first, other)
    assert meeting.asked(IssueInvite()) == first


@pytest.mark.parametrize(
    "loses", [Moderate("role", "bob", "member"), Moderate("ban", "bob"), Moderate("mute", "bob")]
)
def test_losing_role_voids_own_invites(meeting: Meeting, loses: Moderate) -> None:
    theirs, others = meeting.asked(IssueInvite()), meeting.asked(IssueInvite(), meeting.dora)
    hers = ticket_of(meeting.tokens.issue(0.0))
    meeting.act(loses)
    assert meeting.room.admission.passes_voided == 1
    assert only_refusal(meeting.meet("m1", ticket=theirs, source=LAN)[1]).code == "no_invite"
    for name, ticket in (("carol", others), ("zoe", hers)):
        assert refusals(meeting.meet(name, ticket=ticket, source=LAN)[1]) == []


def test_they_void_all_invites(meeting: Meeting) -> None:
    tickets = [
        meeting.asked(IssueInvite()),
        ticket_of(meeting.tokens.issue(0.0)),
        ticket_of(meeting.tokens.issue(0.0, role="host")),
    ]
    assert refusals(meeting.tell(meeting.dora, VoidInvites())) == []
    assert meeting.room.admission.passes_voided == 1
    for n, ticket in enumerate(tickets):
        _, answers = meeting.meet(f"stranger{n}", ticket=ticket, source=LAN)
        assert only_refusal(answers).code == "no_invite"


@pytest.mark.parametrize("role", ["host", "member", "guest", "observer"])
def test_an_invite_gives_its_role_once(meeting: Meeting, role: Role) -> None:
    ticket = ticket_of(meeting.tokens.issue(0.0, role=role))
    peer, answers = meeting.meet("carol", ticket=ticket, source=LAN)
    welcome = next(each for each in answers if isinstance(each, Welcome))
    assert welcome.role == meeting.role("carol") == role
    joined, given = (event.body for event in meeting.written[-2:])
    assert isinstance(joined, MemberJoined)
    assert isinstance(given, MemberModerated)
    assert (joined.role, given.role, given.name, given.asked_by) == (role, role, "carol", "")
    assert events_in(answers)[-1].body == given
    assert only_refusal(meeting.meet("zoe", ticket=ticket, source=LAN)[1]).code == "no_invite"
    refused = refusals(meeting.tell(peer, Moderate("kick", "eve")))
    assert (refused == []) == (role == "host")
    assert folded(meeting.written).doubtful == 0


def test_invite_role_names_issuer(meeting: Meeting) -> None:
    ticket = meeting.asked(IssueInvite(role="observer"))
    meeting.joined("carol", ticket=ticket, source=LAN)
    given = meeting.bodies(MemberModerated)[-1]
    assert (given.name, given.role, given.asked_by) == ("carol", "observer", "bob")


@pytest.mark.parametrize(
    "prepare",
    [
        lambda meeting: meeting.act(Moderate("ban", "eve")),
        lambda meeting: meeting.act(Moderate("mute", "eve")),
        lambda meeting: None,
    ],
)
def test_an_invite_gives_no_role_to_who_was_here(
    meeting: Meeting, prepare: Callable[[Meeting], None]
) -> None:
    ticket = ticket_of(meeting.tokens.issue(0.0, role="host"))
    prepare(meeting)
    meeting.meet("eve", ticket=ticket, device="d2", source=LAN)
    assert not meeting.room.state.administers("eve")
    assert refusals(meeting.meet("carol", ticket=ticket, source=LAN)[1]) == []
    assert meeting.role("carol") == "host"


def test_agent_invite_gives_no_human_role(meeting: Meeting) -> None:
    for role in ("host", "member"):
        ticket = ticket_of(meeting.tokens.issue(0.0, role=role))
        _, answers = meeting.meet("robot", ticket=ticket, source=LAN, kind="agent")
        assert role in only_refusal(answers).text
        assert refusals(meeting.meet(f"p{role}", ticket=ticket, source=LAN)[1]) == []  # not used up
    ticket = ticket_of(meeting.tokens.issue(0.0, role="observer"))
    meeting.joined("robot", ticket=ticket, source=LAN, kind="agent")
    assert meeting.role("robot") == "observer"


def test_invite_never_gives_host_name(meeting: Meeting) -> None:
    ticket = ticket_of(meeting.tokens.issue(0.0, role="host"))
    for name in ("hana", "HANA", "hana_", "h\u0251na"):
        _, answers = meeting.meet(name, by=identity("mallory"), ticket=ticket, source=LAN)
        assert only_refusal(answers).code == "name_taken"


def test_no_address_means_no_invites(meeting: Meeting) -> None:
    meeting.room.host_record = None
    assert only_refusal(meeting.tell(meeting.bob, IssueInvite())).code == "out_of_state"


@pytest.mark.parametrize("frame", [IssueInvite(uses=1), VoidInvites(), Moderate("mute", "eve")])
def test_their_pace_is_limited_as_the_hosts(frame: ClientFrame) -> None:
    meeting = Meeting(limits=Limits(burst=5, per_second=1.0, joins=1000))
    answers = meeting.tell(meeting.bob, *[frame] * 8)
    codes = [each.code for each in refusals(answers)]
    assert codes.count("too_fast") == 3
