import pytest
from tests.genie_core.room.bench import (
    LAN,
    PIN,
    Bench,
    answers_in,
    events_in,
    identity,
    only_refusal,
    refusals,
)
from tests.genie_core.room.founded import founded

from genie_core.room.protocol.events import (
    ArgumentSharingChanged,
    Measure,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessagePosted,
    Role,
    RoomSuspended,
)
from genie_core.room.protocol.frames import (
    AcceptHosting,
    AnswerJoinRequest,
    Bye,
    Chunk,
    ClientFrame,
    HostingAccepted,
    HostingOffered,
    Moderate,
    OfferHosting,
    PostMessage,
    SetEngine,
    SetHeirs,
    SetPreferences,
    ShareArguments,
    StoreFile,
    Typing,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.server.moderation import PUT_OUT, REASON_CHARS

HANA = identity("hana").key


class Meeting(Bench):
    """A room with its host, alice who has an engine, and bob."""

    def __init__(self) -> None:
        super().__init__(key=HANA)
        self.hana = self.join_host()
        self.alice = self.joined("alice", engine=True)
        self.bob = self.joined("bob")
        for peer in (self.hana, self.alice, self.bob):
            self.pull(peer)

    def act(self, measure: Measure, name: str, role: Role | None = None) -> None:
        assert refusals(self.tell(self.hana, Moderate(measure, name, role))) == []

    def reopened(self) -> Bench:
        return Bench(self.written, key=HANA)


@pytest.fixture
def meeting() -> Meeting:
    return Meeting()


def host_record(name: str, *, by: str = "", room: str = "r1", host: str = "") -> HostRecord:
    return sign_host_record(
        identity(by or name),
        room=room,
        host=host or name,
        pin=PIN,
        addresses=("192.0.2.8:7777",),
        at=1.0,
    )


# -- whose authority


@pytest.mark.parametrize(
    "frame",
    [
        Moderate("kick", "bob"),
        Moderate("ban", "hana"),
        Moderate("role", "alice", "host"),
        Moderate("unmute", "alice"),
        ShareArguments(on=True),
        OfferHosting("alice"),
        AnswerJoinRequest(1, allow=True),
    ],
)
def test_only_the_host_has_authority(meeting: Meeting, frame: ClientFrame) -> None:
    head = meeting.room.state.head
    refusal = only_refusal(meeting.tell(meeting.alice, frame))
    assert (refusal.code, refusal.final) == ("not_allowed", False)
    assert meeting.room.state.head == head


def test_the_hosts_other_terminal_has_it_too(meeting: Meeting) -> None:
    other = meeting.joined("hana", device="d2", source=LAN)
    assert refusals(meeting.tell(other, Moderate("mute", "bob"))) == []
    assert meeting.room.state.people["bob"].muted


@pytest.mark.parametrize("measure", ["kick", "ban", "mute", "role"])
def test_the_host_is_no_target(meeting: Meeting, measure: Measure) -> None:
    head = meeting.room.state.head
    for name in ("hana", "HANA"):
        refusal = only_refusal(meeting.tell(meeting.hana, Moderate(measure, name, "observer")))
        assert refusal.code == "out_of_state"
    assert meeting.room.state.head == head


def test_nobody_is_no_target_either(meeting: Meeting) -> None:
    for name in ("zoe", "", "\ud800", "z" * 100_000):
        refusal = only_refusal(meeting.tell(meeting.hana, Moderate("ban", name)))
        assert refusal.code == "unknown_person"
        assert len(refusal.text) < 200


@pytest.mark.parametrize(
    ("measure", "role", "what"),
    [
        ("pardon", None, "not banned"),
        ("unmute", None, "not muted"),
        ("role", None, "roles"),
    ],
)
def test_what_changes_nothing_is_refused(
    meeting: Meeting, measure: Measure, role: Role | None, what: str
) -> None:
    refusal = only_refusal(meeting.tell(meeting.hana, Moderate(measure, "bob", role)))
    assert refusal.code == "out_of_state"
    assert what in refusal.text


def test_the_host_has_a_pace_too() -> None:
    bench = Bench(limits=Limits(burst=2, per_second=1.0))
    host = bench.join_host()
    bench.join("bob")
    wishes = [Moderate("mute", "bob"), Moderate("unmute", "bob"), Moderate("mute", "bob")]
    assert only_refusal(bench.tell(host, *wishes)).code == "too_fast"


# -- kicking and banning


def test_kicked_gets_log_and_farewell(meeting: Meeting) -> None:
    second = meeting.joined("bob", device="d2")
    meeting.send(meeting.hana, Moderate("kick", "BOB", reason="be\ud800 nice" + "!" * 999))
    meeting.say(meeting.alice, "he is gone")
    for peer in (meeting.bob, second):
        frames = meeting.pull(peer)
        last = events_in(frames)[-1].body
        assert isinstance(last, MemberModerated)
        assert (last.measure, last.name) == ("kick", "bob")
        assert last.reason.startswith("be? nice!")
        assert len(last.reason) == REASON_CHARS
        refusal = only_refusal(frames)
        assert (refusal.code, refusal.final) == ("kicked", True)
        assert "be? nice" in refusal.text
        assert peer.done
        assert meeting.pull(peer) == []


def test_removed_is_gone_immediately(meeting: Meeting) -> None:
    meeting.act("kick", "bob")
    assert meeting.bodies()[-2:] == [
        MemberModerated("kick", "bob"),
        MemberLeft("bob", PUT_OUT, "d1"),
    ]
    assert not meeting.room.state.people["bob"].present
    head = meeting.room.state.head
    meeting.send(meeting.bob, PostMessage("1", "I stay"), Typing())
    meeting.lose(meeting.bob)
    assert meeting.room.state.head == head
    assert answers_in(meeting.pull(meeting.alice)) == []
    refusal = only_refusal(meeting.tell(meeting.hana, Moderate("kick", "bob")))
    assert "not in the room" in refusal.text


def test_the_kicked_may_return(meeting: Meeting) -> None:
    meeting.act("kick", "bob")
    meeting.joined("bob")
    assert only_refusal(meeting.pull(meeting.bob)).code == "kicked"
    assert meeting.room.state.people["bob"].present


def test_ban_lasts_until_pardon(meeting: Meeting) -> None:
    meeting.act("ban", "bob")
    assert only_refusal(meeting.pull(meeting.bob)).code == "banned"
    again = meeting.reopened()
    assert only_refusal(again.meet("bob")[1]).code == "banned"
    host = again.join_host()
    assert "banned already" in only_refusal(again.tell(host, Moderate("ban", "bob"))).text
    again.send(host, Moderate("pardon", "bob"))
    again.joined("bob")


def test_who_is_away_can_be_banned(meeting: Meeting) -> None:
    meeting.lose(meeting.bob)
    meeting.act("ban", "bob")
    assert only_refusal(meeting.meet("zoe", by=identity("bob"))[1]).code == "banned"


def test_a_name_without_a_key_can_be_banned() -> None:
    bench = Bench()
    host = bench.join_host()
    bench.join("bob")
    bench.send(host, Moderate("ban", "bob"))
    assert only_refusal(bench.meet("bob")[1]).code == "banned"
    bench.joined("carol")


# -- silence and roles


def test_mute_lasts_until_unmute(meeting: Meeting) -> None:
    meeting.act("mute", "bob")
    assert only_refusal(meeting.tell(meeting.bob, PostMessage("1", "hi"))).code == "muted"
    meeting.pull(meeting.alice)
    meeting.send(meeting.bob, Typing())
    assert meeting.pull(meeting.alice) == []
    again = meeting.reopened()
    bob = again.joined("bob")
    assert again.room.state.people["bob"].muted
    refusal = only_refusal(again.tell(bob, PostMessage("1", "hi")))
    assert (refusal.code, refusal.ref) == ("muted", "1")
    again.send(again.join_host(), Moderate("unmute", "bob"))
    again.say(bob)
    assert isinstance(again.bodies()[-1], MessagePosted)


def test_the_muted_bring_no_files(meeting: Meeting) -> None:
    meeting.act("mute", "bob")
    frames: list[ClientFrame] = [StoreFile("b" * 64, 3), Chunk("b" * 64, 0, b"abc")]
    codes = [(each.code, each.ref) for each in refusals(meeting.tell(meeting.bob, *frames))]
    assert codes == [("not_allowed", "b" * 64)] * 2
    assert meeting.room.files.take_jobs() == []


def test_observers_read_and_do_no_more(meeting: Meeting) -> None:
    meeting.act("role", "alice", "observer")
    assert only_refusal(meeting.tell(meeting.alice, PostMessage("1", "hi"))).code == "not_allowed"
    assert only_refusal(meeting.tell(meeting.alice, StoreFile("b" * 64, 3))).code == "not_allowed"
    meeting.say(meeting.bob, "can you hear me?")
    seen = [event.body for event in events_in(meeting.pull(meeting.alice))]
    assert isinstance(seen[-1], MessagePosted)
    again = meeting.reopened()
    alice = again.joined("alice", engine=True)
    assert again.bodies(MemberJoined)[-1].role == "observer"
    assert only_refusal(again.tell(alice, PostMessage("1", "hi"))).code == "not_allowed"


def test_host_serves_guest_with_engine(meeting: Meeting) -> None:
    meeting.say(meeting.alice)
    assert meeting.bodies()[-1].handler == "alice"
    meeting.act("role", "alice", "guest")
    meeting.say(meeting.alice, id_="2")
    assert meeting.bodies()[-1].handler == "hana"
    meeting.act("role", "alice", "member")
    meeting.say(meeting.alice, id_="3")
    assert meeting.bodies()[-1].handler == "alice"


# -- sharing


def test_sharing_is_recorded_when_it_changes(meeting: Meeting) -> None:
    meeting.send(
        meeting.hana,
        ShareArguments(on=False),
        ShareArguments(on=True),
        ShareArguments(on=True),
        ShareArguments(on=False),
    )
    assert meeting.bodies(ArgumentSharingChanged) == [
        ArgumentSharingChanged(on=True),
        ArgumentSharingChanged(on=False),
    ]
    assert not meeting.room.state.sharing


# -- handing over


def test_willing_member_becomes_heir(meeting: Meeting) -> None:
    second = meeting.joined("alice", device="d2")
    meeting.pull(second)
    meeting.send(meeting.hana, OfferHosting("Alice"))
    for peer in (meeting.alice, second):
        assert answers_in(meeting.pull(peer)) == [HostingOffered("hana")]
    will = host_record("alice")
    meeting.pull(meeting.hana)
    meeting.send(second, AcceptHosting(will))
    assert meeting.pull(meeting.hana) == [HostingAccepted("alice", will)]
    meeting.room.suspend("alice hosts", meeting.now)
    meeting.commit()
    assert meeting.bodies()[-1] == RoomSuspended("alice hosts", "alice", will)
    heir = meeting.room.state.heir
    assert heir is not None
    assert heir.host_record == will


def test_unaccepted_offer_makes_no_heir(meeting: Meeting) -> None:
    meeting.send(meeting.hana, OfferHosting("alice"))
    meeting.room.suspend("", meeting.now)
    assert meeting.room.state.heir is None


@pytest.mark.parametrize("name", ["hana", "bob", "carol", "dora", "eric"])
def test_some_can_not_be_asked_to_host(meeting: Meeting, name: str) -> None:
    """The host, a guest, somebody who is gone, and whom nobody would follow."""
    meeting.lose(meeting.joined("carol", engine=True))
    meeting.joined("dora", engine=True)
    meeting.joined("eric", engine=True)
    meeting.act("mute", "dora")
    meeting.act("role", "eric", "observer")
    meeting.pull(meeting.hana)
    assert only_refusal(meeting.tell(meeting.hana, OfferHosting(name))).code == "out_of_state"


def test_who_has_no_key_can_not_be_asked_to_host(meeting: Meeting) -> None:
    meeting.join("dave")
    assert only_refusal(meeting.tell(meeting.hana, OfferHosting("dave"))).code == "out_of_state"
    assert only_refusal(meeting.tell(meeting.hana, OfferHosting("zoe"))).code == "unknown_person"


def test_nobody_accepts_who_was_not_asked(meeting: Meeting) -> None:
    assert (
        only_refusal(meeting.tell(meeting.bob, AcceptHosting(host_record("bob")))).code
        == "not_allowed"
    )
    meeting.send(meeting.hana, OfferHosting("alice"))
    assert (
        only_refusal(meeting.tell(meeting.bob, AcceptHosting(host_record("bob")))).code
        == "not_allowed"
    )
    meeting.send(meeting.alice, AcceptHosting(host_record("alice")))
    again = meeting.tell(meeting.alice, AcceptHosting(host_record("alice")))
    assert only_refusal(again).code == "not_allowed"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (host_record("bob"), "unproven"),
        (host_record("alice", by="bob"), "unproven"),
        (host_record("alice", host="hana"), "unproven"),
        (host_record("alice", room="another"), "wrong_room"),
        (HostRecord("r1", "alice", identity("alice").key, PIN, signature=b"s" * 64), "unproven"),
        (HostRecord("\ud800", "alice", identity("alice").key, PIN), "unproven"),
    ],
)
def test_foreign_host_record_is_refused(meeting: Meeting, wrong: HostRecord, code: str) -> None:
    meeting.send(meeting.hana, OfferHosting("alice"))
    assert only_refusal(meeting.tell(meeting.alice, AcceptHosting(wrong))).code == code
    meeting.room.suspend("", meeting.now)
    assert meeting.room.state.heir is None


@pytest.mark.parametrize("measure", ["kick", "ban"])
def test_who_is_put_out_does_not_host_next(meeting: Meeting, measure: Measure) -> None:
    meeting.send(meeting.hana, OfferHosting("alice"))
    meeting.send(meeting.alice, AcceptHosting(host_record("alice")))
    meeting.act(measure, "alice")
    meeting.room.suspend("", meeting.now)
    assert meeting.room.state.heir is None


@pytest.mark.parametrize(
    ("measure", "role"), [("mute", None), ("role", "observer"), ("role", "guest"), ("ban", None)]
)
def test_unfit_member_accepts_no_offer(
    meeting: Meeting, measure: Measure, role: Role | None
) -> None:
    meeting.send(meeting.hana, OfferHosting("alice"))
    meeting.act(measure, "alice", role)
    meeting.pull(meeting.hana)
    meeting.send(meeting.alice, AcceptHosting(host_record("alice")))
    assert answers_in(meeting.pull(meeting.hana)) == []
    meeting.room.suspend("", meeting.now)
    assert meeting.room.state.heir is None


@pytest.mark.parametrize("how", ["mute", "observer"])
def test_measure_withdraws_offer(meeting: Meeting, how: str) -> None:
    measures: list[tuple[Measure, Role | None]] = [("mute", None), ("unmute", None)]
    if how == "observer":
        measures = [("role", "observer"), ("role", "member")]
    meeting.send(meeting.hana, OfferHosting("alice"))
    for measure, role in measures:
        meeting.act(measure, "alice", role)
    refusal = only_refusal(meeting.tell(meeting.alice, AcceptHosting(host_record("alice"))))
    assert refusal.code == "not_allowed"
    meeting.send(meeting.hana, OfferHosting("alice"))
    assert refusals(meeting.tell(meeting.alice, AcceptHosting(host_record("alice")))) == []
    meeting.act(measures[0][0], "alice", measures[0][1])
    meeting.room.suspend("", meeting.now)
    assert meeting.room.state.heir is None


def test_measure_on_other_keeps_offer(meeting: Meeting) -> None:
    meeting.send(meeting.hana, OfferHosting("alice"))
    meeting.act("mute", "bob")
    meeting.act("role", "alice", "member")
    assert refusals(meeting.tell(meeting.alice, AcceptHosting(host_record("alice")))) == []
    meeting.room.suspend("", meeting.now)
    assert meeting.room.state.heir is not None


def test_muted_member_speaks_in_own_room(meeting: Meeting) -> None:
    meeting.act("mute", "alice")
    meeting.act("role", "alice", "observer")
    own = Bench(meeting.written, host="alice", key=identity("alice").key)
    alice = own.join_host()
    own.say(alice, "I host now")
    assert own.bodies()[-1].text == "I host now"
    old = own.joined("hana", source=LAN)
    assert only_refusal(own.tell(old, Moderate("kick", "alice"))).code == "not_allowed"


@pytest.mark.parametrize("measure", ["kick", "ban"])
def test_full_disk_still_removes_member(meeting: Meeting, measure: Measure) -> None:
    meeting.room.receive(meeting.hana, Moderate(measure, "bob"), meeting.now)
    assert meeting.pull(meeting.bob) == []  # for the log comes first
    meeting.room.trouble("the disk is full")
    assert meeting.bob in meeting.room.peers.take_ready()
    (farewell,) = refusals(meeting.pull(meeting.bob))
    assert farewell.code in ("kicked", "banned")
    assert meeting.bob.done
    told = [each for each in refusals(meeting.pull(meeting.hana)) if each.code == "disk"]
    assert [f"not done for good: /{measure} bob holds" in each.text for each in told] == [True]


def test_full_disk_measures_hold_as_unsure(
    meeting: Meeting,
) -> None:
    meeting.room.trouble("the disk is full")
    wishes: list[ClientFrame] = [
        Moderate("mute", "alice"),
        Moderate("role", "alice", "observer"),
        ShareArguments(on=True),
        Moderate("ban", "bob"),
    ]
    for wish in wishes:
        meeting.room.receive(meeting.hana, wish, meeting.now)
    told = [each.text for each in refusals(meeting.pull(meeting.hana))]
    assert [text.split(" holds ")[0].rsplit(": ", 1)[1] for text in told] == [
        *("/mute alice", "/role alice", "/share", "/ban bob")
    ]
    meeting.room.trouble("the disk is still full")
    assert refusals(meeting.pull(meeting.hana)) == []  # told once
    meeting.room.receive(meeting.alice, PostMessage("1", "hello"), meeting.now)
    assert only_refusal(meeting.pull(meeting.alice)).code == "muted"
    assert only_refusal(meeting.meet("bob")[1]).code == "banned"
    meeting.commit()
    meeting.room.trouble("")
    assert meeting.bodies(MemberModerated)[-1].measure == "ban"


def test_pending_limit_still_allows_ban(meeting: Meeting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genie_core.room.server.log_window.PENDING_EVENTS", 1)
    meeting.room.receive(meeting.alice, PostMessage("1", "hello"), meeting.now)
    meeting.room.receive(meeting.hana, Moderate("ban", "bob"), meeting.now)
    assert "bob" in meeting.room.state.banned
    meeting.room.receive(meeting.hana, Moderate("pardon", "bob"), meeting.now)
    assert "bob" in meeting.room.state.banned
    assert [each.code for each in refusals(meeting.pull(meeting.hana))] == ["disk"]


@pytest.mark.parametrize("how", ["mute", "observer"])
def test_muted_sets_no_label_or_preference(meeting: Meeting, how: str) -> None:
    wish = Moderate("mute", "alice") if how == "mute" else Moderate("role", "alice", "observer")
    meeting.send(meeting.hana, wish)
    for frame in (SetEngine("READ THIS"), SetPreferences("READ THIS")):
        assert only_refusal(meeting.tell(meeting.alice, frame)).code == "not_allowed"
    meeting.send(meeting.alice, Bye("READ THIS"))
    again = meeting.joined("alice", engine=True, agent="READ THIS")
    refused = meeting.tell(again, SetPreferences("READ THIS"))
    assert only_refusal(refused).code == "not_allowed"
    meeting.room.reject(again, "malformed", "READ THIS", meeting.now)
    once_more = meeting.joined("alice", engine=True)
    meeting.room.disconnect(once_more, "READ THIS", meeting.now)
    meeting.commit()
    assert "READ THIS" not in repr(meeting.written)
    meeting.send(meeting.hana, Moderate("unmute" if how == "mute" else "role", "alice", "member"))
    alice = meeting.joined("alice", engine=True, agent="small")
    meeting.send(alice, SetPreferences("in short"), Bye("lunch"))
    assert meeting.bodies(MemberJoined)[-1].agent == "small"
    assert meeting.bodies(MemberLeft)[-1].reason == "lunch"
    assert meeting.room.state.preferences["alice"] == "in short"


def test_muted_member_keeps_preferences(meeting: Meeting) -> None:
    meeting.send(meeting.alice, SetPreferences("in short"), Bye())
    meeting.act("mute", "alice")
    again = meeting.joined("alice", engine=True, signature=b"s")
    assert only_refusal(meeting.tell(again, SetPreferences("at length"))).code == "not_allowed"
    assert meeting.room.state.preferences["alice"] == "in short"


# -- measures of the program that hosts


def test_program_moderates_in_hosts_name(meeting: Meeting) -> None:
    assert meeting.room.administer(Moderate("role", "Bob", "host"), meeting.now) == ""
    assert meeting.room.administer(Moderate("ban", "alice", reason="spam"), meeting.now) == ""
    meeting.commit()
    by = [event.by for event in meeting.written if isinstance(event.body, MemberModerated)]
    assert by == ["hana", "hana"]
    assert meeting.room.state.people["bob"].role == "host"
    assert "alice" in meeting.room.state.banned
    assert only_refusal(meeting.pull(meeting.alice)).code == "banned"


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (Moderate("kick", "hana"), "the host can't be the target"),
        (Moderate("role", "hana", "host"), "the host can't be the target"),
        (Moderate("kick", "zoe"), "no one called zoe was ever here"),
        (Moderate("role", "bob"), "there are the roles"),
        (Moderate("pardon", "bob"), "bob is not banned"),
    ],
)
def test_a_program_is_told_what_can_not_be(meeting: Meeting, frame: Moderate, why: str) -> None:
    head = meeting.room.state.head
    assert why in meeting.room.administer(frame, meeting.now)
    assert meeting.room.state.head == head


def test_freed_name_is_open_to_another_key(meeting: Meeting) -> None:
    meeting.lose(meeting.bob)
    _, answers = meeting.meet("bob", by=identity("robert"))
    assert only_refusal(answers).code == "name_taken"
    meeting.act("free", "bob")
    meeting.joined("bob", by=identity("robert"))
    assert meeting.room.state.keys["bob"] == identity("robert").key
    again = meeting.reopened()
    assert again.room.state.keys["bob"] == identity("robert").key
    _, answers = again.meet("bob")
    assert only_refusal(answers).code == "name_taken"


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("wrote", "has written here"),
        ("present", "first /kick bob"),
        ("banned", "first /pardon bob"),
        ("heir", "may host"),
        ("co-host", "may host"),
        ("host", "can't be the target"),
    ],
)
def test_host_frees_no_name_of_a_known_person(meeting: Meeting, case: str, why: str) -> None:
    match case:
        case "wrote":
            meeting.send(meeting.bob, PostMessage("m", "hello"))
        case "banned":
            meeting.act("ban", "bob")
        case "heir":
            meeting.act("role", "bob", "member")
            meeting.send(meeting.hana, SetHeirs(("bob",)))
        case "co-host":
            meeting.act("role", "bob", "host")
    if case not in ("present", "banned"):
        meeting.lose(meeting.bob)
    name = "hana" if case == "host" else "bob"
    refusal = only_refusal(meeting.tell(meeting.hana, Moderate("free", name)))
    assert why in refusal.text
    assert name in meeting.room.state.people


def test_free_keeps_head_of_order() -> None:
    """An heir who hosts can't give the name of the member to whom the room was handed to another."""
    log = founded("bob", "cleo")
    log.add("", RoomSuspended("", "bob", log.host_record_of("bob")))
    log.hosts("cleo")
    log.add("cleo", MemberModerated("free", "bob"))
    assert log.state.doubts == {}
    assert log.state.succession.order[0] == log.state.keys["bob"]


def test_free_keeps_used_name() -> None:
    log = founded("bob", "cleo")
    log.says("bob")
    for name in ("bob", "cleo"):
        log.add("", MemberLeft(name))
        log.add("ann", MemberModerated("free", name))
    assert log.state.doubts == {}
    assert log.state.keys.keys() == {"ann", "bob"}
    assert log.state.people.keys() == {"ann", "bob"}
