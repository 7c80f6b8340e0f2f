from hypothesis import given
from hypothesis import strategies as st
from tests.genie_tui.scripted_seat import HandClock
from textual import events

from genie_tui.widgets.key_guard import LIMIT, QUIET, KeyGuard, age_of


def guard() -> tuple[KeyGuard, HandClock]:
    clock = HandClock()
    return KeyGuard(clock), clock


def test_refuses_a_key_at_once() -> None:
    keys, _ = guard()
    assert not keys.admit()


def test_admits_after_the_keyboard_rested() -> None:
    keys, clock = guard()
    clock.rest(QUIET)
    assert keys.remaining() == 0
    assert keys.admit()


def test_every_refused_key_begins_the_rest_anew() -> None:
    keys, clock = guard()
    for _ in range(3):
        clock.rest(QUIET * 0.9)
        assert not keys.admit()
    assert keys.remaining() > 0


def test_opens_at_the_limit_though_keys_never_rest() -> None:
    keys, clock = guard()
    started = clock.now
    while not keys.admit():
        clock.rest(0.1)
    assert LIMIT <= clock.now - started < LIMIT + 0.2


def test_a_key_that_is_held_down_never_opens_it() -> None:
    keys, clock = guard()
    for _ in range(200):
        clock.rest(0.03)
        assert not keys.admit(key="a")
    clock.rest(0.03)
    assert keys.admit(key="b")


def test_the_same_key_pressed_again_counts() -> None:
    keys, clock = guard()
    keys.admit(key="a")
    clock.rest(QUIET)
    assert keys.admit(key="a")


def test_stays_open_until_armed_again() -> None:
    keys, clock = guard()
    clock.rest(QUIET)
    assert keys.admit()
    assert keys.admit()
    keys.arm()
    assert not keys.admit()


def test_a_key_that_waited_in_a_queue_counts_from_when_it_was_pressed() -> None:
    keys, clock = guard()
    clock.rest(10)
    assert not keys.admit(age=9.9)


def test_how_old_a_key_is_follows_from_when_it_came() -> None:
    key = events.Key("a", "a")
    key.time -= 100
    assert 100 <= age_of(key) < 200


def test_a_key_older_than_the_arming_is_refused() -> None:
    keys, clock = guard()
    clock.rest(10)
    keys.arm()
    clock.rest(0.1)
    assert not keys.admit(age=5)


@given(st.lists(st.floats(0.0, QUIET * 0.99), max_size=60))
def test_never_opens_without_rest_before_the_limit(gaps: list[float]) -> None:
    keys, clock = guard()
    started = clock.now
    for gap in gaps:
        clock.rest(gap)
        if clock.now - started < LIMIT:
            assert not keys.admit()


@given(st.lists(st.floats(0.0, 3.0), max_size=30), st.floats(QUIET + 0.001, 60.0))
def test_always_opens_after_rest(gaps: list[float], rest: float) -> None:
    keys, clock = guard()
    for gap in gaps:
        clock.rest(gap)
        keys.admit()
    clock.rest(rest)
    assert keys.admit()
