"""A server that is measured, in a process of its own: `python -m benchmarks.room.serve`.

Prints its port, and ends when its standard input does.
"""

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from websockets.asyncio.server import ServerConnection, broadcast, serve

from benchmarks.room.limits import LIMITS
from benchmarks.room.plan import ROOM, Plan
from genie_core.room.security.certificate import Certificate, load_certificate
from genie_core.room.security.founding import found_room, room_id
from genie_core.room.security.identity import Identity
from genie_core.room.server.server import RoomServer
from genie_core.room.server.setup import RoomSetup
from genie_core.sessions.log.writer import EventLog


async def serve_room(plan: Plan, folder: Path) -> None:
    """A room as it is, with its log on a disk."""
    with EventLog.open(folder / "events.jsonl").log as log:
        identity = Identity.generate()
        founding = found_room(identity, "bench", "Bench")
        room = RoomServer(
            [],
            log.append,
            RoomSetup(
                room_id(founding), "Bench", "host", identity, founding=founding, limits=LIMITS
            ),
            certificate=_certificate(folder),
        )
        async with room:
            address = await room.listen(port=0)
            await _until_told(address.port)


async def serve_broadcast(plan: Plan, folder: Path) -> None:
    """The least that a server can do: one frame per message, to everybody, from memory."""
    everybody: set[ServerConnection] = set()

    async def attend(connection: ServerConnection) -> None:
        everybody.add(connection)
        try:
            async for message in connection:
                broadcast(everybody, message)
        finally:
            everybody.discard(connection)

    context = _certificate(folder).server_context()
    async with serve(attend, "127.0.0.1", 0, ssl=context, compression=None) as server:
        await _until_told(next(iter(server.sockets)).getsockname()[1])


def _certificate(folder: Path) -> Certificate:
    return load_certificate(folder / "host.pem", datetime.now(UTC))


async def _until_told(port: int) -> None:
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.readline)


def main(arguments: Sequence[str]) -> None:
    plan, folder = Plan.from_json(arguments[0]), Path(arguments[1])
    run = serve_room if plan.subject == ROOM else serve_broadcast
    asyncio.run(run(plan, folder))


if __name__ == "__main__":
    main(sys.argv[1:])
