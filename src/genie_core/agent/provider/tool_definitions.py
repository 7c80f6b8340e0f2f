"""Definitions of tools as a model gets them: everything that it needs, once, and nothing else.

They are part of each request. A model need not know the limits that the program itself checks.
"""

from collections.abc import Mapping
from typing import Any, Final

_PROPERTIES: Final = "properties"
_TYPES: Final = "$defs"
_UNCHECKED: Final = frozenset({"title", "additionalProperties"})
_NULL: Final = {"type": "null"}


def concise(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Shorten the schema of a function's arguments; the function still takes all that it took.

    Drops titles, bans of other arguments, defaults that stand for nothing, null as another way to
    leave out an argument, and descriptions of types, which are for programmers.
    """
    kept = {key: value for key, value in schema.items() if not _is_needless(key, value)}
    if isinstance(properties := kept.get(_PROPERTIES), dict):
        kept[_PROPERTIES] = {name: concise(each) for name, each in properties.items()}
    if isinstance(types := kept.get(_TYPES), dict):
        kept[_TYPES] = {name: _undescribed(concise(each)) for name, each in types.items()}
    if isinstance(items := kept.get("items"), dict):
        kept["items"] = concise(items)
    if isinstance(text := kept.get("description"), str):
        kept["description"] = one_line(text)
    return _without_null(kept)


def _undescribed(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "description"}


def one_line(text: str) -> str:
    """Join the lines of a description, which are those of the source."""
    return " ".join(text.split())


def _is_needless(key: str, value: object) -> bool:
    return (key == "default" and not value) or (key in _UNCHECKED and not isinstance(value, dict))


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or _NULL not in choices:
        return schema
    others = [concise(each) for each in choices if each != _NULL]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**others[0], **rest} if len(others) == 1 else {**rest, "anyOf": others}
