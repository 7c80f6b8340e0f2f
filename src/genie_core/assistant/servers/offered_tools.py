"""The tools of a server as a model sees them: names, number and sizes."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from pydantic_core import to_json

from genie_core.assistant.tools.catalog import RISKS
from genie_core.room.engine.effects import CLAIMS_TO_DESTROY
from genie_core.room.engine.policy import ONLY_PEOPLE_ALLOW
from genie_core.runtime.progress import doing

LONGEST_TEXT: Final = 64_000
"""Characters of a result's text. Models can read more, but would read it again on every turn."""

LARGEST_FILE: Final = 5_000_000
"""Bytes of an image or another file in a result."""

LONGEST_DESCRIPTION: Final = 4_000
"""Characters of a tool's description, which is part of every model request."""


LONGEST_SCHEMA: Final = 50_000
"""Characters of a tool's argument schema, which is also part of every model request."""


def offered(server: str, schemas: Mapping[str, Any], *, quietly: bool = False) -> list[str]:
    """Return the names of the tools to offer to models; report the others in the run."""
    fit = [name for name, each in schemas.items() if _is_fit(each)]
    if len(fit) < len(schemas) and not quietly:
        doing(
            "note",
            f"tool server {server}: {len(schemas) - len(fit)} of its {len(schemas)} tools "
            "are not offered: their schemas are too long",
        )
    return fit


def claim_of(annotations: Mapping[str, Any] | None) -> str:
    """Say what a server claims that a tool does; empty if it claims nothing.

    `annotations` are as MCP names them. A claim is shown and decides nothing: a server may lie.
    """
    given = annotations or {}
    if given.get("destructiveHint") is True and given.get("readOnlyHint") is not True:
        return CLAIMS_TO_DESTROY
    if given.get("readOnlyHint") is True:
        return "it only reads"
    return "it destroys nothing" if given.get("destructiveHint") is False else ""


def _is_fit(schema: Any) -> bool:
    try:
        return len(to_json(schema, fallback=repr)) <= LONGEST_SCHEMA
    except ValueError:  # for example nested too deeply
        return False


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """Replace the middle of a text that is too long by a note."""
    if len(text) <= longest:
        return text
    left_out = f"\n[… {len(text) - longest} characters omitted …]\n"
    return f"{text[: longest // 2]}{left_out}{text[-(longest // 2) :]}"


def too_large(size: int) -> str:
    """Return a note that replaces a file."""
    return f"[a file of {size / 1_000_000:.1f} MB, too large to pass on]"


RESERVED: Final = frozenset({*RISKS, *ONLY_PEOPLE_ALLOW})
"""Names that rules know; no tool of a server can have one of them."""

LONGEST_NAME: Final = 64
"""Characters that providers allow in a tool's name."""

_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")
_MARK: Final = 6


def public_names(
    server: str, tools: Iterable[str], reserved: Collection[str] = ()
) -> dict[str, str]:
    """Map public tool names to a server's own names.

    A public name depends only on the tool's own name, so that rules and grants stay valid when
    other tools appear or vanish. A name that is too long, has invalid characters, or is `reserved`
    gets a hash suffix.
    """
    names: dict[str, str] = {}
    for tool in tools:
        names.setdefault(_public(server, tool, reserved), tool)
    return names


def _public(server: str, tool: str, reserved: Collection[str]) -> str:
    wanted = f"{server}_{tool}"
    fit = _UNFIT.sub("_", wanted)
    if fit == wanted and len(fit) <= LONGEST_NAME and fit not in reserved:
        return fit
    mark = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{fit[: LONGEST_NAME - _MARK - 1]}_{mark}"
