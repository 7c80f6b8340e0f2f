from pathlib import Path

import pytest

from genie_core.assistant.tools.files import walk
from genie_core.assistant.tools.files.walk import Walk
from genie_core.assistant.tools.files.workspace import MAX_FILE_BYTES, Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "work"
    put(root / "src" / "app.py")
    put(root / "src" / "deep" / "more.py")
    put(root / "notes.txt")
    put(root / ".env")
    put(tmp_path / "outside.txt")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "src" / "loop").symlink_to(root)
    return Workspace.at(root)


def put(file: Path, text: str = "text") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def names(taken: Walk) -> list[str]:
    return [name for name, _ in taken.texts()]


def test_walk_skips_outside_and_hidden(workspace: Workspace) -> None:
    taken = Walk(workspace, workspace.root)
    assert names(taken) == ["notes.txt", "src/app.py", "src/deep/more.py"]
    assert taken.notes() == []
    assert taken.searched == 3


def test_ignored_folders_do_not_count(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "MAX_SEARCHED_FILES", 5)
    monkeypatch.setattr(walk, "MAX_VISITED", 8)
    for number in range(50):
        put(workspace.root / "node_modules" / f"package{number}" / "index.js")
    put(workspace.root / "debug.log")
    put(workspace.root / ".gitignore", "node_modules/\n*.log\n")
    taken = Walk(workspace, workspace.root)
    assert names(taken) == [".gitignore", "notes.txt", "src/app.py", "src/deep/more.py"]
    (note,) = taken.notes()
    assert note.startswith("Excluded by .gitignore: `debug.log`, `node_modules/`.")


@pytest.mark.parametrize("start", ["node_modules", "node_modules/one", "node_modules/one/a.js"])
def test_named_ignored_folder_is_searched(workspace: Workspace, start: str) -> None:
    put(workspace.root / "node_modules" / "one" / "a.js")
    put(workspace.root / ".gitignore", "node_modules/\n")
    taken = Walk(workspace, workspace.resolve(start))
    assert names(taken) == ["node_modules/one/a.js"]
    assert taken.notes() == []


@pytest.mark.parametrize(
    ("limit", "value", "after"),
    [
        ("MAX_SEARCHED_FILES", 1, "1 file"),
        ("MAX_SEARCHED_BYTES", 4, "4 bytes of text"),
        ("MAX_VISITED", 2, "looking at 2 files and folders"),
    ],
)
def test_where_a_walk_stopped_is_said(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, after: str
) -> None:
    monkeypatch.setattr(walk, limit, value)
    taken = Walk(workspace, workspace.root)
    assert names(taken) == ["notes.txt"]
    assert taken.notes() == [
        f"The search stopped at `src/app.py` after {after}; search a narrower folder."
    ]


def test_exact_limit_is_complete(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_SEARCHED_FILES", 3)
    taken = Walk(workspace, workspace.root)
    assert len(names(taken)) == 3
    assert taken.notes() == []


def test_partly_read_files_are_noted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    put(workspace.root / "big.txt", "x" * (MAX_FILE_BYTES + 1))
    taken = Walk(workspace, workspace.root)
    passing = taken.texts()
    assert len(next(passing)[1]) == MAX_FILE_BYTES
    (workspace.root / "notes.txt").unlink()  # listed, and gone before it is read
    assert [name for name, _ in passing] == ["src/app.py", "src/deep/more.py"]
    assert taken.notes() == [
        "Searched only the first 2 MB of `big.txt`.",
        "Not readable: `notes.txt`.",
    ]


def test_packages_and_caches_are_noted(workspace: Workspace) -> None:
    for name in ("node_modules/x.js", "src/__pycache__/app.pyc", ".venv/lib/a.py", ".cache/a"):
        put(workspace.root / name)
    put(workspace.root / "env" / "pyvenv.cfg")
    put(workspace.root / "target" / "CACHEDIR.TAG")
    taken = Walk(workspace, workspace.root)
    assert names(taken) == ["notes.txt", "src/app.py", "src/deep/more.py"]
    (note,) = taken.notes()
    assert note.startswith("Left out as installed or generated: `node_modules/`, `env/`, `src/__p")
    for start, found in {"node_modules": "node_modules/x.js", ".venv": ".venv/lib/a.py"}.items():
        assert names(Walk(workspace, workspace.resolve(start))) == [found]
    assert names(Walk(workspace, workspace.resolve("env"))) == ["env/pyvenv.cfg"]


def test_other_hidden_files_need_naming(
    workspace: Workspace,
) -> None:
    for name in (".github/workflows/a.yml", ".gitignore", ".mine", ".git/config", ".ssh/id_rsa"):
        put(workspace.root / name)
    taken = Walk(workspace, workspace.root)
    assert names(taken)[:2] == [".gitignore", "notes.txt"]
    assert ".github/workflows/a.yml" in names(Walk(workspace, workspace.root))
    assert taken.notes() == ["Left out as hidden: `.mine`. Name one to search it."]
    assert names(Walk(workspace, workspace.resolve(".mine"))) == [".mine"]


def test_slow_walk_stops_with_note(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "MAX_SECONDS", -1.0)
    taken = Walk(workspace, workspace.root)
    assert names(taken) == []
    assert "The search stopped at" in taken.notes()[0]
