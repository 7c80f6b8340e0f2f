from pathlib import Path

from genie_core.sessions.catalog import staged, sweep


def test_what_is_put_together_is_gone_afterwards(tmp_path: Path) -> None:
    with staged(tmp_path / "sessions") as folder:
        folder.mkdir()
        (folder / "events.jsonl").write_text("")
    assert list((tmp_path / "sessions").iterdir()) == []


def test_only_what_no_process_holds_is_swept(tmp_path: Path) -> None:
    (tmp_path / ".importing-killed" / "room").mkdir(parents=True)
    with staged(tmp_path) as folder:
        folder.mkdir()
        sweep(tmp_path)
        assert list(tmp_path.iterdir()) == [folder.parent]


def test_missing_folder_needs_no_sweep(tmp_path: Path) -> None:
    sweep(tmp_path / "missing")
