import errno
import os
import stat
from pathlib import Path

import pytest

from genie_core.assistant.errors import WorkspaceError
from genie_core.assistant.tools.files import confined
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace, as_text


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
        ("nope.txt", "does not exist"),
        ("a\0b", "null character"),
    ],
)
def test_what_lies_elsewhere_is_refused(workspace: Workspace, path: str, reason: str) -> None:
    with pytest.raises(AccessRefused, match=reason):
        workspace.resolve(path)


def test_link_to_hidden_file_is_refused(workspace: Workspace) -> None:
    (workspace.root / ".mine").write_text("mine", encoding="utf-8")
    (workspace.root / "harmless.txt").symlink_to(".mine")
    (workspace.root / ".gitignore").symlink_to(".mine")
    (workspace.root / ".husky").mkdir()
    (workspace.root / "hooks").symlink_to(".husky")
    assert workspace.resolve(".mine").name == ".mine"
    for path in ("harmless.txt", ".gitignore", "hooks/pre-commit", "./harmless.txt"):
        with pytest.raises(AccessRefused, match="leads to a hidden file"):
            workspace.resolve(path)


def test_absolute_path_is_refused(workspace: Workspace) -> None:
    with pytest.raises(AccessRefused, match="not relative"):
        workspace.resolve(str(workspace.root / "docs" / "plan.md"))


def test_late_link_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    file = workspace.resolve("docs/plan.md")
    file.unlink()
    file.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(AccessRefused):
        workspace.read_bytes(file)


@pytest.mark.parametrize("depth", ["docs", "docs/deep"])
def test_folder_turned_link_leads_nowhere(workspace: Workspace, tmp_path: Path, depth: str) -> None:
    """Between the check of a path and its use, somebody puts a link in the place of a folder."""
    outside = tmp_path / "outside" / "deep"
    outside.mkdir(parents=True)
    for folder in (outside, outside.parent):
        (folder / "plan.md").write_text("secret", encoding="utf-8")
    (workspace.root / "docs" / "deep").mkdir()
    (workspace.root / "docs" / "deep" / "plan.md").touch()
    file = workspace.resolve(f"{depth}/plan.md")
    new = workspace.place(f"{depth}/new.md")
    (workspace.root / "docs").rename(workspace.root / "was-docs")
    (workspace.root / "docs").symlink_to(outside.parent)
    with pytest.raises(AccessRefused, match="cannot be read"):
        workspace.read_bytes(file)
    for place in (file, new):
        with pytest.raises(AccessRefused, match="cannot be written"):
            workspace.write_bytes(place, b"mine", replace=True)
    assert workspace.entries(file.parent) == []
    assert sorted(outside.parent.rglob("*.md")) == [outside / "plan.md", outside.parent / "plan.md"]
    assert (outside / "plan.md").read_text(encoding="utf-8") == "secret"


def test_outside_existence_is_not_revealed(workspace: Workspace) -> None:
    said = []
    for path in ("way-out/secret.txt", "way-out/nothing"):
        with pytest.raises(AccessRefused) as refused:
            workspace.resolve(path)
        said.append(str(refused.value).replace(path, ""))
    assert said[0] == said[1]


def test_what_is_new_is_placed_inside_only(workspace: Workspace, tmp_path: Path) -> None:
    assert workspace.place("docs/new/a.txt") == workspace.root / "docs" / "new" / "a.txt"
    (workspace.root / "dangling").symlink_to(tmp_path / "not-yet")
    (workspace.root / "sound").symlink_to(workspace.root / "later.txt")
    assert workspace.place("sound") == workspace.root / "later.txt"
    for path in ("../new", "way-out/new", "dangling", "nope/../../new", "/new", "~/new"):
        with pytest.raises(AccessRefused, match=r"outside|not relative"):
            workspace.place(path)
    assert workspace.place("docs/.new") == workspace.root / "docs" / ".new"
    closed = ".git/hooks/pre-commit docs/.git .GIT/config .ssh/config .env.local a/.env .npmrc/x"
    for path in (*closed.split(), "env-link", ".bash_history", ".github/secrets.yml"):
        with pytest.raises(AccessRefused, match="hidden"):
            workspace.place(path)
    for path in ("x" * 300, "a\ud800"):
        with pytest.raises(AccessRefused):
            workspace.write_bytes(workspace.place(path), b"", replace=True)


def test_a_file_is_written_whole_or_not_at_all(workspace: Workspace) -> None:
    place = workspace.place("new/folder/a.txt")
    workspace.write_bytes(place, b"one", replace=False)
    with pytest.raises(AccessRefused, match="already exists"):
        workspace.write_bytes(place, b"two", replace=False)
    place.chmod(0o640)
    workspace.write_bytes(place, b"three", replace=True)
    assert place.read_bytes() == b"three"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert [each.name for each in place.parent.iterdir()] == ["a.txt"]


def test_what_may_not_be_written_stays(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = workspace.root / "docs" / "plan.md"
    plan.chmod(0o444)
    with pytest.raises(AccessRefused, match="protected"):
        workspace.write_bytes(plan, b"mine", replace=True)
    for wrong in (workspace.root, workspace.root / "docs", workspace.root / "a\nb"):
        with pytest.raises(AccessRefused):
            workspace.write_bytes(wrong, b"mine", replace=True)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(confined, "write_whole", full)
    for name, replace in (("way-out-not/new.txt", False), ("docs/other.md", True)):
        with pytest.raises(AccessRefused, match="No space left"):
            workspace.write_bytes(workspace.place(name), b"mine", replace=replace)
    assert plan.read_text(encoding="utf-8") == "plan"
    assert [each.name for each in plan.parent.iterdir()] == ["plan.md"]


def test_only_regular_files_are_read(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "pipe")
    with pytest.raises(AccessRefused, match="not a file"):
        workspace.read_bytes(workspace.resolve("pipe"))
    with pytest.raises(AccessRefused, match="not a file"):
        workspace.read_bytes(workspace.resolve("docs"))


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
