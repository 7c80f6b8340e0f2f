from pathlib import Path

import pytest

from genie_core.assistant.tools.files import files as tools_files
from genie_core.assistant.tools.files.files import (
    MAX_CHARS,
    MAX_ENTRIES,
    MAX_HITS,
    MAX_LINES,
    Files,
)
from genie_core.assistant.tools.files.workspace import MAX_FILE_BYTES, Workspace
from genie_core.runtime.progress import Usage, What, reporting_to


class Heard:
    """Keeps what a tool reports to people."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def spent(self, usage: Usage) -> None:
        raise AssertionError(usage)

    def doing(self, what: What, detail: str) -> None:
        self.notes.append(f"{what}: {detail}")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "plan.md").write_text("one\ntwo TODO\nthree\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("todo: buy tea\n", encoding="utf-8")
    (tmp_path / ".env").write_text("TODO=1", encoding="utf-8")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\x00TODO")
    return Files(Workspace.at(tmp_path))


async def test_a_folder_is_listed_without_hidden_files(files: Files) -> None:
    assert await files.list_files() == (
        "The workspace has 3 entries:\n- docs/\n- notes.txt (14 bytes)\n- photo.png (9 bytes)"
    )
    assert "docs/plan.md" in await files.list_files("docs")


async def test_one_of_a_kind_is_counted_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    files = Files(Workspace.at(tmp_path))
    assert await files.list_files() == "The workspace has 1 entry:\n- a.txt (1 byte)"
    assert await files.read_file("a.txt", 2) == (
        "a.txt has 1 line; there are no lines to show from line 2."
    )
    assert await files.search_files("y") == "No line contains 'y' (1 file searched)."
    assert (await files.search_files("x")).startswith("1 line contains 'x' (1 file searched):")


async def test_listing_reveals_nothing_outside(
    files: Files, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_bytes(b"x" * 123)
    root = files.workspace.root
    (root / "a-folder").symlink_to(outside)
    (root / "a-secret").symlink_to(outside / "secret")
    (root / "gone").symlink_to(outside / "nothing")
    (root / "hidden").symlink_to(root / ".env")
    (root / "plan").symlink_to(root / "docs" / "plan.md")
    (root / "the-docs").symlink_to(root / "docs")
    listed = (await files.list_files()).splitlines()
    for name in ("a-folder", "a-secret", "gone", "hidden"):
        assert f"- {name} (a link that can't be followed)" in listed
    assert "- plan (19 bytes)" in listed
    assert "- the-docs/" in listed


async def test_a_long_listing_is_cut(files: Files) -> None:
    for n in range(MAX_ENTRIES + 5):
        (files.workspace.root / f"f{n}").touch()
    assert (await files.list_files()).endswith("- and 8 more")


async def test_a_file_is_read_by_lines(files: Files) -> None:
    assert await files.read_file("docs/plan.md", 2, 3) == (
        "docs/plan.md, lines 2 to 3 of 3:\n```\ntwo TODO\nthree\n```"
    )
    assert "there are no lines to show from line 9" in await files.read_file("docs/plan.md", 9)
    assert "there are no lines to show" in await files.read_file("docs/plan.md", 2, 1)


async def test_a_large_file_is_read_within_the_limits(files: Files) -> None:
    big = files.workspace.root / "big.txt"
    big.write_text("x\n" * MAX_FILE_BYTES, encoding="utf-8")
    said = await files.read_file("big.txt")
    assert f"lines 1 to {MAX_LINES}" in said
    assert "the rest of the file is too large to load" in said
    big.write_text("y" * MAX_FILE_BYTES, encoding="utf-8")
    assert len(await files.read_file("big.txt")) < MAX_CHARS + 100


async def test_a_file_cannot_close_the_fence_around_it(files: Files) -> None:
    (files.workspace.root / "evil.md").write_text("```\nout\n````\n", encoding="utf-8")
    assert (await files.read_file("evil.md")).endswith("\n`````")


async def test_lines_are_found_in_text_files_only(files: Files) -> None:
    assert await files.search_files("todo") == (
        "2 lines contain 'todo' (3 files searched):\n"
        "```\nnotes.txt:1: todo: buy tea\ndocs/plan.md:2: two TODO\n```"
    )
    assert "plan.md" in await files.search_files("TODO", "docs")
    assert await files.search_files("absent") == "No line contains 'absent' (3 files searched)."


async def test_hits_are_limited(files: Files) -> None:
    (files.workspace.root / "many.txt").write_text("tea\n" * 1_000, encoding="utf-8")
    said = await files.search_files("tea")
    assert said.startswith(f"More than {MAX_HITS} lines")
    assert said.count("many.txt:") == MAX_HITS
    assert said.endswith("at `many.txt` after 50 matches; search a narrower folder.")


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".env", "photo.png", "docs", "nope"])
async def test_unreadable_path_gets_sentence(files: Files, path: str) -> None:
    said = await files.read_file(path)
    assert said.startswith("Cannot do that: ")
    assert "TODO" not in said


async def test_listing_and_searching_are_confined_too(files: Files) -> None:
    assert "outside" in await files.list_files("..")
    assert "outside" in await files.search_files("x", "../..")
    assert "not a folder" in await files.list_files("notes.txt")
    assert "the text to search for is empty" in await files.search_files("  ")


async def test_ignored_entries_are_only_named(files: Files) -> None:
    root = files.workspace.root
    (root / ".gitignore").write_text("node_modules/\n*.log\n", encoding="utf-8")
    (root / "node_modules").mkdir()
    (root / "node_modules" / "todo.js").write_text("// TODO\n", encoding="utf-8")
    (root / "a.log").write_text("TODO\n", encoding="utf-8")
    said = await files.list_files()
    assert said.startswith("The workspace has 4 entries:\n- .gitignore (20 bytes)\n- docs/\n")
    assert said.splitlines()[-1].startswith("Excluded by .gitignore: `a.log`, `node_modules/`.")
    assert "todo.js" in await files.list_files("node_modules")
    assert "todo.js" not in (await files.search_files("todo")).replace("`node_modules/`", "")
    assert "node_modules/todo.js:1" in await files.search_files("todo", "node_modules")
    assert "a.log:1: TODO" in await files.search_files("todo", "a.log")
    assert "TODO" in await files.read_file("a.log")


async def test_cut_search_is_shown_to_both(tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text("tea\n" * (MAX_HITS + 1), encoding="utf-8")
    files = Files(Workspace.at(tmp_path))
    heard = Heard()
    with reporting_to(heard):
        said = await files.search_files("tea")
    stopped = "The search stopped at `many.txt` after 50 matches; search a narrower folder."
    assert said.endswith(f"```\n{stopped}")
    assert heard.notes == [f"note: {stopped.removesuffix('.')}"]


async def test_endless_patterns_are_given_up(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools_files, "SECONDS", 1.0)
    root = files.workspace.root
    (root / ".gitignore").write_text("a*" * 60 + "b\n", encoding="utf-8")
    (root / ("a" * 200)).touch()
    assert "took more than 1 seconds" in await files.search_files("x")
    assert "took more than 1 seconds" in await files.list_files()


@pytest.fixture
def tree(tmp_path: Path) -> Files:
    for name in ("src/user_control.py", "src/control.py", "docs/control.md", "src/deep/a.toml",
                 ".github/ci.yml", "node_modules/control.js", "prod.env", "-n.py", "new\nline.py"):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    return Files(Workspace.at(tmp_path))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("*.toml", ["src/deep/a.toml"]),
        ("src/**/*.py", ["src/control.py", "src/user_control.py"]),
        ("control.py", ["src/control.py", "src/user_control.py"]),
        ("usrctl", ["src/user_control.py"]),
        ("ci.yml", [".github/ci.yml"]),
        ("-n", ["-n.py"]),
        ("control", ["docs/control.md", "src/control.py", "src/user_control.py"]),
    ],
)
async def test_files_are_found_by_name(tree: Files, name: str, found: list[str]) -> None:
    said = (await tree.find_files(name)).splitlines()
    assert said[2 : said.index("```", 2)] == found
    assert said[-1].startswith("Left out as installed or generated: `node_modules/`.")


async def test_no_file_of_that_name_is_said(tree: Files) -> None:
    assert (await tree.find_files("nothing", "src")) == "No file is named 'nothing' (3 files looked at)."  # fmt: skip
    said = await tree.find_files("env")
    assert said.startswith("No file is named 'env'")
    assert "Left out as private: `prod.env`." in said
    assert "Left out for characters in their names: `new\\nline.py`." in said
    assert "is empty" in await tree.find_files(" ")
    assert "outside" in await tree.find_files("x", "..")
