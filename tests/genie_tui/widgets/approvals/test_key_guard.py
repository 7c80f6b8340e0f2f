import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_tui.keyboard import Keyboard
from tests.genie_tui.scripted_room import HandClock, until
from textual import events
from textual.app import App, ComposeResult

from genie_tui.commands.keymap import age_of
from genie_tui.widgets.approvals.key_guard import LOOK, QUIET, KeyGuard, Outcome, Use


def guard(*, awake: bool = False) -> tuple[KeyGuard[str], HandClock]:
    clock = HandClock()
    keys = KeyGuard[str](clock)
    keys.arm(clock() if awake else None)
    return keys, clock


def test_letter_counts_immediately_on_opened_request() -> None:
    keys, _ = guard(awake=True)
    assert keys.press(Use.CHOOSES, "a") is Outcome.CHOSEN


def test_letter_is_text_while_asleep() -> None:
    keys, clock = guard()
    clock.rest(QUIET * 0.9)
    assert keys.press(Use.CHOOSES, "a") is Outcome.TEXT
    assert keys.take_typed() == "a"


def test_letter_counts_after_rest() -> None:
    keys, clock = guard()
    clock.rest(QUIET)
    assert keys.remaining() == 0
    assert keys.press(Use.CHOOSES, "a") is Outcome.CHOSEN


@pytest.mark.parametrize("gap", [0.03, 0.11, 0.2, 0.9])
def test_stays_asleep_while_keys_come(gap: float) -> None:
    keys, clock = guard()
    for _ in range(1_000):
        clock.rest(gap)
        assert keys.press(Use.CHOOSES, "a") is Outcome.TEXT
    clock.rest(QUIET)
    assert keys.press(Use.CHOOSES, "a") is Outcome.CHOSEN


def test_text_puts_opened_request_to_sleep() -> None:
    keys, clock = guard(awake=True)
    keys.press(Use.NONE, "y")
    clock.rest(QUIET * 0.9)
    assert keys.press(Use.CHOOSES, "a") is Outcome.TEXT


def test_enter_counts_once_request_was_seen() -> None:
    keys, clock = guard(awake=True)
    clock.rest(0.1)
    keys.ask("really?")
    clock.rest(LOOK / 2)
    assert keys.press(Use.CONFIRMS) is Outcome.TOO_SOON
    clock.rest(LOOK)
    assert keys.press(Use.CONFIRMS) is Outcome.CONFIRMED


def test_enter_needs_no_look_where_none_is_asked() -> None:
    clock = HandClock()
    keys = KeyGuard[str](clock, look=0.0)
    keys.arm(clock())
    keys.ask("really?")
    clock.rest(0.2)
    keys.stand()  # noted after the drawing, when the person has answered what they saw
    assert keys.press(Use.CONFIRMS, age=0.1) is Outcome.CONFIRMED


def test_drawing_later_extends_the_look() -> None:
    keys, clock = guard(awake=True)
    clock.rest(LOOK)
    keys.stand()
    keys.ask("really?")
    clock.rest(LOOK / 2)
    assert keys.press(Use.CONFIRMS) is Outcome.TOO_SOON


def test_key_from_before_the_request_is_text() -> None:
    keys, clock = guard(awake=True)
    clock.rest(10)
    keys.arm(clock())
    clock.rest(0.1)
    assert keys.press(Use.CHOOSES, "a", age=5) is Outcome.TEXT


def test_key_counts_from_when_it_was_pressed() -> None:
    keys, clock = guard()
    clock.rest(10)
    assert keys.press(Use.CHOOSES, "a", age=9.9) is Outcome.TEXT


def test_scrolling_keeps_the_question() -> None:
    keys, clock = guard(awake=True)
    keys.ask("really?")
    clock.rest()
    assert keys.press(Use.LOOKS) is Outcome.LOOKED
    clock.rest()
    assert keys.press(Use.CONFIRMS) is Outcome.CONFIRMED


def test_age_is_the_time_since_the_key_came() -> None:
    key = events.Key("a", "a")
    key.time -= 100
    assert 100 <= age_of(key) < 200


@given(st.lists(st.floats(0.0, QUIET * 0.99), max_size=60))
def test_never_wakes_without_rest(gaps: list[float]) -> None:
    keys, clock = guard()
    for gap in gaps:
        clock.rest(gap)
        assert keys.press(Use.CHOOSES, "a") is Outcome.TEXT


@given(st.lists(st.floats(0.0, 3.0), max_size=30), st.floats(QUIET + 0.001, 60.0))
def test_always_wakes_after_rest(gaps: list[float], rest: float) -> None:
    keys, clock = guard()
    for gap in gaps:
        clock.rest(gap)
        keys.press(Use.NONE, "y")
    clock.rest(rest)
    assert keys.press(Use.CHOOSES, "a") is Outcome.CHOSEN


class Host(App[None]):
    """Only the keyboard."""

    def compose(self) -> ComposeResult:
        yield Keyboard()


async def test_key_that_stands_alone_is_acted_on() -> None:
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


async def test_busy_app_acts_on_key_before_the_next() -> None:
    async with Host().run_test() as pilot:
        keyboard = pilot.app.query_one(Keyboard)
        keyboard.focus()
        await pilot.pause()
        keyboard.clock.rest()
        keyboard.on_key(events.Key("a", "a"))  # before any timer of its own can have run
        keyboard.clock.rest(0.11)
        keyboard.on_key(events.Key("w", "w"))
        assert keyboard.keys == ["a"]
