"""Values that a servers file leaves to secrets and the environment.

They are written as in other programs: `${NAME}`, `${NAME:-default}` and `${env:NAME}`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import MissingValue

_PLACEHOLDER: Final = re.compile(r"\$\{(?:env:)?(?P<name>[^}]*?)(?::-(?P<default>[^}]*))?\}")


_PRIVATE: Final = re.compile(r"(?i)key|token|secret|passw|pwd|auth|credential|cookie|session")

Find: TypeAlias = Callable[[str], str | None]
"""Looks a value up by its name."""


def filled_in(spec: ServerSpec, find: Find) -> ServerSpec:
    """Put values in place of names; `MissingValue` if one is nowhere and has no default."""

    def fill(key: str, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            name = match["name"]
            if found := find(name):
                return found
            if match["default"] is None:
                raise MissingValue(spec.name, key, name)
            return match["default"]

        return _PLACEHOLDER.sub(value, text)

    def fill_all(key: str, texts: Mapping[str, str]) -> dict[str, str]:
        return {name: fill(f"{key}.{name}", text) for name, text in texts.items()}

    return replace(
        spec,
        args=tuple(fill("args", each) for each in spec.args),
        env=fill_all("env", spec.env),
        url=fill("url", spec.url),
        headers=fill_all("headers", spec.headers),
    )


def missing_values(spec: ServerSpec, find: Find) -> Iterator[MissingValue]:
    """Yield an error for each name that has neither a value nor a default."""
    texts = [("args", each) for each in spec.args] + [("url", spec.url)]
    texts += [(f"env.{name}", each) for name, each in spec.env.items()]
    texts += [(f"headers.{name}", each) for name, each in spec.headers.items()]
    for key, text in texts:
        for match in _PLACEHOLDER.finditer(text):
            if match["default"] is None and not find(match["name"]):
                yield MissingValue(spec.name, key, match["name"])


def private_values(spec: ServerSpec, filled: ServerSpec, find: Find) -> set[str]:
    """Find what must be hidden wherever it appears: the values whose names say so.

    Others, such as a folder or "production", are words that people use.
    """
    written = {**filled.env, **filled.headers}
    values = {
        value.split()[-1] for name, value in written.items() if _tells(name) and value.strip()
    }
    texts = (*spec.args, *spec.env.values(), spec.url, *spec.headers.values())
    names = {match["name"] for text in texts for match in _PLACEHOLDER.finditer(text)}
    return values | {value for name in names if _tells(name) and (value := find(name))}


def _tells(name: str) -> bool:
    return _PRIVATE.search(name) is not None
