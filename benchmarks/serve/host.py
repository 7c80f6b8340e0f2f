"""A service in a process of its own: `python -m benchmarks.serve.host FOLDER PORT ROOMS LIMITS`.

Prints its invites as one line of JSON, and stops as for a restart when its standard input ends.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from genie_core.room.protocol.limits import Limits
from genie_core.settings.locations import Locations
from genie_serve.config import ServeConfig
from genie_serve.service import Service
from genie_tui.__main__ import tune_process


async def serve(folder: Path, port: int, rooms: int, limits: Limits) -> None:
    config = ServeConfig(listen="127.0.0.1", port=port, room=limits)
    service = Service(config, Locations(folder / "config", folder / "data", folder / "log"))
    await service.start()
    for number in range(len(service.rooms), rooms):
        await service.create(f"Room {number}")
    invites = [service.rooms[each].invite() for each in sorted(service.rooms)]
    print(json.dumps(invites), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await service.stop()


def main(arguments: Sequence[str]) -> None:
    tune_process()
    folder, port, rooms, limits = arguments
    decoded = msgspec.json.decode(limits, type=Limits)
    asyncio.run(serve(Path(folder), int(port), int(rooms), decoded))


if __name__ == "__main__":
    main(sys.argv[1:])
