import hashlib
import hmac

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.security.challenge import NONCE_CHARS, InviteSecret, Transcript, new_nonce

MEETING = Transcript("r1", "alice", "key", "theirs", "ours", "pin")
texts = st.text(max_size=5)


@pytest.mark.parametrize("part", Transcript.__struct_fields__)
def test_every_part_of_a_meeting_is_signed(part: str) -> None:
    other = msgspec.structs.replace(MEETING, **{part: "else"})
    assert other.encode() != MEETING.encode()


@given(st.lists(texts, min_size=6, max_size=6), st.lists(texts, min_size=6, max_size=6))
def test_no_two_meetings_have_the_same_bytes(one: list[str], other: list[str]) -> None:
    assert (Transcript(*one).encode() == Transcript(*other).encode()) == (one == other)


def test_moved_boundary_changes_bytes() -> None:
    moved = msgspec.structs.replace(MEETING, name="alicek", key="ey")
    assert moved.encode() != MEETING.encode()


def test_lone_surrogates_differ_from_marks() -> None:
    half, mark = (msgspec.structs.replace(MEETING, name=name) for name in ("\ud800", "?"))
    assert half.encode() != mark.encode()


def test_a_proof_is_the_hmac_of_the_meeting() -> None:
    expected = hmac.new(b"secret", MEETING.encode(), hashlib.sha256).digest()
    assert MEETING.prove(b"secret") == expected
    assert MEETING.prove(b"another") != expected


def test_nonces_are_never_the_same_and_fit() -> None:
    nonces = {new_nonce() for _ in range(100)}
    assert len(nonces) == 100
    assert max(map(len, nonces)) <= NONCE_CHARS


def test_a_ticket_does_not_show_its_secret() -> None:
    assert "open sesame" not in repr(InviteSecret("p1", b"open sesame"))
