from pathlib import Path

import pytest

from genie_tui.locations import NoSuchPlace
from genie_tui.settings import (
    Settings,
    SettingsError,
    assistant_config,
    default_name,
    load_settings,
)


def write(folder: Path, text: str) -> Path:
    file = folder / "settings.toml"
    file.write_text(text, "utf-8")
    return file


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "absent.toml", {}) == Settings()


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'name = "file"\nmodel = "file:m"\nport = 1000\n')
    env = {"GENIE_MODEL": "env:m", "GENIE_PORT": "2000"}
    settings = load_settings(file, env, {"port": 3000, "model": None})
    assert (settings.name, settings.model, settings.port) == ("file", "env:m", 3000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('name = "ann"\nmodle = "x:y"\n', ["line 2", "'modle'", "'model'"]),
        ("\nport = 'many'\n", ["line 2", "port", "many"]),
        ("port = 70000\n", ["line 1", "port can't be 70000", "<= 65535"]),
        ("port = -1\n", ["line 1", "port can't be -1", ">= 0"]),
        ("name = \n", ["line 1"]),
        (f"name = {'[' * 5000}\n", ["settings.toml"]),
        ("[limits]\n\nmembrs = 3\n", ["line 3", "'membrs'", "did you mean 'members'?"]),
        ("[limits]\nmembers = 0\n", ["line 2", "members can't be 0", ">= 1"]),
        ("limits = 3\n", ["line 1", "limits can't be 3"]),
        ("[agents]\nx = 1\n", ["line 1", "'agents'", "known settings"]),
    ],
)
def test_a_mistake_names_file_line_and_what_would_be_right(
    tmp_path: Path, text: str, expected: list[str]
) -> None:
    file = write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(file, {})
    for part in [str(file), *expected]:
        assert part in str(caught.value)


@pytest.mark.parametrize("port", ["soon", "99999", "-1"])
def test_a_mistake_in_the_environment_names_the_variable(tmp_path: Path, port: str) -> None:
    with pytest.raises(SettingsError, match=f"GENIE_PORT can't be '{port}'"):
        load_settings(tmp_path / "absent.toml", {"GENIE_PORT": port})


@pytest.mark.parametrize("workspace", ["~nosuchuser/x", "a\0b"])
def test_a_workspace_that_can_be_no_folder_is_a_clear_error(tmp_path: Path, workspace: str) -> None:
    with pytest.raises(NoSuchPlace, match="names no folder"):
        assistant_config(Settings(workspace=workspace), tmp_path)


def test_a_workspace_may_begin_with_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert assistant_config(Settings(workspace="~/notes"), tmp_path).workspace == tmp_path / "notes"
    assert assistant_config(Settings(), tmp_path).workspace is None


def test_an_unreadable_file_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.mkdir()
    with pytest.raises(SettingsError, match="can't read the settings"):
        load_settings(file, {})


def test_there_is_always_a_name_to_propose(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise OSError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert default_name() == "guest"


def test_limits_are_a_table_of_their_own(tmp_path: Path) -> None:
    file = write(tmp_path, "ask = true\n[limits]\nmembers = 3\nburst = 7\n")
    settings = load_settings(file, {"GENIE_LIMITS_BURST": "9", "GENIE_ANNOUNCE": "false"})
    assert (settings.limits.members, settings.limits.burst) == (3, 9)
    assert (settings.ask, settings.announce, settings.local) == (True, False, False)
    with pytest.raises(SettingsError, match="GENIE_LIMITS_BURST can't be 'many'"):
        load_settings(file, {"GENIE_LIMITS_BURST": "many"})
