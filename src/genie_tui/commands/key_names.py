"""Names of keys, as people write them and as Textual calls them."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from textual.keys import _character_to_key

from genie_tui.commands.keys import spell

_MODIFIERS: Final = {
    "ctrl": "ctrl",
    "control": "ctrl",
    "alt": "alt",
    "option": "alt",
    "shift": "shift",
    "super": "super",
    "cmd": "super",
}

_OTHER_NAMES: Final = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "del": "delete",
    "ins": "insert",
    "↑": "up",
    "↓": "down",
    "←": "left",
    "→": "right",
}

NAMED: Final = frozenset(
    {
        *("escape", "enter", "tab", "space", "backspace", "delete", "insert"),
        *("home", "end", "pageup", "pagedown", "up", "down", "left", "right"),
        *(f"f{number}" for number in range(1, 25)),
    }
)
"""Keys that are no characters."""

_SAME: Final = {
    "ctrl+i": "tab",
    "ctrl+m": "enter",
    "ctrl+h": "backspace",
    "ctrl+left_square_bracket": "esc",
}
"""Keys for which most terminals send another one."""


class InvalidKey(ValueError):
    """A text that names no key; says why."""


def read_key(text: str) -> str:
    """Return Textual's name of a key such as `ctrl+k`, `f5`, `shift+tab`, `G` or `/`.

    Raises:
        InvalidKey: the text names no key, or one that terminals don't send.
    """
    *modifiers, last = _parts(text.strip() or text)
    held = set()
    for each in modifiers:
        if each.lower() not in _MODIFIERS:
            raise InvalidKey(f"'{text}' is no key{_hint(text)}")
        held.add(_MODIFIERS[each.lower()])
    key = _named(last, text)
    if len(key) == 1 and key.isalpha():
        if held == {"shift"}:
            return key.upper()
        key = key.lower() if held else key
    elif key not in NAMED and "shift" in held:
        raise InvalidKey(f"'{text}' depends on the keyboard: write the character that it types")
    if held == {"ctrl"} and key in ("space", "at"):  # terminals send the same
        key = "@"
    named = "+".join((*sorted(held), key))
    if named in _SAME:
        raise InvalidKey(f"'{text}' can't be told from {_SAME[named]} in most terminals")
    return named


def write_key(key: str) -> str:
    """Write a key of Textual so that `read_key` reads it; arrows are words."""
    is_arrow = key.rpartition("+")[2] in ("up", "down", "left", "right")
    return key if is_arrow else spell(key)


def is_character(key: str) -> bool:
    """Whether a key of Textual types a character into a text."""
    return "+" not in key and (key == "space" or key not in NAMED)


def _parts(text: str) -> list[str]:
    if len(text) == 1:
        return [text]
    if text.startswith("^") and len(text) == 2:
        return ["ctrl", text[1]]
    if text.endswith("++"):
        return [*text[:-2].split("+"), "+"]
    return text.split("+")


def _named(last: str, text: str) -> str:
    if last == " ":
        return "space"
    if len(last) == 1 and last.isprintable() and last not in _OTHER_NAMES:
        key = _character_to_key(last)
        if spell(key) != last:
            raise InvalidKey(f"'{text}' can't be a key: Textual has no name to tell it by")
        return key
    name = _OTHER_NAMES.get(last.lower(), last.lower())
    if name not in NAMED:
        raise InvalidKey(f"'{text}' is no key{_hint(text)}")
    return name


def _hint(text: str) -> str:
    """Suggest the nearest names for the parts of a key."""
    *modifiers, last = _parts(text)
    words = [_near(each, _MODIFIERS) for each in modifiers]
    words.append(last if len(last) == 1 else _near(last, [*NAMED, *_OTHER_NAMES]))
    return f"; did you mean '{'+'.join(words)}'?" if all(words) and last else ""


def _near(word: str, names: Iterable[str]) -> str:
    return next(iter(get_close_matches(word.lower(), list(names), n=1)), "")
