"""Where the files of a backup belong on a machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from genie_core.room.participant.presence import TOKENS_NAME
from genie_core.sessions.catalog import STAGING
from genie_core.sessions.lock import LOCK_NAME
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.session import LOG_NAME
from genie_core.settings.locations import Locations

AGENTS: Final = "agents"
CONFIG: Final = "config"
SESSIONS: Final = "sessions"

_DATA: Final = ("keys", "tls", "no-counsel")
_LEFT_OUT: Final = frozenset({LOCK_NAME, INDEX_NAME})
_UNFINISHED: Final = (".new", ".part")


def homes(locations: Locations) -> Iterator[tuple[str, Locations]]:
    """Yield the person's folders, then those of their agents, with the prefix of their names."""
    yield "", locations
    agents = locations.data / AGENTS
    for folder in sorted(agents.iterdir()) if agents.is_dir() else ():
        if folder.is_dir():
            yield f"{AGENTS}/{folder.name}/", locations.of_agent(folder.name)


def private_files(locations: Locations) -> Iterator[tuple[str, Path]]:
    """Yield keys, settings and prompts, with their names in an archive."""
    config, data = locations.config, locations.data
    single = (locations.settings_file, locations.keys_file, locations.servers_file)
    for path in (*single, *_below(locations.prompts), *_below(locations.preferences)):
        yield f"{CONFIG}/{path.relative_to(config).as_posix()}", path
    for path in (*_below(locations.keys), locations.certificate, locations.no_model_offers):
        if not _is_left_out(path):
            yield path.relative_to(data).as_posix(), path


def session_folders(locations: Locations) -> list[Path]:
    """Return the folders of all sessions, unreadable ones included."""
    if not locations.sessions.is_dir():
        return []
    found = sorted(locations.sessions.iterdir())
    return [each for each in found if each.is_dir() and not each.name.startswith(STAGING)]


def session_files(folder: Path) -> list[Path]:
    """Return the files of a session, the log first: it names only files that are there.

    Files that are rebuilt, or unfinished, are left out.
    """
    found = [path for path in _below(folder) if not _is_left_out(path)]
    return sorted(found, key=lambda path: (path != folder / LOG_NAME, path))


def is_private(path: Path) -> bool:
    """Whether a session's file belongs into the encrypted part: the secrets of invites."""
    return path.name == TOKENS_NAME


def place_of(name: str, locations: Locations) -> Path | None:
    """Return where a file of an archive belongs; None if it belongs nowhere."""
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    if parts[0] == AGENTS and len(parts) > 2:
        locations, parts = locations.of_agent(parts[1]), parts[2:]
    if len(parts) > 1 and parts[0] == CONFIG:
        return locations.config.joinpath(*parts[1:])
    if parts[0] in _DATA or (len(parts) > 2 and parts[0] == SESSIONS):
        return locations.data.joinpath(*parts)
    return None


def _below(folder: Path) -> Iterator[Path]:
    """Yield the ordinary files in a folder, at any depth; links are not followed."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from _below(path)
        elif path.is_file():
            yield path


def _is_left_out(path: Path) -> bool:
    return path.name in _LEFT_OUT or path.suffix in _UNFINISHED
