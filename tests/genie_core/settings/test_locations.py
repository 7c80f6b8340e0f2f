from pathlib import Path

import pytest

from genie_core.settings.locations import NoSuchPlace, find_locations, folder_at, short_path


def test_one_variable_moves_everything(tmp_path: Path) -> None:
    places = find_locations({"GENIE_HOME": str(tmp_path)})
    for path in (
        places.settings_file,
        places.prompts,
        places.sessions,
        places.keys,
        places.certificate,
        places.log_file,
        places.search,
    ):
        assert path.is_relative_to(tmp_path)


def test_platform_decides_by_default() -> None:
    places = find_locations({})
    for path in (places.config, places.data, places.log, places.search):
        assert "genie-tui" in path.parts


def test_unknown_home_is_clear_error() -> None:
    with pytest.raises(NoSuchPlace, match="'~nosuchuser/x' names no folder"):
        find_locations({"GENIE_HOME": "~nosuchuser/x"})


def test_a_relative_folder_needs_a_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(NoSuchPlace, match="No such file or directory"):
        folder_at("notes")
    assert folder_at("/notes") == Path("/notes")


def test_path_below_home_is_shortened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert short_path(tmp_path / "home" / "a" / "b") == "~/a/b"
    assert short_path(tmp_path / "elsewhere") == str(tmp_path / "elsewhere")
