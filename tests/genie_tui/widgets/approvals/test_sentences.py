"""Sentences typed at an open card answer nothing, at any pace and with any pauses."""

import random
from collections.abc import Iterator

import pytest
from tests.genie_tui.room_parts import card, editor
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual import events

from genie_tui.commands.keymap import OF_WIDGETS, REST
from genie_tui.commands.keys import Scope
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.widgets.approvals.card import ANSWERS
from genie_tui.widgets.approvals.key_guard import KeyGuard, Outcome, key_use
from genie_tui.widgets.composer.composer import Composer

WORDS = [
    *("and", "sales", "were", "up", "a", "d", "y", "s", "x", "add", "dad", "yes", "no", "42", "1"),
    *("report", "let", "well", "the", "very", "data", "next", "error", "please", "two", "/msg"),
    *("e", "n", "p", "v", "r", "t", "w", "l", "allow", "deny", "it", "all", "today", "view"),
]
PACES = [60 / (5 * wpm) for wpm in (60, 90, 120)]

Press = tuple[float, str]
"""Seconds since the key before, and the key."""


def sentence(rng: random.Random) -> list[Press]:
    """The keys of a sentence of at least two words, with `enter` once or twice at its end."""
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 8)))
    keys = list(_typed(rng, text, rng.choice(PACES)))
    keys[0] = (rng.choice([0.05, 0.2, 0.5, 1.1, 5.0]), keys[0][1])
    match rng.randrange(6):
        case 0:  # one write, as a paste without brackets
            keys = [keys[0], *((0.0, key) for _, key in keys[1:])]
        case 1:  # a stalled connection: half a second of keys at once
            keys = [(0.5 if at % 5 == 0 else 0.0, key) for at, (_, key) in enumerate(keys)]
        case 2:  # the first key is held down
            keys[1:1] = [(0.5, keys[0][1]), *[(0.03, keys[0][1])] * rng.randint(0, 20)]
    ends = rng.choice([1, 1, 1, 2])
    return [*keys, *[(rng.choice([0.0, 0.1, 0.4, 1.1, 3.0]), "\n")] * ends]


def _typed(rng: random.Random, text: str, pace: float) -> Iterator[Press]:
    for character in text:
        hesitates = rng.random() < 0.25
        yield (rng.uniform(0.3, 3.0) if hesitates else pace * rng.uniform(0.5, 1.5)), character


class Typist:
    """Types in a room with requests, as far as the guard's rules go. The focus is at one place."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.guard = KeyGuard[str](self.clock)
        self.focus = "composer"
        self.composer = ""
        self.request = 0
        self.answers: list[tuple[int, str]] = []

    def open_card(self, rest: float) -> None:
        """Press the chord, so long after the key before it."""
        self.clock.rest(rest)
        self.focus = "card"
        self.guard.arm(self.clock() if rest >= REST else None)

    def replace_card(self) -> None:
        """Show another request, as the one on the card is answered elsewhere."""
        self.request += 1
        self.guard.arm()

    def press(self, wait: float, key: str) -> None:
        self.clock.rest(wait)
        if wait > 0.05:
            self.guard.release()
        if self.focus == "card":
            self._press_at_card(key)
        elif self.focus == "composer":
            self.composer += key

    def stop(self) -> None:
        """Press nothing more."""
        self.clock.rest(10)
        self.guard.release()

    def _press_at_card(self, key: str) -> None:
        question = self.guard.question
        scope = Scope.CARD if question is None else Scope.CONFIRM
        action = OF_WIDGETS.by_key(scope).get("enter" if key == "\n" else key)
        match self.guard.press(key_use(action), key.strip("\n")):
            case Outcome.CHOSEN if action is not None and action.run == "full_view":
                self.focus = "composer"  # the next letter returns there
                self.composer += self.guard.take_typed()
            case Outcome.CHOSEN if action is not None:
                self.guard.ask(action.run)
            case Outcome.CONFIRMED if question is not None:
                self._hold(question)
            case Outcome.TEXT:
                if typed := self.guard.take_typed():
                    self.composer += typed
                    self.focus = "composer"

    def _hold(self, question: str) -> None:
        def answer() -> None:
            if question in ANSWERS:
                self.answers.append((self.request, question))
            else:
                self.focus = "line"

        self.guard._held = answer


def test_a_thousand_sentences_answer_nothing() -> None:
    rng = random.Random(33)
    for _ in range(1_000):
        typist = Typist()
        if rng.random() < 0.5:
            for wait, key in _typed(rng, "so what", rng.choice(PACES)):
                typist.press(wait, key)
        typist.open_card(rng.choice([0.05, 0.2, 0.6, 5.0]))
        keys = [press for _ in range(2) for press in sentence(rng)]
        replaced = rng.choice([None, *range(6)])
        for at, (wait, key) in enumerate(keys):
            if at == replaced:
                typist.replace_card()
            typist.press(wait, key)
        typist.stop()
        assert typist.answers == [], keys
        assert typist.focus != "line", keys


def test_each_letter_of_a_sentence_is_written() -> None:
    """All but `n` and `p`, which may have shown another request long before."""
    rng = random.Random(34)
    for _ in range(300):
        typist = Typist()
        typist.open_card(5.0)
        text = "allow it" if rng.random() < 0.5 else "deny it"
        for wait, key in _typed(rng, text, rng.choice(PACES)):
            typist.press(wait, key)
        assert typist.composer == text


@pytest.mark.parametrize(("first", "second"), [(0.1, 0.25), (0.3, 0.06), (5.0, 5.0), (0.0, 0.31)])
def test_letter_and_enter_answer(first: float, second: float) -> None:
    typist = Typist()
    typist.open_card(REST)
    typist.press(first, "a")
    typist.press(second, "\n")
    typist.stop()
    assert typist.answers == [(0, "allow_once")]


@pytest.mark.parametrize("keys", ["an\n", "a \n", "\n", "\na", "aa\n", "ad\n", "y\n", "a\x1b\n"])
def test_other_keys_answer_nothing(keys: str) -> None:
    typist = Typist()
    typist.open_card(REST)
    for key in keys:
        typist.press(0.5, key)
    typist.stop()
    assert typist.answers == []


@pytest.mark.parametrize("wait", [0.0, 0.02, 0.2])
def test_enter_before_the_request_was_seen(wait: float) -> None:
    typist = Typist()
    typist.open_card(REST)
    typist.press(0.02, "a")
    typist.press(wait, "\n")
    typist.stop()
    assert typist.answers == []


@pytest.mark.parametrize("wait", [0.01, 0.3, 0.9])
def test_keys_meant_for_another_request(wait: float) -> None:
    """The request gives way to another before the letter, or between the letter and enter."""
    for at in (0, 1):
        typist = Typist()
        typist.open_card(5.0)
        typist.clock.rest(1)
        for number, key in enumerate("a\n"):
            if number == at:
                typist.replace_card()
            typist.press(wait, key)
        typist.stop()
        assert typist.answers == []


def test_enter_of_a_burst_answers_nothing() -> None:
    for keys in ([(0.5, "a"), (0.0, "\n")], [(0.5, "a"), (0.5, "\n"), (0.0, "n")]):
        typist = Typist()
        typist.open_card(5.0)
        for wait, key in keys:
            typist.press(wait, key)
        typist.stop()
        assert typist.answers == []


@pytest.mark.parametrize("rest", [0.1, 5.0])
@pytest.mark.parametrize(
    "pauses",
    [
        {1: 1.5, 17: 1.6},
        dict.fromkeys(range(1, 17), 0.65),
        dict.fromkeys(range(1, 18), 1.5),
        {},
    ],
)
async def test_sentence_at_card_goes_to_composer(
    joined: ScriptedJoinedRoom, pauses: dict[int, float], rest: float
) -> None:
    text, clock = "and sales were up", HandClock()
    joined.ask("write_file", path="a.txt")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("x", "backspace")
        clock.rest(rest)
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        await pilot.pause()
        for at, character in enumerate(text):
            clock.rest(pauses.get(at, 0.11))
            await pilot.press("space" if character == " " else character)
        await until(pilot, lambda: screen.query_one(Composer).draft == text)
        clock.rest(pauses.get(17, 0.11))
        await pilot.press("enter")
        await until(pilot, lambda: joined.said)
        assert joined.answers == []
        assert joined.said[0][0] == text


async def test_random_sentences_at_card_answer_nothing(joined: ScriptedJoinedRoom) -> None:
    rng, clock = random.Random(35), HandClock()
    for number in range(3):
        joined.ask("write_file", path=f"{number}.txt")
    async with in_room(joined, clock=clock) as (screen, pilot):
        for _ in range(12):
            clock.rest(rng.choice([0.1, 5.0]))
            await pilot.press("ctrl+g")
            await until(pilot, lambda: card(screen).has_focus)
            for wait, key in sentence(rng)[:12]:
                clock.rest(wait)
                await pilot.press({"\n": "enter", " ": "space", "/": "slash"}.get(key, key))
            await pilot.press("escape", "escape")
            await pilot.pause(0.06)
            screen.query_one(Composer).draft = ""
            editor(screen).focus()
            await pilot.pause()
        assert joined.answers == []


async def test_paste_at_card_goes_to_composer(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask("write_file", path="a.txt")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        clock.rest()
        await pilot.press("a")
        pilot.app.post_message(events.Paste("nd\nsales"))
        await until(pilot, lambda: screen.query_one(Composer).draft == "and\nsales")
        clock.rest()
        assert joined.answers == []


async def test_sentence_at_full_view_goes_to_composer(joined: ScriptedJoinedRoom) -> None:
    clock = HandClock()
    joined.ask("write_file", path="a.txt")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        clock.rest(1.5)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(pilot.app.screen, FullViewScreen))
        await pilot.press(*"iews")
        await until(pilot, lambda: screen.query_one(Composer).draft == "views")
        assert pilot.app.screen is screen
        assert joined.answers == []
