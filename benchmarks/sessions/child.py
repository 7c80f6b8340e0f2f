"""The process that measures one thing and prints it as JSON: `python -m benchmarks.sessions.child`."""

import argparse
import json
import os
from pathlib import Path
from typing import NoReturn

from benchmarks.engine.usage import peak_memory


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sessions.child")
    parser.add_argument("part", choices=["append", "log", "screen", "search"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", nargs="?", default="")
    parser.add_argument("--way", default="")
    parser.add_argument("--seconds", type=float, default=0.0)
    args = parser.parse_args()
    tell(**measured(args))


def measured(args: argparse.Namespace) -> dict[str, float]:
    """What is imported counts as memory, so that each part imports its own."""
    if args.part == "append":
        from benchmarks.sessions.appends import STORES, measure_appends

        store = STORES[args.what](args.folder)
        try:
            return {"rate": measure_appends(store, args.way, args.seconds)}
        finally:
            store.close()
    if args.part == "search":
        from benchmarks.sessions.searches import measure_search

        return measure_search(args.folder, Path(args.what))
    from genie_tui.__main__ import tune_process  # as the program itself does

    tune_process()
    from benchmarks.sessions.opens import measure_log, measure_screen

    if args.part == "screen":
        measure_screen(args.folder, args.what, shown)
    return {"seconds": measure_log(args.folder / "data" / "sessions" / args.what)}


def shown(seconds: float) -> NoReturn:
    """Tell it and end at once: how a room is left is not measured here."""
    tell(seconds=seconds)
    os._exit(0)


def tell(**figures: float) -> None:
    print(json.dumps({**figures, "memory": peak_memory()}), flush=True)


if __name__ == "__main__":
    main()
