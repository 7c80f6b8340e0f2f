"""How long a service takes until members can come to all of its rooms, and the memory it needs.

Rooms of signed messages are written first. The service then starts without the indexes that stand
beside logs, and twice after a stop, which has written them. `--all` opens every room at the start.
"""

import argparse
import asyncio
import logging
import math
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

from benchmarks.proofs import signed_log
from genie_core.room.protocol.events import RoomCreated
from genie_core.room.security.identity import load_identity
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.settings.locations import Locations
from genie_serve import service
from genie_serve.config import ServeConfig
from genie_serve.service import Service

NAME: Final = "service"
NOW: Final = 1_795_000_000.0


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks cold_start",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rooms", type=int, default=40, metavar="N")
    parser.add_argument("--messages", type=int, default=2_000, metavar="N")
    parser.add_argument("--all", action="store_true", help="open every room at the start")
    options = parser.parse_args(list(arguments))
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        key = base / "host.key"
        load_identity(key)
        with ProcessPoolExecutor() as pool:
            list(pool.map(partial(_write_room, base, options.messages), range(options.rooms)))
        print(
            f"{options.rooms} rooms of {options.messages:,} messages, {_memory():.0f} MB before\n"
        )
        opening = math.inf if options.all else service.OPENING
        with patch.object(service, "OPENING", opening):
            asyncio.run(_measure("without any index", base))
            asyncio.run(_measure("after a stop", base))
            asyncio.run(_measure("after a stop, again", base))
    return 0


async def _measure(what: str, base: Path) -> None:
    config = ServeConfig(listen="127.0.0.1", port=0, key=base / "host.key")
    began, used = time.perf_counter(), time.process_time()
    serving = Service(config, _places(base))
    await serving.start()
    took, used = time.perf_counter() - began, time.process_time() - used
    count = len(serving.rooms)
    await serving.stop()
    print(f"{what:24}{took:>8.1f} s, {used:.1f} s of a processor, {count} open; {_memory():.0f} MB")
    sys.stdout.flush()


def _write_room(base: Path, count: int, number: int) -> None:
    saved = Catalog(_places(base).sessions).create(f"Bench {number}", NOW, host=NAME, name=NAME)
    events = signed_log(count, founded=True, host_name=NAME, host=load_identity(base / "host.key"))
    created = events[0].body
    if isinstance(created, RoomCreated):
        saved.update(id=created.room, founding=created.founding)
    with saved.log_path.open("wb") as log:
        log.writelines(map(encode_line, events))


def _places(base: Path) -> Locations:
    return Locations(base / "config", base / "data", base / "log")


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
