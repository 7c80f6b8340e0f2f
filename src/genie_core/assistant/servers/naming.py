"""What tools of a server are called here: its name in front, and nothing a model can't call."""

import hashlib
import re
from collections.abc import Collection, Iterable
from typing import Final

from genie_core.assistant.tools.catalog import RISKS

RESERVED: Final = frozenset({*RISKS, "exceed_budget"})
"""What calls that our rules know by name are called. No tool of a server can pass for one."""

LONGEST: Final = 64
"""Characters that providers allow in the name of a tool."""

_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")
_MARK: Final = 6


def public_names(
    server: str, tools: Iterable[str], reserved: Collection[str] = ()
) -> dict[str, str]:
    """Name each tool of a server; the result leads from those names to its own.

    What a tool is called depends on nothing but its own name, so that rules and grants stay true
    when others come and go. A name that would be too long, has characters that can't be used, or
    is `reserved` for a tool that is built in, gets a mark at its end.
    """
    names: dict[str, str] = {}
    for tool in tools:
        names.setdefault(_public(server, tool, reserved), tool)
    return names


def _public(server: str, tool: str, reserved: Collection[str]) -> str:
    wanted = f"{server}_{tool}"
    fit = _UNFIT.sub("_", wanted)
    if fit == wanted and len(fit) <= LONGEST and fit not in reserved:
        return fit
    mark = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{fit[: LONGEST - _MARK - 1]}_{mark}"
