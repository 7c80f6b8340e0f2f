"""Free the lines of a screen as soon as they are no longer shown.

Textual's `Strip.divide` remembers its results in the strip. Where the result is the strip itself, as
for most lines of a widget, the strip keeps itself alive until the garbage collector looks at old
objects, which takes a tenth of a second and is rarely done. Forty messages then cost 15 MB.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from textual.strip import Strip

_DIVIDE: Final = Strip.divide


def free_strips() -> None:
    """Keep the strips of this process from remembering themselves. Safe to call again."""
    Strip.divide = _divide  # type: ignore[method-assign,assignment]  # Textual makes strips in many places


def _divide(strip: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    """Divide a strip as Textual does."""
    cuts, length = list(cuts), strip.cell_length
    if [cut for cut in cuts if cut <= length] == [length]:
        return [strip]
    return _DIVIDE(strip, cuts)
