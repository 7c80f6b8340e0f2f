"""The program's folders: the platform's, or one folder named by `GENIE_HOME`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from genie_core.errors import GenieError

APP = "genie-tui"


class NoSuchPlace(GenieError):
    """A text that names no folder on this machine."""

    template = "{text!r} names no folder: {why}; write it as an absolute path"
    text: str
    why: str


def folder_at(text: str) -> Path:
    """Return the absolute folder for a text; expands `~` and `~user`.

    Raises:
        NoSuchPlace: the text can't name a folder, existing or not.
    """
    if "\0" in text:
        raise NoSuchPlace(text, "it contains a null character")
    try:
        return Path(text).expanduser().absolute()
    except (RuntimeError, OSError) as error:  # no such user, or the current folder is gone
        raise NoSuchPlace(text, str(error).rstrip(".")) from error


def short_path(path: Path) -> str:
    """Return a path with `~` for the home folder."""
    try:
        return str("~" / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):  # somewhere else, or there is no home
        return str(path)


@dataclass(frozen=True, slots=True)
class Locations:
    """The folders of one installation; none needs to exist. `cache` defaults to a folder in `data`."""

    config: Path
    data: Path
    log: Path
    cache: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """All folders, which have no place in a sandbox."""
        folders = (self.config, self.data, self.log)
        return folders if self.cache is None else (*folders, self.cache)

    def of_agent(self, name: str) -> "Locations":
        """Return the folders of an agent that joins rooms by itself; `name` is safe in a path.

        Nothing of the person's is in them: it has a key and copies of rooms of its own.
        """
        base = self.data / "agents" / name
        return Locations(base / "config", base, self.log, base / "cache")

    @property
    def settings_file(self) -> Path:
        return self.config / "settings.toml"

    @property
    def keys_file(self) -> Path:
        """The keys that a person chose instead of the default ones."""
        return self.config / "keys.toml"

    @property
    def servers_file(self) -> Path:
        """The default file of tool servers."""
        return self.config / "mcp.json"

    @property
    def prompts(self) -> Path:
        """The user's own prompts, which replace shipped ones of the same name."""
        return self.config / "prompts"

    @property
    def sessions(self) -> Path:
        """The saved rooms, one folder each."""
        return self.data / "sessions"

    @property
    def open_rooms(self) -> Path:
        """Which rooms were open when the program was last quit."""
        return self.data / "open-rooms.json"

    @property
    def keys(self) -> Path:
        """Private keys, one file per name."""
        return self.data / "keys"

    @property
    def secrets(self) -> Path:
        """The folder of stored secrets."""
        return self.data / "secrets"

    @property
    def preferences(self) -> Path:
        """Answer preferences, one file per name."""
        return self.config / "preferences"

    @property
    def certificate(self) -> Path:
        """Certificate and key for rooms hosted here."""
        return self.data / "tls" / "host.pem"

    @property
    def no_model_offers(self) -> Path:
        """Marker file: the person wants no model offers."""
        return self.data / "no-counsel"

    @property
    def shown_commands(self) -> Path:
        """Digests of the workspaces' commands that the person has seen."""
        return self.data / "shown-commands"

    @property
    def search(self) -> Path:
        """The search index of all sessions; rebuilt if missing."""
        return (self.cache or self.data / "cache") / "search.sqlite3"

    @property
    def log_file(self) -> Path:
        return self.log / "genie-tui.log"


def find_locations(env: Mapping[str, str]) -> Locations:
    """Return the folders below `GENIE_HOME` if it is set, else the platform's."""
    home = env.get("GENIE_HOME")
    if home:
        base = folder_at(home)
        return Locations(base / "config", base / "data", base / "log", base / "cache")
    return Locations(
        platformdirs.user_config_path(APP, appauthor=False),
        platformdirs.user_data_path(APP, appauthor=False),
        platformdirs.user_log_path(APP, appauthor=False),
        platformdirs.user_cache_path(APP, appauthor=False),
    )
