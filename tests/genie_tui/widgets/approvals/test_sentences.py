"""Sentences typed at an open card answer nothing, at whatever pace and with whatever pauses."""

import random
from collections.abc import Iterator

import pytest
from tests.genie_tui.room_parts import card
from tests.genie_tui.scripted_room import HandClock, ScriptedJoinedRoom, in_room, until
from textual import events

from genie_tui.commands.keymap import OF_WIDGETS
from genie_tui.commands.keys import Scope
from genie_tui.screens.dialogs.full_view import FullViewScreen
from genie_tui.widgets.approvals.card import WRITING
from genie_tui.widgets.approvals.key_guard import KeyGuard, Use, key_use
from genie_tui.widgets.composer.composer import Composer

WORDS = [
    *("and", "sales", "were", "up", "a", "d", "y", "s", "x", "add", "dad", "yes", "no", "42", "1"),
    *("report", "let", "well", "the", "very", "data", "next", "error", "please", "two", "/msg"),
]
PACES = [60 / (5 * wpm) for wpm in (60, 90, 120)]

Press = tuple[float, str]
"""Seconds since the key before, and the key."""


def sentence(rng: random.Random) -> list[Press]:
    """The keys of a sentence of at least two words, with `enter` at its end."""
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 8)))
    if rng.random() < 0.5:
        text = rng.choice(["and ", "a ", "d ", "y "]) + text
    keys = list(_typed(rng, text, rng.choice(PACES)))
    keys[0] = (rng.uniform(1.0, 5.0), keys[0][1])
    match rng.randrange(5):
        case 0:  # one write
            keys = [keys[0], *((0.0, key) for _, key in keys[1:])]
        case 1:  # a stalled connection: half a second of keys at once
            keys = [(0.5 if at % 5 == 0 else 0.0, key) for at, (_, key) in enumerate(keys)]
        case 2:  # the first key is held down
            keys[1:1] = [(0.5, keys[0][1]), *[(0.03, keys[0][1])] * rng.randint(0, 20)]
    return [*keys, (rng.choice([0.1, 0.4, 1.1, 1.6, 3.0]), "\n")]


def _typed(rng: random.Random, text: str, pace: float) -> Iterator[Press]:
    for character in text:
        hesitates = rng.random() < 0.25
        yield (rng.uniform(0.3, 3.0) if hesitates else pace * rng.uniform(0.5, 1.5)), character


class Typist:
    """Types at a focused card, as far as the guard's rules go. The focus is at one place."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.guard = KeyGuard[str](self.clock)
        self.focus = "card"
        self.composer = ""
        self.answers: list[str] = []

    def press(self, wait: float, key: str) -> None:
        self.clock.rest(wait)
        if self.focus == "line" and key == "\n":
            self.focus = "card"
            self.guard.ask("what the line says")
        elif self.focus == "card":
            self._press_at_card(key)
        elif self.focus == "composer":
            self.composer += key

    def _press_at_card(self, key: str) -> None:
        question = self.guard.question
        scope = Scope.CARD if question is None else Scope.CONFIRM
        action = OF_WIDGETS.by_key(scope).get("enter" if key == "\n" else key)
        use = key_use(action)
        counts = self.guard.press(use, key.strip("\n"))
        if use is Use.NONE:
            self.composer += self.guard.take_typed()
            self.focus = "composer"
        elif use is Use.CONFIRMS and counts and question is not None:
            self.answers.append(question)
        elif use is Use.CHOOSES and counts and action is not None:
            opens = action.run in WRITING or action.run in ("edit", "full_view")
            if opens:
                self.focus = "line" if action.run in WRITING else "dialog"
            else:
                self.guard.ask(action.run)


def test_a_thousand_sentences_answer_nothing() -> None:
    rng = random.Random(33)
    for _ in range(1_000):
        typist = Typist()
        keys = [press for _ in range(2) for press in sentence(rng)]
        for wait, key in keys:
            typist.press(wait, key)
        assert typist.answers == [], keys


def test_a_choice_read_and_confirmed_is_an_answer() -> None:
    typist = Typist()
    for wait, key in ((2.0, "a"), (1.1, "\n")):
        typist.press(wait, key)
    assert typist.answers == ["allow_once"]


@pytest.mark.parametrize("key", ["a", "s", "w", "d", "x"])
def test_a_letter_and_a_quick_enter_answer_nothing(key: str) -> None:
    typist = Typist()
    for wait, each in ((2.0, key), (0.3, "\n"), (1.6, "\n"), (1.6, "\n")):
        typist.press(wait, each)
    assert typist.answers == []


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
    joined: ScriptedJoinedRoom, pauses: dict[int, float]
) -> None:
    text, clock = "and sales were up", HandClock()
    joined.ask("write_file", path="a.txt")
    async with in_room(joined, clock=clock) as (screen, pilot):
        await pilot.press("ctrl+g")
        await until(pilot, lambda: card(screen).has_focus)
        await pilot.pause()
        clock.rest(1.5)
        for at, character in enumerate(text):
            clock.rest(pauses.get(at, 0.11))
            await pilot.press("space" if character == " " else character)
        await until(pilot, lambda: screen.query_one(Composer).draft == text)
        clock.rest(pauses.get(17, 0.11))
        await pilot.press("enter")
        await until(pilot, lambda: joined.said)
        assert joined.answers == []
        assert joined.said[0][0] == text


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
