"""Write two rooms in each format: one of signed messages, and one with the work of agents, unsigned.

Each format is written by a process of its own. `memory` is the most that the process had, beyond what
it had before the export.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.proofs import START, signed_log
from benchmarks.sessions.lore import save_room
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.export.writer import write_export
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import SavedSession


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks exports",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--entries", type=int, default=100_000, metavar="N")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write here, and keep it")
    options = parser.parse_args(list(arguments))
    count: int = options.entries
    with tempfile.TemporaryDirectory() as scratch:
        rooms = _signed(Path(scratch), count), save_room(Path(scratch), "Talk", count)
        out: Path = options.keep or Path(scratch) / "out"
        out.mkdir(parents=True, exist_ok=True)
        print(f"{count:,} entries\n")
        print(f"{'':14}{'seconds':>10}{'memory':>12}{'files':>8}{'bytes':>14}{'largest':>14}")
        for saved in rooms:
            for ending in ("html", "md", "jsonl"):
                _write(saved.folder, out / f"{saved.metadata.title.lower()}.{ending}")
    return 0


def _signed(base: Path, count: int) -> SavedSession:
    saved = Catalog(base).create("Signed", START, host="ann", name="ann")
    saved.log_path.write_bytes(b"".join(map(encode_line, signed_log(count, founded=True))))
    return saved


def _write(folder: Path, path: Path) -> None:
    before = set(path.parent.rglob("*"))
    run = [sys.executable, "-m", "benchmarks.exports", str(folder), str(path)]
    done = subprocess.run(run, check=True, capture_output=True, text=True)
    seconds, memory = map(float, done.stdout.split())
    new = [each for each in path.parent.rglob("*") if each.is_file() and each not in before]
    sizes = [each.stat().st_size for each in new]
    row = f"{path.name:14}{seconds:>8.1f} s{memory:>9.1f} MB{len(sizes):>8}"
    print(f"{row}{sum(sizes):>14,}{max(sizes):>14,}", flush=True)


def _child(folder: str, path: str) -> None:
    saved = SavedSession.load(Path(folder))
    with saved.reader() as log:  # writes the index, as a session that was once opened has it
        log.state()
    had, began = _peak(), time.perf_counter()
    write_export(saved, Path(path), force=True)
    print(f"{time.perf_counter() - began:.2f} {_peak() - had:.1f}")


def _peak() -> float:
    """Return the most memory that this process had so far, in megabytes."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    _child(*sys.argv[1:])
