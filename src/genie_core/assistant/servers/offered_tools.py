"""The tools of a server as a model sees them: names, number and sizes."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from pydantic_core import to_json

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.listed_tools import UNUSABLE
from genie_core.assistant.servers.registry import ServerConnection
from genie_core.assistant.tools.catalog import RISKS
from genie_core.room.engine.approval_policy import ONLY_PEOPLE_ALLOW
from genie_core.room.engine.tool_effects import CLAIMS_TO_DESTROY
from genie_core.runtime.progress import doing

LONGEST_TEXT: Final = 64_000
"""Characters of a result's text. Models can read more, but would read it again on every turn."""

LARGEST_FILE: Final = 5_000_000
"""Bytes of an image or another file in a result."""

LONGEST_DESCRIPTION: Final = 4_000
"""Characters of a tool's description, which is part of every model request."""


LONGEST_SCHEMA: Final = 50_000
"""Characters of a tool's argument schema, which is also part of every model request."""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """The schema, `_meta` and annotations of a tool as its server lists it."""

    schema: Any
    meta: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None

    @property
    def claim(self) -> str:
        """The server's claim about the tool; empty if it claims nothing."""
        return claim_of(self.annotations)

    @property
    def problem(self) -> str:
        """Why it can't be offered to models; empty if it can."""
        if why := (self.meta or {}).get(UNUSABLE):
            return str(why)
        return "" if _is_fit(self.schema) else "its schema is too long"


def offered(
    spec: ServerSpec,
    tools: Mapping[str, ListedTool],
    connection: ServerConnection,
    *,
    quietly: bool = False,
) -> list[str]:
    """Return the names of the tools to offer to models; report unusable ones once in the run."""
    wanted = {name: tool for name, tool in tools.items() if _is_wanted(spec, name)}
    problems = {name: each.problem for name, each in wanted.items() if each.problem}
    connection.unusable(problems)
    for name, problem in problems.items() if not quietly else ():
        doing("note", f"tool server {spec.name}: its tool {name!r} is not offered: {problem}")
    return [name for name in wanted if name not in problems]


def _is_wanted(spec: ServerSpec, tool: str) -> bool:
    """Whether the lists of the server's entry let agents have a tool."""
    is_listed = spec.only is None or any(fnmatchcase(tool, each) for each in spec.only)
    return is_listed and not any(fnmatchcase(tool, each) for each in spec.without)


def claim_of(annotations: Mapping[str, Any] | None) -> str:
    """Word a server's claim about a tool; empty if it claims nothing.

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
