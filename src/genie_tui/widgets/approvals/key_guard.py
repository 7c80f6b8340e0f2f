"""Keep typing from answering a request.

An answer takes two keys: the first asks the question that `enter` answers. Every other key
withdraws the question, and goes to the text that the person writes. So a sentence answers nothing,
at any pace; the waits only let the person see the request.
"""

from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import Final, Generic, TypeVar

from textual import events
from textual.widget import Widget

from genie_tui.commands.keymap import age_of, call_after_input
from genie_tui.commands.keys import Action

LOOK: Final = 0.3
"""Seconds that a request stands before `enter` counts: the time to see it."""

QUIET: Final = 1.0
"""Seconds without any key before a key counts, where the person may be typing."""

BURST: Final = 0.05
"""Seconds between two keys of a person: longer than in a paste, a held key or a stalled line."""

SOON: Final = "one moment… what you type goes to your message"
"""Text in place of the keys while none counts."""

TOO_SOON: Final = "enter came too soon; read the question first"
"""Text after an `enter` that did not count."""

QuestionT = TypeVar("QuestionT")


class Use(Enum):
    """The meaning of a key where something is answered."""

    CHOOSES = auto()
    CONFIRMS = auto()
    LOOKS = auto()
    LEAVES = auto()
    NONE = auto()


class Outcome(Enum):
    """The effect of a key."""

    CHOSEN = auto()
    """It asks a question, which the widget sets by `KeyGuard.ask`."""

    CONFIRMED = auto()
    TOO_SOON = auto()
    """It would have confirmed later; in a burst, it withdraws the question."""

    LOOKED = auto()
    LEFT = auto()
    TEXT = auto()
    """It belongs to the text that the person writes; `KeyGuard.take_typed` returns it."""


_USES: Final = {
    "go_on": Use.CONFIRMS,
    **dict.fromkeys(("scroll", "next", "next_card", "previous_card"), Use.LOOKS),
    **dict.fromkeys(("go_back", "later", "leave_pending", "choose('stay')"), Use.LEAVES),
}


def key_use(action: Action | None) -> Use:
    """The use of a key with this action; a key without one has no use."""
    return Use.NONE if action is None else _USES.get(action.run, Use.CHOOSES)


class KeyGuard(Generic[QuestionT]):
    """Decide for each key what it does. `clock` is monotonic seconds.

    A request that the person opened from a quiet keyboard is *awake*: its letters count from then
    on, and `enter` once it stood for `look` seconds. One that came by itself, or while the person
    typed, is asleep until no key was pressed for `QUIET` seconds; until then, keys are text.
    """

    def __init__(self, clock: Callable[[], float], look: float = LOOK) -> None:
        self._clock = clock
        self._look = look
        self._last = self._since = self._stood = clock()
        self._awake = False
        self._held: Callable[[], None] | None = None
        self._question: QuestionT | None = None
        self._typed = ""

    def arm(self, opened_at: float | None = None) -> None:
        """Withdraw the question, as another request stands from now on.

        `opened_at` is the time of the key by which a person at rest opened it: it is awake, and
        letters since that key are for it. No earlier key can answer it.
        """
        self._awake, self._stood = opened_at is not None, self._clock()
        self._since = self._stood if opened_at is None else opened_at
        self._held = self._question = None

    def stand(self) -> None:
        """Note that the request was drawn: the time to see it begins now."""
        self._stood = self._clock()

    def ask(self, question: QuestionT) -> None:
        """Let the next key confirm or withdraw a question, which is shown from now on."""
        self._question = question

    @property
    def question(self) -> QuestionT | None:
        return self._question

    def press_key(self, use: Use, event: events.Key) -> Outcome:
        character = event.character if event.is_printable else None
        return self.press(use, character or "", age_of(event))

    def press(self, use: Use, character: str = "", age: float = 0.0) -> Outcome:
        """Return what a key does that was pressed `age` seconds ago.

        While the app is busy, keys wait in a queue, and that wait is no rest of the keyboard. If
        this key came too late for a burst, the action of the earlier key runs first.
        """
        pressed = max(self._clock() - age, self._last)
        rest = pressed - self._last
        if rest >= BURST:
            self.release()
        self._held = None
        self._awake = self._awake or pressed - max(self._last, self._since) >= QUIET
        self._last = pressed
        if self._question is None and rest >= QUIET:
            self._typed = ""
        self._typed += character
        return self._outcome(use, character, pressed, rest)

    def _outcome(self, use: Use, character: str, pressed: float, rest: float) -> Outcome:
        if use is Use.LOOKS:
            return Outcome.LOOKED
        question, self._question = self._question, None
        if use is Use.LEAVES:
            self._typed = ""
            return Outcome.LEFT
        if use is Use.NONE or not self._awake or pressed < self._since:
            self._awake = self._awake and not character
            too_soon = use is Use.CONFIRMS and question is not None
            return Outcome.TOO_SOON if too_soon else Outcome.TEXT
        if use is Use.CHOOSES or question is None:
            return Outcome.CHOSEN
        if rest < BURST:
            return Outcome.TOO_SOON
        if max(pressed - self._stood, 0.0) < self._look:
            self._question = question
            return Outcome.TOO_SOON
        self._typed = ""
        return Outcome.CONFIRMED

    def take_typed(self) -> str:
        """Return the characters typed since the keyboard rested, or since the choice, once."""
        typed, self._typed = self._typed, ""
        return typed

    def act_alone(self, widget: Widget, act: Callable[[], None]) -> None:
        """Run the action of a key that confirms, unless another key follows in the same burst.

        The call passes through the queues of the app and of `widget`, which must receive the keys,
        so all keys that the terminal has sent by then come first.
        """
        self._held = act
        release = partial(widget.call_later, self.release)
        widget.set_timer(BURST, partial(call_after_input, widget.app, release))

    def release(self) -> None:
        """Run the action that is held back, if there is one."""
        act, self._held = self._held, None
        if act is not None:
            act()

    @property
    def is_awake(self) -> bool:
        """Whether letters count; otherwise they are text for now."""
        return self._awake or self.remaining() == 0

    def remaining(self) -> float:
        """Seconds until `enter` would count if no other key is pressed before; 0 if it would."""
        if self._awake:
            seen, alone = self._stood + self._look, self._last + BURST
            return max(max(seen, alone) - self._clock(), 0.0)
        return max(max(self._last, self._since) + QUIET - self._clock(), 0.0)
