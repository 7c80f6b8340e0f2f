"""Searching a workspace with many files, with ripgrep if it is installed, and without."""

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from genie_core.assistant.tools.files.files import matching_lines
from genie_core.assistant.tools.files.workspace import Workspace

PATTERNS = (r"needle_here_\d+", r"needl.*re_[0-9]+$|zzz")
"""One with a literal that every match contains, and one without."""

FILES_IN_FOLDER = 45
LINES = 150


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks file_search", description=__doc__)
    parser.add_argument("--folders", type=int, default=200, help="folders of 45 files")
    folders = parser.parse_args(list(arguments)).folders
    ripgrep = shutil.which("rg")
    with tempfile.TemporaryDirectory() as folder:
        root = _tree(Path(folder), folders)
        for pattern in PATTERNS:
            for program in ("", *([ripgrep] if ripgrep else [])):
                seconds, told = _searched(root, pattern, program)
                print(f"{pattern:24} {program or 'Python':24} {seconds:6.2f} s  {told}")
    return 0


def _tree(root: Path, folders: int) -> Path:
    words = [f"word{number}" for number in range(5_000)]
    choose = random.Random(1).choices
    for number in range(folders):
        below = root / f"package{number // 20}" / f"module{number % 20}"
        below.mkdir(parents=True)
        for file in range(FILES_IN_FOLDER):
            lines = (" ".join(choose(words, k=8)) for _ in range(LINES))
            (below / f"file{file}.py").write_text("\n".join(lines))
    (root / "last.py").write_text("x = needle_here_12\n")
    (root / ".gitignore").write_text("*.pyc\nbuild/\n/dist\n*.log\n")
    return root


def _searched(root: Path, pattern: str, ripgrep: str) -> tuple[float, str]:
    packed = Workspace.at(root).packed
    begun = time.perf_counter()
    result = matching_lines(packed, pattern, "", "", False, 0, ripgrep)
    return time.perf_counter() - begun, result.partition("\n")[0]
