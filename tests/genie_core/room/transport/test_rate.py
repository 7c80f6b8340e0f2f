from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.transport.rate import MOST_KEYS, Rates, TokenBucket


def test_a_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(3, 2.0)
    assert [bucket.take(10.0) for _ in range(4)] == [True, True, True, False]
    assert bucket.wait(10.0) == 0.5
    assert not bucket.take(10.4)
    assert bucket.take(10.5)
    assert not bucket.is_full(11.0)
    assert bucket.is_full(12.5)


def test_a_clock_that_jumps_back_gives_nothing() -> None:
    bucket = TokenBucket(1, 1.0)
    assert bucket.take(100.0)
    assert not bucket.take(50.0)
    assert bucket.take(51.0)


def test_an_emptied_bucket_fills_again() -> None:
    bucket = TokenBucket(5, 1.0)
    bucket.take(0.0)
    bucket.empty()
    assert not bucket.take(0.5)
    assert bucket.take(1.5)


def test_a_debt_has_to_be_paid_back_first() -> None:
    bucket = TokenBucket(10, 1.0)
    assert bucket.take(0.0, 25)
    assert not bucket.take(15.9, 1)
    assert bucket.take(16.0, 1)


def test_key_inherits_remaining_rate() -> None:
    rates = Rates(2, 1.0)
    assert [rates.take("a", 0.0) for _ in range(3)] == [True, True, False]
    rates.hand_over("a", "b")
    assert not rates.take("b", 0.0)
    rates.charge("b", 0.0, 3)
    assert rates.wait("a", 0.0) == 1.0
    assert rates.wait("b", 0.0) == 4.0
    rates.tidy(10.0)
    assert "b" not in rates


@given(st.lists(st.floats(0, 100), max_size=200))
def test_never_more_than_burst_and_rate_allow(times: list[float]) -> None:
    bucket = TokenBucket(5, 2.0)
    taken = sum(bucket.take(now) for now in sorted(times))
    assert taken <= 5 + 2.0 * 100


def test_overcharged_key_must_wait() -> None:
    rates = Rates(10, 2.0)
    assert rates.wait("a", 0.0) == 0.0
    rates.charge("a", 0.0, 8)
    assert rates.wait("a", 0.0) == 0.0
    rates.charge("a", 0.0, 5)
    assert rates.wait("a", 0.0) == 2.0
    assert rates.wait("b", 0.0) == 0.0
    assert rates.wait("a", 2.0) == 0.0


def test_so_many_keys_are_kept_and_no_more() -> None:
    rates = Rates(1, 1.0)
    assert all(rates.take(str(n), 0.0) for n in range(2 * MOST_KEYS))
    assert sum(str(n) in rates for n in range(2 * MOST_KEYS)) == MOST_KEYS
    assert not rates.take(str(2 * MOST_KEYS - 1), 0.0)
