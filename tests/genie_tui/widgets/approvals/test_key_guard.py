import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_tui.keyboard import Keyboard
from tests.genie_tui.scripted_room import HandClock, until
from textual import events
from textual.app import App, ComposeResult

from genie_tui.widgets.approvals.key_guard import QUIET, KeyGuard, age_of


def guard() -> tuple[KeyGuard[None], HandClock]:
    clock = HandClock()
    return KeyGuard[None](clock), clock


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


@pytest.mark.parametrize("gap", [0.03, 0.11, 0.2, 0.9])
def test_never_opens_while_keys_keep_coming(gap: float) -> None:
    keys, clock = guard()
    for _ in range(1_000):
        clock.rest(gap)
        assert not keys.admit()
    clock.rest(QUIET)
    assert keys.admit()


def test_every_key_that_counts_begins_the_rest_anew() -> None:
    keys, clock = guard()
    clock.rest(QUIET)
    assert keys.admit()
    clock.rest(QUIET * 0.9)
    assert not keys.admit()


def test_armed_it_refuses_a_key_after_any_rest() -> None:
    keys, clock = guard()
    clock.rest(QUIET)
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
def test_never_opens_without_rest(gaps: list[float]) -> None:
    keys, clock = guard()
    for gap in gaps:
        clock.rest(gap)
        assert not keys.admit()


@given(st.lists(st.floats(0.0, 3.0), max_size=30), st.floats(QUIET + 0.001, 60.0))
def test_always_opens_after_rest(gaps: list[float], rest: float) -> None:
    keys, clock = guard()
    for gap in gaps:
        clock.rest(gap)
        keys.admit()
    clock.rest(rest)
    assert keys.admit()


class Host(App[None]):
    """Only the keyboard."""

    def compose(self) -> ComposeResult:
        yield Keyboard()


async def test_a_key_that_stands_alone_is_acted_on() -> None:
    async with Host().run_test() as pilot:
        keyboard = pilot.app.query_one(Keyboard)
        keyboard.focus()
        await pilot.pause()
        keyboard.clock.rest()
        await pilot.press("a")
        await until(pilot, lambda: keyboard.keys == ["a"])


@pytest.mark.parametrize("burst", ["aa", "allow", "well i think"])
async def test_no_key_of_a_burst_is_acted_on(burst: str) -> None:
    async with Host().run_test() as pilot:
        keyboard = pilot.app.query_one(Keyboard)
        keyboard.focus()
        await pilot.pause()
        keyboard.clock.rest()
        for character in burst:
            pilot.app.post_message(events.Key(character, character))
        await pilot.pause()
        keyboard.clock.rest()
        await pilot.press("d")
        await until(pilot, lambda: keyboard.keys)
        assert keyboard.keys == ["d"]


async def test_a_key_is_acted_on_though_the_app_was_busy_until_the_next_came() -> None:
    async with Host().run_test() as pilot:
        keyboard = pilot.app.query_one(Keyboard)
        keyboard.focus()
        await pilot.pause()
        keyboard.clock.rest()
        keyboard.on_key(events.Key("a", "a"))  # before any timer of its own can have run
        keyboard.clock.rest(0.11)
        keyboard.on_key(events.Key("w", "w"))
        assert keyboard.keys == ["a"]
