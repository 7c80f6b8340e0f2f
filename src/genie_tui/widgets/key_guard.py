"""Keeps keys that were meant for something else from answering an approval.

Somebody who is typing when a card takes their keys, or when one card gives way to another, hits
keys that are not meant for it. The guard lets none through until the keyboard has rested.
"""

import time
from collections.abc import Callable
from typing import Final

from textual import events

QUIET: Final = 0.425
"""Seconds without a key after which keys count again."""

LIMIT: Final = 1.5
"""Seconds after which keys count again even if the keyboard never rested."""

REPEAT: Final = 0.2
"""Seconds within which the same key again is a key that is held down, not one that is pressed."""


class KeyGuard:
    """Decides for each key whether it counts. It begins closed; `clock` is monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._armed_at = self._last_key = clock()
        self._held = ""
        self._held_at = self._armed_at
        self._open = False

    def arm(self) -> None:
        """Close: from now on keys don't count until the keyboard rested."""
        self._armed_at = self._last_key = self._clock()
        self._open = False

    def admit_key(self, event: events.Key) -> bool:
        """Take note of a key as it comes and tell whether it counts; see `admit`."""
        return self.admit(age_of(event), event.key)

    def admit(self, age: float = 0.0, key: str = "") -> bool:
        """Take note of a key and tell whether it counts. Once one does, all do until `arm`.

        A key that is held down opens nothing, however long it is held: whoever leans on the key
        that answered one approval has not seen the next.

        `age` is how many seconds ago it was pressed: while the app is busy, keys wait in a queue,
        and that wait is no rest of the keyboard.
        """
        pressed_at = max(self._clock() - age, self._armed_at)
        held = bool(key) and key == self._held and pressed_at - self._held_at < REPEAT
        self._held, self._held_at = key, pressed_at
        if not held:
            self._open = self._open or pressed_at >= self._opens_at()
        self._last_key = pressed_at
        return self._open

    def remaining(self) -> float:
        """Seconds until a key would count if none is pressed before; 0 if it would now."""
        return 0.0 if self._open else max(self._opens_at() - self._clock(), 0.0)

    def _opens_at(self) -> float:
        return min(self._last_key + QUIET, self._armed_at + LIMIT)


def age_of(event: events.Key) -> float:
    """How many seconds ago a key was pressed."""
    return time.monotonic() - event.time
