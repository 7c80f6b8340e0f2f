"""Join a room by its invite, ask, allow the tool call, and leave with the answer."""

import asyncio
import sys
from pathlib import Path

from genie_core.room import (
    Answer,
    AnswerPosted,
    ApprovalRequested,
    EventsRecorded,
    RoomEvent,
    join_room,
)
from genie_core.settings.model import Settings


async def main(invite: str, home: Path) -> str:
    """Return what the member's own agent answers."""
    bodies: asyncio.Queue[object] = asyncio.Queue()

    def collect(happened: RoomEvent) -> None:
        if isinstance(happened, EventsRecorded):
            for event in happened.events:
                bodies.put_nowait(event.body)

    settings = Settings(workspace=str(home))
    room = await join_room(invite, collect, name="ben", home=home, settings=settings)
    room.messages.send("@genie run echo hello")
    try:
        while not isinstance(body := await bodies.get(), AnswerPosted):
            if isinstance(body, ApprovalRequested):
                room.approvals.answer(body.approval, Answer(allow=True))
        return body.text
    finally:
        await room.leave()


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], Path("ben"))))
