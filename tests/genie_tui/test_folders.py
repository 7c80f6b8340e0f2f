from pathlib import Path

from genie_tui.folders import Folders, names_in


def test_a_folder_is_wanted_once_and_then_known() -> None:
    wanted: list[str] = []
    folders = Folders(wanted.append)
    assert folders.choices("~/pa") == []
    assert folders.choices("~/pap") == []
    assert wanted == ["~/"]
    folders.tell("~/", ["papers/", "x.pdf", ".hidden"])
    assert folders.choices("~/pa") == [("~/papers/", ""), ("~/x.pdf", "")]
    assert ("~/.hidden", "") in folders.choices("~/.h")
    folders.forget()
    folders.choices("~/")
    assert wanted == ["~/", "~/"]


def test_names_are_sorted_and_folders_end_with_a_slash(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.txt").write_text("x")
    assert names_in(f"{tmp_path}/") == ["a.txt", "b/"]
    assert names_in(f"{tmp_path}/nothing/") == []
    assert names_in("~nobody-at-all/") == []
    assert names_in("\0") == []
