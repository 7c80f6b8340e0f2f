"""Messages that wait until the files they bring have arrived at the host."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace

from genie_core.room.protocol.errors import RoomError, TooManyUnsent
from genie_core.room.seat import Unsent


class Held:
    """Keeps messages in the order in which they were typed: none passes one that waits.

    `is_sent` says whether the room has a file, or can't be expected to get it any more.
    """

    def __init__(self, is_sent: Callable[[str], bool]) -> None:
        self._is_sent = is_sent
        self._waiting: deque[Unsent] = deque()
        self._releasing = False

    @property
    def waiting(self) -> tuple[Unsent, ...]:
        """The messages that are held, oldest first."""
        return tuple(self._waiting)

    def hold(self, unsent: Iterable[Unsent]) -> None:
        """Keep messages until `release`."""
        self._waiting.extend(unsent)

    def keeps(self, unsent: Unsent) -> bool:
        """Hold a message if it has to wait; False if it can be sent at once."""
        if self._waiting or not self._is_free(unsent):
            self._waiting.append(unsent)
            return True
        return False

    def leave_out(self, digest: str) -> bool:
        """Let messages go without a file; whether it was to go with any."""
        brought = any(file.digest == digest for each in self._waiting for file in each.files)
        if brought:
            self._waiting = deque(_without(each, digest) for each in self._waiting)
        return brought

    def release(self, send: Callable[[Unsent], None]) -> list[tuple[Unsent, RoomError]]:
        """Send what need not wait any more; returns what could not be sent, and why.

        What is only too much at once goes on waiting.
        """
        problems: list[tuple[Unsent, RoomError]] = []
        if self._releasing:  # sending is told to those who call this
            return problems
        self._releasing = True
        try:
            while self._waiting and self._is_free(self._waiting[0]):
                try:
                    send(self._waiting[0])
                except TooManyUnsent:
                    break
                except RoomError as error:
                    problems.append((self._waiting[0], error))
                self._waiting.popleft()
        finally:
            self._releasing = False
        return problems

    def _is_free(self, unsent: Unsent) -> bool:
        return all(self._is_sent(file.digest) for file in unsent.files)


def _without(unsent: Unsent, digest: str) -> Unsent:
    return replace(unsent, files=tuple(file for file in unsent.files if file.digest != digest))
