"""Repairing a server's list of tools before the MCP SDK reads it.

The SDK refuses a list of which one tool is not as the protocol says, and providers refuse a whole
request for one schema. A schema whose meaning is clear is written as both take it. A tool that stays
unclear is marked, so that it is left out by name.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from pydantic_core import from_json, to_json

UNUSABLE: Final = "genie-tui/unusable"
"""The key of a tool's `_meta` whose value says why it can't be used."""

_DEEPEST: Final = 60
_EMPTY: Final = {"type": "object", "properties": {}}
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_MEANT: Final = {each: each for each in _TYPES} | {
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "none": "null",
}
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_ONE: Final = frozenset(
    {"not", "if", "then", "else", "contains", "propertyNames", "additionalProperties"}
    | {"unevaluatedProperties", "unevaluatedItems", "items"}
)
_TEXTS_AND_LISTS: Final = frozenset(
    {*_BRANCHES, "prefixItems", "$ref", "required", "enum"}
    | {"title", "description", "format", "pattern", "$schema", "$id", "$anchor"}
)
"""Left out with a value of another type; the last three always, as providers refuse some."""

_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})


class _Unclear(Exception):
    """A tool has no clear meaning; `str()` says why."""


def repaired(message: bytes) -> bytes:
    """Return a message of a server; one with a list of tools has each of them repaired."""
    if b'"tools"' not in message:
        return message
    try:
        content = from_json(message)
    except ValueError:
        return message
    match content:
        case {"result": {"tools": [*tools], **result}, **rest}:
            listed = _without_doubles([_usable(*each) for each in enumerate(tools, 1)])
            if not isinstance(result.get("nextCursor"), str):
                result.pop("nextCursor", None)
            return to_json({**rest, "result": {**result, "tools": listed}})
        case _:
            return message


def _without_doubles(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark each tool whose name an earlier one has."""
    first: dict[str, int] = {}
    return [
        tool
        if first.setdefault(tool["name"], number) == number
        else _unusable(f"{tool['name']} ({number})", "its name occurs twice")
        for number, tool in enumerate(tools, 1)
    ]


def _usable(number: int, tool: Any) -> dict[str, Any]:
    name = tool.get("name") if isinstance(tool, dict) else None
    if not isinstance(name, str) or not name:
        return _unusable(f"tool {number}", "it has no name")
    try:
        schema = arguments_schema(tool.get("inputSchema"))
    except _Unclear as error:
        return _unusable(name, str(error))
    except RecursionError:
        return _unusable(name, "its arguments are nested too deeply")
    used: dict[str, Any] = {"name": name, "inputSchema": schema}
    for key in ("title", "description"):
        if isinstance(tool.get(key), str):
            used[key] = tool[key]
    if isinstance(tool.get("_meta"), dict):
        used["_meta"] = {key: each for key, each in tool["_meta"].items() if key != UNUSABLE}
    if isinstance(hints := tool.get("annotations"), dict):
        used["annotations"] = {key: each for key, each in hints.items() if isinstance(each, bool)}
    return used


def _unusable(name: str, why: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": _EMPTY, "_meta": {UNUSABLE: why}}


def arguments_schema(schema: Any) -> dict[str, Any]:
    """Return a schema of arguments as providers take it: an object, without choices at the top."""
    if schema is None or schema is True or schema == {}:
        return dict(_EMPTY)
    if not isinstance(schema, dict):
        raise _Unclear("its arguments are described by no JSON schema")
    find = partial(_target, schema)
    whole = _resolved(_mended(schema, find, 0), find)
    kinds = whole.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        raise _Unclear(f"its arguments are of the type {kinds!r}, which is no object")
    return _without_branches({**whole, "type": "object"})


def _resolved(mended: dict[str, Any], find: Callable[[str], Any]) -> dict[str, Any]:
    """Replace a reference at the top by its target."""
    for _ in range(_DEEPEST):
        if not isinstance(target := find(str(mended.get("$ref", ""))), dict):
            break
        rest = {key: each for key, each in mended.items() if key != "$ref"}
        mended = {**_mended(target, find, 0), **rest}
    return {key: each for key, each in mended.items() if key != "$ref"}


def _without_branches(schema: dict[str, Any]) -> dict[str, Any]:
    """Merge the properties of choices at the top, which providers refuse."""
    properties = dict(schema.get("properties") or {})
    required = list(schema.get("required") or [])
    for key in _BRANCHES:
        for branch in schema.get(key) or ():
            if isinstance(branch, dict):
                properties = {**(branch.get("properties") or {}), **properties}
                required += branch.get("required") or [] if key == "allOf" else []
    refused = {*_BRANCHES, "not", "enum", "const", "if", "then", "else"}
    kept = {key: each for key, each in schema.items() if key not in refused and key != "required"}
    properties |= {each: {} for each in required if each not in properties}
    needed = {"required": list(dict.fromkeys(required))} if required else {}
    return {**kept, "properties": properties, **needed}


def _target(schema: Any, reference: str) -> Any:
    """Return the target of a reference within the schema; None if absent."""
    if not reference.startswith("#/"):
        return schema if reference == "#" else None
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        schema = schema.get(key) if isinstance(schema, dict) else None
    return schema


def _mended(schema: Any, find: Callable[[str], Any], depth: int) -> dict[str, Any]:
    """Return a schema in which every known keyword has a value of the right kind."""
    if depth > _DEEPEST:
        raise RecursionError
    if isinstance(schema, str):
        return {"type": _MEANT[schema.lower()]} if schema.lower() in _MEANT else {}
    if not isinstance(schema, dict):
        return {}
    mended = {}
    for key, value in schema.items():
        kept = _keyword(key, value, find, depth + 1)
        if kept is not None:
            mended[key] = kept
    if mended.get("type") == "array" and "items" not in mended and "prefixItems" not in mended:
        mended["items"] = {}
    return mended


def _keyword(key: str, value: Any, find: Callable[[str], Any], depth: int) -> Any:
    """Return the value of a keyword as it should be; None leaves the keyword out."""
    match key, value:
        case "type", _:
            return _type(value)
        case "$ref", str():
            return value if find(value) is not None else None
        case "required", list():
            return [each for each in value if isinstance(each, str)]
        case ("enum", [_, *_]) | ("title" | "description" | "format" | "pattern", str()):
            return value
        case "allOf" | "anyOf" | "oneOf" | "prefixItems", [_, *_]:
            return [_mended(each, find, depth) for each in value]
    if key in _TEXTS_AND_LISTS:
        return None
    if key in _NAMED:
        table = value if isinstance(value, dict) else {}
        return {name: _mended(each, find, depth) for name, each in table.items()}
    if key in _ONE and not isinstance(value, bool):
        return _mended(value, find, depth)
    return value


def _type(value: Any) -> Any:
    names = value if isinstance(value, list) else [value]
    known = [
        _MEANT[each.lower()] for each in names if isinstance(each, str) and each.lower() in _MEANT
    ]
    return (known if len(known) > 1 else known[0]) if known else None
