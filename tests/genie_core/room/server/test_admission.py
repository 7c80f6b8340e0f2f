import pytest
from tests.genie_core.room.bench import (
    HOST_TOKEN,
    LAN,
    NONCE,
    PIN,
    ROOMY,
    Bench,
    answers_in,
    events_in,
    identity,
    only_refusal,
    refusals,
    signed,
    ticket_of,
)

from genie_core.room.protocol.events import MemberJoined, MemberLeft, MessagePosted
from genie_core.room.protocol.frames import (
    AnswerJoinRequest,
    Bye,
    Challenge,
    FrameRefused,
    Hello,
    JoinPending,
    JoinRequested,
    Moderate,
    PostMessage,
    Prove,
    Typing,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.challenge import NONCE_CHARS, InviteSecret, Transcript
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.server.admission import (
    DEVICE_CHARS,
    LONGEST_PENDING,
    MAX_PENDING,
    MAX_PENDING_FROM_ONE,
    MAX_PENDING_FROM_SITE,
    MOST_SILENT,
)
from genie_core.room.server.peers import ARRIVING, Peer

HANA = identity("hana").key


def challenged(bench: Bench, name: str = "alice") -> tuple[Peer, Hello, Challenge]:
    peer, hello, answers = bench.greet(name)
    (challenge,) = answers
    assert isinstance(challenge, Challenge)
    return peer, hello, challenge


def turned_away(bench: Bench, peer: Peer, *frames: Prove) -> str:
    head = bench.room.state.head
    refusal = only_refusal(bench.tell(peer, *frames))
    assert refusal.final
    assert peer.done
    assert bench.room.state.head == head
    return refusal.code


# -- proving who one is


def test_signer_is_admitted_and_gets_log() -> None:
    bench = Bench()
    peer, hello, challenge = challenged(bench)
    assert challenge.room == "r1"
    assert peer.stage in ARRIVING
    frames = bench.tell(peer, signed(hello, challenge, by=identity("alice")))
    assert isinstance(frames[0], Welcome)
    assert [event.seq for event in events_in(frames)] == [1, 2, 3]
    assert bench.bodies()[-1] == MemberJoined("guest", key=identity("alice").key, device="d1")
    assert peer.stage not in ARRIVING


def test_room_reveals_nothing_before_proof() -> None:
    bench = Bench()
    bench.say(bench.join("bob"), "for members only")
    peer, _, challenge = challenged(bench)
    bench.send(bench.join("carol"), PostMessage("2", "more"), Typing())
    assert bench.pull(peer) == []
    assert (challenge.nonce, challenge.room) != ("", "")


def test_a_signature_by_another_key_is_refused() -> None:
    bench = Bench()
    peer, hello, challenge = challenged(bench)
    assert turned_away(bench, peer, signed(hello, challenge, by=identity("mallory"))) == "unproven"


@pytest.mark.parametrize("signature", [b"", b"x", b"s" * 64, b"s" * 65])
def test_a_signature_that_is_none_is_refused(signature: bytes) -> None:
    bench = Bench()
    peer, _, _ = challenged(bench)
    assert turned_away(bench, peer, Prove(signature)) == "unproven"


def test_relayed_proof_is_refused() -> None:
    bench = Bench()
    peer, hello, challenge = challenged(bench)
    relayed = signed(hello, challenge, by=identity("alice"), channel="m" * 43)
    assert turned_away(bench, peer, relayed) == "unproven"
    plain, hello, challenge = challenged(bench)
    stripped = signed(hello, challenge, by=identity("alice"), channel="")
    assert turned_away(bench, plain, stripped) == "unproven"


def test_a_proof_for_another_room_is_refused() -> None:
    bench = Bench()
    peer, hello, challenge = challenged(bench)
    elsewhere = Challenge(challenge.nonce, "another room")
    assert turned_away(bench, peer, signed(hello, elsewhere, by=identity("alice"))) == "unproven"


def test_a_proof_for_another_name_is_refused() -> None:
    bench = Bench()
    peer, hello, challenge = challenged(bench)
    other = Hello("bob", key=hello.key, nonce=hello.nonce)
    assert turned_away(bench, peer, signed(other, challenge, by=identity("alice"))) == "unproven"


def test_proof_replayed_later_is_refused() -> None:
    bench = Bench()
    peer, hello, challenge = challenged(bench)
    proof = signed(hello, challenge, by=identity("alice"))
    second, again, fresh = challenged(bench)
    assert (again, fresh.nonce == challenge.nonce) == (hello, False)
    assert turned_away(bench, second, proof) == "unproven"
    bench.send(peer, proof)
    assert refusals(bench.pull(peer)) == []
    bench.lose(peer)
    third, _, _ = challenged(bench)
    assert turned_away(bench, third, proof) == "unproven"


def test_there_is_one_try() -> None:
    bench = Bench()
    peer, hello, challenge = challenged(bench)
    right = signed(hello, challenge, by=identity("alice"))
    assert turned_away(bench, peer, Prove(b"s" * 64), right) == "unproven"
    assert "alice" not in bench.room.state.people


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (Hello("alice"), "unproven"),
        (Hello("alice", key=identity("alice").key), "unproven"),
        (Hello("alice", key=identity("alice").key, nonce="n" * (NONCE_CHARS + 1)), "unproven"),
        (Hello("alice", key="_" * 43, nonce=NONCE), "unproven"),
        (Hello("alice", key="A" * 43, nonce=NONCE), "unproven"),
        (Hello("alice", key=identity("alice").key, nonce=NONCE, device="d" * 65), "malformed"),
        (Hello("hana", token=HOST_TOKEN), "unproven"),
    ],
)
def test_keyless_peer_is_not_challenged(hello: Hello, code: str) -> None:
    assert DEVICE_CHARS == 64
    bench = Bench()
    peer = bench.room.connect("loopback", PIN)
    bench.send(peer, hello)
    assert only_refusal(bench.pull(peer)).code == code


def test_host_token_fails_from_outside() -> None:
    bench = Bench(key=HANA)
    _, answers = bench.meet("hana", by=identity("mallory"), token=HOST_TOKEN)
    assert only_refusal(answers).code == "name_taken"


def test_host_key_opens_second_terminal() -> None:
    bench = Bench(key=HANA)
    first = bench.join_host()
    _, (welcome, *_) = bench.meet("hana", source=LAN)
    assert isinstance(welcome, Welcome)
    assert welcome.role == "host"
    bench.say(bench.join("bob"), "hello")
    assert "hello" in [
        e.body.text for e in events_in(bench.pull(first)) if isinstance(e.body, MessagePosted)
    ]


# -- names and keys


def test_name_stays_with_first_key() -> None:
    first = Bench()
    first.lose(first.joined("alice"))
    again = Bench(first.written)
    for name in ("alice", "ALICE", "Álice"):
        for bench in (first, again):
            _, answers = bench.meet(name, by=identity("mallory"))
            refusal = only_refusal(answers)
            assert (refusal.code, refusal.final) == ("name_taken", True)
            assert "key" in refusal.text
    again.joined("alice")
    assert again.room.state.people["alice"].present


def test_a_key_goes_by_one_name() -> None:
    bench = Bench()
    bench.lose(bench.joined("alice"))
    _, answers = bench.meet("zoe", by=identity("alice"))
    refusal = only_refusal(answers)
    assert refusal.code == "name_taken"
    assert "alice" in refusal.text


def test_the_room_keeps_to_the_first_spelling() -> None:
    bench = Bench()
    bench.lose(bench.joined("Zoë", by=identity("zoe")))
    _, (welcome, *_) = bench.meet("zoe")
    assert isinstance(welcome, Welcome)
    assert welcome.name == "Zoë"
    assert len(bench.room.state.people) == 1


# -- several terminals


def test_both_terminals_get_everything() -> None:
    bench = Bench()
    one, two = bench.joined("alice"), bench.joined("alice", device="d2")
    bench.pull(one)
    bench.send(one, PostMessage("1", "from here"))
    bench.send(two, PostMessage("2", "from there"))
    for peer in (one, two):
        assert [event.by for event in events_in(bench.pull(peer))] == ["alice", "alice"]
    assert list(bench.room.state.people["alice"].terminals) == ["d1", "d2"]
    bench.lose(one)
    assert bench.bodies()[-1] == MemberLeft("alice", "gone", "d1")
    assert bench.room.state.people["alice"].present
    bench.lose(two)
    assert not bench.room.state.people["alice"].present


def test_same_device_replaces_only_itself() -> None:
    bench = Bench()
    one, two = bench.joined("alice"), bench.joined("alice", device="d2")
    head = bench.room.state.head
    bench.joined("alice", since=head)
    assert only_refusal(bench.pull(one)).code == "replaced"
    assert refusals(bench.pull(two)) == []
    bench.send(one, PostMessage("1", "from a connection that is over"))
    bench.lose(one)
    assert bench.room.state.head == head
    assert list(bench.room.state.people["alice"].terminals) == ["d1", "d2"]


def test_deviceless_terminal_leaves_alone() -> None:
    bench = Bench()
    plain, other = bench.joined("alice", device=""), bench.joined("alice", device="d2", engine=True)
    bench.lose(plain)
    assert list(bench.room.state.people["alice"].terminals) == ["d2"]
    bench.say(other)
    assert bench.bodies()[-1].handler == "alice"


def test_terminals_per_person_are_limited() -> None:
    bench = Bench(limits=Limits(terminals=2))
    bench.joined("alice")
    bench.joined("alice", device="d2")
    _, answers = bench.meet("alice", device="d3")
    assert only_refusal(answers).code == "room_full"
    bench.joined("alice", device="d2")


def test_engineless_terminal_stays_member() -> None:
    bench = Bench()
    bench.join_host()
    first = bench.joined("alice", engine=True)
    second, (welcome, *_) = bench.meet("alice", device="d2")
    assert isinstance(welcome, Welcome)
    assert welcome.role == "member"
    bench.say(second)
    assert (bench.bodies()[-1].handler, bench.bodies()[-1].device) == ("alice", "d1")
    bench.lose(first)
    bench.say(second, id_="2")
    assert bench.bodies()[-1].handler == "hana"


# -- invites


def test_untrusted_loopback_needs_invite() -> None:
    tokens = InviteTokens()
    bench = Bench(tokens=tokens, trusts_loopback=False)
    _, answers = bench.meet("alice")
    assert only_refusal(answers).code == "no_invite"
    first, answers = bench.meet("alice", ticket=ticket_of(tokens.issue(0.0)))
    assert refusals(answers) == []
    bench.lose(first)
    _, answers = bench.meet("alice")
    assert refusals(answers) == []  # a key that the room knows is enough


def test_remote_stranger_needs_invite() -> None:
    tokens = InviteTokens()
    open_ = tokens.issue(0.0)
    bench = Bench(tokens=tokens)
    _, answers = bench.meet("alice", source=LAN)
    refusal = only_refusal(answers)
    assert (refusal.code, refusal.final) == ("no_invite", True)
    assert bench.room.admission.passes_used == 0
    _, answers = bench.meet("alice", source=LAN, ticket=ticket_of(open_))
    assert refusals(answers) == []
    assert bench.room.admission.passes_used == 1


def test_without_invites_strangers_fail() -> None:
    bench = Bench()
    _, answers = bench.meet("alice", source=LAN, ticket=InviteSecret("p", b"s" * 16))
    assert only_refusal(answers).code == "no_invite"


def test_wrong_loopback_invite_is_refused() -> None:
    tokens = InviteTokens()
    open_ = tokens.issue(0.0)
    bench = Bench(tokens=tokens)
    _, answers = bench.meet("bob", ticket=InviteSecret(open_.id, b"w" * 16))
    assert only_refusal(answers).code == "no_invite"
    assert refusals(bench.meet("bob")[1]) == []


def test_known_member_needs_no_invite() -> None:
    tokens = InviteTokens()
    open_ = tokens.issue(0.0)
    first = Bench(tokens=tokens)
    first.lose(first.joined("alice", source=LAN, ticket=ticket_of(open_)))
    tokens.renew(0.0)
    again = Bench(first.written, tokens=tokens)
    again.lose(again.joined("alice", source="198.51.100.1"))
    again.joined("alice", source=LAN, ticket=ticket_of(open_))  # the old invite does no harm
    assert again.room.admission.passes_used == 0


@pytest.mark.parametrize("spoilt", ["secret", "unknown", "expired", "renewed", "stolen proof"])
def test_invites_that_are_not_valid_are_refused(spoilt: str) -> None:
    tokens = InviteTokens()
    given = tokens.issue(0.0, lifetime=5000.0)
    ticket = ticket_of(given)
    bench = Bench(tokens=tokens)
    match spoilt:
        case "secret":
            ticket = InviteSecret(given.id, b"w" * 16)
        case "unknown":
            ticket = InviteSecret("unknown", given.secret)
        case "expired":
            bench.now = 5000.0
        case "renewed":
            tokens.renew(0.0)
    if spoilt == "stolen proof":
        peer, hello, answers = bench.greet("mallory", source=LAN)
        (challenge,) = answers
        assert isinstance(challenge, Challenge)
        theirs = Transcript("r1", "alice", identity("alice").key, NONCE, challenge.nonce, PIN)
        mine = signed(hello, challenge, by=identity("mallory"))
        bench.send(peer, Prove(mine.signature, given.id, theirs.prove(given.secret)))
        answers = bench.pull(peer)
    else:
        _, answers = bench.meet("mallory", source=LAN, ticket=ticket)
    assert only_refusal(answers).code == "no_invite"
    assert "mallory" not in bench.room.state.people


def test_invite_binds_few_names_that_never_write() -> None:
    tokens = InviteTokens()
    ticket = ticket_of(tokens.issue(0.0))
    bench = Bench(tokens=tokens)
    names = [f"idle{number:02}" for number in range(MOST_SILENT)]
    for name in names:
        bench.lose(bench.joined(name, source=LAN, ticket=ticket))
    _, answers = bench.meet("one-more", source=LAN, ticket=ticket)
    assert "without a word" in only_refusal(answers).text
    bench.joined(names[0], source=LAN, ticket=ticket)  # a member still needs no invite
    writer = bench.joined("zoe", source=LAN, ticket=ticket_of(tokens.issue(0.0)))
    bench.send(writer, PostMessage("m", "hello"))
    bench.joined("one-more", source=LAN, ticket=ticket)  # as one of them is here


def test_invite_admits_many_who_stay_or_write() -> None:
    tokens = InviteTokens()
    ticket = ticket_of(tokens.issue(0.0))
    bench = Bench(tokens=tokens)
    for number in range(2 * MOST_SILENT):
        peer = bench.joined(f"guest{number:02}", source=LAN, ticket=ticket)
        if number % 2:
            bench.send(peer, PostMessage("m", "hello"))
            bench.lose(peer)


def test_invite_names_survive_restart() -> None:
    tokens = InviteTokens()
    ticket = ticket_of(tokens.issue(0.0))
    bench = Bench(tokens=tokens)
    for number in range(MOST_SILENT):
        bench.lose(bench.joined(f"idle{number:02}", source=LAN, ticket=ticket))
    again = Bench(bench.written, tokens=InviteTokens.decode(tokens.encode()))
    _, answers = again.meet("one-more", source=LAN, ticket=ticket)
    assert only_refusal(answers).code == "no_invite"


def test_a_single_use_invite_lets_one_person_in() -> None:
    tokens = InviteTokens()
    ticket = ticket_of(tokens.issue(0.0, uses=1))
    bench = Bench(tokens=tokens)
    alice = bench.joined("alice", source=LAN, ticket=ticket)
    _, answers = bench.meet("bob", source=LAN, ticket=ticket)
    assert only_refusal(answers).code == "no_invite"
    bench.lose(alice)
    bench.joined("alice", source=LAN, ticket=ticket)


def test_refused_join_uses_up_no_invite() -> None:
    tokens = InviteTokens()
    ticket = ticket_of(tokens.issue(0.0, uses=1))
    bench = Bench(tokens=tokens)
    bench.joined("alice")
    _, answers = bench.meet("alice", by=identity("bob"), source=LAN, ticket=ticket)
    assert only_refusal(answers).code == "name_taken"
    _, answers = bench.meet("carol", source=LAN, ticket=ticket, since=99)
    assert only_refusal(answers).code == "diverged"
    bench.joined("bob", source=LAN, ticket=ticket)


# -- knocking


def asking(**fields: object) -> tuple[Bench, Peer]:
    bench = Bench(ask=True, key=HANA, **fields)  # type: ignore[arg-type]
    return bench, bench.join_host()


def test_a_stranger_waits_for_the_hosts_word() -> None:
    bench, host = asking()
    head = bench.room.state.head
    peer, (hold,) = bench.meet("alice")
    assert isinstance(hold, JoinPending)
    assert peer.stage not in ARRIVING
    knock = JoinRequested(peer.id, "alice", identity("alice").key, "loopback")
    assert bench.pull(host) == [knock]
    bench.say(host, "who is that?")
    assert bench.pull(peer) == []
    bench.pull(host)
    answers = bench.tell(host, AnswerJoinRequest(peer.id, allow=True))
    assert answers_in(answers)[0] == JoinRequested(*knock_of(knock), over=True)
    welcome, *_ = bench.pull(peer)
    assert isinstance(welcome, Welcome)
    assert bench.room.state.head == head + 2


def knock_of(knock: JoinRequested) -> tuple[int, str, str, str]:
    return knock.knock, knock.name, knock.key, knock.source


def test_the_host_may_turn_them_away() -> None:
    bench, host = asking()
    peer, _ = bench.meet("alice")
    bench.send(host, AnswerJoinRequest(peer.id, allow=False))
    refusal = only_refusal(bench.pull(peer))
    assert (refusal.code, refusal.final) == ("turned_away", True)
    assert "alice" not in bench.room.state.people
    assert (
        only_refusal(bench.tell(host, AnswerJoinRequest(peer.id, allow=True))).code
        == "unknown_person"
    )


@pytest.mark.parametrize("allow", [True, False])
def test_decision_covers_all_terminals(allow: bool) -> None:
    bench, host = asking()
    first, _ = bench.meet("alice")
    second, _ = bench.meet("alice", device="d2")
    stranger, _ = bench.meet("bob")
    bench.pull(host)
    bench.send(host, AnswerJoinRequest(second.id, allow=allow))
    overs = [each.knock for each in bench.pull(host) if isinstance(each, JoinRequested)]
    assert overs == [first.id, second.id]
    answered = Welcome if allow else FrameRefused
    assert all(isinstance(bench.pull(each)[0], answered) for each in (first, second))
    assert bench.pull(stranger) == []


def test_known_people_and_the_host_do_not_knock() -> None:
    bench, host = asking()
    peer, _ = bench.meet("alice")
    bench.send(host, AnswerJoinRequest(peer.id, allow=True))
    bench.lose(peer)
    bench.joined("alice", device="d2")
    bench.joined("hana", source=LAN)


def test_nobody_else_answers_a_knock() -> None:
    bench, _ = asking()
    bob = bench.join("bob", engine=True)
    peer, _ = bench.meet("alice")
    assert (
        only_refusal(bench.tell(bob, AnswerJoinRequest(peer.id, allow=True))).code == "not_allowed"
    )
    assert bench.pull(peer) == []


def test_late_host_sees_waiting_requests() -> None:
    bench, host = asking()
    peer, _ = bench.meet("alice")
    other, _ = bench.meet("bob")
    bench.send(other, Bye())
    late, answers = bench.meet("hana", device="d2")
    assert [each.knock for each in answers if isinstance(each, JoinRequested)] == [peer.id]
    for terminal in (host, late):
        bench.pull(terminal)
    bench.send(host, AnswerJoinRequest(peer.id, allow=True))
    for terminal in (host, late):
        overs = [each for each in bench.pull(terminal) if isinstance(each, JoinRequested)]
        assert [each.over for each in overs] == [True]


@pytest.mark.parametrize("how", ["bye", "lost", "nonsense", "no frame"])
def test_a_knock_is_over_when_the_stranger_goes(how: str) -> None:
    bench, host = asking()
    peer, _ = bench.meet("alice")
    bench.pull(host)
    match how:
        case "bye":
            bench.send(peer, Bye())
        case "lost":
            bench.lose(peer)
        case "nonsense":
            bench.send(peer, PostMessage("1", "let me in"))
        case "no frame":
            bench.room.reject(peer, "malformed", "no frame", bench.now)
    (over,) = bench.pull(host)
    assert isinstance(over, JoinRequested)
    assert (over.knock, over.over) == (peer.id, True)
    bench.lose(peer)
    assert bench.pull(host) == []
    assert bench.bodies(MemberJoined) == bench.bodies(MemberJoined)[:1]


def test_so_many_wait_and_no_more() -> None:
    made = InviteTokens()
    ticket = ticket_of(made.issue(0.0))
    bench, host = asking(tokens=made)
    for n in range(MAX_PENDING):
        bench.meet(f"stranger{n}", source=f"192.0.2.{n // MAX_PENDING_FROM_ONE}", ticket=ticket)
    peer, answers = bench.meet("alice")
    refusal = only_refusal(answers)
    assert (refusal.code, refusal.final) == ("room_full", False)
    assert peer.done
    assert (
        len([each for each in bench.pull(host) if isinstance(each, JoinRequested)]) == MAX_PENDING
    )


def test_one_source_leaves_places_to_ask() -> None:
    bench, _ = asking()
    for n in range(MAX_PENDING_FROM_ONE):
        assert isinstance(bench.meet(f"stranger{n}")[1][0], JoinPending)
    assert only_refusal(bench.meet("alice")[1]).code == "room_full"
    made = InviteTokens()
    bench, _ = asking(tokens=made)
    for n in range(MAX_PENDING_FROM_ONE):
        bench.meet(f"stranger{n}")
    _, (hold,) = bench.meet("alice", source=LAN, ticket=ticket_of(made.issue(0.0)))
    assert isinstance(hold, JoinPending)


def test_one_site_leaves_places_to_ask() -> None:
    made = InviteTokens()
    ticket = ticket_of(made.issue(0.0))
    bench, _ = asking(tokens=made)
    met = [
        bench.meet(f"stranger{n}", source=f"fd00::bad:{n:x}", ticket=ticket)[1][0]
        for n in range(2 * MAX_PENDING)
    ]
    assert sum(isinstance(answer, JoinPending) for answer in met) == MAX_PENDING_FROM_SITE
    refusal = only_refusal(bench.meet("late", source="fd00::bad:ffff", ticket=ticket)[1])
    assert (refusal.code, refusal.final) == ("room_full", False)
    for n, source in enumerate((LAN, "fd00:0:0:1::1")):
        assert isinstance(bench.meet(f"alice{n}", source=source, ticket=ticket)[1][0], JoinPending)


def test_old_request_yields_to_new_one() -> None:
    bench, host = asking()
    patient = [bench.meet(f"stranger{n}")[0] for n in range(MAX_PENDING_FROM_ONE)]
    bench.pull(host)
    bench.now += LONGEST_PENDING + 1
    _, (hold,) = bench.meet("alice")
    assert isinstance(hold, JoinPending)
    for peer in patient:
        assert only_refusal(bench.pull(peer)).code == "turned_away"
    over = [
        each.knock for each in bench.pull(host) if isinstance(each, JoinRequested) and each.over
    ]
    assert over == [each.id for each in patient]


def test_name_conflict_makes_no_request() -> None:
    bench, host = asking()
    alice, _ = bench.meet("alice")
    bench.send(host, AnswerJoinRequest(alice.id, allow=True))
    bench.pull(host)
    _, answers = bench.meet("alice", by=identity("mallory"))
    assert only_refusal(answers).code == "name_taken"
    assert answers_in(bench.pull(host)) == []


def test_grant_rechecks_current_state() -> None:
    tokens = InviteTokens()
    ticket = ticket_of(tokens.issue(0.0, uses=1))
    bench, host = asking(tokens=tokens)
    first, _ = bench.meet("alice", source=LAN, ticket=ticket)
    second, _ = bench.meet("bob", source=LAN, ticket=ticket)
    third, _ = bench.meet("alice", by=identity("mallory"))
    for peer in (first, second, third):
        bench.send(host, AnswerJoinRequest(peer.id, allow=True))
    assert isinstance(bench.pull(first)[0], Welcome)
    assert only_refusal(bench.pull(second)).code == "no_invite"
    assert only_refusal(bench.pull(third)).code == "name_taken"


def test_request_has_trimmed_name() -> None:
    bench, host = asking()
    peer, _ = bench.meet(" " * 9999 + "alice\n", by=identity("alice"))
    knock = JoinRequested(peer.id, "alice", identity("alice").key, "loopback")
    assert bench.pull(host) == [knock]


def test_strangers_do_not_learn_the_title() -> None:
    bench = Bench()
    _, _, answers = bench.greet("alice", room="another")
    refusal = only_refusal(answers)
    assert refusal.code == "wrong_room"
    assert "Standup" not in refusal.text


def test_with_ask_an_invite_is_still_needed() -> None:
    bench, host = asking()
    _, answers = bench.meet("alice", source=LAN)
    assert only_refusal(answers).code == "no_invite"
    assert answers_in(bench.pull(host)) == []


# -- the banned


def test_ban_holds_for_names_and_restart() -> None:
    bench = Bench(key=HANA)
    host = bench.join_host()
    bench.joined("alice")
    bench.send(host, Moderate("ban", "alice"))
    for each in (bench, Bench(bench.written, key=HANA)):
        for name, by in (("alice", "alice"), ("zoe", "alice"), ("ALICE", "mallory")):
            _, answers = each.meet(name, by=identity(by))
            assert only_refusal(answers).code == "banned"


def test_full_room_counts_people_only() -> None:
    bench = Bench(limits=Limits(members=1, joins=ROOMY.joins))
    bench.joined("alice")
    bench.joined("alice", device="d2")
    _, answers = bench.meet("bob")
    assert only_refusal(answers).code == "room_full"


def test_refused_joins_use_no_member_quota() -> None:
    tokens = InviteTokens()
    ticket = ticket_of(tokens.issue(0.0))
    bench = Bench(tokens=tokens, limits=Limits(joins=3))
    for n in range(20):  # of which none has an invite
        _, answers = bench.meet("mallory", by=Identity.generate(), source="fd00::1")
        assert only_refusal(answers).code == "no_invite", n
    names = [f"name{n}" for n in range(46)]
    for n, name in enumerate(names):
        bench.now += 5
        own = ticket_of(tokens.issue(0.0))
        peer, answers = bench.meet(name, ticket=own, source=f"fd00::{n + 1:x}")
        assert refusals(answers) == []
        bench.send(peer, Bye())
    for n in range(20):
        peer, _ = bench.meet("stranger", ticket=ticket, source=f"fd00::bad:{n:x}")
        bench.send(peer, Bye())
    for name in names:  # 46 who were here before, all at once and from anywhere
        bench.joined(name, source="fd00::bad:0")


@pytest.mark.parametrize(
    "name", ["\u0251lice", "alice\u00b7", "al1ce", "A-L-I-C-E", "hana_", "h\u0251na"]
)
def test_lookalike_name_is_refused(name: str) -> None:
    bench = Bench()
    bench.lose(bench.joined("alice"))
    refusal = only_refusal(bench.meet(name)[1])
    assert refusal.code == "name_taken"
    assert "looks like" in refusal.text
    assert "--name" in refusal.text
    assert only_refusal(bench.meet("gen1e")[1]).code == "name_invalid"


def test_existing_lookalikes_may_return(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as before:
        before.setattr("genie_core.room.server.admission.skeletons", lambda name: frozenset({name}))
        bench = Bench()
        for name in ("bob", "b0b", "\u0251nn", "ann"):
            bench.joined(name)
    again = Bench(bench.written)
    for name in ("b0b", "bob", "ann", "\u0251nn"):
        again.joined(name)
    assert only_refusal(again.meet("B0b", by=identity("stranger"))[1]).code == "name_taken"
    b0b = Bench(bench.written, host="b0b", key=identity("b0b").key)
    b0b.joined("bob")
