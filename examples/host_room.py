"""Host a room without a screen: print its invite, then what is said."""

import asyncio
from pathlib import Path

from genie_core.room import AnswerPosted, EventsRecorded, MessagePosted, RoomEvent, host_room
from genie_core.settings.model import Settings


def show(happened: RoomEvent) -> None:
    """Print messages and answers as the log of the room gets them."""
    if isinstance(happened, EventsRecorded):
        for event in happened.events:
            if isinstance(event.body, MessagePosted | AnswerPosted):
                print(f"{event.by}: {event.body.text}")


async def main(home: Path, settings: Settings | None = None) -> None:
    """Host the room until the program is interrupted."""
    room = await host_room("Standup", show, name="ann", home=home, settings=settings)
    print(room.hosting.invites.invite if room.hosting.invites else "")
    try:
        await asyncio.Event().wait()
    finally:
        await room.leave()


if __name__ == "__main__":
    asyncio.run(main(Path("ann")))
