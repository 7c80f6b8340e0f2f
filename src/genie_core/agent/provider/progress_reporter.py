"""Report a model's activity while its answer arrives."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

from genie_core.errors import ToolExited
from genie_core.runtime.progress import What, doing

BEAT: Final = 2.0
"""Seconds after which an unchanged activity is reported again: a long thought is no silence."""

CALL: Final = "a tool call"
"""The output of a model that decides on a tool call."""


class ProgressReporter:
    """Reports changes immediately, and an unchanged activity every `BEAT` seconds.

    `at` is called with every part of an answer, so that a silent model differs from one that thinks
    for long.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._last: tuple[What, str] | None = None
        self._until = 0.0

    def at(self, what: What, detail: str = "") -> None:
        """Report the model's current activity."""
        now = self._clock()
        if (what, detail) != self._last or now >= self._until:
            self._last, self._until = (what, detail), now + BEAT
            doing(what, detail)


class CallReporter:
    """Reports the tool calls of a run.

    When one of several ends, another that still runs is reported.
    """

    def __init__(self) -> None:
        self._running: list[str] = []

    @contextmanager
    def running(self, tool: str) -> Iterator[None]:
        """Report a call while the block runs.

        Raises:
            ToolExited: the tool called `sys.exit`, which would end the event loop.
        """
        self._running.append(tool)
        doing("calling", tool)
        try:
            yield
        except (SystemExit, KeyboardInterrupt) as error:
            raise ToolExited(tool, error) from error
        finally:
            self._running.remove(tool)
            if self._running:
                doing("calling", self._running[-1])
