"""Emoji with their names: those of Python's Unicode database, and the short ones that chats use."""

import unicodedata
from collections import defaultdict
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
"""The most frequent reactions."""

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
def emojis() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return emoji and their names, the usual reactions first, then faces.

    Only those that terminals draw two columns wide. Names have spaces where short ones have
    underscores: "thumbs up", "+1".
    """
    from rich._emoji_codes import EMOJI

    short = defaultdict[str, list[str]](list)
    for code, each in EMOJI.items():
        if not code.startswith("_"):  # "_1" beside "-1"
            short[each].append(code.replace("_", " "))
    known = {each: name.split(", ") for name, each in QUICK}
    for name, each in _named():
        known.setdefault(each, []).append(name)
    return tuple((each, tuple(dict.fromkeys(known[each] + short[each]))) for each in known)


def _named() -> Iterator[tuple[str, str]]:
    for block in _BLOCKS:
        for point in block:
            emoji = chr(point)
            name = unicodedata.name(emoji, "")
            if name and point not in _SKIN and cell_len(emoji) == 2:
                yield name.lower(), emoji
