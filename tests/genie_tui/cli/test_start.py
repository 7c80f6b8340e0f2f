"""What the program starts with, and what it does not start with."""

from pathlib import Path

import pytest

from genie_core.assistant.errors import (
    MissingProgram,
    MissingVariable,
    UnknownAgent,
    UnknownProvider,
)
from genie_core.room.open.requests import JoinRoom
from genie_core.settings.locations import find_locations
from genie_core.settings.model import Settings
from genie_tui.cli.start import check_assistant


def test_missing_key_allows_lobby_and_guest(tmp_path: Path) -> None:
    locations = find_locations({"GENIE_HOME": str(tmp_path)})
    settings = Settings(model="openai:gpt-5")
    check_assistant(None, settings, {}, locations)
    check_assistant(JoinRoom(":7654", guest=True), settings, {}, locations)
    with pytest.raises(MissingVariable):
        check_assistant(JoinRoom(":7654"), settings, {}, locations)
    with pytest.raises(UnknownProvider):
        check_assistant(None, Settings(model="nonsense"), {}, locations)


def test_missing_program_allows_lobby(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    locations = find_locations({"GENIE_HOME": str(tmp_path)})
    check_assistant(None, Settings(agent="codex"), {}, locations)
    with pytest.raises(MissingProgram):
        check_assistant(JoinRoom(":7654"), Settings(agent="codex"), {}, locations)
    with pytest.raises(UnknownAgent):
        check_assistant(None, Settings(agent="codx"), {}, locations)
