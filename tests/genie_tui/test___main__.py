"""The program as its own process, which `genie_tui.__main__` is."""

import os
import subprocess
import sys
from pathlib import Path

from tests.limits import scaled


def thresholds(code: str, home: Path) -> list[int]:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import gc, sys\n{code}\nprint(*gc.get_threshold(), file=sys.stderr)",
        ],
        capture_output=True,
        text=True,
        timeout=scaled(60),
        env={**os.environ, "GENIE_HOME": str(home)},
        check=True,
    )
    return [int(word) for word in done.stderr.split()]


def test_only_program_relaxes_gc(tmp_path: Path) -> None:
    own = thresholds("import genie_tui.__main__, genie_tui.cli.main", tmp_path)
    assert own == thresholds("", tmp_path)
    programs = thresholds(
        "from genie_tui.__main__ import run\nsys.argv[1:] = ['sessions', 'list']\nassert run() == 0",
        tmp_path,
    )
    assert programs[2] > own[2]  # the oldest generation, whose collection takes the longest
