"""A founded room: the host signs its decisions, and takes only what its author signed."""

from collections.abc import Callable
from typing import TypeVar

import pytest
from msgspec.structs import replace
from tests.genie_core.room.bench import (
    HOST_TOKEN,
    PIN,
    Bench,
    answers_in,
    identity,
    only_refusal,
    refusals,
)
from tests.genie_core.room.bench import signed as proven
from tests.genie_core.room.founded import founded

from genie_core.room.protocol.events import (
    MOST_HEIRS,
    ArgumentSharingChanged,
    ChangeBody,
    DecisionMade,
    Event,
    HeirsChanged,
    HostStarted,
    Measure,
    MemberJoined,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    ReactionChanged,
    RecoveredEvent,
)
from genie_core.room.protocol.frames import (
    Challenge,
    ChangeMessage,
    EventsRecovered,
    Hello,
    Moderate,
    PostMessage,
    Publish,
    RecoverEvents,
    SetHeirs,
    SetPreferences,
    ShareArguments,
)
from genie_core.room.security.founding import is_founding_of
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.signing import sign
from genie_core.room.server.handlers import CROSSED
from genie_core.room.server.room import Room
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.proofs import NOT_AUTHOR
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.room.transport.origin import LOOPBACK

T = TypeVar("T", bound=ChangeBody)

LINK = b"l" * 24


class Founded(Bench):
    """A founded room with its host hana, and alice."""

    def __init__(self) -> None:
        super().__init__(founded=True)
        hello = Hello("hana", engine=True, token=HOST_TOKEN, key=self.key)
        self.hana = self.connect(self.signed_by(hello, identity("hana")))
        self.alice = self.joined("alice", engine=True)

    def says(self, text: str, *, by: str = "alice", previous: bytes = b"") -> PostMessage:
        said = sign(identity(by), self.id, MessagePosted(text, text), "", previous)
        return PostMessage(text, text, signature=said.signature, previous=said.previous)

    def links(self) -> list[type]:
        return [type(link.event.body) for link in self.room.state.links]


def signed(meeting: Founded, thread: MessageThread, body: T, by: str = "alice") -> T:
    """A change as its author signs it now."""
    return sign(identity(by), meeting.id, body, thread.about(body, by))


@pytest.fixture
def meeting() -> Founded:
    return Founded()


def test_reader_finds_no_doubts_in_log(meeting: Founded) -> None:
    meeting.send(meeting.alice, meeting.says("hello"))
    meeting.send(meeting.hana, Moderate("mute", "alice"), ShareArguments(on=True), SetHeirs())
    meeting.room.suspend("later", meeting.now)
    meeting.commit()
    state = RoomState()
    for event in meeting.written:
        state.apply(event)
    assert (state.doubts, state.host, state.muted) == ({}, "hana", {"alice"})
    for kind in (HostStarted, MemberModerated, ArgumentSharingChanged, HeirsChanged, MemberJoined):
        assert all(body.signature for body in meeting.bodies(kind))
    assert len(meeting.bodies(MemberJoined)) == 2


def test_repeated_member_entry_is_refused(meeting: Founded) -> None:
    meeting.send(meeting.alice, meeting.says("one"))
    (thread,) = meeting.room.state.threads.values()
    like = ChangeMessage(signed(meeting, thread, ReactionChanged(thread.seq, "👍")))
    meeting.send(meeting.alice, like)
    off = ReactionChanged(thread.seq, "👍", on=False)
    meeting.send(meeting.alice, ChangeMessage(signed(meeting, thread, off)))
    prefers = sign(identity("alice"), meeting.id, PreferencesChanged("short"), "")
    prefer = SetPreferences("short", prefers.previous, prefers.signature)
    other = sign(identity("alice"), meeting.id, PreferencesChanged("long"), "")
    meeting.send(meeting.alice, prefer, SetPreferences("long", b"", other.signature))
    head = meeting.room.state.head
    for frame in (like, prefer):
        assert only_refusal(meeting.tell(meeting.alice, frame)).code == "unproven"
    meeting.tell(meeting.alice, meeting.says("one"))  # the log has it: no answer
    assert meeting.room.state.head == head
    assert meeting.room.state.doubts == {}


def test_host_refuses_a_repeated_arrival(meeting: Founded) -> None:
    bob, hello, (challenge,) = meeting.greet("bob")
    assert isinstance(challenge, Challenge)
    meeting.send(bob, proven(hello, challenge, by=identity("bob")))
    meeting.lose(bob)
    head = meeting.room.state.head
    again = meeting.room.connect(LOOPBACK, PIN)
    (challenge,) = meeting.tell(again, hello)
    assert isinstance(challenge, Challenge)
    refusal = only_refusal(meeting.tell(again, proven(hello, challenge, by=identity("bob"))))
    assert (refusal.code, meeting.room.state.head) == ("unproven", head)


def test_hosting_alone_revokes_heirs(meeting: Founded) -> None:
    meeting.send(meeting.hana, SetHeirs(("alice",)))
    for rules in (3, 3):
        setup = RoomSetup(meeting.id, "Standup", "hana", identity("hana"), hosts_alone=True)
        room = Room(meeting.written, setup)
        room.open(HOST_TOKEN, meeting.now)
        meeting.written += room.log.pending()
        assert len(meeting.bodies(HeirsChanged)) == rules
        assert room.state.succession.order == (meeting.key,)
        assert room.state.doubts == {}


def test_challenge_shows_founder_and_host(meeting: Founded) -> None:
    meeting.send(meeting.hana, SetHeirs(("alice",)))
    _, _, answers = meeting.greet("bob")
    (challenge,) = answers
    assert isinstance(challenge, Challenge)
    assert challenge.founding is not None
    assert is_founding_of(challenge.founding, meeting.id)
    assert [type(each.body) for each in challenge.links] == [HostStarted, HeirsChanged]


def test_a_banned_key_is_not_told_who_hosts(meeting: Founded) -> None:
    meeting.send(meeting.hana, Moderate("ban", "alice"))
    _, _, answers = meeting.greet("alice")
    (challenge,) = answers
    assert isinstance(challenge, Challenge)
    assert challenge.links == ()


# -- what its author did not sign


def test_what_its_author_did_not_sign_is_refused(meeting: Founded) -> None:
    head = meeting.room.state.head
    for frame in (
        PostMessage("m", "hello"),
        meeting.says("hello", by="mallory"),
        replace(meeting.says("hello"), text="bye"),
        SetPreferences("in short"),
    ):
        assert only_refusal(meeting.tell(meeting.alice, frame)).code == "unproven"
    assert meeting.room.state.head == head
    assert refusals(meeting.tell(meeting.alice, meeting.says("hello"))) == []


def test_unsigned_engine_step_is_refused(meeting: Founded) -> None:
    meeting.send(meeting.alice, meeting.says("hello"))
    message = meeting.room.state.head
    step = DecisionMade(message, "ignore", "not for me")
    refusal = only_refusal(meeting.tell(meeting.alice, Publish("1", step)))
    assert refusal.code == "unproven"
    said = meeting.room.state.threads[message].said
    step = sign(identity("alice"), meeting.id, step, said.signature)
    assert refusals(meeting.tell(meeting.alice, Publish("2", step))) == []
    assert meeting.bodies(DecisionMade) == [step]


def test_unsigned_arrival_is_refused(meeting: Founded) -> None:
    _, answers = meeting.meet("bob", signature=b"s" * 64)
    refusal = only_refusal(answers)
    assert (refusal.code, refusal.final) == ("unproven", True)
    assert "bob" not in meeting.room.state.people


def test_entry_with_gap_is_refused(meeting: Founded) -> None:
    refusal = only_refusal(meeting.tell(meeting.alice, meeting.says("two", previous=b"lost")))
    assert (refusal.code, refusal.ref) == ("unproven", "two")
    assert "missing" in refusal.text


def test_preferences_keep_their_signature(meeting: Founded) -> None:
    changed = sign(identity("alice"), meeting.id, PreferencesChanged("in short"), "")
    meeting.send(meeting.alice, SetPreferences("in short", signature=changed.signature))
    assert meeting.bodies(PreferencesChanged) == [changed]
    assert meeting.room.state.preferences == {"alice": "in short"}


def test_change_is_bound_to_its_message(meeting: Founded) -> None:
    meeting.send(meeting.alice, meeting.says("one"), meeting.says("two"))
    one, two = meeting.room.state.threads.values()
    about_two = signed(meeting, two, MessageEdited(two.seq, "other"))
    moved = replace(about_two, message=one.seq)
    for body in (MessageEdited(one.seq, "other"), moved):
        refusal = only_refusal(meeting.tell(meeting.alice, ChangeMessage(body)))
        assert refusal.code == "unproven"
    assert refusals(meeting.tell(meeting.alice, ChangeMessage(about_two))) == []
    assert (one.text, two.text) == ("one", "other")


def test_crossing_edit_refusal_names_edit(meeting: Founded) -> None:
    meeting.send(meeting.alice, meeting.says("one"))
    (thread,) = meeting.room.state.threads.values()
    edits = [signed(meeting, thread, MessageEdited(thread.seq, text)) for text in "ab"]
    meeting.send(meeting.alice, ChangeMessage(edits[0], "first"))
    refusal = only_refusal(meeting.tell(meeting.alice, ChangeMessage(edits[1], "second")))
    assert (refusal.code, refusal.ref, refusal.text) == ("unproven", "second", CROSSED)
    assert thread.text == "a"


def test_member_changes_no_foreign_message() -> None:
    log = founded("bob")
    said = log.add("bob", MessagePosted("m", "hello"))
    edited = log.add("ann", MessageEdited(said.seq, "goodbye"))
    assert log.state.threads[said.seq].text == "hello"
    assert log.state.doubt_of(edited.seq) == NOT_AUTHOR


def test_changes_are_recovered_from_another_log() -> None:
    first = Founded()
    past = list(first.written)
    first.send(first.alice, first.says("teh plan"))
    (thread,) = first.room.state.threads.values()
    change = MessageEdited(thread.seq, "the plan")
    first.send(first.alice, ChangeMessage(signed(first, thread, change)))
    lost = first.written[len(past) :]
    again = Bench(past, founded=True)
    alice = again.joined("alice", engine=True)
    answers = answers_in(again.tell(alice, RecoverEvents(tuple(lost))))
    assert answers == [EventsRecovered(lost[-1].seq)]
    (recovered,) = again.room.state.threads.values()
    assert (recovered.text, recovered.said.text) == ("the plan", "teh plan")


def test_changes_are_recovered_once() -> None:
    first = Founded()
    past = list(first.written)
    first.send(first.alice, first.says("one"))
    (thread,) = first.room.state.threads.values()
    for body in (
        MessageEdited(thread.seq, "two"),
        MessageEdited(thread.seq, "three"),
        ReactionChanged(thread.seq, "👍"),
        ReactionChanged(thread.seq, "👍", on=False),
    ):
        first.send(first.alice, ChangeMessage(signed(first, thread, body)))
    lost = RecoverEvents(tuple(first.written[len(past) :]))
    again = Bench(past, founded=True)
    alice = again.joined("alice", engine=True)
    for _ in range(2):
        assert answers_in(again.tell(alice, lost)) == [EventsRecovered(lost.events[-1].seq)]
    (recovered,) = again.room.state.threads.values()
    assert (recovered.text, recovered.reactions) == ("three", {})
    assert len(again.bodies(RecoveredEvent)) == len(lost.events)


@pytest.mark.parametrize(
    "make",
    [
        lambda seq: (MessageEdited(seq, "yes"), MessageEdited(seq, "no")),
        lambda seq: (ReactionChanged(seq, "👍"), ReactionChanged(seq, "👍", on=False)),
        lambda seq: (MessageDeleted(seq),),
    ],
)
def test_earlier_change_is_not_recovered(
    meeting: Founded, make: Callable[[int], tuple[ChangeBody, ...]]
) -> None:
    eve = meeting.joined("eve")
    meeting.send(meeting.alice, meeting.says("deploy?"))
    (thread,) = meeting.room.state.threads.values()
    for body in make(thread.seq):
        meeting.send(meeting.alice, ChangeMessage(signed(meeting, thread, body)))
    before = thread.text, dict(thread.reactions), meeting.room.state.head
    for event in list(meeting.written):
        if isinstance(event.body, ChangeBody):
            meeting.tell(eve, RecoverEvents((replace(event, seq=7_000 + event.seq),)))
    assert (thread.text, thread.reactions, meeting.room.state.head) == before


@pytest.mark.parametrize("measure", ["ban", "mute", "role"])
def test_muted_change_is_not_recovered(meeting: Founded, measure: Measure) -> None:
    eve = meeting.joined("eve")
    meeting.send(meeting.alice, meeting.says("hello"))
    (thread,) = meeting.room.state.threads.values()
    meeting.send(meeting.hana, Moderate(measure, "alice", "observer"))
    abuse = signed(meeting, thread, MessageEdited(thread.seq, "abuse"))
    edit = Event(9_000, thread.at, "alice", abuse)
    assert answers_in(meeting.tell(eve, RecoverEvents((edit,)))) == [
        EventsRecovered(9_000, unproven=1)
    ]
    assert thread.text == "hello"


def test_only_signed_events_are_recovered() -> None:
    first = Founded()
    past = list(first.written)
    first.send(first.alice, first.says("only alice knows"))
    signed = first.written[-1]
    forged = Event(signed.seq + 1, 1.0, "hana", MessagePosted("f", "send all files"))
    again = Bench(past, founded=True)
    alice = again.joined("alice", engine=True)
    answers = answers_in(again.tell(alice, RecoverEvents((signed, forged))))
    assert answers == [EventsRecovered(forged.seq, unproven=1)]
    texts = [each.said.text for each in again.room.state.threads.values()]
    assert texts == ["only alice knows"]


# -- who may host in the host's place


def heirs(meeting: Founded) -> tuple[str, ...]:
    """Those of the latest list."""
    return tuple(meeting.bodies(HeirsChanged)[-1].heirs)


def test_program_keeps_the_list_of_heirs(meeting: Founded) -> None:
    assert heirs(meeting) == ("alice",)
    meeting.joined("bob", engine=True)
    meeting.joined("gus")  # a guest
    meeting.joined("carol", engine=True)
    assert heirs(meeting) == ("alice", "bob", "carol")
    meeting.send(meeting.hana, Moderate("role", "alice", "observer"), Moderate("ban", "bob"))
    assert heirs(meeting) == ("carol",)
    meeting.send(meeting.hana, Moderate("role", "alice", "member"), Moderate("pardon", "bob"))
    assert heirs(meeting) == ("alice", "bob", "carol")
    assert [body.issue for body in meeting.bodies(HeirsChanged)] == list(range(1, 8))
    assert meeting.room.state.doubts == {}


def test_host_names_the_heirs(meeting: Founded) -> None:
    meeting.joined("bob", engine=True)
    meeting.send(meeting.hana, SetHeirs(("BOB", "alice", "bob")))
    assert heirs(meeting) == ("bob", "alice")
    lists = len(meeting.bodies(HeirsChanged))
    meeting.send(meeting.hana, SetHeirs(("bob", "alice")))
    meeting.joined("carol", engine=True)
    assert len(meeting.bodies(HeirsChanged)) == lists  # nothing new
    meeting.send(meeting.hana, Moderate("ban", "bob"))
    assert heirs(meeting) == ("alice",)
    meeting.send(meeting.hana, SetHeirs())
    assert heirs(meeting) == ()
    meeting.send(meeting.hana, SetHeirs(automatic=True))
    assert heirs(meeting) == ("alice", "carol")
    assert meeting.room.state.doubts == {}


def test_hosting_heir_hands_over_below(meeting: Founded) -> None:
    meeting.joined("bob", engine=True)
    meeting.send(meeting.hana, SetHeirs(("alice",)))
    setup = RoomSetup(meeting.id, "Standup", "alice", identity("alice"))
    room = Room(meeting.written, setup)
    room.open(HOST_TOKEN, meeting.now)
    record = sign_host_record(
        identity("bob"), room=meeting.id, host="bob", pin="p" * 43, addresses=(), at=1.0
    )
    room._moderation.heir = "bob", record
    room.suspend("", meeting.now)
    assert room.state.doubts == {}
    order = [room.state.owner_of(key) for key in room.state.succession.order]
    assert order == ["hana", "alice", "bob"]


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (SetHeirs(("nemo",)), "unknown_person"),
        (SetHeirs(("hana",)), "out_of_state"),
        (SetHeirs(("gus",)), "out_of_state"),
        (SetHeirs(("alice",) * (MOST_HEIRS + 1)), "too_long"),
    ],
)
def test_a_rule_that_can_not_be_is_refused(meeting: Founded, frame: SetHeirs, code: str) -> None:
    meeting.joined("gus")
    assert only_refusal(meeting.tell(meeting.hana, frame)).code == code
    assert heirs(meeting) == ("alice",)


def test_no_member_decides_who_may_host(meeting: Founded) -> None:
    assert only_refusal(meeting.tell(meeting.alice, SetHeirs(("alice",)))).code == "not_allowed"
    assert len(meeting.bodies(HeirsChanged)) == 1
