"""What a command would run: its words, and the commands inside them.

Reads a command as `run_command` does. What can't be read for certain counts as anything.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePath
from typing import Final

DEEPEST: Final = 8
"""Commands inside commands that are followed."""

MOST_CHARS: Final = 20_000
MOST_WORDS: Final = 200
MOST_INNER: Final = 2_000
"""Commands beyond these are not analysed: they are about every rule, and no pattern covers them."""

SHELLS: Final = frozenset(
    {
        *("sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "ksh93", "yash", "posh", "fish"),
        *("ash", "csh", "tcsh", "nu", "elvish", "xonsh"),
    }
)

WRAPPERS: Final = frozenset(
    [
        "env",
        "nice",
        "nohup",
        "setsid",
        "stdbuf",
        "timeout",
        "time",
        "sudo",
        "doas",
        "su",
        "xargs",
        "parallel",
        "watch",
        "ionice",
        "chrt",
        "taskset",
        "unshare",
        "nsenter",
        "chroot",
        "strace",
        "ltrace",
        "gdb",
        "script",
        "busybox",
        "ssh",
        "docker",
        "podman",
        "flatpak",
        "systemd-run",
        "entr",
        "expect",
        "screen",
        "tmux",
        "at",
        "batch",
        "exec",
        "command",
        "eval",
        "runuser",
        "pkexec",
        "firejail",
        "bwrap",
        "proot",
        "fakeroot",
        "start-stop-daemon",
        "daemonize",
        "dbus-run-session",
        "xvfb-run",
        "rlwrap",
        "unbuffer",
        "catchsegv",
        "valgrind",
        "perf",
        "ld.so",
        "ld-linux-x86-64.so.2",
        "flock",
        "prlimit",
        "setarch",
        "linux32",
        "linux64",
        "setpriv",
        "capsh",
        "sg",
        "numactl",
        "choom",
        "cgexec",
        "run-parts",
        "faketime",
        "torsocks",
        "proxychains",
        "proxychains4",
        "hyperfine",
        "watchexec",
        "nodemon",
        "direnv",
        "nix-shell",
        "bundle",
        "bunx",
        "pnpx",
        "tsx",
        "ts-node",
        "xdg-open",
        "open",
        "ssh-agent",
        "pydoc",
        "pydoc3",
        "ipython",
        "irb",
        "prove",
        "m4",
        "dc",
        "gnuplot",
    ]
)
"""Programs that run the program that their arguments name."""

INTERPRETERS: Final = re.compile(
    r"(python|pypy|perl|ruby|node|nodejs|deno|bun|lua|luajit|php|tclsh|wish|awk|gawk|mawk|nawk|sed|"
    r"gsed|osascript|pwsh|powershell|julia|Rscript|ghci|scala|jshell|java|groovy|guile|racket|sbcl|"
    r"emacs|vi|vim|nvim|ed|ex|nano|less|more|man|npx|uv|uvx|pipx|ansible|terraform|vagrant|crontab|"
    r"psql|mysql|sqlite3|tar|zip|rsync|scp|ftp|curl|wget|nc|ncat|socat|telnet|openssl|gpg|dd|tee|"
    r"install|ln|chmod|chown|rg|sort|gcc|cc|g\+\+|clang|ld|as|gh|hub|glab|coverage|split|csplit)"
    r"[0-9.]*(\.exe)?"
)
"""Programs that run code from their arguments, or write or send where these say."""

_FD_RUNS: Final = re.compile(r"-[xX]|--exec")

BUILDERS: Final = frozenset(
    [
        "make",
        "gmake",
        "ninja",
        "cmake",
        "just",
        "task",
        "rake",
        "npm",
        "pnpm",
        "yarn",
        "pip",
        "pip3",
        "poetry",
        "hatch",
        "tox",
        "nox",
        "pytest",
        "cargo",
        "go",
        "gradle",
        "mvn",
        "ant",
        "bazel",
        "meson",
    ]
)
"""Programs that run code of the workspace; a rule that allows them by name means that."""

FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint",
                              "-fprint0", "-fprintf"})  # fmt: skip

BUILDER_FREE: Final = re.compile(r"-.*|.*[=/].*|run|exec|install|x|dlx|shell|add|publish")
"""Words by which builders run other programs, or code from elsewhere."""

_NODE_FREE: Final = re.compile(
    r"i|in|ins|inst|insta|instal|install-.*|isn.*|it|ci|cit|clean-install.*|create|init|innit|run.*|"
    r"rum|urn|up|update|upgrade|explore|edit|config|set|c"
)
_MORE_FREE: Final = {
    **dict.fromkeys(("npm", "pnpm", "yarn"), _NODE_FREE),
    **dict.fromkeys(("pip", "pip3"), re.compile("download|wheel|config")),
    "go": re.compile("get|env|tool"),
    "mvn": re.compile(".*:.*"),
}
"""The same for single builders: their other names for these words."""

GIT_SAFE: Final = frozenset(
    [
        "add",
        "blame",
        "branch",
        "cat-file",
        "commit",
        "describe",
        "diff",
        "fetch",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "name-rev",
        "pull",
        "push",
        "reflog",
        "restore",
        "rev-list",
        "rev-parse",
        "rm",
        "shortlog",
        "show",
        "show-ref",
        "stash",
        "status",
        "switch",
        "tag",
        "version",
    ]
)
"""Subcommands of git that run no program named in their arguments; others may be aliases."""

GIT_HARMLESS: Final = re.compile(
    r"--|-[0-9]+|-[abfmnpqv]|-sb|-vv|-am|-A|-U[0-9]+|-L[0-9,]+|-w|-n[0-9]+|"
    r"--(all|cached|staged|oneline|graph|stat|short|long|branch|porcelain|patch|quiet|verbose|force|"
    r"delete|list|merged|tags|prune|numstat|shortstat|summary|reverse|follow|color|decorate|check|"
    r"minimal|patience|histogram|raw|abbrev-commit|amend|no-edit|name-only|name-status|"
    r"first-parent|no-merges|word-diff|show-current|ff-only|dry-run|ignore-space-change|"
    r"ignore-all-space|set-upstream)|"
    r"--(since|until|after|before|author|grep|pretty|format|date|message|max-count|unified|"
    r"color|decorate|porcelain|stat|abbrev)=.*"
)
"""Options that name no program and no file, in full: git also takes the beginnings of others."""

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """What a command would run.

    `words` are the program and its arguments, empty if they can't be told apart. `inner` are
    commands that its words contain. `anything`: it may run other programs than these. `why` says
    how, or what else to know about its program.
    """

    words: tuple[str, ...]
    inner: tuple[tuple[str, ...], ...] = ()
    anything: bool = False
    why: str = ""

    @property
    def plain(self) -> str:
        """The command with one blank between words, quoted where necessary."""
        return shlex.join(self.words)


def analyse(command: str, *, in_shell: bool = False) -> Command:
    """Analyse a command as `run_command` would run it."""
    if len(command) > MOST_CHARS:
        return Command((), (), anything=True, why="it is too long to be read")
    if in_shell:
        inner: list[tuple[str, ...]] = []
        for each in _of_shell(command):
            inner += [each, *_inner(each, 0)]
        if len(inner) > MOST_INNER:
            return Command((), (), anything=True, why="it has too many commands to be read")
        return Command((), tuple(inner), anything=True, why="a shell reads it")
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return Command((), (), anything=True, why="its quotes do not match")
    if not words:
        return Command((), (), anything=True, why="it is empty")
    if len(words) > MOST_WORDS:
        return Command((), (), anything=True, why="it has too many words to be read")
    found = tuple(islice(_inner(words, 0), MOST_INNER + 1))
    if len(found) > MOST_INNER:
        return Command((), (), anything=True, why="it has too many commands to be read")
    return Command(words, found, *_reach(words))


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
    if not wanted or not _same_program(command.words[0], wanted[0]):
        return False
    return fnmatchcase(command.plain, pattern) or fnmatchcase(" ".join(command.words), pattern)


def _same_program(program: str, pattern: str) -> bool:
    """Check the program by itself: "git*" must not match "git/../../tmp/evil"."""
    return fnmatchcase(program, pattern) and ("/" in pattern or "/" not in program)


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


def _reach(words: Sequence[str]) -> tuple[bool, str]:
    """Whether a command may run anything, and how."""
    program = PurePath(words[0]).name.lower()
    if _ASSIGNMENT.fullmatch(words[0]):
        return True, "it sets a variable"
    if "/" in words[0]:
        return True, f"{words[0]} is a program named by its path"
    if program in SHELLS:
        return True, f"{program} is a shell"
    if program in WRAPPERS:
        return True, f"{program} runs other programs"
    if INTERPRETERS.fullmatch(program):
        return True, f"{program} runs code or other programs, or writes where it is told"
    if program in ("find", "fd", "fdfind") and (
        runs := next((word for word in words if word in FIND_RUNS or _FD_RUNS.match(word)), "")
    ):
        return True, f"{program} {runs} runs programs or changes files"
    if program in BUILDERS:
        more = _MORE_FREE.get(program, BUILDER_FREE)
        free = next(
            (word for word in words[1:] if BUILDER_FREE.fullmatch(word) or more.fullmatch(word)), ""
        )
        if free:
            return True, f"{program} {free} can name a program or code to run"
        return False, f"{program} runs code of the workspace"
    if program == "git":
        return _git_reach(words[1:])
    return False, ""


def _git_reach(words: Sequence[str]) -> tuple[bool, str]:
    """Whether git may run other programs, or read or write outside of the repository."""
    if words and words[0] == "--no-pager":
        words = words[1:]
    if not words or words[0] not in GIT_SAFE:
        named = f"git {words[0]}" if words else "git"
        return True, f"{named} may run other programs"
    for word in words[1:]:
        if word.startswith("-"):
            if not GIT_HARMLESS.fullmatch(word):
                return True, f"git {words[0]} {word} can name a program or a file to use"
        elif word.startswith(("/", "~")) or ".." in word.split("/") or "::" in word:
            return True, f"git {words[0]} {word} leads out of the workspace"
    return False, ""


def _inner(words: Sequence[str], depth: int) -> Iterator[tuple[str, ...]]:
    """Yield the commands that may be in the texts of a command's words."""
    if depth >= DEEPEST:
        return
    for word in words:
        if any(mark in word for mark in " \t\n;&|!$"):
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
