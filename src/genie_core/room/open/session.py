"""A session in one room: it enters, catches up, follows to the next host, and leaves."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, Self

from genie_core.errors import GenieError
from genie_core.privacy.redaction import mask_known
from genie_core.room.client.events import Notice, OnEvent, RoomEvent
from genie_core.room.client.model import ConnectionState, ConnectionStatus, NextStep, Severity
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import (
    FollowRoom,
    JoinRoom,
    OpenRequest,
    RejoinRoom,
    after_parting,
)
from genie_core.room.participant.receipt import LeftInDisorder
from genie_core.room.participant.room import JoinedRoom
from genie_core.runtime.tasks import start_task

JOINING: Final = 20.0
"""Seconds that a call waits for the room to let the member in; joining goes on after that."""

LEAVING: Final = 3.0
"""Seconds that running work gets at the end: the editor that ends the program soon kills it."""

INTERNAL: Final = "an internal error; the log file has the details"

logger = logging.getLogger(__name__)


class NotInRoom(GenieError):
    """The member is not in the room now."""


class RoomSession:
    """One person or agent in one room, for a program without a screen.

    `enter` joins once. `begin` and the first call of `room` join in the background, again if that
    failed, and at the next host. As a context manager it leaves at the end.

    `on_event` gets every event of the room. `on_joining` is called before each try to join in the
    background, and `on_joined` each time with the room.

    Attributes:
        entered: the room once the member was let in.
        joined: the room joined in the background, once its past is here, too.
    """

    def __init__(
        self,
        opening: OpenRequest,
        opener: RoomOpener,
        on_event: OnEvent,
        on_joined: Callable[[JoinedRoom], None] = lambda _: None,
        on_joining: Callable[[], None] = lambda: None,
    ) -> None:
        self._opening = opening
        self._opener = opener
        self._on_event = on_event
        self._on_joined = on_joined
        self._on_joining = on_joining
        self.joined: JoinedRoom | None = None
        self.entered: JoinedRoom | None = None
        self._entering: asyncio.Task[None] | None = None
        self._failure = ""
        self._status = ConnectionStatus(ConnectionState.CONNECTING)
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._entering is not None:
            self._entering.cancel()
            await asyncio.wait([self._entering])
        if self.entered is not None:
            with suppress(LeftInDisorder):
                await self.entered.leave(grace=LEAVING)

    async def enter(self) -> JoinedRoom:
        """Join once; return the room when its past is here, or it is closed.

        Raises:
            GenieError: the room can't be entered.
        """
        joined = self.entered = await self._opener.enter(self._opening, self._take)
        while not (joined.is_caught_up or joined.connection.state is ConnectionState.CLOSED):
            await self._changed.wait()
        return joined

    async def room(self) -> JoinedRoom:
        """Return the room once the member is in it.

        Raises:
            NotInRoom: they were refused, put out, or not let in soon.
        """
        if self.joined is not None and self.joined.connection.state is ConnectionState.CLOSED:
            why = mask_known(self.joined.connection.detail) or "the connection ended"
            raise NotInRoom(f"you are no longer in the room: {why}")
        if self.joined is None and (self._entering is None or self._entering.done()):
            self.begin()
        if self._entering is not None and not self._entering.done():
            await asyncio.wait([self._entering], timeout=JOINING)
            if not self._entering.done():
                why = mask_known(self._status.detail) or "the host has not answered yet"
                raise NotInRoom(f"you are not in the room yet: {why}; try again in a while")
        if self.joined is None:
            raise NotInRoom(f"you are not in the room: {self._failure or 'it was left'}")
        return self.joined

    def begin(self, leaving: JoinedRoom | None = None) -> None:
        """Join in the background, after leaving another room."""
        self._entering = start_task(self._enter(leaving), name="joining a room")

    async def _enter(self, leaving: JoinedRoom | None) -> None:
        if leaving is not None:
            with suppress(LeftInDisorder):
                await leaving.leave()
        self._failure = ""
        self._on_joining()
        try:
            self.joined = await self.enter()
            self._on_joined(self.joined)
        except GenieError as error:
            self._failure = mask_known(str(error))
        except Exception:  # a fault must not end the program: the next call reports it
            logger.exception("joining the room failed")
            self._failure = INTERNAL
        if self._failure and leaving is not None:
            lost = f"you are not in the room: {self._failure}"
            self._on_event(Notice(Severity.ERROR, lost))

    def _take(self, event: RoomEvent) -> None:
        if isinstance(event, ConnectionStatus):
            self._status = event
        self._on_event(event)
        if isinstance(event, ConnectionStatus) and event.state is ConnectionState.CLOSED:
            self._go_on()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _go_on(self) -> None:
        """Join again after the end of a session, if the room goes on at another host."""
        ended = self.joined
        parting = ended.ended if ended is not None else None
        if parting is None or parting.next_step is not NextStep.REJOIN:
            return
        again, before = after_parting(parting), self._opening
        if isinstance(again, RejoinRoom):
            guest = isinstance(before, JoinRoom | RejoinRoom | FollowRoom) and before.guest
            self._opening = replace(again, guest=guest)
            self.joined = self.entered = None
            self.begin(ended)
