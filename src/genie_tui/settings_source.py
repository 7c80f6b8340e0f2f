"""Where the settings come from: one file, one environment, one command line, read when asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from genie_tui.settings import Settings, combine, problems
from genie_tui.settings_check import mistakes
from genie_tui.settings_file import (
    SettingsError,
    Written,
    parse_settings,
    read_settings,
    write_settings,
)
from genie_tui.settings_keys import Key, spell, variable

Layer: TypeAlias = Literal["default", "file", "environment", "command line"]
Change: TypeAlias = Callable[[str], str]
"""Makes another text of a file's."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from; `place` is the line of the file or the variable's name."""

    layer: Layer
    place: str = ""

    @property
    def text(self) -> str:
        """It in words."""
        match self.layer:
            case "file":
                return self.place
            case "environment":
                return f"environment {self.place}"
            case layer:
                return layer

    @property
    def overrides(self) -> bool:
        """Whether what the file says has no effect."""
        return self.layer in ("environment", "command line")


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings as they are now, and where each comes from."""

    settings: Settings
    written: Written
    env: Mapping[str, str]
    overrides: Mapping[str, Any]

    def origin(self, key: Key) -> Origin:
        """Where this one comes from."""
        if self.overrides.get(spell(key)) is not None:
            return Origin("command line")
        if self.env.get(variable(key)):
            return Origin("environment", variable(key))
        if self.written.has(key):
            return Origin("file", f"{self.written.file.name}:{self.written.line(key)}")
        return Origin("default")


@dataclass(frozen=True)
class SettingsSource:
    """Reads and changes the settings of one person. Everything here blocks.

    `env` and the command line's `overrides` stay as they were at the start.
    """

    file: Path
    env: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> Reading:
        """Read them as they are now.

        Raises:
            SettingsError: the first of what is wrong.

        """
        return self._reading(read_settings(self.file))

    def change(
        self, changes: Sequence[Change], check: Callable[[Written, Written], None] | None = None
    ) -> Reading:
        """Change the file, all at once, unless it could not be loaded then.

        `check` is given the file as it is and as it would be, and may raise `SettingsError`, too.

        Raises:
            SettingsError: it could not, or could not even before; nothing is changed.

        """
        before = read_settings(self.file)
        wrong = next(problems(before, {}), None)
        if wrong is not None:
            raise SettingsError(f"{wrong}; put that right first: genie-tui config edit")
        written = self._changed(changes)
        for mistake in mistakes(written.values, Settings):
            raise SettingsError(f"{mistake.text}; nothing was changed")
        if check is not None:
            check(before, written)
        return self._kept(written)

    def mend(self, change: Change) -> None:
        """Change the file if that brings no new mistakes into it; old ones may stay.

        Raises:
            SettingsError: it would, or the file is no TOML; nothing is changed.

        """
        before = {each.text for each in mistakes(read_settings(self.file).values, Settings)}
        written = self._changed([change])
        for mistake in mistakes(written.values, Settings):
            if mistake.text not in before:
                raise SettingsError(f"{mistake.text}; nothing was changed")
        write_settings(self.file, written.text)

    def _changed(self, changes: Sequence[Change]) -> Written:
        from tomlkit.exceptions import TOMLKitError

        text = read_settings(self.file).text
        try:
            for change in changes:
                text = change(text)
        except TOMLKitError as error:
            raise SettingsError(f"{self.file} can't be changed: {error}") from error
        return parse_settings(self.file, text)

    def _kept(self, written: Written) -> Reading:
        reading = self._reading(written)
        write_settings(self.file, written.text)
        return reading

    def _reading(self, written: Written) -> Reading:
        settings = combine(written, self.env, self.overrides)
        return Reading(settings, written, self.env, self.overrides)
