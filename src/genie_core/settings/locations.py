"""Where files live: the platform's folders, or one folder that `GENIE_HOME` names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from genie_core.errors import GenieError

APP = "genie-tui"


class NoSuchPlace(GenieError):
    """A text that names no folder on this machine."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text!r} names no folder: {why}; write it as an absolute path")
        self.text = text


def folder_at(text: str) -> Path:
    """The folder that a person means, absolute; `~` and `~user` stand for homes.

    Raises:
        NoSuchPlace: it can't be one, whether or not it exists.

    """
    if "\0" in text:
        raise NoSuchPlace(text, "it contains a null character")
    try:
        return Path(text).expanduser().absolute()
    except (RuntimeError, OSError) as error:  # no such user, or the current folder is gone
        raise NoSuchPlace(text, str(error).rstrip(".")) from error


def short_path(path: Path) -> str:
    """A path as people write it, with `~` for their home folder."""
    try:
        return str("~" / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):  # somewhere else, or there is no home
        return str(path)


@dataclass(frozen=True, slots=True)
class Locations:
    """The folders of one installation. None of them needs to exist yet.

    What can be made anew is below the data where nothing else is said.
    """

    config: Path
    data: Path
    log: Path
    cache: Path | None = None

    @property
    def settings_file(self) -> Path:
        """The user's settings."""
        return self.config / "settings.toml"

    @property
    def servers_file(self) -> Path:
        """The user's tool servers, unless the settings name another file."""
        return self.config / "mcp.json"

    @property
    def prompts(self) -> Path:
        """The user's own prompt templates, which win over the shipped ones."""
        return self.config / "prompts"

    @property
    def sessions(self) -> Path:
        """The saved rooms, one folder each."""
        return self.data / "sessions"

    @property
    def keys(self) -> Path:
        """The private keys of the persons on this machine, one file for each name."""
        return self.data / "keys"

    @property
    def secrets(self) -> Path:
        """Return the file of secrets for every name here, where there is no keyring."""
        return self.data / "secrets"

    @property
    def preferences(self) -> Path:
        """How the persons on this machine like to be answered, one file for each name."""
        return self.config / "preferences"

    @property
    def certificate(self) -> Path:
        """The certificate of this machine's rooms for joins over the network, and its key."""
        return self.data / "tls" / "host.pem"

    @property
    def no_model_offers(self) -> Path:
        """Is there once the person wants to be offered no models."""
        return self.data / "no-counsel"

    @property
    def search(self) -> Path:
        """Where the words of all sessions are found; made anew when it is missing."""
        return (self.cache or self.data / "cache") / "search.sqlite3"

    @property
    def log_file(self) -> Path:
        """Where details go that a screen has no room for."""
        return self.log / "genie-tui.log"


def find_locations(env: Mapping[str, str]) -> Locations:
    """Take the folders below `GENIE_HOME` if it is set, the platform's own otherwise."""
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
