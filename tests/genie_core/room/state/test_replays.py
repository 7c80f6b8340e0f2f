"""A host that repeats the signed entries of a log, at any place and in any wrapping."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded

from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    DecisionMade,
    Event,
    HeirsChanged,
    HostConfirmed,
    HostStarted,
    MemberJoined,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    ReactionChanged,
    RecoveredEvent,
    RoomSuspended,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.room.state.proofs import REPEATED
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state

PEOPLE = ("ann", "bob", "cleo")
KINDS: list[type] = [
    MessagePosted,
    MessageEdited,
    MessageDeleted,
    ReactionChanged,
    DecisionMade,
    ApprovalRequested,
    ApprovalResolved,
    AnswerPosted,
    RunFailed,
    RunCancelled,
    PreferencesChanged,
    HostConfirmed,
    MemberJoined,
    MemberModerated,
    HeirsChanged,
    ArgumentSharingChanged,
    RoomSuspended,
    HostStarted,
    RecoveredEvent,
]


def signed_history(chance: Random, length: int) -> FoundedLog:
    """A room in which people do all that they sign."""
    log = founded("bob", "cleo")
    while log.state.head < length:
        _act(chance, log)
    assert log.state.doubts == {}
    return log


def _act(chance: Random, log: FoundedLog) -> None:
    name = chance.choice(PEOPLE)
    word = f"{log.state.head}"
    kind = chance.choice(KINDS)
    match kind:
        case _ if kind is MessagePosted:
            log.says(name, word)
        case _ if kind in (MessageEdited, MessageDeleted, ReactionChanged):
            said = log.says(name, word).seq
            changed: dict[type, AnyBody] = {
                MessageEdited: MessageEdited(said, word),
                MessageDeleted: MessageDeleted(said),
                ReactionChanged: ReactionChanged(said, "👍"),
            }
            log.add(name, changed[kind], previous=log.state.signatures[name][-1])
        case _ if kind in (DecisionMade, ApprovalRequested, ApprovalResolved, AnswerPosted):
            _run(log, name, word, AnswerPosted(0, word))
        case _ if kind is RunFailed:
            _run(log, name, word, RunFailed(0, "agent", word))
        case _ if kind is RunCancelled:
            _run(log, name, word, RunCancelled(0, word))
        case _ if kind is PreferencesChanged:
            log.add(name, PreferencesChanged(word))
        case _ if kind is HostConfirmed:
            log.add(name, HostConfirmed(word.encode()))
        case _ if kind is MemberJoined:
            log.joins(name, "host" if name == "ann" else "member")
        case _ if kind is MemberModerated:
            log.add("ann", MemberModerated("role", "cleo", "member"))
        case _ if kind is HeirsChanged:
            log.add("", HeirsChanged(("bob",)))
        case _ if kind is ArgumentSharingChanged:
            log.add("ann", ArgumentSharingChanged(on=True))
        case _ if kind is RoomSuspended:
            log.add("", RoomSuspended())
            log.hosts("ann")
        case _ if kind is HostStarted:
            log.hosts("ann")
        case _:
            log.add("ann", RecoveredEvent(log.next(name, MessagePosted(word, word))))


def _run(
    log: FoundedLog, name: str, word: str, end: AnswerPosted | RunFailed | RunCancelled
) -> None:
    said = log.says(name, word).seq
    log.add(name, DecisionMade(said, "delegate", query=word))
    log.add(name, ApprovalRequested(said, word, "system", "run", {"command": word}))
    log.add(name, ApprovalResolved(said, word, "approved"))
    log.add(name, replace(end, message=said))


def again(state: RoomState, event: Event) -> Event:
    return replace(event, seq=state.head + 1, at=state.head + 1.0, parent=state.link)


def wrapped(state: RoomState, event: Event) -> Event:
    """The entry as one that a member brings from another log."""
    original = replace(event.original, seq=state.head + 500)
    return Event(state.head + 1, state.head + 1.0, "ann", RecoveredEvent(original), state.link)


@given(st.integers(0, 2**32), st.data())
def test_an_entry_repeated_anywhere_is_marked(seed: int, data: st.DataObject) -> None:
    log = signed_history(Random(seed), 25)
    signed = [each for each in log.events[1:] if getattr(each.original.body, "signature", b"")]
    event = data.draw(st.sampled_from(signed))
    place = data.draw(st.integers(event.seq, log.state.head))
    log = FoundedLog(log.events[:place])
    if data.draw(st.booleans()):
        log.state = decode_state(encode_state(log.state))
    if data.draw(st.booleans()):  # after a lost entry, any may follow
        log.add("", UnreadableEvent("lost"))
    repeated = data.draw(st.sampled_from((again, wrapped)))(log.state, event)
    log.take(repeated)
    assert log.state.doubt_of(repeated.seq) == REPEATED
    assert not log.state.is_proven(repeated.seq)


@given(st.integers(0, 2**32))
def test_unrepeated_history_is_proven(seed: int) -> None:
    log = signed_history(Random(seed), 40)
    assert log.state.doubts == FoundedLog(log.events).state.doubts == {}


def test_each_kind_of_signed_entry_is_tried() -> None:
    tried = {
        type(each.body) for seed in range(20) for each in signed_history(Random(seed), 40).events
    }
    assert tried >= set(KINDS)


def test_twice_signed_id_counts_once() -> None:
    log = founded("bob")
    log.add("bob", MessagePosted("m", "yes"))
    twice = log.add("bob", MessagePosted("m", "yes", visits=("other",)))
    assert log.state.doubt_of(twice.seq) == REPEATED


@pytest.mark.parametrize("forged", ["unsigned", "of another"])
def test_forgery_does_not_replace_original(forged: str) -> None:
    log = founded("bob")
    true = log.next("bob", MessagePosted("m", "yes"))
    signer = {"unsigned": "", "of another": "ann"}[forged]
    false = log.next("bob", MessagePosted("m", "no"), signer=signer or "ann")
    log.take(false if signer else replace(false, body=replace(false.body, signature=b"")))
    taken = log.take(again(log.state, true))
    assert log.state.doubt_of(taken.seq) == ""


def test_unfounded_message_id_counts_once() -> None:
    state = RoomState()
    for seq, text in enumerate(("yes", "no"), 1):
        state.apply(Event(seq, 1.0, "bob", MessagePosted("m", text)))
    assert (state.doubt_of(1), state.doubt_of(2)) == ("", REPEATED)


def test_arrivals_differ_by_their_visit() -> None:
    key = identity("bob").key
    log = founded("bob")
    first = log.add("bob", MemberJoined("member", key=key, device="d1", visit="a"))
    second = log.add("bob", MemberJoined("member", key=key, device="d1", visit="b"))
    third = log.add("bob", MemberJoined("member", key=key, device="d1", visit="a"))
    assert [log.state.doubt_of(each.seq) for each in (first, second, third)] == ["", "", REPEATED]
