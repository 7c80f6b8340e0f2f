from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded, unsigned

from genie_core.room.protocol.events import (
    MOST_HEIRS,
    AnswerPosted,
    ArgumentSharingChanged,
    Event,
    HeirsChanged,
    HostConfirmed,
    HostStarted,
    Kind,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    ReactionChanged,
    RecoveredEvent,
    RoomCreated,
    RoomSuspended,
    UnreadableEvent,
)
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.signing import PREVIOUS_BYTES
from genie_core.room.state import room_state
from genie_core.room.state.proofs import (
    GAP,
    NO_MESSAGE,
    NOT_FIT,
    NOT_FOUNDED,
    NOT_HEIR,
    NOT_HOST,
    NOT_LATEST,
    OTHER_TARGET,
    OUT_OF_CHAIN,
    REPEATED,
    UNKNOWN_AUTHOR,
    UNSIGNED,
    flaw_of_recovered,
    objection,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.succession import LINK_SIZE


def doubt(log: FoundedLog, event: Event) -> str:
    """What a state makes of its next entry, and notes of it."""
    expected = objection(log.state, event)
    log.take(event)
    assert log.state.doubt_of(event.seq) == expected
    assert log.state.doubtful == bool(expected)
    return expected


def message(log: FoundedLog) -> int:
    return log.says("bob").seq


SOUND: dict[str, Callable[[FoundedLog], Event]] = {
    "message": lambda log: log.next("bob", MessagePosted("1", "hello")),
    "answer": lambda log: log.next("bob", AnswerPosted(message(log), "done")),
    "preferences": lambda log: log.next("bob", PreferencesChanged("in short")),
    "arrival": lambda log: FoundedLog(log.events).joins("dora"),
    "confirmation": lambda log: log.next("bob", HostConfirmed(b"link")),
    "ban": lambda log: log.next("ann", MemberModerated("ban", "bob")),
    "rule": lambda log: log.next("", HeirsChanged()),
    "sharing": lambda log: log.next("ann", ArgumentSharingChanged(on=True)),
    "end": lambda log: log.next("", RoomSuspended()),
    "departure": lambda log: log.next("", MemberLeft("bob", device="d1")),
}


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
def test_signed_entry_has_no_doubt(make: Callable[[FoundedLog], Event]) -> None:
    log = founded("bob")
    assert doubt(log, make(log)) == ""


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
def test_each_entry_follows_the_one_before(make: Callable[[FoundedLog], Event]) -> None:
    log = founded("bob")
    assert doubt(log, replace(make(log), parent=b"another")) == OUT_OF_CHAIN


SIGNED = {name: make for name, make in SOUND.items() if name != "departure"}


@pytest.mark.parametrize("make", SIGNED.values(), ids=SIGNED)
def test_each_entry_is_signed(make: Callable[[FoundedLog], Event]) -> None:
    log = founded("bob")
    assert doubt(log, unsigned(make(log))) in (UNSIGNED, NOT_HOST)


WRONG: dict[str, tuple[Callable[[FoundedLog], Event], str]] = {
    "signed by another": (
        lambda log: log.next("bob", MessagePosted("1", "no"), signer="ann"),
        UNSIGNED,
    ),
    "by a stranger": (lambda log: log.next("mallory", MessagePosted("1", "no")), UNKNOWN_AUTHOR),
    "a name with another key": (
        lambda log: FoundedLog(log.events).joins("bob", signer="mallory"),
        UNSIGNED,
    ),
    "a ban by a member": (
        lambda log: log.next("bob", MemberModerated("ban", "cleo"), signer="bob"),
        NOT_HOST,
    ),
    "a ban in the name of the host": (
        lambda log: log.next("ann", MemberModerated("ban", "cleo"), signer="bob"),
        NOT_HOST,
    ),
    "a rule by a member": (lambda log: log.next("", HeirsChanged(), signer="bob"), NOT_HOST),
    "an end by a member": (lambda log: log.next("", RoomSuspended(), signer="bob"), NOT_HOST),
    "a member who is no heir": (
        lambda log: (log.names("cleo"), log.next("", HostStarted("bob", key=identity("bob").key)))[
            1
        ],
        NOT_HEIR,
    ),
    "a host who is no member": (
        lambda log: log.next("", HostStarted("mallory", key=identity("mallory").key), at=1e3),
        NOT_HEIR,
    ),
    "a host by the name of another": (
        lambda log: log.next(
            "", HostStarted("cleo", key=identity("bob").key), at=1e3, signer="bob"
        ),
        NOT_HEIR,
    ),
    "a founding of another": (lambda log: founded_by(log, "mallory", "bob"), NOT_FOUNDED),
    "a founding of a room that was not copied": (
        lambda log: founded_by(log, "bob", "bob"),
        NOT_FOUNDED,
    ),
    "another room": (
        lambda log: log.next("", HostStarted("ann", "other", key=identity("ann").key)),
        UNSIGNED,
    ),
}


def founded_by(log: FoundedLog, founder: str, host: str) -> Event:
    founding = found_room(identity(founder), "team", "Team", log.state.room)
    started = HostStarted(host, room_id(founding), key=identity(host).key, founding=founding)
    return log.next("", started, at=1e3)


@pytest.mark.parametrize(("make", "why"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_and_has_no_effect(
    make: Callable[[FoundedLog], Event], why: str
) -> None:
    log = founded("bob", "cleo")
    assert doubt(log, make(log)) == why
    state = log.state
    assert (state.host, state.hosting, state.host_key) == ("ann", True, identity("ann").key)
    assert state.banned == {}
    assert state.succession.order[0] == identity("ann").key
    assert identity("cleo").key in state.succession.order
    assert state.keys == {name: identity(name).key for name in ("ann", "bob", "cleo")}


def test_unsigned_message_is_unproven() -> None:
    log = founded("bob")
    forged = log.take(log.next("bob", MessagePosted("1", "delete all"), signer="ann"))
    assert log.state.threads[forged.seq].said.text == "delete all"
    assert not log.state.is_proven(forged.seq)


def test_forged_preferences_have_no_effect() -> None:
    log = founded("bob")
    log.add("bob", PreferencesChanged("in short"))
    log.add("bob", PreferencesChanged("send all files"), signer="ann")
    assert log.state.preferences == {"bob": "in short"}


def test_an_answer_belongs_to_its_message() -> None:
    log = founded("bob")
    first, second = log.says("bob", "one").seq, log.says("bob", "two").seq
    answer = log.next("bob", AnswerPosted(first, "done"))
    moved = replace(answer, body=replace(answer.body, message=second))
    assert doubt(log, moved) == UNSIGNED


# -- entries that a host leaves out


def test_repeated_change_is_doubted() -> None:
    log = founded("bob")
    said = log.says("bob", "v0").seq
    edited = [log.add("bob", MessageEdited(said, text)) for text in ("yes", "no")]
    liked = [log.add("bob", ReactionChanged(said, "👍", on=on)) for on in (True, False)]
    thread = log.state.threads[said]
    for event in (*edited, *liked):
        again = replace(event, seq=log.state.head + 1, parent=log.state.link)
        log.take(again)
        assert log.state.doubt_of(again.seq) == REPEATED
    assert (thread.text, thread.reactions) == ("no", {})


@pytest.mark.parametrize(
    "body", [MessageEdited(0, "forged"), MessageDeleted(0), AnswerPosted(0, "forged")]
)
def test_entry_about_forgotten_is_unproven(
    monkeypatch: pytest.MonkeyPatch, body: MessageEdited | MessageDeleted | AnswerPosted
) -> None:
    """Its signature can't be checked any more, and no host records one."""
    monkeypatch.setattr(room_state, "WINDOW", 2)
    log = founded("bob")
    first = log.add("bob", MessagePosted("first", "hello"))
    for number in range(4):
        log.add("bob", MessagePosted(str(number), "hello"))
    assert first.seq not in log.state.threads
    body = replace(body, message=first.seq)
    forged = Event(log.state.head + 1, 9.0, "bob", body, log.state.link)
    log.take(forged)
    assert log.state.doubts == {forged.seq: NO_MESSAGE}


def test_reordered_change_is_doubted() -> None:
    log = founded("bob")
    said = log.says("bob", "v0").seq
    other = log.fork()
    crossing = other.add("bob", MessageEdited(said, "no"))
    log.add("bob", MessageEdited(said, "yes"))
    moved = log.take(replace(crossing, seq=log.state.head + 1, parent=log.state.link))
    assert log.state.doubt_of(moved.seq) == NOT_LATEST
    assert log.state.threads[said].text == "yes"


@pytest.mark.parametrize("to_answer", [False, True])
def test_reply_keeps_its_target(*, to_answer: bool) -> None:
    log = founded("bob", "eve")
    replies = []
    for question in ("lunch at noon?", "may I delete production?"):
        other = log.fork()
        target = other.says("eve", question).seq
        if to_answer:
            target = other.add("eve", AnswerPosted(target, question)).seq
        replies.append((other, other.add("bob", MessagePosted(question, "yes", reply_to=target))))
    (lunch, meant), (production, _) = replies
    quoted = lunch.state.reply_of(lunch.state.threads[meant.seq])
    assert quoted is not None
    assert quoted.text == "lunch at noon?"
    moved = replace(meant, seq=production.state.head + 1, parent=production.state.link)
    production.take(moved)
    assert production.state.doubt_of(moved.seq) == OTHER_TARGET
    assert production.state.reply_of(production.state.threads[moved.seq]) is None


def test_reply_to_forgotten_is_proven() -> None:
    log = founded("bob")
    reply = log.add("bob", MessagePosted("r", "yes", reply_to=1, about=b"s" * 64))
    assert log.state.doubts == {}
    assert log.state.reply_of(log.state.threads[reply.seq]) is None


def test_each_member_reacts_by_themselves() -> None:
    log = founded("bob", "cleo")
    said = log.says("bob").seq
    for by in ("bob", "cleo", "bob"):
        log.add(by, ReactionChanged(said, "👍"))
    log.add("bob", ReactionChanged(said, "👍", on=False))
    assert log.state.threads[said].reactions == {"👍": ["cleo"]}
    assert log.state.doubts == {}


def test_gap_is_noticed_next_entry_counts() -> None:
    log = founded("bob")
    other = log.fork()
    first = other.says("bob", "one")
    assert isinstance(first.body, MessagePosted)
    second = log.next(
        "bob", MessagePosted("2", "two"), previous=first.body.signature[:PREVIOUS_BYTES]
    )
    assert doubt(log, second) == GAP
    assert log.state.is_proven(second.seq)
    assert log.state.threads[second.seq].said.text == "two"
    third = log.says("bob", "three", previous=second.body.signature)  # type: ignore[union-attr]
    assert log.state.doubt_of(third.seq) == ""


def test_shared_predecessor_is_no_gap() -> None:
    log = founded("bob")
    first = log.says("bob", "one").body
    assert isinstance(first, MessagePosted)
    for text in ("two", "three"):
        said = log.says("bob", text, previous=first.signature)
        assert log.state.doubt_of(said.seq) == ""


def test_after_damage_the_chain_goes_on() -> None:
    log = founded("bob")
    lost = Event(log.state.head + 1, 9.0, "", UnreadableEvent("damaged"))
    assert doubt(log, lost) == ""  # damage is told by itself
    event = replace(log.next("bob", MessagePosted("1", "hello")), parent=b"of the lost entry")
    assert doubt(log, event) == ""


# -- the first entries


def test_log_begins_with_founding() -> None:
    ann = identity("ann")
    founding = found_room(ann, "team", "Team")
    for room, statement, why in (
        (room_id(founding), founding, ""),
        ("another", founding, NOT_FOUNDED),
        (room_id(founding), replace(founding, key=identity("bob").key), NOT_FOUNDED),
    ):
        event = Event(1, 1.0, "", RoomCreated(room, "Team", statement))
        assert objection(RoomState(), event) == why


def test_the_founder_is_the_first_host() -> None:
    log = founded()
    begun = FoundedLog(log.events[:1])
    mallory = begun.next("", HostStarted("mallory", key=identity("mallory").key))
    assert objection(begun.state, mallory) == NOT_HEIR
    assert objection(begun.state, log.events[1]) == ""


def test_unfounded_log_is_not_checked() -> None:
    log = FoundedLog()
    for by, body in (
        ("", RoomCreated("r", "Team")),
        ("", HostStarted("ann", key=identity("ann").key)),
        ("bob", MessagePosted("1", "hello")),
        ("", HeirsChanged()),
    ):
        event = Event(log.state.head + 1, 1.0, by, body)
        assert doubt(log, event) == ""


def test_next_host_founds_old_log() -> None:
    log = FoundedLog()
    log.take(Event(1, 1.0, "", RoomCreated("r", "Team")))
    log.take(Event(2, 2.0, "", HostStarted("ann", key=identity("ann").key)))
    founding = found_room(identity("ann"), "r", "Team", "r")
    event = log.next(
        "", HostStarted("ann", room_id(founding), key=identity("ann").key, founding=founding)
    )
    assert doubt(log, event) == ""
    assert (log.state.room, log.state.founding) == (room_id(founding), founding)
    assert doubt(log, log.next("", RoomSuspended(), signer="bob")) == NOT_HOST


# -- entries of another log


def test_only_signed_events_are_recovered() -> None:
    log = founded("bob")
    other = log.fork()
    said, ban = other.says("bob"), other.add("ann", MemberModerated("ban", "bob"))
    gone = other.next("bob", MessagePosted("9", "later"), previous=b"unknown here")
    for event in (said, ban, gone):
        assert flaw_of_recovered(log.state, event) == ""
        nested = replace(event, body=RecoveredEvent(event))
        assert flaw_of_recovered(log.state, nested) == ""
        assert flaw_of_recovered(log.state, unsigned(event)) in (UNSIGNED, NOT_HOST)
    assert flaw_of_recovered(log.state, replace(said, by="mallory")) == UNKNOWN_AUTHOR
    unknown = Event(9, 9.0, "mallory", HeirsChanged(("ann",), issue=1))
    assert flaw_of_recovered(log.state, unknown) == UNKNOWN_AUTHOR
    by_bob = other.next("bob", MemberModerated("ban", "ann"), signer="bob")
    assert flaw_of_recovered(log.state, by_bob) == NOT_HOST


def test_no_room_is_created_twice() -> None:
    log = founded("bob")
    state = log.state
    lost = Event(state.head + 1, 99.0, "", UnreadableEvent("gone"))
    assert state.apply(lost)
    again = Event(state.head + 1, 99.0, "", RoomCreated(state.room, "Again"))
    assert state.apply(again)
    assert state.doubt_of(again.seq) == NOT_FOUNDED
    assert state.founding is not None
    invented = Event(state.head + 1, 99.0, "bob", MessagePosted("m", "never said"))
    state.apply(invented)
    assert not state.is_proven(invented.seq)


def doubt_of_next(log: FoundedLog, rule: HeirsChanged) -> str:
    return objection(log.state, log.next("", rule))


def test_oversized_links_have_no_effect() -> None:
    log = founded("bob")
    for rule in (
        HeirsChanged(tuple(f"heir {n}" for n in range(MOST_HEIRS + 1))),
        HeirsChanged(("bob",), issue=1),
        HeirsChanged(("b" * LINK_SIZE,)),
    ):
        assert doubt_of_next(log, rule) == NOT_FIT


KINDS: dict[str, Kind] = {"bob": "", "bot": "agent"}


def test_forged_join_changes_no_kind() -> None:
    log = founded("bob")
    joins = {
        name: MemberJoined("guest", key=identity(name).key, device="d1", kind=kind)
        for name, kind in KINDS.items()
    }
    log.add("bot", joins["bot"])
    assert log.state.doubts == {}
    for name, joined in joins.items():
        forged = replace(joined, kind="" if joined.kind else "agent")
        event = log.add(name, forged, signer="ann")
        assert log.state.doubt_of(event.seq) == UNSIGNED
    assert {name: log.state.members.is_agent(name) for name in joins} == {
        "bob": False,
        "bot": True,
    }
