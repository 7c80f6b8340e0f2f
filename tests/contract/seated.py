"""A person without a screen, as a process of its own: for `tests.contract.member`.

The seat is the program's own. It is told what to do in lines of JSON on standard input, and tells
in such lines what happens, each with the moment `t` on the clock that all processes share.
"""

import asyncio
import functools
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

import genie_core.room.open.host
import genie_core.room.open.join
import genie_core.room.open.profile
import genie_core.room.open.route
from genie_core.assistant.config import AssistantConfig
from genie_core.datastore import DataStore
from genie_core.errors import GenieError
from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.events import (
    EventsRecorded,
    MessageRejected,
    Notice,
    OtherHostsChanged,
    PendingChanged,
    RoomEvent,
)
from genie_core.room.client.model import ConnectionState, ConnectionStatus, EngineStatus
from genie_core.room.engine.config import Engine, EngineLoader
from genie_core.room.files.transfer import Transfer
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import (
    JoinRoom,
    NewRoom,
    OpenRequest,
    RejoinRoom,
    ResumeRoom,
    after_handover,
    after_parting,
    to_take_over,
)
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import Unreachable
from genie_core.room.protocol.events import FileRef
from genie_core.room.protocol.frames import HostingAccepted, HostingOffered, JoinRequested
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.dialer import Backoff
from genie_core.room.transport.websocket import tls_connect
from genie_core.session import GroupSession
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import find_locations
from genie_core.settings.model import Settings
from genie_testing import agent_factory, ignore_all, reasoner_factory


def tell(on: str, **what: object) -> None:
    line = json.dumps({"on": on, "t": time.monotonic(), **what})
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Mouth:
    """A listener that tells everything at once."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    def __call__(self, happened: RoomEvent) -> None:
        match happened:
            case EventsRecorded(events=events):
                for event in events:
                    tell("event", **msgspec.to_builtins(event))
            case ConnectionStatus(state=state, detail=detail):
                tell("link", link=state.value, detail=detail)
                if state is ConnectionState.CLOSED:
                    self.closed.set()
                else:  # the way in may have led through more than one seat
                    self.closed.clear()
            case EngineStatus(state=engine):
                tell("engine", state=engine.value)
            case PendingChanged(pending=pending):
                tell("unsent", texts=[each.text for each in pending])
            case MessageRejected(message=rejected, reason=why):
                tell("rejected", text=rejected.text, why=why)
            case Notice(severity=severity, text=text):
                tell("notice", severity=severity.value, text=text)
            case JoinRequested():
                knock = msgspec.structs.asdict(happened)
                tell("knock", id=knock.pop("knock"), **knock)
            case HostingOffered(by=by):
                tell("offered", by=by)
            case HostingAccepted(name=name):
                tell("accepted", name=name)
            case Transfer():
                tell("transfer", **{**asdict(happened), "direction": happened.direction.value})
            case OtherHostsChanged(hosts=hosts):
                tell("rivals", hosts=hosts)


class Driver:
    """Carries out one command after the other."""

    def __init__(self, joined: JoinedRoom) -> None:
        self.joined = joined
        self.way: Callable[[JoinedRoom], OpenRequest | None] | None = None
        self._files: dict[str, FileRef] = {}

    async def do(self, command: str, fields: dict[str, Any]) -> object:
        return await getattr(self, f"do_{command}")(**fields)

    async def do_say(self, text: str, files: Sequence[str] = ()) -> None:
        self.joined.messages.send(text, files=[self._files[digest] for digest in files])

    async def do_say_now(self, text: str) -> None:
        self.joined.messages.send(f"{text} {time.monotonic()}")

    async def do_attach(self, path: str) -> str:
        file = await self.joined.files.attach(Path(path))
        self._files[file.digest] = file
        return file.digest

    async def do_file(self, digest: str) -> str:
        return str(self.joined.files.path(digest) or "")

    async def do_moderate(self, measure: Any, name: str, reason: str = "") -> bool:
        return self.joined.hosting.moderate(measure, name, reason=reason)

    async def do_admit(self, knock: int, allow: bool) -> bool:
        return self.joined.hosting.admit(knock, allow)

    async def do_offer(self, name: str) -> bool:
        return self.joined.hosting.offer(name)

    async def do_accept(self) -> bool:
        return self.joined.hosting.accept()

    async def do_hand_over(self) -> None:
        """Leave to somebody who accepted, and join the room there."""
        self.way = after_handover

    async def do_take_over(self) -> None:
        """Host the room from the own copy."""
        self.way = to_take_over

    async def do_invite(self) -> str:
        assert self.joined.hosting.invites is not None
        return self.joined.hosting.invites.invite

    async def do_renew(self, uses: int | None = None, lifetime: float | None = None) -> str:
        assert self.joined.hosting.invites is not None
        return self.joined.hosting.invites.renew(uses=uses, lifetime=lifetime)

    async def do_look(self) -> dict[str, Any]:
        state = self.joined.state
        return {
            "room": state.room,
            "title": state.title,
            "host": state.host,
            "pin": state.pin,
            "keys": state.keys,
            "here": [person.name for person in state.present()],
            "link": self.joined.connection.state.value,
        }


def opening_of(raw: dict[str, Any]) -> OpenRequest:
    kinds: dict[str, type[NewRoom | ResumeRoom | JoinRoom | RejoinRoom]]
    kinds = {"new": NewRoom, "resume": ResumeRoom, "join": JoinRoom, "rejoin": RejoinRoom}
    return kinds[raw.pop("kind")](**raw)


def quiet_engine(
    _config: AssistantConfig, place: Awaitable[SavedSession], **_options: Any
) -> EngineLoader:
    """An engine that ignores everything; the real one takes seconds to load."""

    async def load() -> Engine:
        saved = await place
        store = DataStore(saved.engine_path)
        deciding, agents = reasoner_factory(ignore_all), agent_factory()
        session = GroupSession(saved.metadata.id, deciding, agents, data_store=store)

        async def close() -> None:
            session.stop()
            await session.join()
            await store.aclose()

        return Engine(session, await session.remembered(), "quiet", offline=True, aclose=close)

    return load


async def commands() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    return reader


async def obey(line: bytes, driver: Driver) -> None:
    fields = json.loads(line)
    number, command = fields.pop("number"), fields.pop("do")
    try:
        tell("reply", number=number, result=await driver.do(command, fields))
    except GenieError as error:
        tell("reply", number=number, error=str(error))


async def live(entrance: RoomOpener, opening: OpenRequest) -> None:
    """Take a seat, and the next one where a seat ends with one, until the input ends."""
    reader = await commands()
    way: OpenRequest | None = opening
    while way is not None:
        mouth = Mouth()
        joined = await entrance.enter(way, mouth)
        assert isinstance(joined, JoinedRoom)
        tell("seated", room=joined.id, name=joined.name, address=joined.hosting.address)
        driver = Driver(joined)
        try:
            stays = await attend(driver, mouth, reader)
        finally:
            await joined.leave("the input ended")
        way = onwards(driver) if stays else None
        tell("goes on" if way is not None else "ended")


def onwards(driver: Driver) -> OpenRequest | None:
    """What the program's screen does when a seat has ended."""
    if driver.way is not None:
        return driver.way(driver.joined)
    return after_parting(driver.joined.ended) if driver.joined.ended is not None else None


async def attend(driver: Driver, mouth: Mouth, reader: asyncio.StreamReader) -> bool:
    """Obey as long as the seat lasts; no if the input ends before."""
    closed = asyncio.create_task(mouth.closed.wait())
    line = asyncio.create_task(reader.readline())
    try:
        while not closed.done() and driver.way is None:
            await asyncio.wait({line, closed}, return_when=asyncio.FIRST_COMPLETED)
            if line.done():
                if not line.result():
                    return False
                await obey(line.result(), driver)
                line = asyncio.create_task(reader.readline())
        return True
    finally:
        closed.cancel()
        line.cancel()


def keep_to(only: str) -> None:
    """Let there be one way to the host: whatever leads elsewhere leads nowhere."""

    async def connect(address: Address, pin: str) -> ClientConnection:
        if str(address) != only:
            raise Unreachable(str(address), "this network does not lead there")
        return await tls_connect(address, pin)

    for module in (genie_core.room.open.join, genie_core.room.open.route):
        mock.patch.object(module, "tls_connect", connect).start()


def main() -> None:
    told = json.loads(sys.argv[1])
    if told["only"]:
        keep_to(told["only"])
    if told["hurried"]:
        hurried = functools.partial(RoomConnection, backoff=Backoff(0.01, 0.05))
        for module in (genie_core.room.open.join, genie_core.room.open.host):
            mock.patch.object(module, "RoomConnection", hurried).start()
    mock.patch.object(genie_core.room.open.profile, "engine_loader", quiet_engine).start()
    settings = msgspec.convert(told["settings"], Settings)
    entrance = RoomOpener(told["name"], settings, find_locations({"GENIE_HOME": told["home"]}))
    try:
        asyncio.run(live(entrance, opening_of(told["opening"])))
    except GenieError as error:
        tell("refused", error=type(error).__name__, text=str(error))


if __name__ == "__main__":
    main()
