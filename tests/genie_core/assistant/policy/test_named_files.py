"""The files that a command names are found as the kernel finds them."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_core.assistant.policy.commands import analyse
from genie_core.assistant.policy.named_files import OpenFile, find_named, find_path
from genie_core.assistant.tools.files.workspace import Workspace

NAMES = ("a", "b", "c", "file")
PARTS = st.sampled_from([*NAMES, "..", ".", ""])
PATHS = st.lists(PARTS, min_size=1, max_size=6).map("/".join)
LINKS = st.lists(st.tuples(PATHS, PATHS), max_size=6)
PROC = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="no /proc on this system")


def make_maze(root: Path, links: list[tuple[str, str]]) -> None:
    for folder in ("a/b/c", "b/c", "c/a"):
        (root / folder).mkdir(parents=True)
        (root / folder / "file").write_text(folder)
    (root / "file").write_text("top")
    for name, target in links:
        place = Path(os.path.normpath(root / name.lstrip("/")))
        if place.parent.is_dir() and place.is_relative_to(root) and not os.path.lexists(place):
            place.symlink_to(target.lstrip("/") or ".")


def inode_of(folder: Path, path: str) -> tuple[int, int] | None:
    """Ask the kernel which file a path leads to from a folder."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        found = os.stat(path, dir_fd=opened)
    except OSError:
        return None
    finally:
        os.close(opened)
    return found.st_dev, found.st_ino


@given(LINKS, PATHS, st.sampled_from(["", "a", "a/b", "b/c"]))
@settings(max_examples=100, deadline=None)
def test_link_maze_resolves_like_kernel(
    links: list[tuple[str, str]], path: str, start: str
) -> None:
    path = path.lstrip("/") or "."
    with TemporaryDirectory() as name:
        root = Path(name).resolve()
        make_maze(root, links)
        folder = root / start
        expected = inode_of(folder, path)
        if expected is not None:
            found = find_path(folder, path)
            assert (found.stat().st_dev, found.stat().st_ino) == expected
            assert found == Path(os.path.realpath(folder / path))


@PROC
@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/cwd/x",
        "/proc/thread-self/cwd/x",
        "../../../../../../../../proc/self/cwd/x",
        "/proc/self/task/../cwd/x",
        "cwd/x",
        "/proc/self/root{folder}/x",
        "/proc/thread-self/../../cwd/x",
        "up/../x",
        "/dev/../proc/self/cwd/./x",
    ],
)
def test_proc_paths_belong_to_command(tmp_path: Path, path: str) -> None:
    folder = tmp_path.resolve() / "work"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "x").write_text("found")
    (folder / "cwd").symlink_to("/proc/self/cwd")
    (folder / "up").symlink_to("deep")
    path = path.format(folder=folder)
    read = [sys.executable, "-I", "-S", "-c", f"print(open({path!r}).read(), end='')"]
    assert subprocess.run(read, cwd=folder, capture_output=True, text=True).stdout == "found"
    assert find_path(folder, path) == folder / "x"


@pytest.mark.parametrize("path", ["/proc/self/fd/3", "/proc/1/root/x", "/proc/42/cwd/x", "fd/0"])
def test_open_files_of_processes_are_not_guessed(tmp_path: Path, path: str) -> None:
    (tmp_path / "fd").symlink_to("/proc/self/fd")
    with pytest.raises(OpenFile):
        find_path(tmp_path.resolve(), path)


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="too many links"):
        find_path(tmp_path.resolve(), "a")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("cp notes.md new.env", ["new.env"]),
        ("cp notes.md docs", ["docs/notes.md"]),
        ("cp -v a/x.env b/y.env docs", ["docs/x.env", "docs/y.env"]),
        ("mv notes.md new.env", ["notes.md", "new.env"]),
        ("touch docs/../new.env", ["new.env"]),
        ("touch link", ["notes.md", "link"]),
        ("rm -f link", ["notes.md", "link"]),
        ("mkdir -p a/b", ["a/b"]),
        ("cat notes.md", []),
    ],
)
def test_writing_commands_name_what_they_write(
    tmp_path: Path, text: str, written: list[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "notes.md").write_text("")
    (tmp_path / "link").symlink_to("notes.md")
    root = tmp_path.resolve()
    found = find_named(Workspace(root), analyse(text), "")
    assert sorted(found.writes) == sorted(root / each for each in written)
