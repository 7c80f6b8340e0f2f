"""The process that measures: one engine, one conversation, one line of JSON.

Imports nothing but the standard library and the engine, since it also runs where only the other
engine is installed.
"""

import argparse
import asyncio
import gc
import tempfile
from pathlib import Path

from benchmarks.engine.drive import measure
from benchmarks.engine.package import OURS, load


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine.child")
    parser.add_argument("package")
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--settle", action="store_true")
    parser.add_argument("--sync")
    args = parser.parse_args()
    package = load(args.package)
    gc.collect()
    gc.freeze()  # how much a package imports is no cost of a message
    with tempfile.TemporaryDirectory(dir=args.folder, prefix="genie-bench-") as folder:
        run = measure(
            package,
            Path(folder),
            args.messages,
            args.in_flight,
            args.limit,
            settle=args.settle,
            sync=args.sync if args.package == OURS else None,
        )
        print(asyncio.run(run).to_json())


if __name__ == "__main__":
    main()
