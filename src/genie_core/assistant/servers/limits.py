"""How much of what a tool server returns reaches a model."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from genie_core.runtime.progress import doing

LONGEST_TEXT: Final = 64_000
"""Characters of a result's text. A model can read more, but not again with each of its turns."""

LARGEST_FILE: Final = 5_000_000
"""Bytes of an image or another file in a result."""

LONGEST_DESCRIPTION: Final = 4_000
"""Characters of what a server says of a tool, which goes out with each request to a model."""


MOST_TOOLS: Final = 128
"""Tools of one server that a model is told of; providers refuse requests with more."""

LONGEST_SCHEMA: Final = 50_000
"""Characters of what a server says of a tool's arguments; it goes out with each request, too."""


def offered(server: str, schemas: Mapping[str, Any], *, quietly: bool = False) -> list[str]:
    """Name the tools of a server that models are told of; the rest is noted in the run."""
    fit = [name for name, each in schemas.items() if _is_fit(each)][:MOST_TOOLS]
    if len(fit) < len(schemas) and not quietly:
        doing(
            "note",
            f"tool server {server}: {len(schemas) - len(fit)} of its {len(schemas)} tools "
            "are left out: there are too many, or they take too much to describe",
        )
    return fit


def _is_fit(schema: Any) -> bool:
    try:
        return len(to_json(schema, fallback=repr)) <= LONGEST_SCHEMA
    except ValueError:  # such as one that is nested too deeply
        return False


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """Leave out the middle of a text that is too long, and say so there."""
    if len(text) <= longest:
        return text
    left_out = f"\n[… {len(text) - longest} characters left out …]\n"
    return f"{text[: longest // 2]}{left_out}{text[-(longest // 2) :]}"


def too_large(size: int) -> str:
    """Stand in for a file that is not passed on."""
    return f"[a file of {size / 1_000_000:.1f} MB, which is too large to be passed on]"
