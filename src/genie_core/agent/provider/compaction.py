"""Decide when a conversation nears its model's window, and leave out or summarise its oldest turns."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from genie_core.agent.provider.compaction_summary import Compaction
from genie_core.agent.provider.prices import window_of
from genie_core.runtime.progress import doing

Entries: TypeAlias = Callable[[int], Iterable[str]]
"""Returns the requests, calls and answers of so many of the oldest turns, as text."""

FULL: Final = 0.8
"""The fraction of a window at which older turns are summarised."""

LEFT_OUT: Final = "older turns were left out: the conversation is longer than the model's window"

NOT_SUMMARISED: Final = "no summary could be made of the older turns; they were left out"
NOT_COMPACTED: Final = "no summary could be made, so the conversation stays as it is"

MOST_CUTS: Final = 5
"""How often a conversation is shortened in one run, the last time to the current question."""

_CHARS_PER_TOKEN: Final = 4
_ROOM_FOR_ANSWER: Final = 0.05
"""The fraction of a window that a request leaves free."""


class ShortenedHistory:
    """How many of the oldest turns are no longer sent to the model, in one run.

    A turn is a question and everything that the model wrote and called until the next one. With a
    `compaction`, `summary` replaces them.
    """

    def __init__(self, compaction: Compaction | None = None) -> None:
        self.turns = 0
        self.summary = ""
        self._compaction = compaction
        self._cuts = 0
        self._size: tuple[int, int] | None = None
        self._model = ""
        self._refused: dict[str, int] = {}  # by model: tokens that fitted before it refused more

    def begin(self) -> None:
        """Start a run on a conversation from which turns were left out earlier."""
        self.turns = self._cuts = 0
        self.summary = ""

    async def prepare(
        self, model: str, provider: str, sizes: Sequence[int], turns: int, entries: Entries
    ) -> None:
        """Shorten the conversation before a request if it nears the window, or on request.

        `sizes` are those of all messages, in characters. `entries` returns the text of so many of
        the oldest turns.
        """
        self._model = model
        if self._compaction is not None and self._compaction.request.take():
            if turns - self.turns > 1:
                await self._drop(turns - 1, entries, only_summarised=True)
        elif self.is_too_long(model, provider, sizes):
            await self.shorten(turns, entries)

    async def shorten(self, turns: int, entries: Entries) -> bool:
        """Drop half of the turns, or half of those left, and summarise all that are dropped.

        Returns False if there are none to drop, or it was done too often. The run's own turn always
        stays.
        """
        left = turns - self.turns
        if left < 2 or self._cuts == MOST_CUTS:
            return False
        self._cuts += 1
        dropped = left - 1 if self._cuts == MOST_CUTS else (left + 1) // 2
        await self._drop(self.turns + dropped, entries)
        return True

    async def refused(self, turns: int, entries: Entries) -> bool:
        """Shorten a conversation that the model refused; the next one is shortened in time."""
        if self._size is not None:
            self._refused[self._model] = self._size[1]
        return await self.shorten(turns, entries)

    async def _drop(self, turns: int, entries: Entries, *, only_summarised: bool = False) -> None:
        """Drop so many turns in all, once there is a summary: a cancelled run drops none.

        Without a summary they are dropped all the same, unless that is forbidden.
        """
        if self._compaction is None:
            doing("note", LEFT_OUT)
        else:
            summary = await self._compaction.summary_of(entries(turns))
            if only_summarised and not summary:
                doing("note", NOT_COMPACTED)
                return
            if not summary:
                doing("note", NOT_SUMMARISED)
            self.summary = summary
        self.turns = turns
        self._size = None

    def for_next_run(self) -> "ShortenedHistory":
        """Return one for another run, which knows the measured sizes."""
        other = ShortenedHistory(self._compaction)
        other._size = self._size
        other._refused = self._refused
        return other

    def measured(self, messages: int, tokens: int) -> None:
        """Record that messages up to and including the model's answer have this many tokens."""
        if tokens:
            self._size = messages, tokens

    def is_too_long(self, model: str, provider: str, sizes: Sequence[int]) -> bool:
        """Whether messages of these sizes, in characters, exceed the window.

        The window is known, or was measured by a request that the model refused.
        """
        window = window_of(model, provider) or self._refused.get(model)
        if self._size is None or window is None:
            return False
        known, tokens = self._size
        estimate = tokens + sum(sizes[known:]) // _CHARS_PER_TOKEN
        fitting = FULL if self._compaction is not None else 1 - _ROOM_FOR_ANSWER
        return estimate > window * fitting
