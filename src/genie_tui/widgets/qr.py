"""An invite as a QR code."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

from textual.color import Color
from textual.content import Content
from textual.style import Style

QUIET: Final = 4
"""Modules of empty margin; ISO 18004 asks for four, most cameras need two."""

_PRINTED: Final = Style(background=Color(255, 255, 255), foreground=Color(0, 0, 0))
"""Black on white in every theme: many cameras don't read the reverse."""

_HALVES: Final = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}


def qr_code(invite: str, *, quiet: int = QUIET) -> Content:
    """Return an invite's QR code as lines of equal width; a cell is one module wide and two high.

    It holds the invite in capitals, which takes less space. An invite with two addresses takes
    about 49 × 25 cells, including a margin of 8 × 4.
    """
    lines = "\n".join(_lines(invite.upper(), quiet))
    return Content.styled(lines, _PRINTED)


def _lines(text: str, quiet: int) -> Iterator[str]:
    import segno

    code = segno.make(text, error="L", micro=False)
    rows = [bytes(row) for row in code.matrix_iter(border=quiet)]
    blank = bytes(len(rows[0]))
    for upper, lower in zip_longest(rows[::2], rows[1::2], fillvalue=blank):
        yield "".join(_HALVES[pair] for pair in zip(upper, lower, strict=True))
