"""The keys of the settings and their types, derived from the model."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

Key: TypeAlias = tuple[str | int, ...]
"""The path of a setting: ("budget", "money"), or ("rules", 0, "tool") with an index."""

ENV_PREFIX: Final = "GENIE_"

_TYPE_NAMES: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    Path: "a path in quotes",
}
_BOUND: Final = re.compile(r"Expected `(?:int|float)` ([<>]=? \S+)")


class NoSuchKey(Exception):
    """A key that the model does not have; the text suggests the nearest one."""


def spell(key: Key) -> str:
    """Format a key; indexes count from 1."""
    parts = [f"[{each + 1}]" if isinstance(each, int) else f".{each}" for each in key]
    return "".join(parts).removeprefix(".")


def read_key(text: str) -> Key:
    """Parse a key without indexes."""
    return tuple(text.strip().split("."))


def variable(key: Key) -> str:
    """Return the environment variable of a setting."""
    return ENV_PREFIX + "_".join(str(each) for each in key).upper()


@cache
def fields_of(table: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the type of each field with its bounds."""
    hints = get_type_hints(table, include_extras=True)
    return {field: hints[field] for field in table.__struct_fields__}


def is_table(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def named_tables(hint: Any) -> type[msgspec.Struct] | None:
    """Return the table type of a mapping from names to tables, such as `agents`."""
    return _tables_in(hint, dict, 1)


def listed_tables(hint: Any) -> type[msgspec.Struct] | None:
    """Return the table type of a list of tables, such as `rules`."""
    return _tables_in(hint, tuple, 0)


def _tables_in(hint: Any, kind: type, place: int) -> type[msgspec.Struct] | None:
    inner = get_args(hint)[place] if get_origin(hint) is kind else None
    return inner if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else None


def is_list(hint: Any) -> bool:
    """Return whether values of this type are lists of text."""
    return get_origin(without_none(hint)) is tuple


def single_keys(model: type[msgspec.Struct], above: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Yield each single-valued key and its type: those that can be set outside of the file."""
    for field, hint in fields_of(model).items():
        key = (*above, field)
        if is_table(hint):
            yield from single_keys(hint, key)
        elif not (named_tables(hint) or listed_tables(hint) or is_list(hint)):
            yield key, hint


def type_at(model: type[msgspec.Struct], key: Key) -> Any:
    """Return the type of a setting.

    Raises:
        NoSuchKey: the key does not exist or is a table.
    """
    hint: Any = model
    for place, part in enumerate(key):
        named = named_tables(hint)
        if is_table(hint) and part in fields_of(hint):
            hint = fields_of(hint)[str(part)]
        elif named:
            hint = named
        else:
            raise NoSuchKey(_unknown(hint, key[:place], str(part)))
    if is_table(hint) or named_tables(hint) or listed_tables(hint):
        raise NoSuchKey(f"{spell(key)} has several values; change it with: genie-tui config edit")
    return hint


def _unknown(hint: Any, above: Key, part: str) -> str:
    if is_table(hint):
        return unknown_key(part, above, tuple(fields_of(hint)))
    return f"{spell(above)} has no parts that can be set separately"


def unknown_key(key: str, above: Key, known: Sequence[str]) -> str:
    """Return the message for an unknown key, with the nearest known one."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known settings: {', '.join(known)}"
    place = f" in {spell(above)}" if above else ""
    return f"there is no setting {key!r}{place}; {hint}"


def read_value(hint: Any, raw: str) -> Any:
    """Parse plain text as a value of this type.

    Raises:
        msgspec.ValidationError: the text is not a valid value.
    """
    kind = without_none(hint)
    if not is_list(hint):
        return msgspec.convert(raw, kind, strict=False)
    if raw.strip().startswith("["):
        try:
            return msgspec.convert(tomllib.loads(f"value = {raw}")["value"], kind)
        except tomllib.TOMLDecodeError as error:
            raise msgspec.ValidationError("Expected a list") from error
    return tuple(part for each in raw.split(",") if (part := each.strip()))


def given_as(text: str, model: type[msgspec.Struct]) -> tuple[str, Any]:
    """Parse KEY=VALUE for a one-time setting; returns the key and the value.

    Raises:
        ValueError: the form or the value is wrong; the text says how.
        NoSuchKey: the setting does not exist, or can be set only in the file.
    """
    name, equals, raw = text.partition("=")
    key = read_key(name)
    hint = type_at(model, key)
    if not equals:
        raise ValueError(f"the value is missing; write {spell(key)}=VALUE")
    if key not in dict(single_keys(model)) and not is_list(hint):
        raise NoSuchKey(f"{spell(key)} can only be set in the file")
    try:
        return spell(key), read_value(hint, raw)
    except msgspec.ValidationError as error:
        raise ValueError(f"{spell(key)} can't be {raw!r}: {expected(hint, error)}") from error


def from_text(kind: type, value: Any) -> Any:
    """Decode types that TOML lacks: paths."""
    if kind is Path and isinstance(value, str) and value:
        return Path(value)
    raise ValueError(f"Expected {kind.__name__}")


def expected(hint: Any, error: msgspec.ValidationError) -> str:
    """Describe the valid values, without msgspec's path."""
    kind = without_none(hint)
    if get_origin(kind) is Literal:
        *first, last = (repr(each) for each in get_args(kind))
        return f"it is {', '.join(first)} or {last}"
    if is_list(hint):
        return 'it is a list of texts, as in ["a", "b"]'
    if get_origin(kind) is dict:
        return 'it is a table of texts, as in { NAME = "value" }'
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    why = str(error).partition(" - at ")[0]
    if plain not in _TYPE_NAMES:
        return why
    bound = _BOUND.fullmatch(why)
    return f"it is {_TYPE_NAMES[plain]}{f' {bound[1]}' if bound else ''}"


def without_none(hint: Any) -> Any:
    """Return the type without None, which means an absent setting."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    kinds = [each for each in get_args(hint) if each is not NoneType]
    return kinds[0] if len(kinds) == 1 else hint
