"""Loading prompts: those shipped with the program and a person's own.

A prompt is a Markdown file. `reasoner/NAME.md` tells a reasoner when to answer, `agent/NAME.md`
tells an agent how.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from genie_core.assistant.errors import UnknownPlaceholder, UnknownTemplate, UnreadableTemplate
from genie_core.storage.atomic import reason
from genie_core.text.decoding import NotText, decode_text

_CODE: Final = re.compile(
    r"^(?P<fence>`{3,}|~{3,}).*?(?:^(?P=fence)|\Z)|`[^`\n]+`", re.MULTILINE | re.DOTALL
)
_WORD: Final = re.compile(r"\{([A-Za-z_]\w*)\}")
_PARTS: Final = re.compile(rf"{_WORD.pattern}|\n[ \t]*\n|[{{}}]")


def check_placeholders(text: str, file: Path, known: Sequence[str]) -> None:
    """Raise `UnknownPlaceholder` for the first placeholder that is not in `known`."""
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
            depth = 0  # an unclosed brace affects only its own paragraph


def _blank(code: re.Match[str]) -> str:
    """Blank out code, keeping its line count; keep a placeholder in backticks."""
    inside = code[0].strip("`")
    return code[0] if _WORD.fullmatch(inside) else "\n" * code[0].count("\n")


Kind = Literal["reasoner", "agent"]

OWNER: Final = "{owner}"
"""Placeholder for the name of the assistant's owner."""

AGENTS: Final = "{agents}"
"""Placeholder in an agent's prompt for the agents that it directs, one per line."""

_KNOWN: Final[Mapping[Kind, tuple[str, ...]]] = {
    "reasoner": ("owner",),
    "agent": ("owner", "agents"),
}

_HERE: Final = Path(__file__).resolve().parent


def shipped_dir() -> Path:
    """Return the folder of shipped prompts, in a wheel or a source checkout."""
    packaged = _HERE / "prompts"
    return packaged if packaged.is_dir() else _HERE.parents[2] / "prompts"


def load_prompt(kind: Kind, name: str, override_dir: Path | None = None) -> str:
    """Return a prompt's text, preferring the person's own file of that name.

    The name only selects among existing files and is never used as a path. The text keeps its
    placeholders; see `for_owner`. Raises `UnknownTemplate`, `UnreadableTemplate` or
    `UnknownPlaceholder`.
    """
    files = _files(kind, override_dir)
    if name not in files:
        own = override_dir / kind if override_dir else None
        raise UnknownTemplate(kind, name, tuple(sorted(files)), own)
    text = _text(files[name])
    check_placeholders(text, files[name], _KNOWN[kind])
    return text.strip()


def load_or_shipped(kind: Kind, name: str, override_dir: Path | None) -> str:
    """Return a prompt's text; the shipped one of that name replaces a broken one."""
    try:
        return load_prompt(kind, name, override_dir)
    except (UnreadableTemplate, UnknownPlaceholder):
        if name not in _files(kind, None):
            raise
        return load_prompt(kind, name)


def load_prompt_at(kind: Kind, file: Path) -> str:
    """Return the text of a prompt file elsewhere; errors as in `load_prompt`."""
    text = _text(file)
    check_placeholders(text, file, _KNOWN[kind])
    return text.strip()


def prompt_names(kind: Kind, override_dir: Path | None = None) -> list[str]:
    """Return the names of all prompts, shipped and own, sorted. Reads folders."""
    return sorted(_files(kind, override_dir))


def for_owner(prompt: str, owner: str) -> str:
    """Insert the owner's name into a prompt.

    Replaces text instead of formatting, because a prompt may contain JSON and other braces.
    """
    return prompt.replace(OWNER, owner)


def for_coordinator(prompt: str, owner: str, agents: Sequence[str]) -> str:
    """Insert the owner's name and one line per directed agent into a prompt.

    Appends the agents to a prompt without a placeholder for them.
    """
    prompt = for_owner(prompt, owner)
    listed = "\n".join(f"- {each}" for each in agents) or "(none)"
    if AGENTS in prompt:
        return prompt.replace(AGENTS, listed)
    return f"{prompt}\n\n# Agents you direct with `run_subagent`\n\n{listed}" if agents else prompt


def _text(file: Path) -> str:
    try:
        return decode_text(file.read_bytes())
    except (OSError, NotText) as error:
        raise UnreadableTemplate(file, reason(error)) from error


def _files(kind: Kind, override_dir: Path | None) -> dict[str, Path]:
    folders = [shipped_dir() / kind, *([override_dir / kind] if override_dir else [])]
    return {file.stem: file for folder in folders for file in folder.glob("*.md")}
