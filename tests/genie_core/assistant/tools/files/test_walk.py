import os
import shutil
import subprocess
from pathlib import Path

import pytest

from genie_core.assistant.tools.files.walk import MAX_RULES_BYTES, rules_above, with_own_rules
from genie_core.assistant.tools.files.workspace import Workspace

FILES = [
    "a.py", "a.log", "keep.log", "build/x.o", "src/build/x.o", "src/a.log", "src/deep/b.tmp",
    "src/deep/c.py", "docs/out/page.html", "docs/out.txt", "only/here.txt", "sub/only/here.txt",
    "grüße.bak", "with space/f.txt", "private.txt", "x/y/z/end.txt", "keep/dropped/kept.txt",
]  # fmt: skip
RULES = {
    ".gitignore": (
        "# a comment\n*.log\n!keep.log\n/build\n/only/\n*.bak\nwith\\ space/\nx/**/end.txt\n"
        "keep/*\n!keep/dropped\n\n\\\n"
    ),
    "src/.gitignore": "!a.log\ndeep/*.tmp\n",
    "docs/.gitignore": "out/\n",
    ".git/info/exclude": "private.txt\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for name in FILES:
        put(root / name, "x")
    for name, rules in RULES.items():
        put(root / name, rules)
    return root


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def kept(root: Path, start: str = "") -> set[str]:
    """The visible files below `start` that are not ignored, as a walk would meet them."""
    workspace = Workspace.at(root)
    found: set[str] = set()
    place = workspace.resolve(start)
    pending = [(place, rules_above(workspace, place))]
    while pending:
        folder, above = pending.pop()
        rules = with_own_rules(above, workspace, folder)
        for path in folder.iterdir():
            if path.name.startswith(".") or rules.ignore(path, folder=path.is_dir()):
                continue
            if path.is_dir():
                pending.append((path, rules))
            else:
                found.add(path.relative_to(root).as_posix())
    return found


def test_what_git_ignores_is_ignored(root: Path) -> None:
    ignored = {
        "a.log", "build/x.o", "src/deep/b.tmp", "docs/out/page.html", "only/here.txt", "grüße.bak",
        "with space/f.txt", "private.txt", "x/y/z/end.txt",
    }  # fmt: skip
    assert kept(root) == set(FILES) - ignored


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git, which is not installed")
def test_git_itself_agrees(root: Path, tmp_path: Path) -> None:
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(tmp_path)}
    exclude = (root / ".git" / "info" / "exclude").read_text(encoding="utf-8")
    git = ["git", "-C", str(root), "-c", "core.quotepath=off"]
    subprocess.run([*git, "init", "-q"], check=True, env=quiet)
    put(root / ".git" / "info" / "exclude", exclude)
    listed = [*git, "ls-files", "--others", "--exclude-standard", "-z"]
    told = subprocess.run(listed, check=True, env=quiet, capture_output=True).stdout.decode()
    visible = {name for name in told.split("\0") if name and "/." not in f"/{name}"}
    assert kept(root) == visible


def test_parent_rules_count_in_repository(root: Path) -> None:
    put(root.parent / ".gitignore", "*.py\n")
    assert kept(root / "docs") == {"out.txt"}
    assert "a.log" in kept(root / "src")
    assert "deep/c.py" in kept(root / "src")


def test_only_repository_adds_parent_rules(tmp_path: Path) -> None:
    put(tmp_path / ".gitignore", "*.txt\n")
    put(tmp_path / "work" / "a.txt", "x")
    put(tmp_path / "work" / "a.log", "x")
    put(tmp_path / "work" / ".gitignore", "*.log\n")
    assert kept(tmp_path / "work") == {"a.txt"}


def test_named_folder_is_never_ignored(root: Path) -> None:
    assert kept(root, "build") == {"build/x.o"}
    put(root / "build" / ".gitignore", "*.tmp\n")
    put(root / "build" / "deep" / "y.tmp", "x")
    assert kept(root, "build") == {"build/x.o"}
    put(root.parent / ".gitignore", "*\n")  # as some keep their home folder in Git
    put(root.parent / ".git" / "info" / "exclude", "")
    shutil.rmtree(root / ".git")
    assert "src/a.log" in kept(root)


def test_linked_or_endless_rules_skip(root: Path, tmp_path: Path) -> None:
    put(tmp_path / "rules", "*\n")
    (root / "src" / ".gitignore").unlink()
    (root / "src" / ".gitignore").symlink_to(tmp_path / "rules")
    (root / "docs" / ".gitignore").unlink()
    os.mkfifo(root / "docs" / ".gitignore")
    assert {"src/deep/c.py", "docs/out/page.html"} <= kept(root)
    put(root / "build" / ".gitignore", "#" * MAX_RULES_BYTES + "\n*\n")
    assert kept(root, "build") == {"build/x.o"}
