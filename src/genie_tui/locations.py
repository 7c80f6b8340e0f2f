"""Where files live: the platform's folders, or one folder that `GENIE_HOME` names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

APP = "genie-tui"


@dataclass(frozen=True, slots=True)
class Locations:
    """The folders of one installation. None of them needs to exist yet."""

    config: Path
    data: Path
    log: Path

    @property
    def settings_file(self) -> Path:
        """The user's settings."""
        return self.config / "settings.toml"

    @property
    def prompts(self) -> Path:
        """The user's own prompt templates, which win over the shipped ones."""
        return self.config / "prompts"

    @property
    def sessions(self) -> Path:
        """The saved rooms, one folder each."""
        return self.data / "sessions"

    @property
    def log_file(self) -> Path:
        """Where details go that a screen has no room for."""
        return self.log / "genie-tui.log"


def find_locations(env: Mapping[str, str]) -> Locations:
    """Take the folders below `GENIE_HOME` if it is set, the platform's own otherwise."""
    home = env.get("GENIE_HOME")
    if home:
        base = Path(home).expanduser().absolute()
        return Locations(base / "config", base / "data", base / "log")
    return Locations(
        platformdirs.user_config_path(APP, appauthor=False),
        platformdirs.user_data_path(APP, appauthor=False),
        platformdirs.user_log_path(APP, appauthor=False),
    )
