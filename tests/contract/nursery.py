"""People who talk without end, each a real process that is there at once: for `test_crash`.

This process loads the program and forks itself for each of them, as told by lines of JSON on
standard input. All of them tell what they hear on one pipe, each line in one write, so that what
was told is told whatever becomes of them.
"""

import asyncio
import functools
import json
import os
import signal
import sys
import traceback
from typing import Any, NoReturn
from unittest import mock

import msgspec

import genie_core.room.open.host
import genie_core.room.open.join
from genie_core.errors import GenieError
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import EventsRecorded, PendingChanged, RoomEvent
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom, NewRoom, RejoinRoom, ResumeRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.codec import event_mark
from genie_core.room.transport.dialer import Backoff
from genie_core.settings.locations import find_locations
from genie_core.settings.model import Settings

WAITING = 4
"""So many messages of one person are under way at any time."""

PIECE = 100
"""So many bytes the disk takes at once, so that a kill finds lines that are not finished."""

OPENINGS = {"new": NewRoom, "join": JoinRoom, "rejoin": RejoinRoom, "resume": ResumeRoom}


_write = os.write


def tell(*what: object) -> None:
    _write(1, f"{' '.join(map(str, what))}\n".encode())


class Ear:
    """A listener that tells number and checksum of every event."""

    def __init__(self, run: int) -> None:
        self._run = run
        self.changed = asyncio.Event()

    def __call__(self, happened: RoomEvent) -> None:
        match happened:
            case EventsRecorded(events=events):
                for event in events:
                    tell(self._run, "heard", event.seq, event_mark(event))
            case PendingChanged():
                self.changed.set()


async def talk(run: int, entrance: RoomOpener, opening: Any) -> None:
    """Say one thing after the other, until SIGTERM; then leave in good order."""
    ear, number = Ear(run), 0
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)  # type: ignore[union-attr]
    joined = await entrance.enter(opening, ear)
    assert isinstance(joined, JoinedRoom)
    tell(run, "seated", joined.saved)
    try:
        while True:
            while len(joined.messages.pending) < WAITING:
                number += 1
                joined.messages.send(f"{run} {number} {'x' * (number * 37 % 300)}")
            ear.changed.clear()
            await ear.changed.wait()
    except asyncio.CancelledError:
        await joined.leave()


def live(run: int, name: str, home: str, kind: str, opening: dict[str, Any], settings: Any) -> None:
    chosen = msgspec.convert(settings, Settings)
    entrance = RoomOpener(name, chosen, find_locations({"GENIE_HOME": home}))
    try:
        asyncio.run(talk(run, entrance, OPENINGS[kind](**opening)))
        tell(run, "ended")
    except GenieError as error:
        tell(run, "failed", error)


def born(**told: Any) -> NoReturn:
    """Live one life in a process that is a copy of this one."""
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        live(**told)
    except BaseException as error:  # nothing of the parent may run on in here
        traceback.print_exception(error)
        tell(told["run"], "failed", repr(error))
    os._exit(0)


def main() -> None:
    hurried = functools.partial(RoomConnection, backoff=Backoff(0.01, 0.05))
    for module in (genie_core.room.open.join, genie_core.room.open.host):
        mock.patch.object(module, "RoomConnection", hurried).start()
    mock.patch.object(genie_core.room.open.host, "engine_for", return_value=None).start()
    mock.patch.object(os, "write", lambda file, data: _write(file, data[:PIECE])).start()
    children: dict[int, int] = {}
    for line in sys.stdin:
        for told in json.loads(line).get("begin", ()):
            children[told["run"]] = os.fork() or born(**told)
        for number in (signal.SIGKILL, signal.SIGTERM):
            runs = json.loads(line).get(number.name, ())
            for run in runs:
                os.kill(children[run], number)
            for run in runs:
                os.waitpid(children.pop(run), 0)
                tell(run, "gone")
    for child in children.values():
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
