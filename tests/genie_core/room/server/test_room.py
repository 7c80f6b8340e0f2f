import pytest
from hypothesis import settings
from tests.genie_core.room.bench import (
    LAN,
    PIN,
    ROOMY,
    Bench,
    events_in,
    identity,
    only_refusal,
    refusals,
)
from tests.genie_core.room.crowd import Crowd

from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    ApprovalRequested,
    DecisionMade,
    EngineChanged,
    Event,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    RoomCreated,
    RoomSuspended,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.room.protocol.frames import (
    KNOWN,
    VERSION,
    AnswerDelta,
    Bye,
    ClientFrame,
    Entries,
    ForkPoints,
    FrameRefused,
    Hello,
    MemberTyping,
    Moderate,
    PostMessage,
    Publish,
    ReportDelta,
    ServerFrame,
    SetEngine,
    Stop,
    Stopping,
    Suspending,
    Trouble,
    Typing,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.server.admission import DENSE_POINTS
from genie_core.room.server.peers import ARRIVING
from genie_core.room.server.room import FAREWELL_CHARS, ROOMS_REASONS
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import Phase
from genie_core.room.transport.hardening import most_standing

# -- opening and coming in


def test_a_new_room_opens_and_a_past_one_goes_on() -> None:
    first = Bench()
    assert first.bodies() == [RoomCreated("r1", "Standup"), HostStarted("hana")]
    again = Bench(first.written)
    assert again.bodies() == [
        RoomCreated("r1", "Standup"),
        HostStarted("hana"),
        HostStarted("hana"),
    ]
    assert [event.seq for event in again.written] == [1, 2, 3]


@pytest.mark.parametrize("first", [UnreadableEvent("damaged"), RoomCreated("r0", "Another")])
def test_room_keeps_id_despite_lost_log(
    first: UnreadableEvent | RoomCreated,
) -> None:
    bench = Bench([Event(1, 1.0, ROOM, first), Event(2, 2.0, ROOM, HostStarted("hana"))])
    welcome, entries = bench.pull(bench.connect(Hello("alice")))
    assert isinstance(welcome, Welcome)
    assert (welcome.room, welcome.title) == ("r1", "Standup")
    folded = RoomState()
    for event in events_in([entries]):
        folded.apply(event)
    assert (folded.room, folded.title) == ("r1", "Standup")
    again = Bench(bench.written)
    assert again.bodies()[-1] == HostStarted("hana")


def test_welcome_precedes_history() -> None:
    bench = Bench()
    peer = bench.connect(Hello("alice"))
    welcome, entries = bench.pull(peer)
    assert isinstance(welcome, Welcome)
    assert (welcome.room, welcome.title, welcome.name) == ("r1", "Standup", "alice")
    assert (welcome.role, welcome.host, welcome.head) == ("guest", "hana", 3)
    assert welcome.limits == ROOMY
    assert [event.seq for event in events_in([entries])] == [1, 2, 3]
    assert bench.written[-1] == Event(3, 1000.0, "alice", MemberJoined("guest"))


def test_catch_up_starts_at_peer_position() -> None:
    bench = Bench()
    peer = bench.connect(Hello("alice", since=2))
    assert [event.seq for event in events_in(bench.pull(peer))] == [3]


def test_an_impossible_position_does_no_harm() -> None:
    bench = Bench()
    peer = bench.connect(Hello("alice", since=-5))
    assert [event.seq for event in events_in(bench.pull(peer))] == [1, 2, 3]
    bench.say(peer)
    assert [event.seq for event in events_in(bench.pull(peer))] == [4]
    ahead = bench.connect(Hello("bob", since=10**30))
    assert only_refusal(bench.pull(ahead)).code == "diverged"


def test_roles_follow_from_token_and_engine() -> None:
    bench = Bench()
    bench.join_host()
    bench.join("alice", engine=True, agent="some model")
    bench.join("bob")
    people = bench.room.state.people
    assert [people[name].role for name in ("hana", "alice", "bob")] == ["host", "member", "guest"]
    assert people["alice"].agent == "some model"


@pytest.mark.parametrize(
    ("hello", "code"),
    [
        (Hello("zoe", version=99), "version"),
        (Hello("zoe", room="another"), "wrong_room"),
        (Hello("genie"), "name_invalid"),
        (Hello(""), "name_invalid"),
        (Hello("hana"), "name_taken"),
        (Hello("HANA", token="guess"), "name_taken"),
        (Hello("alice"), "name_taken"),
        (Hello("ALICE", token="wrong"), "name_taken"),
        (Hello("zoe", device="d" * 65), "malformed"),
        (Hello("аlice"), "name_invalid"),
        (Hello("аӏісе"), "name_taken"),
        (Hello("Álice"), "name_taken"),
        (Hello("\ud800"), "name_invalid"),
        (Hello("alice", token="\ud800"), "name_taken"),
    ],
)
def test_who_may_not_come_in_is_told_why(hello: Hello, code: str) -> None:
    bench = Bench()
    bench.join("alice", key=identity("alice").key)
    head = bench.room.state.head
    peer = bench.connect(hello)
    refusal = only_refusal(bench.pull(peer))
    assert (refusal.code, refusal.final) == (code, True)
    assert peer.done
    assert bench.room.state.head == head


def test_reasons_and_refusals_stay_short() -> None:
    bench = Bench()
    peer = bench.connect(Hello("x" * 100_000))
    assert len(only_refusal(bench.pull(peer)).text) < 1000
    alice = bench.join("alice")
    bench.send(alice, Bye("\ud800" + "y" * 100_000))
    left = bench.bodies()[-1]
    assert isinstance(left, MemberLeft)
    assert left.reason.startswith("?yyy")
    assert len(left.reason) < 1000


def test_a_version_refusal_names_both() -> None:
    bench = Bench()
    peer = bench.connect(Hello("zoe", version=99))
    assert f"version {VERSION}" in only_refusal(bench.pull(peer)).text
    peer = bench.connect(Hello("zoe", version=99))
    assert "speak 99" in only_refusal(bench.pull(peer)).text


def test_full_room_admits_returners() -> None:
    bench = Bench(limits=Limits(members=2))
    bench.joined("alice")
    bench.join("bob")
    late = bench.connect(Hello("carol"))
    assert only_refusal(bench.pull(late)).code == "room_full"
    bench.joined("alice")
    bench.joined("alice", device="d2")


def test_same_device_replaces_connection() -> None:
    bench = Bench()
    old = bench.joined("alice")
    head = bench.room.state.head
    _, (second,) = bench.meet("Alice", by=identity("alice"), since=head)
    refusal = only_refusal(bench.pull(old))
    assert (refusal.code, refusal.final) == ("replaced", True)
    assert isinstance(second, Welcome)
    assert second.name == "alice"
    bench.room.disconnect(old, "gone", bench.now)
    assert bench.room.state.people["alice"].present
    assert bench.room.state.head == head


def test_busiest_site_loses_its_oldest() -> None:
    bench = Bench(limits=Limits(half_open=4))
    local = [bench.connect() for _ in range(100)]
    first = bench.room.connect(LAN, PIN)
    crowd = [bench.room.connect(f"fd00::{n:x}", PIN) for n in range(1, most_standing(4))]
    assert not any(each.done for each in (first, *crowd, *local))
    last = bench.room.connect("192.0.2.8", PIN)
    refusal = only_refusal(bench.pull(crowd[0]))
    assert (refusal.code, refusal.final) == ("room_full", False)
    assert all(each.stage in ARRIVING for each in (first, *crowd[1:], last, *local))
    bench.send(local[0], Hello("bob"))
    assert isinstance(bench.pull(local[0])[0], Welcome)


def test_diverged_peer_is_not_admitted() -> None:
    bench = Bench()
    bench.say(bench.join("alice"))
    head = bench.room.state.head
    ours = event_mark(bench.written[-1])
    theirs = event_mark(Event(head, 1.0, "alice", MessagePosted("9", "something else")))
    same = bench.connect(Hello("bob", since=head, mark=ours))
    other = bench.connect(Hello("carol", since=head, mark=theirs))
    ahead = bench.connect(Hello("dora", since=head + 9, mark=theirs))
    assert isinstance(bench.pull(same)[0], Welcome)
    for parted in (other, ahead):
        points, refusal = bench.pull(parted)
        assert isinstance(refusal, FrameRefused)
        assert (refusal.code, refusal.final) == ("diverged", True)
        assert points == ForkPoints(
            tuple((each.seq, event_mark(each)) for each in reversed(bench.written))
        )
    assert {"carol", "dora"}.isdisjoint(bench.room.state.people)


def test_fork_points_are_dense_near_end() -> None:
    bench = Bench()
    alice = bench.join("alice")
    for number in range(500 - bench.room.state.head):
        bench.say(alice, id_=str(number))
    points, _ = bench.pull(bench.connect(Hello("carol", since=600, mark=1)))
    assert isinstance(points, ForkPoints)
    far = [500 - 64, 500 - 128, 500 - 256]
    assert [seq for seq, _ in points.points] == [*range(500, 500 - DENSE_POINTS, -1), *far]


def test_what_is_damaged_here_contradicts_nobody() -> None:
    past = Bench().written
    lost = Event(3, 1000.0, ROOM, UnreadableEvent("damaged"))
    bench = Bench([*past, lost])
    mark = event_mark(Event(3, 1000.0, "alice", MemberJoined("guest")))
    assert isinstance(bench.pull(bench.connect(Hello("alice", since=3, mark=mark)))[0], Welcome)


# -- speaking


def test_stamped_message_is_acknowledged() -> None:
    bench = Bench()
    alice = bench.join("alice")
    bench.send(alice, PostMessage("m1", "hello"))
    assert events_in(bench.pull(alice)) == [Event(4, 1000.0, "alice", MessagePosted("m1", "hello"))]


def test_delivery_waits_for_disk() -> None:
    bench = Bench()
    alice, bob = bench.join("alice"), bench.join("bob")
    bench.pull(alice)
    bench.room.receive(alice, PostMessage("m1", "hello"), bench.now)
    assert bench.pull(alice) == bench.pull(bob) == []
    assert [event.body for event in bench.room.log.pending()] == [MessagePosted("m1", "hello")]
    bench.commit()
    assert len(events_in(bench.pull(alice))) == len(events_in(bench.pull(bob))) == 1


def test_repeated_message_is_recorded_once() -> None:
    bench = Bench()
    alice, bob = bench.join("alice"), bench.join("bob")
    bench.send(alice, PostMessage("m1", "hello"), PostMessage("m1", "hello"))
    bench.send(bob, PostMessage("m1", "another person's"))
    again = Bench(bench.written)
    again.send(again.join("alice"), PostMessage("m1", "hello"))
    texts = [body.text for body in again.bodies() if isinstance(body, MessagePosted)]
    assert texts == ["hello", "another person's"]


@pytest.mark.parametrize(
    ("say", "code"),
    [
        (PostMessage("1", "x" * 101), "too_long"),
        (PostMessage("1", " \n "), "malformed"),
        (PostMessage("", "x"), "malformed"),
        (PostMessage("i" * 65, "x"), "malformed"),
    ],
)
def test_bad_message_keeps_connection(say: PostMessage, code: str) -> None:
    bench = Bench(limits=Limits(text_chars=100))
    alice = bench.join("alice")
    bench.send(alice, say)
    refusal = only_refusal(bench.pull(alice))
    assert (refusal.code, refusal.final, refusal.ref) == (code, False, say.id[:64])
    assert bench.say(alice, "fine", "2") == 4


def test_burst_limit_outlasts_reconnect() -> None:
    bench = Bench(limits=Limits(burst=2, per_second=1.0))
    alice = bench.join("alice")
    bench.send(alice, PostMessage("1", "x"), PostMessage("2", "x"), PostMessage("3", "x"))
    refusal = only_refusal(bench.pull(alice))
    assert (refusal.code, refusal.ref, refusal.final) == ("too_fast", "3", False)
    bench.room.disconnect(alice, "gone", bench.now)
    alice = bench.join("alice")
    bench.send(alice, PostMessage("3", "x"))
    assert only_refusal(bench.pull(alice)).code == "too_fast"
    bench.now += 1
    bench.send(alice, PostMessage("3", "x"))
    assert refusals(bench.pull(alice)) == []


def test_volume_limit_covers_all_kinds() -> None:
    bench = Bench(limits=Limits(volume=10_000))
    alice = bench.join("alice", engine=True)
    seq = bench.say(alice)
    bench.send(alice, Publish("d", DecisionMade(seq, "delegate", query="q")))
    bench.pull(alice)
    for n in range(5):
        arguments = {"x": "y" * 9000}
        bench.send(
            alice, Publish(f"a{n}", ApprovalRequested(seq, f"a{n}", "agent", "tool", arguments))
        )
    bench.send(alice, PostMessage("big", "x" * 10_000))
    assert [(r.code, r.ref) for r in refusals(bench.pull(alice))] == [
        *[("too_fast", f"a{n}") for n in range(2, 5)],
        ("too_fast", "big"),
    ]
    bench.now += 60
    bench.send(alice, Publish("a2", ApprovalRequested(seq, "a2", "agent", "tool", {})))
    assert refusals(bench.pull(alice)) == []


def test_endless_rejoining_is_limited() -> None:
    bench = Bench(limits=Limits(joins=30))
    for n in range(100):
        peer = bench.room.connect("there")
        bench.send(peer, Hello(f"name{n}"))
        bench.pull(peer)
        bench.send(peer, Bye("y" * 500))
    came = [body for body in bench.bodies() if isinstance(body, MemberJoined)]
    left = [body for body in bench.bodies() if isinstance(body, MemberLeft)]
    assert len(came) == len(left) == 30
    assert max(len(body.reason) for body in left) == FAREWELL_CHARS
    late = bench.room.connect("there")
    bench.send(late, Hello("late"))
    refusal = only_refusal(bench.pull(late))
    assert (refusal.code, refusal.final) == ("too_fast", False)
    assert isinstance(bench.pull(bench.connect(Hello("local")))[0], Welcome)
    bench.now += 2
    late = bench.room.connect("there")
    bench.send(late, Hello("late"))
    assert isinstance(bench.pull(late)[0], Welcome)


def test_only_newcomer_inherits_quota() -> None:
    bench = Bench(limits=Limits(burst=5, per_second=1.0))
    neighbour, _ = bench.meet("neighbour")
    bench.room.disconnect(neighbour, "gone", bench.now)
    bench.now += 3600
    for n, (name, said) in enumerate([("ann", 5), ("neighbour", 5), ("ann", 0), ("newcomer", 0)]):
        peer, _ = bench.meet(name)
        bench.send(peer, *[PostMessage(f"{n}-{i}", "x") for i in range(10)])
        ours = [body for body in bench.bodies(MessagePosted) if body.id.startswith(f"{n}-")]
        assert (name, len(ours)) == (name, said)
        bench.room.disconnect(peer, "gone", bench.now)


def test_renaming_speaks_no_faster() -> None:
    bench = Bench(limits=Limits(burst=5, per_second=1.0))
    for n in range(10):
        peer = bench.room.connect("there")
        bench.send(peer, Hello(f"name{n}"), *[PostMessage(str(i), "x") for i in range(10)])
        bench.room.disconnect(peer, "gone", bench.now)
    bench.commit()
    assert sum(isinstance(body, MessagePosted) for body in bench.bodies()) == 5


def test_lone_surrogates_become_marks() -> None:
    bench = Bench()
    alice = bench.join("alice")
    bench.say(alice, "oh \ud83d no")
    assert bench.bodies()[-1] == MessagePosted("1", "oh ? no")


def test_handler_is_author_host_or_nobody() -> None:
    bench = Bench()
    alice, bob = bench.join("alice", engine=True), bench.join("bob")
    bench.say(alice, id_="a")
    bench.say(bob, id_="b")
    host = bench.join_host()
    bench.say(bob, id_="c")
    bench.room.disconnect(host, "gone", bench.now)
    bench.say(bob, id_="d")
    handlers = [body.handler for body in bench.bodies() if isinstance(body, MessagePosted)]
    assert handlers == ["alice", "", "hana", ""]


def test_typing_reaches_everybody_else_once() -> None:
    bench = Bench()
    alice, bob = bench.join("alice"), bench.join("bob")
    bench.pull(alice)
    bench.send(alice, Typing(), Typing())
    assert bench.pull(bob) == [MemberTyping("alice")]
    assert bench.pull(alice) == []


def test_nobody_is_told_to_type_what_has_come() -> None:
    bench = Bench()
    alice, bob = bench.join("alice"), bench.join("bob")
    bench.pull(bob)
    bench.send(alice, Typing())
    bench.send(bob, Typing())
    bench.say(alice)
    assert not any(isinstance(frame, MemberTyping) for frame in bench.pull(bob))
    assert MemberTyping("bob") in bench.pull(alice)


# -- engines


def test_only_handler_publishes() -> None:
    bench = Bench()
    host, alice, bob = bench.join_host(), bench.join("alice", engine=True), bench.join("bob")
    seq = bench.say(bob)
    for peer in (host, alice, bob):
        bench.pull(peer)
    bench.send(alice, Publish("1", DecisionMade(seq, "ignore")))
    bench.send(bob, Publish("1", DecisionMade(seq, "ignore")))
    bench.send(host, Publish("1", AnswerPosted(seq, "too early")))
    bench.send(host, Publish("2", DecisionMade(999, "ignore")))
    assert only_refusal(bench.pull(alice)).code == "not_responsible"
    assert only_refusal(bench.pull(bob)).code == "not_responsible"
    early, unknown = refusals(bench.pull(host))
    assert (early.code, early.ref) == ("out_of_state", "1")
    assert (unknown.code, unknown.ref) == ("unknown_message", "2")
    bench.send(host, Publish("3", DecisionMade(seq, "delegate", query="q")))
    bench.send(host, Publish("3", DecisionMade(seq, "delegate", query="q")))
    bench.send(host, Publish("4", AnswerPosted(seq, "here")))
    assert bench.bodies()[-2:] == [
        DecisionMade(seq, "delegate", query="q"),
        AnswerPosted(seq, "here"),
    ]
    assert refusals(bench.pull(host)) == []


def test_unrecordable_reports_are_refused() -> None:
    bench = Bench(limits=Limits(frame_bytes=2000, burst=100))
    host = bench.join_host()
    seq = bench.say(host)
    bench.send(host, Publish("1", DecisionMade(seq, "delegate", query="q")))
    bench.pull(host)
    asked = ApprovalRequested(seq, "a", "system", "tool", {"x": object()})
    bench.send(host, Publish("2", asked), Publish("3", AnswerPosted(seq, "x" * 3000)))
    assert [each.code for each in refusals(bench.pull(host))] == ["malformed", "too_large"]


def test_blank_text_is_refused_run_may_end() -> None:
    bench = Bench()
    host = bench.join_host()
    seq = bench.say(host)
    bench.send(host, Publish("1", DecisionMade(seq, "delegate", query=" ")))
    bench.send(host, Publish("2", DecisionMade(seq, "delegate", query="q")))
    bench.send(host, Publish("3", AnswerPosted(seq, " \n")))
    assert [(r.code, r.ref) for r in refusals(bench.pull(host))] == [
        ("malformed", "1"),
        ("malformed", "3"),
    ]
    bench.send(host, Publish("4", RunFailed(seq, "agent", "the agent gave an empty answer")))
    assert isinstance(bench.bodies()[-1], RunFailed)
    assert not any(isinstance(body, AnswerPosted) for body in bench.bodies())


def test_only_engines_have_labels() -> None:
    bench = Bench()
    alice, bob = bench.join("alice", engine=True), bench.join("bob")
    bench.send(alice, SetEngine("some model"), SetEngine("some model"))
    bench.send(bob, SetEngine("some model"))
    assert [body for body in bench.bodies() if isinstance(body, EngineChanged)] == [
        EngineChanged("some model")
    ]
    assert only_refusal(bench.pull(bob)).code == "out_of_state"


def test_deltas_need_handler_and_running() -> None:
    bench = Bench()
    host, alice, bob = bench.join_host(), bench.join("alice", engine=True), bench.join("bob")
    seq = bench.say(bob)
    for peer in (host, alice, bob):
        bench.pull(peer)
    bench.send(alice, ReportDelta(seq, "forged"))
    bench.send(
        host, ReportDelta(seq, "Once "), ReportDelta(seq, "upon"), ReportDelta(seq + 1, "nowhere")
    )
    assert bench.pull(bob) == bench.pull(alice) == [AnswerDelta(seq, "Once upon")]
    bench.send(host, Publish("1", DecisionMade(seq, "ignore")), ReportDelta(seq, " a time"))
    assert not any(isinstance(frame, AnswerDelta) for frame in bench.pull(bob))


def test_only_author_or_handler_stops_run() -> None:
    bench = Bench()
    host, alice, bob = bench.join_host(), bench.join("alice"), bench.join("bob")
    seq = bench.say(bob)
    for peer in (host, alice, bob):
        bench.pull(peer)
    bench.send(alice, Stop(seq))
    assert only_refusal(bench.pull(alice)).code == "not_responsible"
    bench.send(bob, Stop(seq))
    assert bench.pull(host) == [Stopping(seq, "bob")]
    bench.send(host, Publish("1", RunCancelled(seq, "stopped by bob")))
    bench.pull(bob)
    bench.send(bob, Stop(seq))
    assert only_refusal(bench.pull(bob)).code == "out_of_state"


def test_stopping_needs_the_handler_to_be_there() -> None:
    bench = Bench()
    host, bob = bench.join_host(), bench.join("bob")
    seq = bench.say(bob)
    bench.room.disconnect(host, "gone", bench.now)
    bench.send(bob, Stop(seq))
    assert "not here" in only_refusal(bench.pull(bob)).text


# -- going


def test_quiet_message_needs_all_programs() -> None:
    bench = Bench()
    ann, bob = bench.join("ann", knows=KNOWN), bench.join("bob")
    bench.send(ann, PostMessage("1", "hello", quiet=True))
    refused = only_refusal(bench.pull(ann))
    assert (refused.code, refused.ref) == ("not_allowed", "1")
    assert "bob's does not know quiet messages" in refused.text
    assert not bench.room.state.threads
    bench.send(bob, Bye(""))
    bench.send(ann, PostMessage("1", "hello", quiet=True))
    assert [each.said.quiet for each in bench.room.state.threads.values()] == [True]


def test_suspending_delays_messages_only() -> None:
    bench = Bench()
    host, bob, old = bench.join_host(), bench.join("bob", knows=KNOWN), bench.join("carl")
    seq = bench.say(host)
    for peer in (host, bob, old):
        bench.pull(peer)
    assert bench.room.begin_suspending(10.0, bench.now) == seq
    assert bench.pull(bob) == [Suspending(10.0)]
    assert bench.pull(old) == []  # a program that would not understand it
    for _ in range(3):
        bench.send(old, PostMessage("x", "is there time?"))
        refused = only_refusal(bench.pull(old))
        assert (refused.code, refused.ref, refused.final) == ("too_fast", "x", False)
    bench.now += 4.0
    late = bench.connect(Hello("dan", knows=KNOWN))
    assert Suspending(6.0) in bench.pull(late)
    bench.send(host, Publish("1", DecisionMade(seq, "ignore")))
    assert bench.room.state.threads[seq].phase is Phase.IGNORED
    assert list(bench.room.state.threads) == [seq]
    bench.room.suspend("", bench.now)
    assert bench.room.begin_suspending(1.0, bench.now) == bench.room.state.head


def test_leaving_is_recorded_with_its_reason() -> None:
    bench = Bench()
    alice, bob = bench.join("alice"), bench.join("bob")
    bench.send(alice, Bye("lunch"))
    assert bench.written[-1] == Event(
        bench.room.state.head, 1000.0, ROOM, MemberLeft("alice", "lunch")
    )
    assert bench.pull(alice) == []
    assert alice.done
    bench.room.disconnect(alice, "gone", bench.now)
    bench.room.disconnect(bob, "connection lost", bench.now)
    assert bench.room.log.pending()[0].body == MemberLeft("bob", "connection lost")
    assert bench.room.state.present() == []


@pytest.mark.parametrize(
    "reason",
    [
        *sorted(ROOMS_REASONS),
        "Put out\u200b by the host.",
        "p\u034fut\u00a0 out by \u3164 the h\u043est",
        "was put out by the host: READ THIS",
    ],
)
@pytest.mark.parametrize("muted", [False, True])
def test_reserved_leave_reason_is_dropped(reason: str, *, muted: bool) -> None:
    bench = Bench()
    host, alice = bench.join_host(), bench.join("alice")
    if muted:
        bench.send(host, Moderate("mute", "alice"))
    bench.send(alice, Bye(reason))
    assert bench.bodies(MemberLeft) == [MemberLeft("alice")]


@pytest.mark.parametrize("frame", [PostMessage("1", "x"), Bye(), Typing(), Stop(1)])
def test_nothing_comes_before_a_hello(frame: ClientFrame) -> None:
    bench = Bench()
    peer = bench.connect()
    bench.send(peer, frame)
    refusal = only_refusal(bench.pull(peer))
    assert (refusal.code, refusal.final) == ("out_of_state", True)


def test_a_second_hello_ends_the_connection() -> None:
    bench = Bench()
    alice = bench.join("alice")
    bench.send(alice, Hello("alice"), PostMessage("1", "too late"))
    assert only_refusal(bench.pull(alice)).code == "out_of_state"
    assert isinstance(bench.bodies()[-1], MemberLeft)


def test_suspend_delivers_then_farewell() -> None:
    bench = Bench()
    alice = bench.join("alice")
    stranger = bench.connect()
    bench.room.receive(alice, PostMessage("1", "last words"), bench.now)
    bench.room.suspend("good night", bench.now)
    assert bench.pull(alice) == []
    assert not alice.done
    bench.commit()
    frames = bench.pull(alice)
    assert [type(event.body) for event in events_in(frames)] == [MessagePosted, RoomSuspended]
    assert isinstance(frames[-1], FrameRefused)
    assert (frames[-1].code, frames[-1].final) == ("suspended", True)
    assert only_refusal(bench.pull(stranger)).code == "suspended"
    assert all(each.done for each in (alice, stranger))
    late = only_refusal(bench.pull(bench.connect(Hello("bob"))))
    assert (late.code, late.text) == ("suspended", "the host suspended the room: good night")
    bench.room.disconnect(alice, "gone", bench.now)
    assert bench.room.log.pending() == []


# -- slow peers and a failing disk


def test_idle_reader_costs_bounded_memory() -> None:
    limits = Limits(burst=10**6, replies=10, signals=10)
    bench = Bench(limits=limits)
    idle, host, bob = bench.join("idle"), bench.join_host(), bench.join("bob")
    for n in range(50):
        bench.send(bob, PostMessage(str(n), "x"))
        bench.send(host, ReportDelta(bench.room.state.head, "y" * 1000))
    assert len(events_in(bench.pull(idle))) >= 50
    for _ in range(100):
        bench.send(host, *[ReportDelta(seq, "y" * 9000) for seq in list(bench.room.state.running)])
    signals = [frame for frame in bench.pull(idle) if isinstance(frame, AnswerDelta)]
    assert len(signals) <= limits.signals
    assert max(len(signal.text) for signal in signals) <= 64_000


def test_piled_up_replies_dismiss_peer() -> None:
    bench = Bench(limits=Limits(replies=5))
    alice = bench.join("alice")
    for _ in range(10):
        bench.room.trouble("on")
        bench.room.trouble("")
    refusal = refusals(bench.pull(alice))[-1]
    assert (refusal.code, refusal.final) == ("slow", False)
    assert alice.done
    bench.room.disconnect(alice, "whatever", bench.now)
    assert bench.room.log.pending()[-1].body == MemberLeft("alice", "too slow")
    assert isinstance(bench.pull(bench.connect(Hello("alice")))[0], Welcome)


def test_repeated_refusals_dismiss_peer() -> None:
    bench = Bench(limits=Limits(replies=5))
    alice = bench.join("alice")
    seen: list[ServerFrame] = []
    for _ in range(6):
        bench.send(alice, PostMessage("1", ""))
        seen += bench.pull(alice)
    assert [refusal.code for refusal in refusals(seen)] == ["malformed"] * 5 + ["too_fast"]
    assert alice.done


def test_disk_trouble_is_reported_once() -> None:
    bench = Bench()
    alice = bench.join("alice")
    bench.pull(alice)
    bench.room.trouble("disk full")
    bench.room.trouble("disk full")
    bob = bench.room.connect()
    bench.room.receive(bob, Hello("bob"), bench.now)
    assert bench.pull(alice) == [Trouble("disk full")]
    assert [type(frame) for frame in bench.pull(bob)] == [Welcome, Trouble, Entries]
    bench.room.trouble("")
    assert bench.pull(alice) == [Trouble("")]


def test_pending_events_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("genie_core.room.server.log_window.PENDING_EVENTS", 10)
    bench = Bench(limits=Limits(burst=10**6, members=3))
    host, bob = bench.join_host(), bench.join("bob")
    seq = bench.say(host)
    for peer in (host, bob):
        bench.pull(peer)
    room = bench.room
    for n in range(40):
        room.receive(bob, PostMessage(str(n), "x"), bench.now)
        room.receive(host, Publish(f"d{n}", DecisionMade(seq, "delegate", query="q")), bench.now)
        room.receive(host, Publish(f"e{n}", RunFailed(seq, "agent", "x")), bench.now)
        room.receive(host, SetEngine(f"model {n}"), bench.now)
        late = room.connect()
        room.receive(late, Hello("late"), bench.now)
        room.disconnect(late, "gone", bench.now)
    assert len(room.log.pending()) <= 10 + bench.room.limits.members
    assert {refusal.code for refusal in refusals(bench.pull(bob) + bench.pull(host))} == {"disk"}
    late = room.connect()
    room.receive(late, Hello("late"), bench.now)
    refusal = only_refusal(bench.pull(late))
    assert (refusal.code, refusal.final) == ("disk", False)
    bench.commit()
    assert isinstance(bench.pull(bench.connect(Hello("late")))[0], Welcome)
    assert bench.say(bob, "again", "again") == room.state.head


def test_a_long_history_comes_in_pieces() -> None:
    bench = Bench(limits=Limits(burst=10**6))
    alice = bench.join("alice")
    for n in range(1000):
        bench.room.receive(alice, PostMessage(str(n), "x" * (n % 500) + "."), bench.now)
    bench.commit()
    late = bench.connect(Hello("late"))
    batches = [frame for frame in bench.pull(late) if isinstance(frame, Entries)]
    assert len(batches) >= 4
    assert [event.seq for event in events_in(list(batches))] == list(range(1, 1005))


# -- anything at all

TestCrowd = Crowd.TestCase
TestCrowd.settings = settings(max_examples=100, stateful_step_count=60)
