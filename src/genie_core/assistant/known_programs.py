"""Agent programs that speak ACP: the known ones, those on PATH, and the one that answers.

Importing this module is cheap: the settings need it before anything is on the screen.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from genie_core.assistant.config import AgentSpec, AssistantConfig
from genie_core.assistant.errors import MissingProgram, UnknownAgent
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import MissingValue
from genie_core.assistant.servers.launch import missing_values


@dataclass(frozen=True, slots=True)
class KnownProgram:
    """A program that speaks ACP. `command` starts it; `install` and `login` are clauses.

    `name` is a short name for a person to type. `modes` are those in which it asks before it acts.
    `places` are its own folders in the home, which it writes also in a sandbox.
    """

    name: str
    title: str
    command: tuple[str, ...]
    install: str
    login: str
    modes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


def _xdg(name: str) -> tuple[str, ...]:
    folders = (".config", ".local/share", ".local/state", ".cache")
    return tuple(f"~/{each}/{name}" for each in folders)


KNOWN_PROGRAMS: Final = (
    KnownProgram(
        "claude",
        "Claude Code",
        ("claude-agent-acp",),
        "install it with: npm install -g @agentclientprotocol/claude-agent-acp",
        "log in with: claude /login, or pass ANTHROPIC_API_KEY on in its env",
        ("default",),
        ("~/.claude", "~/.claude.json"),
    ),
    KnownProgram(
        "codex",
        "Codex",
        ("codex-acp",),
        "install it with: npm install -g @agentclientprotocol/codex-acp",
        "log in with: codex login, or pass OPENAI_API_KEY on in its env",
        ("read-only",),
        ("~/.codex",),
    ),
    KnownProgram(
        "gemini",
        "Gemini CLI",
        ("gemini", "--acp"),
        "install it with: npm install -g @google/gemini-cli",
        "run gemini and log in there, or pass GEMINI_API_KEY on in its env",
        ("default",),
        ("~/.gemini",),
    ),
    KnownProgram(
        "opencode",
        "opencode",
        ("opencode", "acp"),
        "install it with: npm install -g opencode-ai",
        "log in with: opencode auth login",
        (),
        _xdg("opencode"),
    ),
    KnownProgram(
        "goose",
        "goose",
        ("goose", "acp"),
        "install it as described on https://block.github.io/goose",
        "set it up with: goose configure",
        ("approve",),
        _xdg("goose"),
    ),
)
"""The programs that are found by name, in the order in which they are offered."""


def known_program(command: Sequence[str]) -> KnownProgram | None:
    """Return the known program that a command starts, with any other arguments."""
    if not command:
        return None
    words = (Path(command[0]).name, *command[1:])
    return next((each for each in KNOWN_PROGRAMS if set(each.command) <= set(words)), None)


def program_named(name: str) -> KnownProgram | None:
    """Return the known program with this short name."""
    return next((each for each in KNOWN_PROGRAMS if each.name == name.strip().lower()), None)


def installed_programs(path: str | None = None) -> list[KnownProgram]:
    """Return the known programs that are on PATH. Reads folders, starts nothing."""
    return [each for each in KNOWN_PROGRAMS if place_of(each.command, path)]


def place_of(command: Sequence[str], path: str | None = None) -> str | None:
    """Return the path of the program that a command starts, None if it is not found."""
    word = os.path.expanduser(command[0])  # noqa: PTH111 - "~" alone, the rest stays as it is
    return shutil.which(word, path=path)


def with_program(config: AssistantConfig, name: str) -> AssistantConfig:
    """Return a configuration in which the program of this name answers; none for an empty name.

    An entry of `agents` with a command has precedence over a known program, and is not directed
    then. Raises `UnknownAgent`.
    """
    name = name.strip()
    if not name:
        return config
    entries = {each.name: each for each in config.agents}
    entry = entries.get(name)
    if entry is not None and entry.command:
        others = tuple(each for each in config.agents if each is not entry)
        return replace(config, program=entry, agents=others)
    known = program_named(name)
    if known is not None:
        return replace(config, program=AgentSpec("", "", command=known.command))
    raise UnknownAgent(
        name,
        [each.name for each in KNOWN_PROGRAMS],
        [each.name for each in config.agents if each.command],
        directed=entry is not None,
    )


@dataclass(frozen=True, slots=True)
class ProgramOffer:
    """An agent that can be chosen by its name. `why` gives the reason in a few words."""

    name: str
    label: str
    why: str


def find_programs(path: str | None = None) -> list[ProgramOffer]:
    """Return the known programs on PATH as offers."""
    return [
        ProgramOffer(each.name, each.title, f"installed: {' '.join(each.command)}")
        for each in installed_programs(path)
    ]


def title_of(command: Sequence[str]) -> str:
    """Return the display name of a program."""
    known = known_program(command)
    return known.title if known else Path(command[0]).name


def check_program(command: Sequence[str], env: Mapping[str, str], setting: str) -> None:
    """Raise `MissingProgram` unless the program is found."""
    path = env.get("PATH", os.environ.get("PATH"))
    word = command[0] if command else ""
    if not word.strip() or ("${" not in (path or "") and place_of(command, path) is None):
        known = known_program(command)
        raise MissingProgram(word, setting, known.install if known else "")


def check_values(name: str, env: Mapping[str, str], keys: Mapping[str, str]) -> None:
    """Raise `MissingValue` unless every placeholder in `env` has a value; as `program_of`."""

    def find(key: str) -> str | None:
        return keys.get(key) or os.environ.get(key)

    for error in missing_values(ServerSpec(name, env=env), find):
        raise MissingValue(name or "system", error.key, error.name, "agent")


def setting_of(name: str) -> str:
    """Return where the command of an agent is set; an empty name is a known program."""
    return f"command in [agents.{name}]" if name else "agent"
