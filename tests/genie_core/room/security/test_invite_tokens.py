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


def opens(tokens: InviteTokens, each: InviteToken, now: float = 0.0) -> bool:
    return tokens.check(each.id, proof(each), MEETING, now)


def test_newest_is_own_and_without_role() -> None:
    tokens = InviteTokens()
    hers = tokens.issue(0.0)
    assert tokens.issue(0.0, role="host").uses == 1
    assert tokens.issue(0.0, role="guest", uses=3).uses == 3
    his = tokens.issue(0.0, by="bob")
    again = InviteTokens.decode(tokens.encode())
    for each in (tokens, again):
        assert (each.newest(0.0), each.newest(0.0, "bob")) == (hers, his)
        assert each.newest(0.0, "eve") is None
    assert tokens.void_of("bob")
    assert not tokens.void_of("bob")
    assert not tokens.void_of("")
    assert (tokens.newest(0.0), tokens.newest(0.0, "bob"), len(tokens)) == (hers, None, 3)
    tokens.void()
    assert len(tokens) == 0


def test_old_tokens_are_hosts_without_role() -> None:
    kept = b'[{"id":"p1","secret":"MDAwMDAwMDAwMDAwMDAwMA==","expires":null,"uses":null}]'
    token = InviteTokens.decode(kept).newest(0.0)
    assert token is not None
    assert (token.role, token.by) == (None, "")


def test_who_knows_the_secret_gets_in() -> None:
    tokens = InviteTokens()
    made = tokens.issue(0.0)
    assert len(made.secret) == 16
    assert opens(tokens, made, now=1e12)
    assert tokens.consume(made.id, 1e12)
    assert opens(tokens, made, now=1e12)


def test_a_proof_is_for_one_pass_and_one_meeting() -> None:
    tokens = InviteTokens()
    made, other = tokens.issue(0.0), tokens.issue(0.0)
    assert not tokens.check(made.id, proof(other), MEETING, 0.0)
    assert not tokens.check(made.id, proof(made, b"another meeting"), MEETING, 0.0)
    assert not tokens.check(made.id, b"", MEETING, 0.0)
    assert not tokens.check(made.id, made.secret, MEETING, 0.0)


@given(st.text(max_size=20), st.binary(max_size=40))
def test_an_unknown_pass_opens_nothing(pass_id: str, guess: bytes) -> None:
    tokens = InviteTokens()
    assert not tokens.check(pass_id, guess, MEETING, 0.0)
    assert not tokens.consume(pass_id, 0.0)


def test_a_pass_of_a_limited_time_ends() -> None:
    tokens = InviteTokens()
    made = tokens.issue(100.0, lifetime=60.0)
    assert made.expires == 160.0
    assert opens(tokens, made, now=159.9)
    assert not opens(tokens, made, now=160.0)
    assert not tokens.consume(made.id, 160.0)


def test_a_pass_for_one_lets_one_in() -> None:
    tokens = InviteTokens()
    made = tokens.issue(0.0, uses=1)
    assert opens(tokens, made)
    assert opens(tokens, made)  # two may be joining together,
    assert tokens.consume(made.id, 0.0)
    assert not tokens.consume(made.id, 0.0)  # but only the first comes in
    assert not opens(tokens, made)


def test_renewing_voids_all_others() -> None:
    tokens = InviteTokens()
    old = [tokens.issue(0.0), tokens.issue(0.0, uses=3)]
    fresh = tokens.renew(0.0)
    assert not any(opens(tokens, each) for each in old)
    assert opens(tokens, fresh)
    assert tokens.newest(0.0) == fresh


def test_the_newest_open_pass_is_the_invite() -> None:
    tokens = InviteTokens()
    assert tokens.newest(0.0) is None
    brief = tokens.issue(0.0, lifetime=10.0)
    single = tokens.issue(0.0, uses=1)
    assert tokens.newest(0.0) == single
    tokens.consume(single.id, 0.0)
    assert tokens.newest(0.0) == brief
    lasting = tokens.issue(0.0)
    tokens.issue(0.0, uses=1)
    assert tokens.newest(0.0) == lasting  # before those for somebody in particular
    assert tokens.newest(10.0) == lasting
    assert len(tokens) == 3  # what has ended is forgotten when there is something new


def test_no_more_than_so_many_are_open() -> None:
    tokens = InviteTokens()
    made = [tokens.issue(0.0) for _ in range(MAX_OPEN + 1)]
    assert [opens(tokens, each) for each in made] == [False] + [True] * MAX_OPEN


def test_what_has_ended_makes_way_first() -> None:
    tokens = InviteTokens()
    lasting = tokens.issue(0.0)
    for _ in range(3 * MAX_OPEN):
        tokens.consume(tokens.issue(0.0, uses=1).id, 0.0)
    assert opens(tokens, lasting)


def test_saved_passes_go_on() -> None:
    tokens = InviteTokens()
    lasting, single = tokens.issue(0.0, lifetime=50.0), tokens.issue(0.0, uses=2)
    tokens.consume(single.id, 0.0)
    again = InviteTokens.decode(tokens.encode())
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
    tokens = InviteTokens()
    made = tokens.issue(0.0)
    for text in (repr(made), repr(tokens)):
        assert made.id in text
        assert "secret" not in text
        assert repr(made.secret) not in text
