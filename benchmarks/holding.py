"""What it takes to import, back up, restore and salvage a long session: seconds, and peak memory.

Each step runs in a process of its own. The import is of a ChatGPT export with many conversations; the
other steps are about one session of so many events.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.sessions.lore import conversation
from genie_core.assistant.secrets import OwnSecrets
from genie_core.backup.restoring import restore_backup
from genie_core.backup.writing import write_backup
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.salvage import salvage
from genie_core.settings.locations import Locations
from genie_import.detect import opened_history
from genie_import.writer import write_rooms

PASSPHRASE = "correct horse battery"  # noqa: S105 - of this benchmark
NOW = 1_795_000_000.0
LONG = 40
"""Messages of a conversation in the export."""


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks holding",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--events", type=int, default=100_000, metavar="N")
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(list(arguments))
    if options.step:
        STEPS[options.step](options.folder)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        _prepare(Path(folder), options.events)
        print(f"{options.events:,} events, {_sizes(Path(folder))}\n")
        for name in STEPS:
            print(_measured(name, Path(folder)), flush=True)
    return 0


def _measured(step: str, folder: Path) -> str:
    command = [sys.executable, "-m", "benchmarks", "holding", "--step", step]
    began = time.perf_counter()
    done = subprocess.run(
        [*command, "--folder", str(folder)], capture_output=True, text=True, check=True
    )
    took, peak = time.perf_counter() - began, int(done.stdout.split()[-1]) / 1024
    return f"{step:12}{took:>8.2f} s{peak:>10,.0f} MB at most"


def _prepare(folder: Path, count: int) -> None:
    saved = Catalog(_home(folder, "here").sessions).create("Bench", NOW, name="ann")
    with saved.log_path.open("wb") as log:
        for event in conversation(count):
            log.write(encode_line(event))
    _spoil(saved.log_path, folder / "spoilt")
    text = "what was said there, in a sentence or two of the usual length, which is about this"
    with (folder / "conversations.json").open("w") as out:
        for number in range(count // LONG):
            out.write(f"{',' if number else '['}{json.dumps(_conversation(number, text))}")
        out.write("]")


def _conversation(number: int, text: str) -> dict[str, object]:
    nodes = {
        str(n): {
            "parent": str(n - 1) if n else None,
            "message": {
                "id": f"{number}-{n}",
                "author": {"role": "assistant" if n % 2 else "user"},
                "create_time": NOW + n,
                "content": {"content_type": "text", "parts": [f"{text} {n}"]},
            },
        }
        for n in range(LONG)
    }
    return {"id": str(number), "title": f"About {number}", "mapping": nodes}


def _spoil(log: Path, target: Path) -> None:
    """Copy a log without every hundredth line, and with garbage in front of every seventh."""
    with log.open("rb") as lines, target.open("wb") as out:
        for number, line in enumerate(lines):
            if number % 100:
                out.write((b"\0" * 100 if number % 7 == 0 else b"") + line)


def _sizes(folder: Path) -> str:
    (log,) = _home(folder, "here").sessions.glob("*/events.jsonl")
    export = folder / "conversations.json"
    return f"{log.stat().st_size / 1e6:.0f} MB; export {export.stat().st_size / 1e6:.0f} MB"


def _home(folder: Path, name: str) -> Locations:
    home = folder / name
    return Locations(home / "config", home / "data", home / "log")


def _secrets(locations: Locations) -> OwnSecrets:
    return OwnSecrets("ann", locations.secrets, env={}, keyring=lambda: None)


def _import(folder: Path) -> None:
    with opened_history(folder / "conversations.json", "export") as export:
        write_rooms(Catalog(_home(folder, "imported").sessions), export, "ann", NOW)


def _back_up(folder: Path) -> None:
    here = _home(folder, "here")
    write_backup(here, _secrets(here), PASSPHRASE, folder / "backup.zip", NOW, force=True)


def _restore(folder: Path) -> None:
    there = _home(folder, "there")
    with (folder / "backup.zip").open("rb") as source:
        restore_backup(there, _secrets(there), PASSPHRASE, source, "backup.zip")


def _salvage(folder: Path) -> None:
    base = _home(folder, "salvaged").sessions
    (whole,) = _home(folder, "here").sessions.glob("*/events.jsonl")
    salvage(base, [folder / "spoilt", whole], "ann", NOW)


STEPS: dict[str, Callable[[Path], None]] = {
    "import": _import,
    "back up": _back_up,
    "restore": _restore,
    "salvage": _salvage,
}
