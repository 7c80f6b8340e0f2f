"""Keep typing from answering a request or a dialog.

An answer takes two keys: the first asks the question that `enter` answers. A key that belongs to
neither withdraws the question, and the key goes to the text that the person writes. So a sentence
answers nothing, at any pace.
"""

import time
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import Final, Generic, TypeVar

from textual import events
from textual.widget import Widget

from genie_tui.commands.keymap import call_after_input
from genie_tui.commands.keys import Action

QUIET: Final = 1.0
"""Seconds without any key before a key counts: the time to read a question."""

BURST: Final = 0.05
"""Seconds that no other key may follow within: faster than a person types, slower than a paste."""

ALONE: Final = 0.4
"""Seconds that no other key may follow an answer within: slower than a person types."""

SOON: Final = "one moment… keys are ignored until you stop typing"
"""Text in place of the keys while none counts."""

TOO_SOON: Final = "enter came too soon; choose again and read the question first"
"""Text after an `enter` that withdrew a question."""

QuestionT = TypeVar("QuestionT")


class Use(Enum):
    """The meaning of a key where something is answered."""

    CHOOSES = auto()
    CONFIRMS = auto()
    LOOKS = auto()
    LEAVES = auto()
    NONE = auto()


_USES: Final = {
    "go_on": Use.CONFIRMS,
    **dict.fromkeys(("scroll", "next", "next_card", "previous_card"), Use.LOOKS),
    **dict.fromkeys(("go_back", "later", "leave_pending", "choose('stay')"), Use.LEAVES),
}


def key_use(action: Action | None) -> Use:
    """The use of a key with this action; a key without one has no use."""
    return Use.NONE if action is None else _USES.get(action.run, Use.CHOOSES)


class KeyGuard(Generic[QuestionT]):
    """Decide for each key whether it counts. `clock` is monotonic seconds.

    Every key restarts the quiet time, so no key counts while keys keep coming, typed or repeated by
    a key that is held down.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._quiet_since = clock()
        self._held: Callable[[], None] | None = None
        self._alone = BURST
        self._question: QuestionT | None = None
        self._typed = ""

    def arm(self) -> None:
        """Withdraw the question, and let no key count until the keyboard has rested from now on."""
        self._quiet_since = max(self._clock(), self._quiet_since)
        self._held = self._question = None

    def ask(self, question: QuestionT) -> None:
        """Let the next key confirm or withdraw a question, which is shown from now on."""
        self.arm()
        self._question = question

    @property
    def question(self) -> QuestionT | None:
        return self._question

    def press_key(self, use: Use, event: events.Key) -> bool:
        character = event.character if event.is_printable else None
        return self.press(use, character or "", age_of(event))

    def press(self, use: Use, character: str = "", age: float = 0.0) -> bool:
        """Return whether a key counts. Only scrolling and a confirmation keep the question.

        A confirmation that comes too soon withdraws it: it may be the end of a short message.
        """
        counts = self.admit(age)
        if counts and self._question is None:
            self._typed = ""
        self._typed += character
        if use is not Use.LOOKS and not (use is Use.CONFIRMS and counts):
            self._question = None
        if use is Use.LEAVES:
            self._typed = ""
        return counts

    def take_typed(self) -> str:
        """Return the characters typed since the keyboard rested, or since the choice, once."""
        typed, self._typed = self._typed, ""
        return typed

    def admit_key(self, event: events.Key) -> bool:
        return self.admit(age_of(event))

    def admit(self, age: float = 0.0) -> bool:
        """Return whether a key counts, and restart the quiet time.

        The key was pressed `age` seconds ago: while the app is busy, keys wait in a queue, and that
        wait is not quiet time. If this key came too late for a burst, the earlier key's action runs
        first, so a busy app does not lose an answer.
        """
        pressed_at = max(self._clock() - age, self._quiet_since)
        if pressed_at - self._quiet_since >= self._alone:
            self.release()
        rested = pressed_at - self._quiet_since >= QUIET
        self._quiet_since, self._held = pressed_at, None
        return rested

    def act_alone(self, widget: Widget, act: Callable[[], None], alone: float = BURST) -> None:
        """Run the action of an admitted key, unless another key follows within `alone` seconds.

        The call passes through the queues of the app and of `widget`, which must receive the keys,
        so all keys that the terminal has sent by then come first.
        """
        self._held, self._alone = act, alone
        release = partial(widget.call_later, self.release)
        widget.set_timer(alone, partial(call_after_input, widget.app, release))

    @property
    def is_holding(self) -> bool:
        """Whether the action of an admitted key waits for another key not to follow."""
        return self._held is not None

    def release(self) -> None:
        """Run the action that is held back, if there is one."""
        act, self._held = self._held, None
        if act is not None:
            act()

    def remaining(self) -> float:
        """Seconds until a key would count if none is pressed before; 0 if it would now."""
        return max(self._quiet_since + QUIET - self._clock(), 0.0)


def age_of(event: events.Key) -> float:
    return time.monotonic() - event.time
