"""Identify a subagent: the kind of agent, and an id that a model may have made up."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

_LONGEST: Final = 40
_DIGEST: Final = 12


@dataclass(frozen=True, slots=True)
class Instance:
    """One subagent of a parent. Its id can be any text."""

    name: str
    id: str

    @classmethod
    def of(cls, name: str, wanted: str | None) -> "Instance":
        """Return the instance with this id, or a new one if the id is missing or blank."""
        if wanted is None or not wanted.strip():
            return cls(name, uuid4().hex[:8])
        return cls(name, wanted)

    @property
    def key(self) -> str:
        """The key of its saved state: `name:id`."""
        name = self.name.replace("%", "%25").replace(":", "%3a")
        return f"{name}:{self.id}"

    @property
    def title(self) -> str:
        """The name for people, `name:id`: short, printable, one step of a path.

        An unsuitable id is changed and gets a part of its digest, so that no two look alike.
        """
        return f"{_shown(self.name, _plain_in_names)}:{_shown(self.id, _plain_in_ids)}"


def _plain_in_names(character: str) -> bool:
    """Names come from the program, so any script is allowed."""
    return character.isprintable() and character not in "/:~"


def _plain_in_ids(character: str) -> bool:
    """Ids come from models, so look-alike and invisible characters are not allowed."""
    return character.isascii() and (character.isalnum() or character in "-_.")


def _shown(word: str, plain: Callable[[str], bool]) -> str:
    if len(word) <= _LONGEST and all(map(plain, word)):
        return word
    start = "".join(each if plain(each) else "_" for each in word[: _LONGEST - _DIGEST - 1])
    digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{start}~{digest[:_DIGEST]}"
