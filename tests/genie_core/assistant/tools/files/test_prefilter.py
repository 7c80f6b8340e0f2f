import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.tools.files.files import lines_with, matching_lines
from genie_core.assistant.tools.files.prefilter import (
    FOLDING_TO_ASCII,
    find_ripgrep,
    literal_of,
    literal_of_text,
)
from genie_core.assistant.tools.files.workspace import MAX_FILE_BYTES, Workspace

RIPGREP = shutil.which("rg") or ""
needs_ripgrep = pytest.mark.skipif(not RIPGREP, reason="ripgrep is not installed")

PIECES = [*"abKsi0_ -/|", r"\.", r"\w", r"\(", r"\b", ".", "[ab]", "[^a]", "[]x]", "(ab)", "(?:s)",
          "a|b", "(?i)", "*", "?", "+", "{2}", "{0,1}", "^", "$", "(?=a)", "(", ")", "(?#", "(?:", "(?i:", "{", "}", "[", "]", "(?x)", "\\", "é", "ß"]  # fmt: skip


@pytest.mark.filterwarnings("ignore::FutureWarning")
@given(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.text("abBkKsSiI0_ -/().éß\u212aſıxﬁ", max_size=12),
    st.booleans(),
)
def test_every_match_contains_the_literal(pattern: str, line: str, ignore_case: bool) -> None:
    try:
        expression = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except re.error:
        return
    if expression.search(line):
        assert literal_of(pattern, ignore_case=ignore_case).may_match(line.encode())


@given(st.text("ASKsfilß ﬁſtT\u212a", max_size=6), st.text("ASKsfilß ﬁſtT\u212a", max_size=12))
def test_matching_line_contains_literal(text: str, line: str) -> None:
    if text.casefold() in line.casefold():
        assert literal_of_text(text.casefold()).may_match(line.encode())


def test_all_ascii_folding_is_known() -> None:
    beyond = map(chr, range(128, 0x110000))
    assert set(FOLDING_TO_ASCII) == {
        each for each in beyond if any(one.isascii() for one in each.casefold())
    }


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [("def \\w+_name\\(", "_name("), ("colou?r", "colo"), ("ab+c", "ab"), ("x{3}yz", "yz"),
     ("[abc]lmn", "lmn"), ("(opt)?must", "must"), ("a|b", "a"), ("a|", ""), ("[|]x", "x"), ("(?i)abc", ""), ("", "")],
)  # fmt: skip
def test_the_longest_literal_is_taken(pattern: str, literal: str) -> None:
    assert literal_of(pattern, ignore_case=False).text == literal


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    files: dict[str, bytes] = {
        "src/a.py": b"import os\nTODO = 1\n", "src/deep/b.py": b"# todo: later\n",
        "--pre=x": b"TODO of an option\n", "-e": b"TODO\n", "new\nline.txt": b"TODO in odd name\n",
        "gr\u00fc\u00dfe.txt": "Straße TODO\n".encode(), "mark.txt": b"\xef\xbb\xbfTODO marked\n",
        "latin.txt": b"TODO \xfc\n", "zero.bin": b"TODO\0TODO\n", "cr.txt": b"TODO\rTODO\r\n",
        "big.txt": b"x" * MAX_FILE_BYTES + b"\nTODO\n", "node_modules/x.js": b"TODO\n",
        "ignored/y.txt": b"TODO\n", ".gitignore": b"ignored/\n", ".ignore": b"src/\n",
        ".env": b"TODO=secret\n", "server.key": b"TODO\n", ".mine": b"TODO\n",
        "utf16.txt": "TODO\n".encode("utf-16"), "empty": b"",
    }  # fmt: skip
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / os.fsdecode(b"\xff\xfe.txt")).write_bytes(b"TODO in a name that is no text\n")
    (tmp_path / "outside.txt").write_text("TODO of the owner\n")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "loop").symlink_to(root)
    return Workspace.at(root).root


@needs_ripgrep
@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize(
    "pattern",
    ["TODO", "todo", "^TODO$", "T.DO", "TO+DO", "TODO|os", "later|nowhere", "(a|TODO|b)x?", "(?i)todo", "--pre", "-e", "stra", "\\0",
     "STRASSE", "n o", "^$", "x\nTODO", "TODO .ü", "in .* name"],
)  # fmt: skip
def test_ripgrep_changes_no_result_of_a_pattern(
    root: Path, pattern: str, ignore_case: bool
) -> None:
    for folder, files in (("", ""), ("src", "*.py"), ("ignored", ""), ("-e", ""), (".mine", "")):
        given_ = (Workspace(root).packed, pattern, folder, files, ignore_case, 1)
        assert matching_lines(*given_, RIPGREP) == matching_lines(*given_)


@needs_ripgrep
@pytest.mark.parametrize(
    "text", ["todo", "TODO", "strasse", "-e", "--pre=cat", "of the owner", "x", "ü", "secret"]
)
def test_ripgrep_changes_no_result_of_a_text(root: Path, text: str) -> None:
    packed = Workspace(root).packed
    assert lines_with(packed, "", text, RIPGREP) == lines_with(packed, "", text)
    assert "owner:" not in lines_with(packed, "", text, RIPGREP)


@pytest.mark.parametrize(
    "script",
    ["exit 2", "sleep 60", "kill -9 $$", "printf '../outside.txt\\0/etc/passwd\\0'; exit 0"],
)
def test_bad_ripgrep_reveals_nothing_else(
    root: Path, tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_core.assistant.tools.files.prefilter.RIPGREP_SECONDS", 0.2)
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    said = matching_lines(Workspace(root).packed, "TODO", "", "", False, 0, str(program))
    assert "of the owner" not in said
    assert "root:" not in said
    assert ("src/a.py:2" in said) == ("exit 0" not in script)


def test_a_program_of_the_workspace_is_not_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (root, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "rg").write_text("#!/bin/sh\n")
        (folder / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", f".:{root}")
    assert find_ripgrep(root) == ""
    monkeypatch.setenv("PATH", f"{root}:{tmp_path / 'bin'}")
    assert find_ripgrep(root) == str(tmp_path / "bin" / "rg")


def test_a_huge_file_holds_up_no_search(root: Path) -> None:
    with (root / "huge.bin").open("wb") as huge:
        huge.truncate(200_000_000_000)  # a sparse file
    said = matching_lines(Workspace(root).packed, "TODO", "", "", False, 0, RIPGREP)
    assert "src/a.py:2" in said
    assert "Searched only the first 2 MB of `big.txt`, `huge.bin`." in said
