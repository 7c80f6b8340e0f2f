"""What the numbers depend on besides the code."""

import os
import platform
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Final

_SYNCS: Final = 50
_LINE: Final = b"x" * 200 + b"\n"


def facts(folder: Path) -> Iterator[str]:
    """Describe the machine, and the disk that holds a folder, one line each."""
    load = os.getloadavg()[0]
    yield (
        f"{os.cpu_count()} cores ({platform.machine()}), load {load:.1f} before the first run, "
        f"{platform.python_implementation()} {platform.python_version()}, "
        f"{platform.system()} {platform.release()}"
    )
    yield f"{folder} is {_file_system(folder)}; a synced append of 200 bytes takes {_sync(folder)}"
    if commit := _commit():
        yield f"genie-tui at {commit}"


def _file_system(folder: Path) -> str:
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "on an unknown file system"
    fields = [each.split() for each in mounts]
    holding = [each for each in fields if folder.resolve().is_relative_to(each[1])]
    return max(holding, key=lambda each: len(each[1]))[2]


def _sync(folder: Path) -> str:
    times = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(_SYNCS):
            began = perf_counter()
            file.write(_LINE)
            os.fsync(file.fileno())
            times.append(perf_counter() - began)
    return f"{statistics.median(times) * 1e6:,.0f} µs (median of {_SYNCS})"


def _commit() -> str | None:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(
            command,
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
