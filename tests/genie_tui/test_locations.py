from pathlib import Path

from genie_tui.locations import find_locations


def test_one_variable_moves_everything(tmp_path: Path) -> None:
    places = find_locations({"GENIE_HOME": str(tmp_path)})
    for path in (places.settings_file, places.prompts, places.sessions, places.log_file):
        assert path.is_relative_to(tmp_path)


def test_without_it_the_platform_decides_and_the_folders_are_ours_alone() -> None:
    places = find_locations({})
    for path in (places.config, places.data, places.log):
        assert "genie-tui" in path.parts
