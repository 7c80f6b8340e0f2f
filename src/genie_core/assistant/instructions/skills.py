"""Skills: folders with instructions that an agent reads when it needs them.

A skill is a folder with a file SKILL.md, whose front matter names its purpose. Skills are in
`.agents/skills` of the workspace and in `skills` of the person's own folder.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from genie_core.assistant.instructions.texts import (
    TextFolder,
    TextRefused,
    each_text,
    front_matter,
)
from genie_core.assistant.tools.output import cannot
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.runtime.threads import in_thread

READ_SKILL: Final = "read_skill"
SKILL_FILE: Final = "SKILL.md"

MOST_LISTED: Final = 50
DESCRIPTION_CHARS: Final = 500

_NAME: Final = re.compile(r"[A-Za-z0-9][\w\-]{0,63}", re.ASCII)
_FOLDER: Final = "skills"
_DEEPEST: Final = 3
"""Levels of folders in which misplaced skills are looked for."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill. With `is_own`, its person wrote it, otherwise the workspace has it."""

    name: str
    description: str
    is_own: bool


def find_skills(folders: Sequence[TextFolder]) -> tuple[list[Skill], list[str]]:
    """Return the skills, and why others are left out. Blocks.

    Of two with one name, that in the first folder counts.
    """
    skills: dict[str, Skill] = {}
    refused: list[str] = []
    for folder in folders:
        place = folder.at(_FOLDER)
        names = [each.name for each in folder.entries(*place) if _NAME.fullmatch(each.name)]
        for found in each_text(folder, names, partial(_skill, folder)):
            if isinstance(found, TextRefused):
                refused.append(str(found))
            else:
                skills.setdefault(found.name, found)
    listed = list(skills.values())
    refused += [
        f"the skill {each.name} is not listed: a prompt has at most {MOST_LISTED}; remove some"
        for each in listed[MOST_LISTED:]
    ]
    return listed[:MOST_LISTED], refused


def misplaced_skills(folders: Sequence[TextFolder]) -> list[str]:
    """Return why files that look like skills are not used: where they are, or their names. Blocks."""
    return [
        f"{folder.shown(parts)} is not used: {_cure(folder, parts)}"
        for folder in folders
        for parts in _skill_files(folder, folder.at(_FOLDER))
        if _cure(folder, parts)
    ]


def _skill_files(
    folder: TextFolder, parts: tuple[str, ...], depth: int = _DEEPEST
) -> Iterator[tuple[str, ...]]:
    """Yield the paths of files that look like skills, not below those that are at their place."""
    entries = folder.entries(*parts)
    if found := [each for each in entries if each.name.casefold() == SKILL_FILE.casefold()]:
        yield from ((*parts, each.name) for each in found)
        return
    for entry in entries:
        if entry.kind != "file" and depth:
            yield from _skill_files(folder, (*parts, entry.name), depth - 1)
        elif entry.name.lower().endswith(".md") and depth == _DEEPEST:
            yield (*parts, entry.name)


def _cure(folder: TextFolder, parts: tuple[str, ...]) -> str:
    """Describe the use of a skill; empty if it is at its place."""
    *above, file = parts[len(folder.at(_FOLDER)) :]
    name = above[-1] if above else file.rpartition(".")[0]
    if not _NAME.fullmatch(name) or name.casefold() == "skill":
        name = "NAME"
    if above and not _NAME.fullmatch(above[-1]):
        return f"rename the folder {above[-1]!r}: it has letters, digits, - and _"
    if len(above) != 1:
        return f"move it to {folder.shown(folder.at(_FOLDER, name, SKILL_FILE))}"
    return "" if file == SKILL_FILE else f"rename it to {SKILL_FILE}"


def _skill(folder: TextFolder, name: str) -> Skill | None:
    parts = folder.at(_FOLDER, name, SKILL_FILE)
    if (text := folder.read(*parts)) is None:
        return None
    values, _ = front_matter(text, folder.shown(parts))
    if not (description := values.get("description", "")):
        raise TextRefused(
            f"{folder.shown(parts)} is not used: it has no description; begin it with a line ---, "
            "a line 'description: ' and what it is for, and a line ---"
        )
    return Skill(name, description[:DESCRIPTION_CHARS], folder.is_own)


@dataclass(frozen=True, slots=True)
class SkillReader:
    """The tool that reads skills, from the first of the folders that has one of that name."""

    folders: Sequence[TextFolder]

    async def read_skill(self, name: str, file: str = SKILL_FILE) -> str:
        """Read the instructions of a skill, before you do what it is for.

        Args:
            name: The skill's name.
            file: Another file of the skill, if its instructions name one.
        """
        return await in_thread(self._read, name, file)

    def _read(self, name: str, file: str) -> str:
        try:
            found = _located(self.folders, name, file)
            text = found[0].read(*found[1]) if found is not None else None
        except TextRefused as refusal:
            return cannot(str(refusal))
        return text if text is not None else cannot(f"there is no {file!r} of a skill {name!r}")


def skill_effects(folders: Sequence[TextFolder], name: str, file: str) -> ToolEffects:
    """Return the effect of reading a skill: the words of one in the workspace aren't its person's."""
    try:
        found = _located(folders, name, file)
    except TextRefused as refusal:
        return ToolEffects(refusal=str(refusal))
    if found is None or found[0].workspace is None:
        return ToolEffects()
    folder, parts = found
    shown = folder.shown(parts)
    return ToolEffects(
        (ToolEffect("read", shown),),
        private=found[0].workspace.is_private(shown),
        source=f"the skill {name} of the workspace",
    )


def _located(
    folders: Sequence[TextFolder], name: str, file: str
) -> tuple[TextFolder, tuple[str, ...]] | None:
    """Return the folder and path of a skill's file. Raises `TextRefused` if it leads elsewhere."""
    inner = file.split("/")
    if not _NAME.fullmatch(name) or any(
        not part or part.startswith(".") or "\0" in part for part in inner
    ):
        raise TextRefused(f"{file!r} is no file of a skill {name!r}")
    for folder in folders:
        if folder.read(*folder.at(_FOLDER, name, SKILL_FILE), most=1) is not None:
            return folder, folder.at(_FOLDER, name, *inner)
    return None
