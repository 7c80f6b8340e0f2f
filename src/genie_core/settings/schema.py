"""The keys of the settings and their types, read from the model itself."""

import difflib
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
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
"""The way to a setting, as in ("budget", "money") or, with a place in a list, ("rules", 0, "tool")."""

ENV_PREFIX: Final = "GENIE_"

_SAID: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
}
_BOUND: Final = re.compile(r"Expected `(?:int|float)` ([<>]=? \S+)")


class NoSuchKey(Exception):
    """A key that the model does not have; the text says which it may have been."""


def spell(key: Key) -> str:
    """A key as a person writes it; places in lists count from 1."""
    parts = [f"[{each + 1}]" if isinstance(each, int) else f".{each}" for each in key]
    return "".join(parts).removeprefix(".")


def read_key(text: str) -> Key:
    """The key that a person wrote; no place in a list can be named."""
    return tuple(text.strip().split("."))


def variable(key: Key) -> str:
    """The environment variable of a setting."""
    return ENV_PREFIX + "_".join(str(each) for each in key).upper()


@cache
def fields_of(table: type[msgspec.Struct]) -> dict[str, Any]:
    """The type of each field, with its bounds."""
    hints = get_type_hints(table, include_extras=True)
    return {field: hints[field] for field in table.__struct_fields__}


def is_table(hint: Any) -> bool:
    """Whether a value of this type is a table of known keys."""
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def named_tables(hint: Any) -> type[msgspec.Struct] | None:
    """The type of the tables in a table that has one of them for each name, as `agents`."""
    return _tables_in(hint, dict, 1)


def listed_tables(hint: Any) -> type[msgspec.Struct] | None:
    """The type of the tables in a list of them, as `rules`."""
    return _tables_in(hint, tuple, 0)


def _tables_in(hint: Any, kind: type, place: int) -> type[msgspec.Struct] | None:
    inner = get_args(hint)[place] if get_origin(hint) is kind else None
    return inner if isinstance(inner, type) and issubclass(inner, msgspec.Struct) else None


def is_list(hint: Any) -> bool:
    """Whether a value of this type is a list of texts."""
    return get_origin(_given(hint)) is tuple


def single_keys(model: type[msgspec.Struct], above: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Every key that has one value, with its type: what can be set outside of the file, too."""
    for field, hint in fields_of(model).items():
        key = (*above, field)
        if is_table(hint):
            yield from single_keys(hint, key)
        elif not (named_tables(hint) or listed_tables(hint) or is_list(hint)):
            yield key, hint


def type_at(model: type[msgspec.Struct], key: Key) -> Any:
    """The type of a setting that a person names.

    Raises:
        NoSuchKey: there is none, or it is more than one value.

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
        raise NoSuchKey(
            f"{spell(key)} is more than one value; change it with: genie-tui config edit"
        )
    return hint


def _unknown(hint: Any, above: Key, part: str) -> str:
    if is_table(hint):
        return unknown_key(part, above, tuple(fields_of(hint)))
    return f"{spell(above)} has no parts that could be set one by one"


def unknown_key(key: str, above: Key, known: Sequence[str]) -> str:
    """Say that a table has no such key, and which is near."""
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known settings are {', '.join(known)}"
    place = f" in {spell(above)}" if above else ""
    return f"there is no setting {key!r}{place}; {hint}"


def read_value(hint: Any, raw: str) -> Any:
    """The value that a person wrote as plain text, for a setting of this type.

    Raises:
        msgspec.ValidationError: it can't be one.

    """
    kind = _given(hint)
    if not is_list(hint):
        return msgspec.convert(raw, kind, strict=False)
    if raw.strip().startswith("["):
        try:
            return msgspec.convert(tomllib.loads(f"value = {raw}")["value"], kind)
        except tomllib.TOMLDecodeError as error:
            raise msgspec.ValidationError("Expected a list") from error
    return tuple(part for each in raw.split(",") if (part := each.strip()))


def given_as(text: str, model: type[msgspec.Struct]) -> tuple[str, Any]:
    """The key, spelt out, and the value in KEY=VALUE, for one thing that is set for one time.

    Raises:
        ValueError: it is not of this form, or the value can't be one; the text says why.
        NoSuchKey: there is no such setting, or it is in the file only.

    """
    name, equals, raw = text.partition("=")
    key = read_key(name)
    hint = type_at(model, key)
    if not equals:
        raise ValueError(f"there is no value; write {spell(key)}=VALUE")
    if key not in dict(single_keys(model)) and not is_list(hint):
        raise NoSuchKey(f"{spell(key)} can be set in the file only")
    try:
        return spell(key), read_value(hint, raw)
    except msgspec.ValidationError as error:
        raise ValueError(f"{spell(key)} can't be {raw!r}: {expected(hint, error)}") from error


def expected(hint: Any, error: msgspec.ValidationError) -> str:
    """Say what would be right, without msgspec's path inside the model."""
    kind = _given(hint)
    if get_origin(kind) is Literal:
        *first, last = (repr(each) for each in get_args(kind))
        return f"it is {', '.join(first)} or {last}"
    if is_list(hint):
        return 'it is a list of texts, as in ["a", "b"]'
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    why = str(error).partition(" - at ")[0]
    if plain not in _SAID:
        return why
    bound = _BOUND.fullmatch(why)
    return f"it is {_SAID[plain]}{f' {bound[1]}' if bound else ''}"


def _given(hint: Any) -> Any:
    """The type without None, which stands for a setting that is absent."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    kinds = [each for each in get_args(hint) if each is not NoneType]
    return kinds[0] if len(kinds) == 1 else hint
