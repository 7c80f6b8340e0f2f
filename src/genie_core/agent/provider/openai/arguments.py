"""The JSON arguments of a tool call."""

import json
from collections.abc import Iterable
from typing import Any, Final, NoReturn

from genie_core.agent.provider.schemas import faults_in
from genie_core.errors import GenieError

LONGEST: Final = 2_000
"""Characters of an error, which quotes the arguments."""


DEEPEST: Final = 200
"""Nesting levels in arguments, as many as pydantic reads for the other provider.

Python's own limit ranges from a thousand levels to none, depending on its version.
"""


class UnfitArguments(GenieError):
    """A model's arguments with which a tool can't be called."""


def parsed(tool: str, text: str) -> dict[str, Any]:
    """Parse a model's arguments; raises `UnfitArguments` if they are no JSON object."""
    try:
        arguments = json.loads(text or "{}", parse_constant=_no_number)
    except RecursionError:
        raise UnfitArguments(f"the arguments of {tool} are nested too deeply") from None
    except ValueError as error:
        raise UnfitArguments(f"the arguments of {tool} are no valid JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise UnfitArguments(f"the arguments of {tool} are no JSON object")
    if _is_too_deep(arguments):
        raise UnfitArguments(f"the arguments of {tool} are nested too deeply")
    return arguments


def objections(schema: dict[str, Any], arguments: dict[str, Any]) -> str:
    """Describe how arguments violate a JSON schema; empty if they don't.

    A schema that can't be applied reports nothing: the tool itself checks then.
    """
    try:
        faults = "; ".join(
            _located(error.absolute_path, error.message) for error in faults_in(arguments, schema)
        )
    except Exception:  # noqa: BLE001 - a server's schema may be anything
        return ""
    return faults if len(faults) <= LONGEST else f"{faults[:LONGEST]}…"


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _members(each)]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _no_number(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python accepts and a person might read differently."""
    raise ValueError(f"{name} is no number")


def _located(path: Any, message: str) -> str:
    place = ".".join(map(str, path))
    return f"{place}: {message}" if place else message
