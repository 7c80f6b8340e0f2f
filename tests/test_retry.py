"""Failed tests of a change's check run once more, alone."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.limits import scaled

SCRIPT: Final = Path(__file__).parents[1] / ".ci" / "retry.py"

PASSES: Final = "def test_passes(): pass\n"
FAILS: Final = "def test_fails(): assert False\n"
FAILS_ONCE: Final = """
import pathlib, pytest
@pytest.mark.parametrize("word", ["a b[c]"])
def test_fails_once(word):
    there = pathlib.Path(__file__).with_name("ran")
    seen = there.exists()
    there.touch()
    assert seen
"""


def run(folder: Path, tests: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(tests)
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=scaled(120),
        check=False,
    )


@pytest.mark.parametrize("jobs", ["0", "2"])
def test_test_that_passes_alone_is_flaky(tmp_path: Path, jobs: str) -> None:
    done = run(tmp_path, PASSES + FAILS_ONCE, "-n", jobs)
    assert done.returncode == 0, done.stdout
    assert "1 failed, 1 passed in" in done.stdout
    assert done.stdout.splitlines()[-1] == "FLAKY test_it.py::test_fails_once[a b[c]]"


def test_test_that_fails_twice_is_red(tmp_path: Path) -> None:
    done = run(tmp_path, FAILS + FAILS_ONCE)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2:] == [
        "FAILED TWICE test_it.py::test_fails",
        "FLAKY test_it.py::test_fails_once[a b[c]]",
    ]


def test_passing_run_is_not_repeated(tmp_path: Path) -> None:
    done = run(tmp_path, PASSES)
    assert (done.returncode, done.stdout.count(" in 0.")) == (0, 1)


def test_unreadable_tests_are_red(tmp_path: Path) -> None:
    assert run(tmp_path, "def test_it(:\n").returncode == 2


def test_many_failures_are_not_repeated(tmp_path: Path) -> None:
    many = "\n".join(f"def test_{each}(): assert False" for each in range(21))
    done = run(tmp_path, many)
    assert done.returncode == 1
    assert "21 tests failed" in done.stdout
    assert "FLAKY" not in done.stdout
