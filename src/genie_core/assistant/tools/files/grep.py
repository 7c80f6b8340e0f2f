"""Searching the workspace by regular expression.

Some expressions would take years to fail on a short line, so the search runs in a process that can
be ended.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from genie_core.assistant.tools.files.prefilter import find_ripgrep, literal_of
from genie_core.assistant.tools.files.walk import Walk, fits_name
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace
from genie_core.assistant.tools.output import cannot, counted, fenced, noted
from genie_core.assistant.tools.shell.worker_process import TookTooLong, WorkFailed, isolated

MAX_MATCHES: Final = 100
MAX_CONTEXT: Final = 5
MAX_SHOWN_CHARS: Final = 200
MAX_PATTERN_CHARS: Final = 1_000
GREP_SECONDS: Final = 15.0


@dataclass(frozen=True)
class Grep:
    """The tool over one workspace; `seconds` limits one call."""

    workspace: Workspace
    seconds: float = GREP_SECONDS

    async def grep_files(
        self,
        pattern: str,
        folder: str = "",
        files: str = "",
        ignore_case: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
        context: int = 0,
    ) -> str:
        r"""Search text files in the workspace for lines that match a regular expression.

        Leaves out what .gitignore excludes and installed packages, unless it is named. The result
        says where the search stopped if it reached a limit.

        Args:
            pattern: A Python regular expression, for example "def \w+_name\(". It is matched line by
                line.
            folder: Search only below this folder, or in this file, relative to the workspace.
            files: Search only files whose name or path matches this pattern, for example "*.py" or
                "src/**/*.toml". Empty for all files.
            ignore_case: Ignore case.
            context: How many lines to show before and after each match, at most 5.
        """
        if len(pattern) > MAX_PATTERN_CHARS:
            return cannot(f"the pattern has more than {MAX_PATTERN_CHARS:,} characters")
        packed, ripgrep = self.workspace.packed, find_ripgrep(self.workspace.root)
        named = (pattern, folder, files, ignore_case, context, ripgrep)
        try:
            result = await isolated(self.seconds, matching_lines, packed, *named)
        except TookTooLong:
            return cannot(
                f"searching for {pattern!r} took more than {self.seconds:g} seconds; use a simpler "
                "pattern or search fewer files"
            )
        except WorkFailed:
            return cannot(
                f"searching for {pattern!r} took too much memory or failed; use a simpler pattern"
            )
        return noted(result)


def matching_lines(
    packed: list[object],
    pattern: str,
    folder: str,
    files: str,
    ignore_case: bool,  # noqa: FBT001 — passed on by position
    context: int,
    ripgrep: str = "",
) -> str:
    """Do the work of `grep_files`, without a time limit."""
    workspace = Workspace.unpacked(packed)
    try:
        expression = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
        place = workspace.resolve(folder)
    except (re.error, RecursionError, OverflowError) as error:
        return cannot(f"{pattern!r} is not a valid regular expression: {error}")
    except AccessRefused as refusal:
        return cannot(str(refusal))
    walk, literal = Walk(workspace, place), literal_of(pattern, ignore_case=ignore_case)
    texts = walk.texts(lambda name: fits_name(name, files), literal, ripgrep)
    return _report(expression, walk, texts, max(0, min(context, MAX_CONTEXT)))


def _report(
    expression: re.Pattern[str], walk: Walk, texts: Iterator[tuple[str, str]], context: int
) -> str:
    groups: list[list[str]] = []
    matches = 0
    for name, text in texts:
        lines = text.splitlines()
        hits = [place for place, line in enumerate(lines) if expression.search(line)]
        groups += _groups(name, lines, hits[: MAX_MATCHES - matches], context, expression)
        matches += len(hits)
        if matches > MAX_MATCHES:
            walk.stop(name, f"{MAX_MATCHES} matches")
            break
    among = f"({counted(walk.searched, 'file')} searched)"
    if not matches:
        none = f"{walk.none('line matches')} {expression.pattern!r} {among}."
        return "\n".join([none, *walk.notes()])
    count = f"More than {MAX_MATCHES}" if matches > MAX_MATCHES else f"{matches}"
    verb = "line matches" if matches == 1 else "lines match"
    matched = [line for group in groups for line in ([*group, "--"] if context else group)]
    shown = fenced(matched[:-1] if context else matched)
    return "\n".join([f"{count} {verb} {expression.pattern!r} {among}:", *shown, *walk.notes()])


def _groups(
    name: str, lines: list[str], hits: list[int], context: int, expression: re.Pattern[str]
) -> Iterator[list[str]]:
    """Yield the matches with their context; matches whose contexts touch share a group."""
    matching, group, upto = set(hits), list[str](), 0
    for hit in hits:
        first = max(hit - context, upto)
        if first > upto and group:
            yield group
            group = []
        upto = max(upto, min(hit + context + 1, len(lines)))
        for place in range(first, upto):
            if place in matching:
                group.append(f"{name}:{place + 1}: {_around(expression, lines[place])}")
            else:
                group.append(f"{name}-{place + 1}- {lines[place][:MAX_SHOWN_CHARS]}")
    if group:
        yield group


def _around(expression: re.Pattern[str], line: str) -> str:
    """Return a line, or the surroundings of the match in a long one."""
    found = expression.search(line)
    if found is None or len(line) <= MAX_SHOWN_CHARS:
        return line[:MAX_SHOWN_CHARS].rstrip()
    start = max(0, found.start() - MAX_SHOWN_CHARS // 4)
    return f"{'…' if start else ''}{line[start : start + MAX_SHOWN_CHARS]}…"
