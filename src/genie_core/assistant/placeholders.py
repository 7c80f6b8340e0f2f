"""Finding placeholders in a prompt that nothing is put in for.

A prompt may show JSON and code, which have braces of their own. So only a single word in braces
counts, outside of other braces and of code between backticks.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from genie_core.assistant.errors import UnknownPlaceholder

_CODE: Final = re.compile(
    r"^(?P<fence>`{3,}|~{3,}).*?(?:^(?P=fence)|\Z)|`[^`\n]+`", re.MULTILINE | re.DOTALL
)
_WORD: Final = re.compile(r"\{([A-Za-z_]\w*)\}")
_PARTS: Final = re.compile(rf"{_WORD.pattern}|\n[ \t]*\n|[{{}}]")


def check_placeholders(text: str, file: Path, known: Sequence[str]) -> None:
    """Raise `UnknownPlaceholder` for the first one that is not among the known words."""
    text = _CODE.sub(_blank, text)
    depth = 0
    for part in _PARTS.finditer(text):
        name = part.group(1)
        if name is not None:
            if depth == 0 and name not in known:
                raise UnknownPlaceholder(file, text.count("\n", 0, part.start()) + 1, name, known)
        elif part[0] == "{":
            depth += 1
        elif part[0] == "}":
            depth = max(depth - 1, 0)
        else:
            depth = 0  # a brace that is never closed hides no more than its own paragraph


def _blank(code: re.Match[str]) -> str:
    """Keep the lines of code, and a placeholder that only looks like code."""
    inside = code[0].strip("`")
    return code[0] if _WORD.fullmatch(inside) else "\n" * code[0].count("\n")
