"""Keep few lines of the screen in memory, and each only while it is shown.

Textual makes a strip of every line of every widget and lets it remember everything made of it: its
parts, and itself through each filter. Two of these memories have no use, and cost a room 20 MB in
forty messages. More frequent full collections would hold up the screen, and glibc's tuning and
`malloc_trim` change less than 1 MB.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip

from genie_tui.readable import Readable
from genie_tui.terminal import TerminalSafe

_DIVIDE: Final = Strip.divide


def free_strips() -> None:
    """Keep the strips of this process from remembering themselves. Safe to call again.

    A strip that is not divided is its own part. It would keep itself alive until the garbage
    collector looks at old objects, which takes a tenth of a second and is rarely done.
    """
    Strip.divide = _divide  # type: ignore[method-assign,assignment]  # Textual makes strips in many places


def _divide(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    """Divide a strip as Textual does."""
    cuts, length = list(cuts), strip.cell_length
    if [cut for cut in cuts if cut <= length] == [length]:
        return [strip]
    return _DIVIDE(strip, cuts)


@lru_cache(maxsize=2)
def line_filter(*filters: LineFilter) -> LineFilter:
    """Return a filter that applies some filters and keeps lines readable and free of commands.

    It is the same one for the same filters, since strips remember a line by the filter.
    """
    return _Filters((*filters, Readable(), TerminalSafe()))


class _Filters(LineFilter):
    """Applies several filters as one, so that a strip is made once for all."""

    def __init__(self, filters: Sequence[LineFilter]) -> None:
        super().__init__()
        self._filters = filters

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        for each in self._filters:
            segments = each.apply(segments, background)
        return segments
