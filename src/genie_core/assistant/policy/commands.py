"""The programs of a command: its words, and the commands inside them.

Reads a command as `run_command` does. Uncertain parts count as anything.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePath
from typing import Final

from genie_core.assistant.policy.known_commands import Use, reach_of

DEEPEST: Final = 8
"""Commands inside commands that are followed."""

MOST_CHARS: Final = 20_000
MOST_WORDS: Final = 200
MOST_INNER: Final = 2_000
"""Longer commands are not analysed: every rule that denies matches them, and no pattern covers them."""


@dataclass(frozen=True, slots=True)
class Command:
    """The programs of a command.

    `words` are the program and its arguments, empty if they can't be split. `inner` are commands
    that its words contain. `anything`: it may run other programs than these. `why` says how, or
    gives a note about its program. `uses` are those of its program.
    """

    words: tuple[str, ...]
    inner: tuple[tuple[str, ...], ...] = ()
    anything: bool = False
    why: str = ""
    uses: frozenset[Use] = frozenset()

    @property
    def plain(self) -> str:
        """The command with one blank between words, quoted where necessary."""
        return shlex.join(self.words)


def analyse(command: str, *, in_shell: bool = False) -> Command:
    """Analyse a command as `run_command` would run it."""
    if len(command) > MOST_CHARS:
        return Command((), (), anything=True, why="it is too long to be read")
    try:
        if in_shell:
            inner: list[tuple[str, ...]] = []
            for each in _of_shell(command):
                inner += [each, *_all_inner(each)]
            return Command((), _few(inner), anything=True, why="a shell reads it")
        words = tuple(shlex.split(command))
        if not words:
            return Command((), (), anything=True, why="it is empty")
        if len(words) > MOST_WORDS:
            return Command((), (), anything=True, why="it has too many words to be read")
        return Command(words, _all_inner(words), *reach_of(words[0], words[1:]))
    except ValueError:
        return Command((), (), anything=True, why="its quotes do not match")
    except _TooManyCommands:
        return Command((), (), anything=True, why="it has too many commands to be read")


class _TooManyCommands(Exception):
    """A command has more commands inside, or more deeply, than are analysed."""


def _all_inner(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return _few(list(islice(_inner(words, 0), MOST_INNER + 1)))


def _few(commands: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    if len(commands) > MOST_INNER:
        raise _TooManyCommands
    return tuple(commands)


def matches(command: Command, pattern: str) -> bool:
    """Whether a rule that denies or asks is about a command; in doubt it is.

    The pattern's words must occur in this order, in the command or in one inside it.
    """
    wanted = _pattern_words(pattern)
    if not wanted:
        return False
    if not command.words and not command.inner:
        return True
    return any(
        fnmatchcase(shlex.join(words), pattern)
        or any(_occurs(words, at, wanted) for at in range(len(words)))
        for words in (command.words, *command.inner)
    )


def is_covered(command: Command, pattern: str) -> bool:
    """Whether a rule or grant that allows by a pattern covers a command; in doubt it does not.

    A command that may run anything is covered only by itself, word for word.
    """
    if not command.words:
        return False
    wanted = _pattern_words(pattern)
    if tuple(wanted) == command.words and not set("*?[") & set(pattern):
        return True
    if command.anything:
        return False
    if not wanted or not fnmatchcase(command.words[0], wanted[0]):
        return False
    return fnmatchcase(command.plain, pattern) or fnmatchcase(f"{command.plain} ", pattern)


def _pattern_words(pattern: str) -> list[str]:
    try:
        return shlex.split(pattern)
    except ValueError:
        return pattern.split()


def _occurs(words: Sequence[str], start: int, wanted: Sequence[str]) -> bool:
    """Whether the words from `start` begin with the first wanted one and contain the others in order."""
    if not _is_program(words[start], wanted[0]):
        return False
    at = start + 1
    for pattern in wanted[1:]:
        if pattern == "*":
            continue
        while at < len(words) and not fnmatchcase(words[at], pattern):
            at += 1
        if at == len(words):
            return False
        at += 1
    return True


def _is_program(word: str, pattern: str) -> bool:
    """Whether a word is a program; some file systems don't distinguish capitals."""
    program, wanted = word.casefold(), pattern.casefold()
    return fnmatchcase(program, wanted) or fnmatchcase(PurePath(program).name, wanted)


def _inner(words: Sequence[str], depth: int) -> Iterator[tuple[str, ...]]:
    """Yield the commands that may be in the texts of a command's words."""
    for word in words:
        if any(mark in word for mark in " \t\n;&|!$"):
            if depth >= DEEPEST:
                raise _TooManyCommands
            for each in _of_shell(word):
                if each != tuple(words):
                    yield each
                    yield from _inner(each, depth + 1)


def _of_shell(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the simple commands of a shell's text, roughly: substitutions count as separators."""
    plain = re.sub(r"\\\n", "", text)
    plain = re.sub(r"\$\{IFS\}|\$IFS", " ", plain)
    plain = re.sub(r"[`(){}!]|\$\(", " ; ", plain)
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=";&|\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for token in lexer:
            if token.strip(";&|\n"):
                words.append(token)
            elif words:
                yield tuple(words)
                words = []
    except ValueError:
        words += text.split()
    if words:
        yield tuple(words)
