"""Members of many rooms: `python -m benchmarks.serve.members INVITES FIRST EACH`, told by its pipes.

`INVITES` is a file with one invite per room; each room gets `EACH` members. Lines on the standard
input are orders, each is answered by one line:

- `paced SECONDS RATE`: members of all these rooms in turn say something, so many times a second in
  all; the answer has the times until each was heard by its author, in seconds.
- `flood SECONDS`: one member says something again and again, at most 32 at a time without an answer.
- `gaps`: wait until all members were away and are back; the answer has when each lost the
  connection, and when it was back, on the machine's monotonic clock.
"""

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import Delivery, EventsRecorded
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.protocol.events import MessagePosted
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.invite import Invite, read_invite
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.dialer import Dialer, Endpoint
from genie_core.room.transport.websocket import tls_connect

TEXT = "x" * 200
AT_ONCE = 64
"""Members who join at the same time."""

UNANSWERED = 32


class Member:
    """One member of one room."""

    def __init__(self, invite: Invite, name: str) -> None:
        places = [Endpoint(each, invite.pin) for each in invite.addresses]
        dialer = Dialer(places, tls_connect)
        self.client = RoomConnection(
            dialer,
            self._deliver,
            ClientHandshake(
                name,
                ticket=InviteSecret(invite.pass_id, invite.secret),
                digest=invite.room,
            ),
        )
        self.client.signer.state = self._state = RoomState()
        self.name = name
        self.latencies: list[float] = []
        self.away: list[float] = []
        self.back: list[float] = []
        self.heard = asyncio.Event()
        self.online = asyncio.Event()
        self.lost = asyncio.Event()
        self._sent: dict[str, float] = {}

    def say(self) -> None:
        self._sent[self.client.messages.send(TEXT)] = time.monotonic()

    @property
    def unanswered(self) -> int:
        return len(self._sent)

    def _deliver(self, delivery: Delivery) -> None:
        match delivery:
            case EventsRecorded(events=events):
                for event in events:
                    self._state.apply(event)
                    if isinstance(event.body, MessagePosted) and event.by == self.name:
                        self._answered(event.body.id)
            case ConnectionStatus(state=ConnectionState.ONLINE):
                self.back.append(time.monotonic())
                self.online.set()
            case ConnectionStatus() if self.online.is_set():
                self.away.append(time.monotonic())
                self.online.clear()
                self.lost.set()

    def _answered(self, id_: str) -> None:
        if (sent := self._sent.pop(id_, None)) is not None:
            self.latencies.append(time.monotonic() - sent)
            self.heard.set()


async def paced(members: Sequence[Member], seconds: float, rate: float) -> list[float]:
    began, turns = time.monotonic(), itertools.cycle(members)
    for number in range(int(seconds * rate)):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        next(turns).say()
    await asyncio.sleep(1.0)
    latencies = [each for member in members for each in member.latencies]
    for member in members:
        member.latencies.clear()
    return latencies


async def flood(member: Member, seconds: float) -> list[float]:
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        while member.unanswered < UNANSWERED:
            member.say()
        member.heard.clear()
        await member.heard.wait()
    latencies = list(member.latencies)
    member.latencies.clear()
    return latencies


async def gaps(members: Sequence[Member]) -> list[tuple[float, float]]:
    for member in members:
        await member.lost.wait()
        await member.online.wait()
    return [(member.away[0], member.back[-1]) for member in members]


async def run(invites: Sequence[str], first: int, each: int) -> None:
    members: list[Member] = []
    tasks = set[asyncio.Task[None]]()
    gate = asyncio.Semaphore(AT_ONCE)

    async def enter(member: Member) -> None:
        async with gate:
            tasks.add(asyncio.create_task(member.client.run()))
            await member.online.wait()

    async with asyncio.TaskGroup() as entering:
        for invite, number in itertools.product(map(read_invite, invites), range(each)):
            members.append(Member(invite, f"m{first + number}"))
            entering.create_task(enter(members[-1]))
    print("in", flush=True)
    while order := (await asyncio.to_thread(sys.stdin.readline)).split():
        match order:
            case ["paced", seconds, rate]:
                answer: object = await paced(members, float(seconds), float(rate))
            case ["flood", seconds]:
                answer = await flood(members[0], float(seconds))
            case ["gaps"]:
                answer = await gaps(members)
        print(json.dumps(answer), flush=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    file, begin, count = sys.argv[1:]
    asyncio.run(run(json.loads(Path(file).read_text()), int(begin), int(count)))
