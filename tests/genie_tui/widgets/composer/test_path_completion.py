from pathlib import Path

from genie_tui.widgets.composer.path_completion import PathCompletion, names_in


def test_a_folder_is_wanted_once_and_then_known() -> None:
    wanted: list[str] = []
    paths = PathCompletion(wanted.append)
    assert paths.choices("~/pa") == []
    assert paths.choices("~/pap") == []
    assert wanted == ["~/"]
    paths.set_names("~/", ["papers/", "x.pdf", ".hidden"])
    assert paths.choices("~/pa") == [("~/papers/", ""), ("~/x.pdf", "")]
    assert ("~/.hidden", "") in paths.choices("~/.h")
    paths.clear()
    paths.choices("~/")
    assert wanted == ["~/", "~/"]


def test_names_are_sorted_folders_get_slash(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.txt").write_text("x")
    assert names_in(f"{tmp_path}/") == ["a.txt", "b/"]
    assert names_in(f"{tmp_path}/nothing/") == []
    assert names_in("~nobody-at-all/") == []
    assert names_in("\0") == []
