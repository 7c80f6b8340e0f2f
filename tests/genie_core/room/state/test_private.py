"""Private messages in a log that proves itself, read by each member from their own copy."""

from msgspec.structs import replace
from tests.genie_core.room.bench import identity
from tests.genie_core.room.founded import FoundedLog, founded

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
    RunBody,
)
from genie_core.room.security.sealing import seal
from genie_core.room.security.signing import is_signed
from genie_core.room.state.private import PrivateReader
from genie_core.room.state.proofs import NOT_HANDLER, NOT_SEALED
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state
from genie_core.room.state.thread import Phase
from genie_core.sessions.excerpts import spoken
from genie_core.sessions.export.story import story

SECRET = "the launch is on Friday"


def log_with_secrets() -> FoundedLog:
    """bob wrote privately to cleo, and asked his agent, which made a call."""
    log = founded("bob", "cleo")
    bob, both = identity("bob").key, [identity("bob").key, identity("cleo").key]
    said = log.add("bob", seal(MessagePosted("1", SECRET, to="cleo"), bob, both))
    log.add("bob", seal(MessageEdited(said.seq, f"{SECRET}!"), bob, both))
    request = MessagePosted("2", f"check: {SECRET}", "bob", device="d1", to="bob")
    asked = log.add("bob", seal(request, bob, [bob])).seq
    steps: list[RunBody] = [
        DecisionMade(asked, "delegate", "asked privately", f"check: {SECRET}", "bob"),
        ApprovalRequested(
            asked,
            "a",
            "system",
            "search",
            {"text": SECRET},
            "here",
            risk="read",
            binding="4f1c",
            origins=("cleo",),
            effects=("reads",),
        ),
        ApprovalResolved(asked, "a", "parked"),
        AnswerPosted(asked, f"so: {SECRET}"),
    ]
    for step in steps:
        log.add("bob", seal(step, bob, [bob]))
    return log


def read_by(name: str, log: FoundedLog) -> RoomState:
    reader, state = PrivateReader(identity(name)), RoomState()
    for event in log.events:
        state.apply(event, reader.shown(event, state))
    return state


def texts(state: RoomState) -> list[str]:
    answers = [each.answer.text for each in state.threads.values() if each.answer]
    return [*(each.text for each in state.threads.values()), *answers]


def test_members_read_only_their_own() -> None:
    log = log_with_secrets()
    assert log.state.doubts == {}
    everything = [f"{SECRET}!", f"check: {SECRET}", f"so: {SECRET}"]
    for name, wanted in (
        ("bob", everything),
        ("cleo", [f"{SECRET}!", "", ""]),
        ("ann", ["", "", ""]),
    ):
        state = read_by(name, log)
        assert texts(state) == wanted
        assert state.doubts == {}
        assert state.head == log.state.head


def test_snapshot_opens_like_log() -> None:
    log = log_with_secrets()
    for name in ("ann", "bob", "cleo"):
        state = decode_state(encode_state(log.state))
        PrivateReader(identity(name)).open_state(state)
        assert encode_state(state) == encode_state(read_by(name, log))


def test_an_opened_message_is_still_its_authors() -> None:
    log = log_with_secrets()
    thread = next(iter(read_by("cleo", log).threads.values()))
    assert thread.said.text == SECRET
    assert is_signed(identity("bob").key, log.state.room, thread.said, "")
    assert not is_signed(identity("cleo").key, log.state.room, thread.said, "")


def test_text_beside_seal_is_doubted() -> None:
    log = log_with_secrets()
    said = next(event for event in log.events if isinstance(event.body, MessagePosted))
    shown = replace(said.body, text="send me money")
    forged = Event(log.state.head + 1, 99.0, "bob", replace(shown, id="9"), log.state.link)
    assert PrivateReader(identity("ann")).shown(forged, log.state).body.text == ""  # type: ignore[union-attr] # a message
    log.take(forged)
    assert log.state.doubt_of(forged.seq) == NOT_SEALED


def test_seal_under_other_name_stays_shut() -> None:
    log = log_with_secrets()
    said = next(event for event in log.events if isinstance(event.body, MessagePosted))
    stolen = replace(said, by="ann")
    assert PrivateReader(identity("cleo")).shown(stolen, log.state).body.text == ""  # type: ignore[union-attr] # a message


def test_recovered_message_is_opened() -> None:
    log = log_with_secrets()
    said = next(event for event in log.events if isinstance(event.body, MessagePosted))
    recovered = Event(99, 1.0, "ann", RecoveredEvent(said))
    for name, text in (("cleo", SECRET), ("ann", "")):
        original = PrivateReader(identity(name)).shown(recovered, log.state).original
        assert isinstance(original.body, MessagePosted)
        assert original.body.text == text


def test_private_text_is_never_quoted() -> None:
    log = log_with_secrets()
    log.says("cleo", "hello all")
    reader = PrivateReader(identity("bob"))
    shown = [reader.shown(event, log.state) for event in log.events]
    assert [line.text for line in spoken(shown)] == ["hello all"]
    original = [passage.original.body for passage in story(shown)]
    assert not any(isinstance(body, RunBody | MessageEdited) for body in original)
    assert [body.text for body in original if isinstance(body, MessagePosted)] == ["hello all"]
    assert read_by("bob", log).reading.authors == {"cleo": False}


def test_forged_answer_or_seal_is_doubted() -> None:
    log = log_with_secrets()
    ann, bob = identity("ann").key, identity("bob").key
    asked = next(
        seq for seq, each in log.state.threads.items() if each.said.to == each.author == "bob"
    )
    for forged in (
        AnswerPosted(asked, "wire money to mallory"),
        seal(AnswerPosted(asked, "wire money to mallory"), ann, [ann, bob]),
    ):
        fork = log.fork()
        event = fork.add("ann", forged)
        assert fork.state.doubt_of(event.seq) in (NOT_HANDLER, NOT_SEALED)
        answer = read_by("bob", fork).threads[asked].answer
        assert answer is None or not forged.sealed or answer.text == ""


def test_host_forges_no_public_answer() -> None:
    log = founded("bob")
    asked = log.says("bob", "what is it?").seq
    log.add("bob", DecisionMade(asked, "delegate", query="?"))
    event = log.add("ann", AnswerPosted(asked, "mine"))
    assert log.state.doubt_of(event.seq) == NOT_HANDLER


def test_engine_handles_no_foreign_message() -> None:
    log = founded("bob", "cleo")
    bob, both = identity("bob").key, [identity("bob").key, identity("cleo").key]
    said = seal(MessagePosted("1", SECRET, "bob", device="d1", to="cleo"), bob, both)
    seq = log.add("bob", said).seq
    thread = read_by("bob", log).threads[seq]
    assert (thread.handler, thread.phase) == ("", Phase.UNHANDLED)
    assert seq not in log.state.running


def test_unsealed_message_is_public() -> None:
    log = founded("bob", "cleo")
    event = log.add("bob", MessagePosted("1", "hello", to="cleo"))
    assert log.state.doubt_of(event.seq) == NOT_SEALED
    assert not log.state.threads[event.seq].is_private


def test_edit_is_not_opened_by_third() -> None:
    log = log_with_secrets()
    first = next(iter(log.state.threads))
    bob, ann = identity("bob").key, identity("ann").key
    log.add("bob", seal(MessageEdited(first, "for ann"), bob, [bob, ann]))
    assert read_by("ann", log).threads[first].text == ""


def test_sealed_call_reveals_nothing() -> None:
    call = next(
        event.body
        for event in log_with_secrets().events
        if isinstance(event.body, ApprovalRequested)
    )
    assert (call.binding, call.tool, call.where, call.risk, call.origins) == ("", "", "", "", ())
