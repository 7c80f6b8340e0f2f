"""The secrets that open a room: how long, how often, and for whom."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.errors import InvalidInviteTokens
from genie_core.room.security.invite_tokens import MAX_OPEN, InviteToken, InviteTokens

MEETING = b"room, nonces, key, name"


def proof(each: InviteToken, meeting: bytes = MEETING) -> bytes:
    return hmac.new(each.secret, meeting, hashlib.sha256).digest()


def opens(passes: InviteTokens, each: InviteToken, now: float = 0.0) -> bool:
    return passes.check(each.id, proof(each), MEETING, now)


def test_the_newest_gives_no_role_and_is_ones_own() -> None:
    passes = InviteTokens()
    hers = passes.issue(0.0)
    assert passes.issue(0.0, role="host").uses == 1
    assert passes.issue(0.0, role="guest", uses=3).uses == 3
    his = passes.issue(0.0, by="bob")
    again = InviteTokens.decode(passes.encode())
    for each in (passes, again):
        assert (each.newest(0.0), each.newest(0.0, "bob")) == (hers, his)
        assert each.newest(0.0, "eve") is None
    assert passes.void_of("bob")
    assert not passes.void_of("bob")
    assert not passes.void_of("")
    assert (passes.newest(0.0), passes.newest(0.0, "bob"), len(passes)) == (hers, None, 3)
    passes.void()
    assert len(passes) == 0


def test_tokens_of_an_earlier_program_are_the_hosts_and_give_no_role() -> None:
    kept = b'[{"id":"p1","secret":"MDAwMDAwMDAwMDAwMDAwMA==","expires":null,"uses":null}]'
    token = InviteTokens.decode(kept).newest(0.0)
    assert token is not None
    assert (token.role, token.by) == (None, "")


def test_who_knows_the_secret_gets_in() -> None:
    passes = InviteTokens()
    made = passes.issue(0.0)
    assert len(made.secret) == 16
    assert opens(passes, made, now=1e12)
    assert passes.consume(made.id, 1e12)
    assert opens(passes, made, now=1e12)


def test_a_proof_is_for_one_pass_and_one_meeting() -> None:
    passes = InviteTokens()
    made, other = passes.issue(0.0), passes.issue(0.0)
    assert not passes.check(made.id, proof(other), MEETING, 0.0)
    assert not passes.check(made.id, proof(made, b"another meeting"), MEETING, 0.0)
    assert not passes.check(made.id, b"", MEETING, 0.0)
    assert not passes.check(made.id, made.secret, MEETING, 0.0)


@given(st.text(max_size=20), st.binary(max_size=40))
def test_an_unknown_pass_opens_nothing(pass_id: str, guess: bytes) -> None:
    passes = InviteTokens()
    assert not passes.check(pass_id, guess, MEETING, 0.0)
    assert not passes.consume(pass_id, 0.0)


def test_a_pass_of_a_limited_time_ends() -> None:
    passes = InviteTokens()
    made = passes.issue(100.0, lifetime=60.0)
    assert made.expires == 160.0
    assert opens(passes, made, now=159.9)
    assert not opens(passes, made, now=160.0)
    assert not passes.consume(made.id, 160.0)


def test_a_pass_for_one_lets_one_in() -> None:
    passes = InviteTokens()
    made = passes.issue(0.0, uses=1)
    assert opens(passes, made)
    assert opens(passes, made)  # two may be at the door at once,
    assert passes.consume(made.id, 0.0)
    assert not passes.consume(made.id, 0.0)  # but only the first comes in
    assert not opens(passes, made)


def test_renewing_voids_all_others() -> None:
    passes = InviteTokens()
    old = [passes.issue(0.0), passes.issue(0.0, uses=3)]
    fresh = passes.renew(0.0)
    assert not any(opens(passes, each) for each in old)
    assert opens(passes, fresh)
    assert passes.newest(0.0) == fresh


def test_the_newest_open_pass_is_the_invite() -> None:
    passes = InviteTokens()
    assert passes.newest(0.0) is None
    brief = passes.issue(0.0, lifetime=10.0)
    single = passes.issue(0.0, uses=1)
    assert passes.newest(0.0) == single
    passes.consume(single.id, 0.0)
    assert passes.newest(0.0) == brief
    lasting = passes.issue(0.0)
    passes.issue(0.0, uses=1)
    assert passes.newest(0.0) == lasting  # before those for somebody in particular
    assert passes.newest(10.0) == lasting
    assert len(passes) == 3  # what has ended is forgotten when there is something new


def test_no_more_than_so_many_are_open() -> None:
    passes = InviteTokens()
    made = [passes.issue(0.0) for _ in range(MAX_OPEN + 1)]
    assert [opens(passes, each) for each in made] == [False] + [True] * MAX_OPEN


def test_what_has_ended_makes_way_first() -> None:
    passes = InviteTokens()
    lasting = passes.issue(0.0)
    for _ in range(3 * MAX_OPEN):
        passes.consume(passes.issue(0.0, uses=1).id, 0.0)
    assert opens(passes, lasting)


def test_saved_passes_go_on() -> None:
    passes = InviteTokens()
    lasting, single = passes.issue(0.0, lifetime=50.0), passes.issue(0.0, uses=2)
    passes.consume(single.id, 0.0)
    again = InviteTokens.decode(passes.encode())
    assert opens(again, lasting, now=49.0)
    assert not opens(again, lasting, now=50.0)
    newest = again.newest(0.0)
    assert newest is not None
    assert (newest.id, newest.uses) == (single.id, 1)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[", b"\xff", b'[{"id":"x"}]', b'[{"id":"x","secret":"AAAA"}]']
)
def test_what_was_not_saved_so_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInviteTokens):
        InviteTokens.decode(content)


def test_no_secret_is_shown() -> None:
    passes = InviteTokens()
    made = passes.issue(0.0)
    for text in (repr(made), repr(passes)):
        assert made.id in text
        assert "secret" not in text
        assert repr(made.secret) not in text
