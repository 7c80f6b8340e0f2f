"""Finding the files that can have a match before they are decoded and searched line by line.

A literal is taken from the pattern that every match contains. Files without it are left out: by
ripgrep where it is installed, else by looking at their bytes. Which lines match is decided by
Python alone, so the results are the same with and without ripgrep.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from genie_core.assistant.tools.files.workspace import Workspace

RIPGREP_SECONDS: Final = 8.0
"""Seconds after which ripgrep is given up; the search then goes on without it."""

_MOST_ARGUMENT_BYTES: Final = 100_000
"""Bytes of file names that are passed to one process."""

_CASE_PAIRS: Final = "[kKsSiI]"
"""Letters of ASCII that also match others if case is ignored: the Kelvin sign, ſ, ı and İ."""

FOLDING_TO_ASCII: Final = tuple("ßİŉſǰẖẗẘẙẚẞ\u212aﬀﬁﬂﬃﬄﬅﬆ")
"""The characters beyond ASCII that contain one of ASCII once they are case-folded."""

_UNUSUAL: Final = re.compile(r"\(\?[a-zA-Z]+\)|\(\?#|\{(?!\d*,?\d*\})")
"""Flags inside a pattern, comments, and braces that stand for themselves."""

_QUANTIFIERS: Final = "*?{"


@dataclass(frozen=True, slots=True)
class Literal:
    """Text that every match contains, in ASCII; empty if none is known.

    With `ignore_case`, lower case. A match may have one of `others` instead.
    """

    text: str = ""
    ignore_case: bool = False
    others: tuple[str, ...] = ()

    def may_match(self, content: bytes) -> bool:
        if not self.text:
            return True
        content = content.lower() if self.ignore_case else content
        return any(text.encode() in content for text in (self.text, *self.others))


ANY: Final = Literal()


def literal_of(pattern: str, *, ignore_case: bool) -> Literal:
    """Return the longest literals such that every match of a regular expression has one of them."""
    if _UNUSUAL.search(pattern):
        return Literal(ignore_case=ignore_case)
    longest = [max(_parts(runs, ignore_case), key=len, default="") for runs in _runs(pattern)]
    if not all(longest):
        return Literal(ignore_case=ignore_case)
    return Literal(longest[0], ignore_case, tuple(longest[1:]))


def _parts(runs: list[str], ignore_case: bool) -> list[str]:  # noqa: FBT001 - as in `Literal`
    if not ignore_case:
        return runs
    return [part.lower() for run in runs for part in re.split(_CASE_PAIRS, run)]


def literal_of_text(folded: str) -> Literal:
    """Return the bytes of every line that contains a case-folded text, in any case."""
    if not folded.isascii():
        return Literal()
    return Literal(folded, ignore_case=True, others=FOLDING_TO_ASCII)


def _runs(pattern: str) -> list[list[str]]:
    """Return for each alternative of a pattern its literals.

    Leaves out groups and classes, and characters that a quantifier makes optional.
    """
    branches, depth, at = [[""]], 0, 0
    while at < len(pattern):
        runs = branches[-1]
        step, literal = _atom(pattern, at)
        depth += (pattern[at] == "(") - (pattern[at] == ")")
        after = pattern[at + step : at + step + 1]
        if pattern[at] == "|" and not depth:
            branches.append([""])
        elif not literal or depth or (after and after in _QUANTIFIERS):
            runs.append("")
        else:
            runs[-1] += literal
            if after == "+":
                runs.append("")
        at += step
    return branches


def _atom(pattern: str, at: int) -> tuple[int, str]:
    """Return the length of the next atom, and the character that it stands for, if it is literal."""
    character = pattern[at]
    if character == "\\":
        escaped = pattern[at + 1 : at + 2]
        is_literal = escaped.isascii() and bool(escaped) and not escaped.isalnum()
        return 2, escaped if is_literal else ""
    if character == "[":
        return _class_length(pattern, at), ""
    if character == "{":
        return max(pattern.find("}", at) + 1 - at, 1), ""
    is_literal = character.isascii() and character not in ".^$*+?()|"
    return 1, character if is_literal else ""


def _class_length(pattern: str, start: int) -> int:
    at = start + 1
    at += pattern[at : at + 1] == "^"
    at += pattern[at : at + 1] == "]"
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1 - start


# ripgrep


def find_ripgrep(workspace: Path) -> str:
    """Return the path of ripgrep, empty if it is not installed or could be of the workspace."""
    for folder in map(Path, os.get_exec_path()):
        program = folder / "rg"
        with suppress(OSError):
            if folder.is_absolute() and os.access(program, os.X_OK):
                real = program.resolve(strict=True)
                if not real.is_relative_to(workspace) and not folder.is_relative_to(workspace):
                    return str(real)
    return ""


def candidates(
    program: str, workspace: Workspace, files: Sequence[Path], literal: Literal
) -> Callable[[Path], bool] | None:
    """Ask ripgrep which files may match; None if it fails or takes too long.

    It gets only names of files; that it may follow a link put in the place of one does no harm,
    since files are opened again without following any.
    """
    if not literal.text:
        return None
    found: set[bytes] = set()
    texts = (literal.text, *literal.others)
    for names in _portions(os.fsencode(workspace.key(file)) for file in files):
        command = [
            program, "--no-config", "--files-with-matches", "--null", "--no-messages", "--text",
            "--no-ignore", "--hidden", "--encoding=none", "--fixed-strings",
            "--ignore-case" if literal.ignore_case else "--case-sensitive",
            *(f"--regexp={text}" for text in texts), "--",
        ]  # fmt: skip
        try:
            run = subprocess.run(
                [*map(os.fsencode, command), *(b"./" + name for name in names)],
                cwd=workspace.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, timeout=RIPGREP_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return None
        if run.returncode not in (0, 1):  # 2 is also that of a file that can't be read
            return None
        found.update(name.removeprefix(b"./") for name in run.stdout.split(b"\0"))
    return lambda file: os.fsencode(workspace.key(file)) in found


def _portions(names: Iterator[bytes]) -> Iterator[list[bytes]]:
    portion, length = list[bytes](), 0
    for name in names:
        portion.append(name)
        length += len(name) + 3
        if length > _MOST_ARGUMENT_BYTES:
            yield portion
            portion, length = [], 0
    if portion:
        yield portion
