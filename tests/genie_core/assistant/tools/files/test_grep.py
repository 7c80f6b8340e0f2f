from pathlib import Path

import pytest

from genie_core.assistant.tools.files import walk
from genie_core.assistant.tools.files.files import MAX_MATCHES, Files, matching_lines
from genie_core.assistant.tools.files.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "a.py").write_text("import os\n\ndef one():\n    pass\n", encoding="utf-8")
    (root / "src" / "b.py").write_text("def two():\n    x = 1\n    y = 2\n", encoding="utf-8")
    (root / "src" / "deep" / "c.txt").write_text("def three\n", encoding="utf-8")
    (root / ".env").write_text("def four():\n", encoding="utf-8")
    (root / "photo.png").write_bytes(b"\x89PNG\x00def five")
    (tmp_path / "secret.py").write_text("def six():\n", encoding="utf-8")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    return Workspace.at(root).root


def search(
    root: Path,
    pattern: str,
    folder: str = "",
    files: str = "",
    case: bool = False,
    context: int = 0,
) -> str:
    return matching_lines(Workspace(root).packed, pattern, folder, files, case, context)


async def test_lines_are_found_by_pattern(root: Path) -> None:
    assert await Files(Workspace(root)).grep_files(r"^def (\w+)\(\):$") == (
        "2 lines match '^def (\\\\w+)\\\\(\\\\):$' (4 files searched):\n"
        "```\na.py:3: def one():\nsrc/b.py:1: def two():\n```"
    )


def test_where_and_how_to_search_can_be_said(root: Path) -> None:
    assert "src/b.py:1" in search(root, "DEF TWO", case=True)
    assert "No line matches" in search(root, "DEF TWO")
    assert "a.py" not in search(root, "def", "src")
    assert "(1 file searched)" in search(root, "def", "src/b.py")
    for files, found in (
        ("*.py", {"a.py", "src/b.py"}),
        ("**/*.py", {"a.py", "src/b.py"}),
        ("src/**/*.py", {"src/b.py"}),
        ("src/**", {"src/b.py", "src/deep/c.txt"}),
        ("c.*", {"src/deep/c.txt"}),
    ):
        lines = search(root, "^def", files=files).splitlines()[2:-1]
        assert {line.partition(":")[0] for line in lines} == found, files


def test_lines_around_are_shown_once(root: Path) -> None:
    (root / "n.txt").write_text("".join(f"{n}\n" for n in range(12)), encoding="utf-8")
    assert search(root, "^[359]$", files="n.txt", context=1).splitlines()[2:-1] == [
        "n.txt-3- 2", "n.txt:4: 3", "n.txt-5- 4", "n.txt:6: 5", "n.txt-7- 6", "--",
        "n.txt-9- 8", "n.txt:10: 9", "n.txt-11- 10",
    ]  # fmt: skip


def test_hits_and_lines_are_limited(root: Path) -> None:
    (root / "many.txt").write_text("tea\n" * 1_000, encoding="utf-8")
    said = search(root, "tea")
    assert said.startswith(f"More than {MAX_MATCHES} lines match")
    assert said.count("many.txt:") == MAX_MATCHES
    (root / "wide.txt").write_text("x" * 100_000 + "NEEDLE" + "x" * 100_000, encoding="utf-8")
    said = search(root, "NEEDLE")
    assert "NEEDLE" in said.splitlines()[2]
    assert len(said) < 500


@pytest.mark.parametrize(
    ("pattern", "folder", "why"),
    [("(", "", "not a valid regular expression"), ("x", "..", "outside"), ("x", "nope", "does not exist"),
     ("x", ".env", "hidden")],
)  # fmt: skip
def test_what_cannot_be_searched_is_said(root: Path, pattern: str, folder: str, why: str) -> None:
    said = search(root, pattern, folder)
    assert said.startswith("Cannot do that: ")
    assert why in said


async def test_endless_pattern_is_given_up(root: Path) -> None:
    (root / "trap.txt").write_text("a" * 60 + "b", encoding="utf-8")
    grep = Files(Workspace(root), seconds=0.5)
    said = await grep.grep_files("^(a+)+$", files="trap.txt")
    assert "took more than 0.5 seconds" in said
    assert "more than 1,000 characters" in await grep.grep_files("x" * 2_000)


def test_a_search_that_was_cut_says_where(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "many.txt").write_text("tea\n" * 1_000, encoding="utf-8")
    stopped = "The search stopped at `many.txt` after 100 matches; search a narrower folder."
    assert search(root, "tea").endswith(f"\n{stopped}")
    monkeypatch.setattr(walk, "MAX_SEARCHED_FILES", 20)
    for number in range(20):
        (root / f"f{number:02}.txt").touch()
    assert search(root, "coffee") == (
        "Up to where the search stopped, no line matches 'coffee' (20 files searched).\n"
        "The search stopped at `f19.txt` after 20 files; search a narrower folder."
    )
    assert search(root, "x", files="f19.txt") == "No line matches 'x' (1 file searched)."


def test_ignored_files_are_searched_only_by_name(root: Path) -> None:
    (root / ".gitignore").write_text("src/\n", encoding="utf-8")
    assert "src/b.py:" not in search(root, "def")
    assert "Excluded by .gitignore: `src/`." in search(root, "def")
    assert "src/b.py:1" in search(root, "def", "src")
    assert "src/b.py:1" in search(root, "def", "src/b.py")
