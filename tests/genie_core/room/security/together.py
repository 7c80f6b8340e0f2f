"""Run one program in several processes that begin its last line at the same moment."""

import subprocess
import sys
from pathlib import Path

from tests.limits import scaled


def run_together(imports: str, line: str, path: Path, processes: int) -> set[str]:
    """Return the different outputs; `line` finds the path in `sys.argv[1]`."""
    code = f"import sys; {imports};print('ready', flush=True); sys.stdin.readline();{line}"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    for each in started:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in started:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    return {each.communicate(timeout=scaled(60))[0] for each in started}
