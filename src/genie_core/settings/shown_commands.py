"""Which commands of workspaces have been shown to the person, by a digest of their text."""

import hashlib
import logging
from pathlib import Path
from typing import Final

from genie_core.room.engine.controls import CustomCommand
from genie_core.storage.atomic import make_private_folder, read_file, reason, replace_file

MOST: Final = 1_000
"""Digests that are kept, the latest ones."""

logger = logging.getLogger(__name__)


def was_shown(file: Path, command: CustomCommand) -> bool:
    """Whether the person has agreed to this text before; False if that can't be read. Blocks."""
    return _digest(command) in _known(file)


def note_shown(file: Path, command: CustomCommand) -> None:
    """Remember that the person has agreed to this text; errors are logged. Blocks."""
    known = [*_known(file), _digest(command)][-MOST:]
    try:
        make_private_folder(file.parent)
        replace_file(file, "\n".join(known).encode())
    except OSError as error:
        logger.warning("a shown command can't be noted in %s: %s", file, reason(error))


def _known(file: Path) -> list[str]:
    try:
        return read_file(file).decode("ascii", "replace").split()
    except OSError:
        return []


def _digest(command: CustomCommand) -> str:
    return hashlib.sha256(f"{command.name}\0{command.text}".encode("utf-8", "replace")).hexdigest()
