"""Unified diffs in the format of `diff -u`."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice, takewhile
from typing import Final, TypeAlias

MAX_DIFF_LINES: Final = 400
MAX_LINE_CHARS: Final = 400
CONTEXT: Final = 3
_MAX_PAIRS: Final = 4_000_000
"""Above this many pairs of lines, common lines are not searched for: it would take too long."""

_NO_END: Final = "\n\\ No newline at end of file"

_Opcode: TypeAlias = tuple[str, int, int, int, int]


def unified_diff(before: str, after: str, name: str, *, whole: bool = False) -> str:
    """Return the diff from `before` to `after`, empty if they are equal.

    Long diffs and lines are cut, unless it is to be `whole`.

    Takes time proportional to the texts, however different they are.
    """
    old, new = _lines(before), _lines(after)
    head = sum(1 for _ in takewhile(_same, zip(old, new, strict=False)))
    if head == len(old) == len(new):
        return ""
    rest = min(len(old), len(new)) - head
    ends = zip(reversed(old), reversed(new), strict=False)
    tail = sum(1 for _ in takewhile(_same, islice(ends, rest)))
    diff = [f"--- {name}", f"+++ {name}"]
    for group in _groups(old, new, head, tail):
        diff += _hunk(group, old, new, whole=whole)
        if len(diff) > MAX_DIFF_LINES and not whole:
            more = f"… the diff continues; only its first {MAX_DIFF_LINES} lines are shown"
            return "\n".join([*diff[:MAX_DIFF_LINES], more])
    return "\n".join(diff)


def _lines(text: str) -> list[str]:
    """Split at line feeds only; a last line without one gets a marker."""
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += _NO_END
    else:
        lines.pop()
    return lines


def _same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _groups(
    old: Sequence[str], new: Sequence[str], head: int, tail: int
) -> Iterator[list[_Opcode]]:
    """Yield the differences between the common first and last lines."""
    start = max(0, head - CONTEXT)
    ends = [min(len(each), len(each) - tail + CONTEXT) for each in (old, new)]
    ours, theirs = old[start : ends[0]], new[start : ends[1]]
    if len(ours) * len(theirs) > _MAX_PAIRS:
        yield [("replace", head, len(old) - tail, head, len(new) - tail)]
        return
    matcher = SequenceMatcher(None, ours, theirs)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        yield [(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in group]


def _hunk(
    group: Sequence[_Opcode], old: Sequence[str], new: Sequence[str], *, whole: bool
) -> list[str]:
    most = max(len(old), len(new)) if whole else MAX_DIFF_LINES
    shown = str if whole else _cut
    first, last = group[0], group[-1]
    hunk = [f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@"]
    for tag, a, b, c, d in group:
        if tag == "equal":
            hunk += (f" {shown(line)}" for line in old[a:b])
            continue
        hunk += (f"-{shown(line)}" for line in old[a : min(b, a + most)])
        hunk += (f"+{shown(line)}" for line in new[c : min(d, c + most)])
    return hunk


def _span(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else f"{start + 1}"


def _cut(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    return f"{line[:MAX_LINE_CHARS]}…{_NO_END if line.endswith(_NO_END) else ''}"
