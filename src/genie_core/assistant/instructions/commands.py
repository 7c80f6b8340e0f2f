"""Commands from Markdown files: messages to one's agent that are written once.

They are in `.agents/commands` of the workspace and in `commands` of the person's own folder.
`$ARGUMENTS` in the text stands for the words after the command.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from genie_core.assistant.instructions.texts import (
    TextFolder,
    TextRefused,
    each_text,
    front_matter,
)
from genie_core.room.engine.controls import CustomCommand

ABOUT_CHARS: Final = 80
LONGEST_COMMAND: Final = 16_384
"""Bytes of a command's file."""

_FOLDER: Final = "commands"
_ENDING: Final = ".md"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_\-]{0,39}", re.ASCII)


def find_commands(folders: Sequence[TextFolder]) -> tuple[list[CustomCommand], list[str]]:
    """Return the commands by name, and why others are left out. Blocks.

    Of two with one name, that in the first folder counts.
    """
    commands: dict[str, CustomCommand] = {}
    refused: list[str] = []
    for folder in folders:
        for found in each_text(folder, [*_names(folder)], partial(_command, folder)):
            if isinstance(found, TextRefused):
                refused.append(str(found))
            else:
                commands.setdefault(found.name, found)
    return sorted(commands.values(), key=lambda each: each.name), refused


def misplaced_commands(folders: Sequence[TextFolder]) -> list[str]:
    """Return why Markdown files among the commands are not used: place or name. Blocks."""
    misplaced = []
    for folder in folders:
        place = folder.at(_FOLDER)
        for entry in folder.entries(*place):
            shown = folder.shown((*place, entry.name))
            if entry.kind == "folder":
                misplaced += [
                    f"{shown}/{each.name} is not used: move it to {folder.shown(place)}"
                    for each in folder.entries(*place, entry.name)
                    if each.name.lower().endswith(_ENDING)
                ]
            elif entry.name.lower().endswith(_ENDING) and not _is_command(entry.name):
                cure = "a name has small letters, digits, - and _, and ends in .md"
                misplaced.append(f"{shown} is not used: rename it; {cure}")
    return misplaced


def _names(folder: TextFolder) -> Iterator[str]:
    for entry in folder.entries(*folder.at(_FOLDER)):
        if _is_command(entry.name):
            yield entry.name.removesuffix(_ENDING)


def _is_command(file: str) -> bool:
    return file.endswith(_ENDING) and _NAME.fullmatch(file.removesuffix(_ENDING)) is not None


def _command(folder: TextFolder, name: str) -> CustomCommand | None:
    parts = folder.at(_FOLDER, f"{name}{_ENDING}")
    if (text := folder.read(*parts, most=LONGEST_COMMAND)) is None:
        return None
    file = folder.shown(parts)
    values, body = front_matter(text, file)
    body = body.strip()
    if not body:
        raise TextRefused(f"{file} is not used: it is empty")
    about = values.get("description") or body.splitlines()[0].lstrip("# ")
    return CustomCommand(name, about[:ABOUT_CHARS], body, file, folder.is_own)
