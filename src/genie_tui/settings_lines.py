"""On which lines of a TOML text its settings stand."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from genie_tui.settings_keys import Key


@dataclass(frozen=True, slots=True)
class Statement:
    """A setting or the head of a table; lines count from 1. `key` leads from the top."""

    key: Key
    first: int
    last: int
    head: bool


def statements(text: str) -> Iterator[Statement]:
    """Take the text apart. It must be TOML as a whole.

    A statement ends with the first line at which it is TOML by itself, which costs no second
    parser; only a value of many hundred lines takes its time.
    """
    above: Key = ()
    counts: dict[Key, int] = {}
    rest: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        rest.append(line.removesuffix("\r"))
        try:
            values = tomllib.loads("\n".join(rest))
        except tomllib.TOMLDecodeError:
            continue
        first, head = number - len(rest) + 1, rest[0].lstrip().startswith("[")
        rest.clear()
        if not values:
            continue
        if head:
            above = _head(values, counts)
        key = above if head else (*above, *_way(values))
        yield Statement(key, first, number, head)


def _way(values: Any) -> Key:
    """The one key that a statement sets; what is in its value stands where it does."""
    name, value = next(iter(values.items()))
    dotted = isinstance(value, dict) and len(value) == 1
    return (name, *_way(value)) if dotted else (name,)


def _head(values: Any, counts: dict[Key, int]) -> Key:
    """Where the table of a head is, and note how many there are of a list."""
    key: Key = ()
    while isinstance(values, dict) and values:
        name, values = next(iter(values.items()))
        key = (*key, name)
        if isinstance(values, list):
            counts[key] = counts.get(key, -1) + 1
        if key in counts:
            key = (*key, counts[key])
    return key
