"""Who signed an entry, and the bytes."""

from collections.abc import Iterator

from msgspec.structs import replace
from tests.docs.sample_log import ANN, BOB, sample_events
from tests.genie_core.room.founded import founded, unsigned

from genie_core.room.protocol.events import (
    Event,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
    RecoveredEvent,
    SignedBody,
    tag,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.signatures import EntrySignature, signature_in


def signatures(events: list[Event]) -> Iterator[tuple[Event, EntrySignature | None]]:
    state = RoomState()
    for event in events:
        yield event, signature_in(state, event)
        state.apply(event)


def test_every_entry_has_valid_signature() -> None:
    seen = set()
    for event, signature in signatures(sample_events()):
        body = event.original.body
        if not isinstance(body, SignedBody):
            continue
        seen.add(type(body))
        assert signature is not None
        assert signature.is_valid
        assert signature.key == {"ann": ANN, "bob": BOB}[signature.signer].key
        assert f'"{tag(body)}"'.encode() in signature.signed
    assert len(seen) >= 17


def test_change_signs_previous_change() -> None:
    log = founded("bob")
    said = log.says("bob").seq
    for text in ("yes", "no"):
        log.add("bob", MessageEdited(said, text))
    for on in (True, False):
        log.add("ann", ReactionChanged(said, "👍", on=on))
    valid = [each.is_valid for _, each in signatures(log.events) if each is not None]
    assert valid == [True] * len(log.events)


def test_changed_signature_is_invalid() -> None:
    log = founded("bob")
    said = log.next("bob", MessagePosted("m", "hello", "bob"))
    for wrong in (unsigned(said), replace(said, by="ann"), replace(said, by="cleo")):
        signature = signature_in(log.state, wrong)
        assert signature is not None
        assert not signature.is_valid


def test_a_founding_is_signed_by_a_key() -> None:
    log = founded("bob")
    _event, signature = next(signatures(log.events))
    assert signature is not None
    assert (signature.signer, signature.key) == ("", log.state.host_key)
    assert signature.is_valid


def test_recovered_entry_keeps_signature() -> None:
    log = founded("bob")
    lost = log.next("bob", MessagePosted("m", "lost", "bob"))
    log.says("ann")
    recovered = log.next("ann", RecoveredEvent(lost))
    signature = signature_in(log.state, recovered)
    assert signature is not None
    assert (signature.signer, signature.is_valid) == ("bob", True)
    unknown = RecoveredEvent(replace(lost, body=MessageEdited(99, "x")))
    assert signature_in(log.state, log.next("ann", unknown)) is None
