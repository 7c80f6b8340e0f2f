"""Putting a seat together: a saved room, a server or a connection, and an engine.

This module imports all of the room and nothing of the vendor SDKs; those come with the engine, in
a thread, when the person is in the room already.
"""

import asyncio
import logging
import platform
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from genie_core.archive.catalogue import Catalogue
from genie_core.archive.copy import LogCopy
from genie_core.archive.errors import ArchiveError
from genie_core.archive.log import EventLog
from genie_core.archive.saved import SavedRoom
from genie_core.assistant.config import DEFAULT_TEMPLATE, AssistantConfig
from genie_core.errors import GenieError
from genie_core.room.address import (
    DEFAULT_PORT,
    LOOPBACK,
    PORTS_TO_TRY,
    Address,
    parse_address,
)
from genie_core.room.client import RoomClient
from genie_core.room.codec import event_mark
from genie_core.room.connection import ClientConnection
from genie_core.room.errors import AddressInUse, Diverged, InvalidAddress, RoomRefused
from genie_core.room.event import Event
from genie_core.room.follower import Follower
from genie_core.room.participant import EngineLoader, Participant, Plan
from genie_core.room.seat import Listener, Seat, Severity
from genie_core.room.server import RoomServer
from genie_core.room.websocket import Connector, bind, ws_connector
from genie_tui.engines import OFFLINE_LABEL, engine_loader
from genie_tui.locations import Locations
from genie_tui.opening import JoinRoom, NewRoom, Opening, ResumeRoom
from genie_tui.settings import Settings, assistant_config

logger = logging.getLogger(__name__)

UNTITLED: Final = "Room"


class NothingToResume(GenieError):
    """There is no room that this person could host again."""


class NotSaved(GenieError):
    """The end of a room did not reach the disk."""


class Entrance:
    """The ways into a room for one person with their settings."""

    def __init__(self, name: str, settings: Settings, locations: Locations) -> None:
        self._name = name
        self._settings = settings
        self._catalogue = Catalogue(locations.sessions)
        self._config = assistant_config(settings, locations.prompts)

    async def enter(self, opening: Opening, listener: Listener) -> Seat:
        """Take a seat; see `genie_tui.bridge.Doorman.open`."""
        resources = AsyncExitStack()
        try:
            match opening:
                case NewRoom(title=title):
                    return await self._create(title.strip() or UNTITLED, listener, resources)
                case ResumeRoom(id=wanted):
                    return await self._resume(wanted, listener, resources)
                case JoinRoom():
                    return await self._join(opening, listener, resources)
        except BaseException:
            await resources.aclose()
            raise

    # -- hosting

    async def _create(self, title: str, listener: Listener, resources: AsyncExitStack) -> Seat:
        # The port first: a room that nobody can join should leave no folder behind.
        sock = await self._bind(resources)
        now = time.time()
        saved = await asyncio.to_thread(self._catalogue.create, title, now, host=self._name)
        return await self._host(saved, sock, self._config, listener, resources)

    async def _resume(self, wanted: str, listener: Listener, resources: AsyncExitStack) -> Seat:
        saved = await asyncio.to_thread(self._find, wanted)
        record = saved.record
        sock = await self._bind(resources, record.address)
        config = replace(
            self._config,
            template=self._settings.template or record.template or DEFAULT_TEMPLATE,
            workspace=self._config.workspace
            or (Path(record.workspace) if record.workspace else None),
        )
        return await self._host(saved, sock, config, listener, resources)

    async def _host(
        self,
        saved: SavedRoom,
        sock: socket.socket,
        config: AssistantConfig,
        listener: Listener,
        resources: AsyncExitStack,
    ) -> Seat:
        resources.enter_context(saved.held())
        log, events, problems = await asyncio.to_thread(saved.open_log)
        resources.callback(log.close)
        record = saved.record
        server = RoomServer(events, log, room=record.id, title=record.title, host=self._name)
        await server.start()
        resources.push_async_callback(server.close)
        address = await server.listen(sock=sock)

        async def connector() -> ClientConnection:
            return server.connect_local()

        async def close_room(reason: str) -> None:
            if not await server.suspend(reason):
                raise NotSaved(f"the last events could not be written to {saved.log_path}")
            await asyncio.to_thread(saved.summarise, server.state, time.time())

        place = asyncio.get_running_loop().create_future()
        place.set_result(saved)
        plan = self._plan(
            connector,
            token=server.host_token,
            loader=engine_loader(config, place),
            address=str(address),
            close_room=close_room,
            put_away=resources.aclose,
        )
        seat = Participant(self._name, listener, plan)
        await seat.start()
        async with _leaving_unless_done(seat):
            await asyncio.to_thread(
                saved.update,
                host=self._name,
                address=str(address),
                template=config.template,
                workspace=str(config.workspace or ""),
            )
        for problem in problems:
            listener.on_notice(Severity.WARNING, problem)
        return seat

    async def _bind(self, resources: AsyncExitStack, before: str = "") -> socket.socket:
        """Listen on the chosen port, else where the room was before, else on the next free one."""
        chosen = self._settings.port
        usual = list(range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TO_TRY))
        ports = [chosen] if chosen else [*_port_of(before), *usual]
        for port in ports:
            try:
                return resources.enter_context(await bind(Address(LOOPBACK, port)))
            except AddressInUse as error:
                taken = error
        raise taken

    def _find(self, wanted: str) -> SavedRoom:
        if wanted:
            saved = self._catalogue.find(wanted)
            if saved.record.kind == "joined":
                raise NothingToResume(
                    f"{saved.record.title!r} is hosted by somebody else; "
                    f"join it again: genie-tui join {saved.record.address}"
                )
            return saved
        hosted = (one for one in self._catalogue.all() if one.kind == "hosted")
        latest = next((one for one in hosted if not one.note), None)
        if latest is None:
            raise NothingToResume("there is no saved room yet; open one: genie-tui host")
        return self._catalogue.find(latest.id)

    # -- joining

    async def _join(self, way: JoinRoom, listener: Listener, resources: AsyncExitStack) -> Seat:
        known = await asyncio.to_thread(self._copy_from, way.address)
        if known is not None:
            try:
                return await self._visit(way, known, listener, resources)
            except (Diverged, RoomRefused) as error:
                if isinstance(error, RoomRefused) and error.code != "wrong_room":
                    raise
                # Another room is there now, or the host lost its end: begin afresh.
                await resources.aclose()
                if isinstance(error, Diverged):
                    await asyncio.to_thread(known.put_aside)
        return await self._visit(way, None, listener, resources)

    async def _visit(
        self,
        way: JoinRoom,
        known: SavedRoom | None,
        listener: Listener,
        resources: AsyncExitStack,
    ) -> Seat:
        place: asyncio.Future[SavedRoom] = asyncio.get_running_loop().create_future()
        copy = LogCopy(lambda problem: listener.on_notice(Severity.WARNING, problem))
        log: EventLog | None = None
        events: list[Event] = []
        if known is not None:
            log, events = await self._open_copy(known, resources)
        plan = self._plan(
            ws_connector(way.address),
            room=known.record.id if known else "",
            since=events[-1].seq if events else 0,
            mark=event_mark(events[-1]) if events else 0,
            loader=None if way.guest else engine_loader(self._config, place),
            keep=copy.keep,
            put_away=resources.aclose,
        )
        seat = Participant(self._name, listener, plan)
        seat.replay(events)
        await seat.start()
        async with _leaving_unless_done(seat):
            if known is None or log is None:
                known = await asyncio.to_thread(
                    self._catalogue.copy_of, seat.room, seat.title, seat.name, time.time()
                )
                log, _ = await self._open_copy(known, resources)
            copy.attach(log)
            resources.push_async_callback(copy.aclose)
            await asyncio.to_thread(known.update, address=way.address)
            resources.push_async_callback(_summarise, known, seat)
            place.set_result(known)
        return seat

    async def _open_copy(
        self, saved: SavedRoom, resources: AsyncExitStack
    ) -> tuple[EventLog, list[Event]]:
        resources.enter_context(saved.held())
        log, events, problems = await asyncio.to_thread(saved.open_log)
        for problem in problems:
            logger.warning("the copy of a room: %s", problem)
        return log, events

    def _copy_from(self, address: str) -> SavedRoom | None:
        """Find the own copy of the room that was last seen at an address."""
        for listing in self._catalogue.all():
            if listing.kind == "joined" and not listing.note:
                try:
                    saved = self._catalogue.find(listing.id)
                except ArchiveError:
                    continue
                if (saved.record.address, saved.record.name) == (address, self._name):
                    return saved
        return None

    # -- both

    def _plan(
        self,
        connector: Connector,
        *,
        room: str = "",
        since: int = 0,
        mark: int = 0,
        token: str = "",
        loader: EngineLoader | None = None,
        address: str = "",
        keep: Callable[[Event], None] | None = None,
        close_room: Callable[[str], Awaitable[None]] | None = None,
        put_away: Callable[[], Awaitable[None]],
    ) -> Plan:
        label = (self._config.model or OFFLINE_LABEL) if loader else ""

        def connect(follower: Follower) -> RoomClient:
            return RoomClient(
                connector,
                follower,
                name=self._name,
                engine=loader is not None,
                agent=label,
                room=room,
                since=since,
                mark=mark,
                token=token,
                patient=False,
            )

        return Plan(
            connect,
            loader=loader,
            label=label,
            offline=loader is not None and self._config.model is None,
            where=f"{self._name}'s machine ({platform.node()})",
            address=address,
            put_away=put_away,
            keep=keep,
            close_room=close_room,
        )


def _port_of(address: str) -> list[int]:
    try:
        return [parse_address(address).port]
    except InvalidAddress:
        return []


@asynccontextmanager
async def _leaving_unless_done(seat: Participant) -> AsyncIterator[None]:
    """Give a seat back that was taken already when what follows fails or is cancelled."""
    try:
        yield
    except BaseException:
        with suppress(GenieError):
            await seat.leave()
        raise


async def _summarise(saved: SavedRoom, seat: Participant) -> None:
    await asyncio.to_thread(saved.summarise, seat.state, time.time())
