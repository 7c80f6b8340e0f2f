"""Names for the authors of imported messages that a room allows."""

import re
import unicodedata
from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Final

from genie_core.room.protocol.errors import InvalidName
from genie_core.room.protocol.names import (
    LONGEST_RAW,
    MAX_CELLS,
    cells,
    check_name,
    fold_name,
    is_reserved,
    skeletons,
)
from genie_import.importer import ME, Author

NAMELESS: Final = "member"

_KEPT: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_ROOM: Final = 5
"""Cells that a number or a word behind a name may take."""


class Names:
    """Gives each author a name of their own that can't be confused with another one's.

    An author who is called like the person who imports, `me`, is that person.
    """

    def __init__(self, me: str, given: Mapping[str, str] = MappingProxyType({})) -> None:
        self._me = me
        self._names = {ME: me, **given}
        self._taken = {each for name in self._names.values() for each in skeletons(name)}
        self._numbers: dict[str, int] = {}

    @property
    def given(self) -> dict[str, str]:
        """The names by the keys of their authors; `given` of the constructor are among them."""
        return self._names

    def of(self, author: Author) -> str:
        """Return the author's name in the room."""
        if author.key not in self._names:
            self._names[author.key] = self._fresh(author)
        return self._names[author.key]

    def _fresh(self, author: Author) -> str:
        name = valid_name(author.name or author.key)
        is_me = fold_name(name) == fold_name(self._me) and not author.is_agent
        if is_me and self._me not in list(self._names.values())[1:]:
            return self._me
        for number in count(self._numbers.get(name, 1)):
            given = name if number == 1 else f"{name}-{number}"
            if not skeletons(given) & self._taken:
                self._taken |= skeletons(given)
                self._numbers[name] = number + 1
                return given
        raise AssertionError


def valid_name(raw: str) -> str:
    """Return a name that a room allows and that is as close to a text as possible."""
    text = unicodedata.normalize("NFC", raw[:LONGEST_RAW])
    shown = "".join(char for char in "_".join(text.split()) if char.isprintable()).lstrip("@/")
    plain = _KEPT.sub("", unicodedata.normalize("NFKD", text).replace(" ", "_")).lstrip("@/")
    for candidate in (shown, plain, f"{plain}-user", NAMELESS):
        try:
            name = check_name(_cut(candidate))
        except InvalidName:
            continue
        if not is_reserved(name):
            return name
    return NAMELESS


def _cut(name: str) -> str:
    while cells(name) > MAX_CELLS - _ROOM or len(name) > MAX_CELLS:
        name = name[:-1]
    return name
