"""What a person changed in a tool call's arguments, as lines that can be read.

Arguments are laid out one below the other first, texts of several lines as they are, so that a
change in a long text shows as what it is.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import islice
from typing import Any, Final

from genie_core.text.safe import visible

CONTEXT: Final = 2
MOST_LINES: Final = 2_000
"""Lines that are compared with each other; where more differ, they are only counted."""

SHOWN: Final = 1_000
LONGEST_LINE: Final = 2_000

_HEAD: Final = re.compile(r"@@ -([0-9]+)")


def same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two tables are the same as JSON, where 1, 1.0 and true are different things."""
    return _canonical(before) == _canonical(after)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The lines of a unified diff; each begins with "+", "-", " " or "@". Safe to show."""
    old, new = list(_table(before, "")), list(_table(after, ""))
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    parted = max(len(old), len(new)) - start - end
    if parted > MOST_LINES:
        gone, come = len(old) - start - end, len(new) - start - end
        return [f"- {gone:,} lines, beginning with line {start + 1}", f"+ {come:,} other lines"]
    first, last = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    diff = unified_diff(
        old[first : len(old) - last], new[first : len(new) - last], n=CONTEXT, lineterm=""
    )
    lines = [
        _shown(_place(line, first) if line.startswith("@") else line)
        for line in islice(diff, 2, SHOWN + 3)
    ]
    if len(lines) > SHOWN:
        lines[SHOWN:] = ["@ … and more"]
    return lines


def _table(table: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in table.items():
        yield from _entry(f"{indent}{name}:", value, f"{indent}  ")


def _entry(label: str, value: Any, indent: str) -> Iterator[str]:
    match value:
        case str() if "\n" in value:
            yield f"{label} |"
            for line in value.split("\n"):
                yield indent + line
        case dict() if value:
            yield label
            yield from _table(value, indent)
        case list() if value and any(isinstance(each, dict | list | str) for each in value):
            yield label
            for each in value:
                yield from _entry(f"{indent}-", each, f"{indent}  ")
        case _:
            yield f"{label} {json.dumps(value, ensure_ascii=False, default=repr)}"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _place(head: str, before: int) -> str:
    """Where a part of the diff begins, with the lines counted that were left out before it."""
    found = _HEAD.match(head)
    return f"@ from line {max(int(found[1]), 1) + before}" if found else head


def _shown(line: str) -> str:
    """One line, with the breaks and tabs that a name may hold spelt out."""
    text = visible(line, tab=0).replace("\t", "⇥").replace("\n", "␤")
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"


def _canonical(table: Mapping[str, Any]) -> str:
    return json.dumps(table, sort_keys=True, default=repr)
