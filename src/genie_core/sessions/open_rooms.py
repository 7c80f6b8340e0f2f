"""The rooms that were open when the program was quit, for `genie-tui resume`."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from genie_core.sessions.session import LOG_NAME, SavedSession
from genie_core.storage.atomic import make_private_folder, read_file, reason, replace_file
from genie_core.storage.errors import StorageError

MOST: Final = 20
"""Most rooms that are opened again."""

SLACK: Final = 1.0
"""Seconds by which clocks of files and programs may differ."""

logger = logging.getLogger(__name__)


class OpenRooms(msgspec.Struct, frozen=True):
    """The folders of the rooms, the one that was on the screen first; `at` is when they were left."""

    at: float
    rooms: tuple[str, ...]


def keep_open_rooms(file: Path, rooms: Sequence[str], now: float) -> None:
    """Write which rooms were open; errors are logged. Blocks."""
    try:
        make_private_folder(file.parent)
        replace_file(file, msgspec.json.encode(OpenRooms(now, tuple(rooms[:MOST]))))
    except (OSError, ValueError) as error:
        logger.warning("the open rooms can't be noted in %s: %s", file, reason(error))


def rooms_to_reopen(file: Path, sessions: Path) -> list[SavedSession]:
    """Return the rooms that were open at the last quitting, in order. Blocks.

    Rooms that are gone or can't be read are left out. None are returned if another room was hosted
    since, as by a program that crashed: that one is the latest. Imports and forks don't count.
    """
    try:
        kept = msgspec.json.decode(read_file(file), type=OpenRooms)
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("%s is left out of account: %s", file, reason(error))
        return []
    names = [each for each in kept.rooms if each == Path(each).name][:MOST]
    others = (each.metadata for each in _changed_since(sessions, kept.at, names))
    if any(each.kind == "hosted" and not each.copied for each in others):
        return []
    return list(_loaded(sessions / each for each in names))


def _changed_since(sessions: Path, at: float, but: Sequence[str]) -> Iterator[SavedSession]:
    try:
        folders = [each for each in sessions.iterdir() if each.name not in but]
    except OSError:
        return
    yield from _loaded(each for each in folders if _changed_at(each) > at + SLACK)


def _changed_at(folder: Path) -> float:
    try:
        return (folder / LOG_NAME).stat().st_mtime
    except OSError:
        return 0.0


def _loaded(folders: "Iterator[Path]") -> Iterator[SavedSession]:
    for folder in folders:
        try:
            yield SavedSession.load(folder)
        except StorageError as error:
            logger.info("%s is not opened again: %s", folder.name, error)
