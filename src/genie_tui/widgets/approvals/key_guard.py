"""Keep stray keys from answering a request or a dialog.

A person may be typing when a card or a dialog takes the focus. A key counts only after a second
without any key, and only if it did not arrive in a burst.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from textual import events
from textual.widget import Widget

from genie_tui.commands.keymap import call_after_input

QUIET: Final = 1.0
"""Seconds without any key before a key counts. Pauses inside a sentence are shorter."""

BURST: Final = 0.05
"""Seconds that no other key may follow within: faster than a person types, slower than a paste."""

ALONE: Final = 0.4
"""Seconds that no other key may follow an answer within: slower than a person types."""

SOON: Final = "one moment… keys are ignored until you stop typing"
"""Text in place of the keys while none counts."""


class KeyGuard:
    """Decide for each key whether it counts. `clock` is monotonic seconds.

    Every key restarts the quiet time, so the guard never opens while keys keep coming, typed or
    repeated by a key that is held down.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._quiet_since = clock()
        self._held: Callable[[], None] | None = None
        self._alone = BURST

    def arm(self) -> None:
        """Let no key count until the keyboard has rested from now on."""
        self._quiet_since = max(self._clock(), self._quiet_since)
        self._held = None

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
