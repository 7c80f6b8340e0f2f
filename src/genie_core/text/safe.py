"""Text from elsewhere, made safe to show.

Words of people, agents and tools may hold characters that command a terminal, reverse the reading
order or hide. `visible` spells them out; `replaced` is for lines whose width is fixed by now.
"""

import re
from collections.abc import Callable
from typing import Final

BLANK: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Characters that are shown as blanks and are none."""

_PICTURES: Final = 0x2400
"""Where the control pictures start: U+2400 stands for U+0000."""

_HIDDEN: Final = (
    r"\x00-\x09\x0b-\x1f\x7f-\x9f"  # control characters but the line feed
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    r"\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, separators, reading order
    r"\u3164\uffa0\ufe00-\ufe0f\ufeff\ufff0-\ufffb\ufffe\uffff"  # fillers, variation, marks
    r"\ud800-\udfff"  # lone surrogates, which no terminal can be sent
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and musical format characters
    r"\U000e0000-\U000e0fff"  # tags and more variation selectors
)
_EMOJI: Final = (
    r"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf"
    r"\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_SHAPED: Final = _EMOJI + r"(?:[\ufe0e\ufe0f]|[\U0001f3fb-\U0001f3ff])?"
_STACKED: Final = (
    r"\u0300-\u034e\u0350-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)

_SEQUENCE: Final = (
    f"{_SHAPED}(?:\\u200d{_SHAPED})*"  # families, flags of colours, skin tones
    r"|[0-9#*]\ufe0f\u20e3"  # keycaps
)

_HIDES: Final = re.compile(f"[{_HIDDEN}]|[{_STACKED}]{{5}}")
_PART: Final = re.compile(
    f"(?P<emoji>{_SEQUENCE}"
    r"|[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\U000e0100-\U000e01ef])"  # variants
    f"|[{_HIDDEN}]|(?<=[{_STACKED}]{{4}})[{_STACKED}]"
)
_EMOJIS: Final = re.compile(f"(?:{_SEQUENCE})+")
_PART_OR_BREAK: Final = re.compile(f"{_PART.pattern}|\n")
_UNSAFE: Final = re.compile(f"[\n{_HIDDEN}]")


def visible(text: str, *, tab: int = 4) -> str:
    r"""Spell out everything in a text that a terminal would obey or hide.

    Line feeds stay, `\r\n` becomes one, tabs become spaces up to the next multiple of `tab` columns
    (0 keeps them). Control characters turn into their pictures and all else into its code point, as
    in ⟨U+202E⟩. Emoji sequences keep their joiners. Applying it twice changes nothing more.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    if tab and "\t" in text:
        text = text.expandtabs(tab)
    if not _HIDES.search(text):
        return text
    return _PART.sub(_tab_kept if not tab else _spelt, text)


def visible_line(text: str) -> str:
    """Make a text safe like `visible`, line feeds included, so that it is one line."""
    return visible(text).replace("\n", "␤")


def quoted_line(text: str) -> str:
    """Make a text safe and one line to quote it, with a space for each line break or indent."""
    return visible_line(" ".join(text.split()))


def is_emoji(text: str) -> bool:
    """Whether a text is one or more emoji and nothing else."""
    return bool(_EMOJIS.fullmatch(text))


def is_harmless(text: str) -> bool:
    """Whether a part of a line has nothing that a terminal obeys or hides."""
    return text.isprintable() or not _UNSAFE.search(text)


def replaced(text: str, width: Callable[[str], int]) -> str:
    """Replace each character that a terminal obeys or hides by `width` replacement characters."""
    return _PART_OR_BREAK.sub(
        lambda match: match[0] if match["emoji"] is not None else "\ufffd" * width(match[0]), text
    )


def _tab_kept(match: re.Match[str]) -> str:
    return "\t" if match[0] == "\t" else _spelt(match)


def _spelt(match: re.Match[str]) -> str:
    if match["emoji"] is not None:
        return match[0]
    code = ord(match[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
