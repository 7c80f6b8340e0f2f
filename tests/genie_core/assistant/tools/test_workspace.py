import os
from pathlib import Path

import pytest

from genie_core.assistant.errors import WorkspaceError
from genie_core.assistant.tools.workspace import AccessRefused, Workspace, as_text


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "work"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "plan.md").write_text("plan", encoding="utf-8")
    (root / ".env").write_text("KEY=1", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "work-other").mkdir()
    (tmp_path / "work-other" / "file.txt").write_text("other", encoding="utf-8")
    (root / "way-out").symlink_to(tmp_path)
    (root / "secret-link").symlink_to(tmp_path / "secret.txt")
    (root / "plan-link").symlink_to(root / "docs" / "plan.md")
    (root / "env-link").symlink_to(root / ".env")
    (root / "loop").symlink_to(root / "loop")
    return Workspace.at(root)


def test_what_lies_inside_is_resolved(workspace: Workspace) -> None:
    assert workspace.resolve("docs/plan.md").read_text(encoding="utf-8") == "plan"
    assert workspace.resolve("docs/../docs/./plan.md").name == "plan.md"
    assert workspace.resolve("plan-link") == workspace.root / "docs" / "plan.md"
    assert workspace.resolve("") == workspace.root


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secret.txt", "outside"),
        ("docs/../../secret.txt", "outside"),
        ("../work-other/file.txt", "outside"),
        ("../nothing-there", "outside"),
        ("way-out/secret.txt", "outside"),
        ("way-out", "outside"),
        ("secret-link", "outside"),
        ("/etc/passwd", "not relative"),
        ("~/secret.txt", "not relative"),
        (".env", "hidden"),
        ("env-link", "hidden"),
        ("loop", "cannot be read"),
        ("nope.txt", "there is no"),
        ("a\0b", "null character"),
    ],
)
def test_what_lies_elsewhere_is_refused(workspace: Workspace, path: str, reason: str) -> None:
    with pytest.raises(AccessRefused, match=reason):
        workspace.resolve(path)


def test_an_absolute_path_is_refused_even_into_the_workspace(workspace: Workspace) -> None:
    with pytest.raises(AccessRefused, match="not relative"):
        workspace.resolve(str(workspace.root / "docs" / "plan.md"))


def test_a_link_that_appears_after_the_check_is_not_followed(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = workspace.resolve("docs/plan.md")
    file.unlink()
    file.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(AccessRefused):
        workspace.read_bytes(file)


def test_only_regular_files_are_read(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "pipe")
    with pytest.raises(AccessRefused, match="not a file"):
        workspace.read_bytes(workspace.resolve("pipe"))
    with pytest.raises(AccessRefused, match="not a file"):
        workspace.read_bytes(workspace.resolve("docs"))


def test_walking_stays_inside_and_off_hidden_files(workspace: Workspace) -> None:
    names = [workspace.name(file) for file in workspace.files(workspace.root)]
    assert names == ["docs/plan.md"]


def test_a_workspace_has_to_be_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for wrong in (file, tmp_path / "missing"):
        with pytest.raises(WorkspaceError, match=str(wrong)):
            Workspace.at(wrong)


def test_text_is_told_from_other_bytes() -> None:
    assert as_text("Grüße".encode()) == "Grüße"
    assert as_text(b"\xef\xbb\xbfbom") == "bom"
    assert as_text(b"\x89PNG\x00\x01") is None
    assert as_text(b"caf\xe9 au lait") is None
    assert as_text("Grü".encode()[:-1]) == "Gr"


def test_odd_names_are_shown_escaped(workspace: Workspace) -> None:
    assert workspace.name(workspace.root / "a\x1b[2Jb\n") == "a\\x1b[2Jb\\n"
