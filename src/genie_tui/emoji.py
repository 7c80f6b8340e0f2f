"""Emoji with their names, from Python's Unicode database."""

import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

from rich.cells import cell_len

QUICK: Final = (
    ("thumbs up", "👍"),
    ("thumbs down", "👎"),
    ("party", "🎉"),
    ("done", "✅"),
    ("no", "❌"),
    ("eyes, looking", "👀"),
    ("laughing", "😄"),
    ("thinking", "🤔"),
    ("thanks", "🙏"),
    ("fire", "🔥"),
    ("rocket", "🚀"),
    ("sad", "😢"),
)
"""What people react with most."""

_BLOCKS: Final = (
    range(0x1F600, 0x1F650),
    range(0x1F300, 0x1F600),
    range(0x1F680, 0x1F700),
    range(0x1F900, 0x1FA00),
    range(0x1FA70, 0x1FB00),
    range(0x2600, 0x27C0),
)
_SKIN: Final = range(0x1F3FB, 0x1F400)
"""Skin tones, which only change the emoji before them."""


@cache
def emojis() -> tuple[tuple[str, str], ...]:
    """Return names and emoji, faces first; only those that terminals draw two columns wide."""
    return tuple(_named())


def _named() -> Iterator[tuple[str, str]]:
    for block in _BLOCKS:
        for point in block:
            emoji = chr(point)
            name = unicodedata.name(emoji, "")
            if name and point not in _SKIN and cell_len(emoji) == 2:
                yield name.lower(), emoji
