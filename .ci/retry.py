"""Run the tests with pytest's arguments, and each failed one once more, alone.

A test that passes then is named FLAKY, and the exit code is 0 if all do. An error of pytest
itself is final, and so are more failures than `MOST`.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

MOST: Final = 20
"""Failed tests that are repeated; more have a common cause."""

FAILED: Final = 1
"""The exit code of pytest after a whole run in which tests failed."""

ALONE: Final = ("--last-failed", "--last-failed-no-failures=none", "-n", "0", "--dist", "no")


def main() -> int:
    """Run all tests and repeat the failed ones; returns 0 if each test passed at last."""
    with tempfile.TemporaryDirectory() as cache:
        code = pytest(cache, sys.argv[1:])
        failed = last_failed(cache)
        if code != FAILED or not failed:
            return code
        if len(failed) > MOST:
            say(f"{len(failed)} tests failed, more than {MOST}: none is repeated")
            return code
        say(f"\nOnce more, alone: {len(failed)} failed")
        again = pytest(cache, [*sys.argv[1:], *ALONE])
        failed_again = last_failed(cache) if again == FAILED else failed if again else []
    for name in failed:
        say(f"{'FAILED TWICE' if name in failed_again else 'FLAKY'} {name}")
    return again


def pytest(cache: str, arguments: Sequence[str]) -> int:
    """Run pytest, which notes the failed tests in a cache of its own; returns its exit code."""
    command = [sys.executable, "-m", "pytest", *arguments, "-o", f"cache_dir={cache}"]
    return subprocess.run(command, check=False).returncode


def last_failed(cache: str) -> list[str]:
    """Read the ids of the tests that failed in the last run."""
    noted = Path(cache, "v", "cache", "lastfailed")
    return sorted(json.loads(noted.read_text())) if noted.exists() else []


def say(line: str) -> None:
    """Print a line before the output of the next program."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
