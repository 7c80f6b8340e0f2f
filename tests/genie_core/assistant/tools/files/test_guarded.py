"""Files that rules deny, or that are private, are found in the whole workspace."""

import os
from pathlib import Path

import pytest

from genie_core.assistant.tools.files import guarded
from genie_core.assistant.tools.files.guarded import find_guarded, fixed_folders, is_whole
from genie_core.assistant.tools.files.workspace import AccessRefused, PathRules, Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a/prod.env", "docs/x/y.md", "docs/z.md", "keys/one", ".envrc", "b.pem",
                 "node_modules/c.pem", ".git/refs/fix.env"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("a/prod.env")
    os.link(tmp_path / "a" / "prod.env", tmp_path / "hard")
    os.link(tmp_path / "docs" / "z.md", tmp_path / "z")
    return tmp_path.resolve()


def names(root: Path, paths: list[Path]) -> set[str]:
    return {each.relative_to(root).as_posix() for each in paths}


def test_denied_file_is_found_by_all_names(root: Path) -> None:
    found = find_guarded(Workspace(root, PathRules(("a/*.env", "keys/*"), ("docs/*",))))
    assert names(root, found.unread) == {"a/prod.env", "hard", "keys"}
    assert names(root, found.unwritten) == {"docs", "z"}
    assert found.links == {root / "link": root / "a" / "prod.env"}
    assert found.aliases[root / "hard"] == root / "a" / "prod.env"


def test_package_and_branch_files_are_left(root: Path) -> None:
    found = find_guarded(Workspace(root))
    assert names(root, found.private) == {"a/prod.env", ".envrc", "b.pem"}
    assert not found.unread


def test_parents_of_denied_path_are_fixed(root: Path) -> None:
    workspace = Workspace(root, PathRules(("a/prod.env", "*.pem"), ("docs/x/*",)))
    found = find_guarded(workspace)
    fixed = fixed_folders(workspace, [*found.unread, *found.unwritten])
    assert names(root, fixed) == {"a", "docs"}


@pytest.mark.parametrize(
    ("pattern", "whole"),
    [
        ("docs/*", True),
        ("docs/x/y.md", True),
        ("docs/x/*", True),
        ("docs/*.md", False),
        ("*/x/*", False),
        ("new/*", False),
        ("z", False),
        ("*", False),
    ],
)
def test_a_pattern_for_what_exists_is_whole(root: Path, pattern: str, whole: bool) -> None:
    assert is_whole(pattern, Workspace(root)) is whole


def test_excess_files_are_refused_on_deny(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "MOST_ENTRIES", 2)
    with pytest.raises(AccessRefused, match="too many files"):
        find_guarded(Workspace(root, PathRules(("*.env",))))
    assert find_guarded(Workspace(root)).unread == []
