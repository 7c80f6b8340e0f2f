"""A participant's side of the connection to a room, which outlives single connections."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final

from genie_core.room.follower import Follower
from genie_core.room.inbox import Inbox
from genie_core.room.introduction import Introduction
from genie_core.room.outbox import Outbox
from genie_core.room.protocol.codec import normal, whole_text
from genie_core.room.protocol.errors import (
    ConnectionLost,
    FrameError,
    OtherHost,
    RoomError,
    TooLong,
    Unreachable,
)
from genie_core.room.protocol.events import Event, FileRef, MessagePosted, Quote, RunBody
from genie_core.room.protocol.frames import (
    Bye,
    ClientFrame,
    FrameRefused,
    ReportProgress,
    SetPreferences,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.seat import Link, LinkStatus, Unrecorded, Unsent
from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.identity import Identity
from genie_core.room.signatory import Signatory
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.dialer import Backoff
from genie_core.room.transport.websocket import Connector

BYE_GRACE: Final = 3.0

OTHER_HOST: Final = "the host at this address is not one that your copy of the room knows"

STEADY: Final = 10.0
"""Seconds after which a connection counts as good, so that the next attempts come quickly again."""

logger = logging.getLogger(__name__)


class RoomClient:
    """Keeps one participant connected to a room.

    `run` does the work until `bye` or until the room refuses. Meanwhile everything else may be
    called at any time, connected or not. Messages and reports are kept until the room's log shows
    them, and are sent again after each reconnection; the room records them once.

    `since` is the last event that is known already, and `mark` its `event_mark`; without it the
    room can't tell whether it is the same event there. `identity` is who proves to be here, somebody
    new without one; `ticket` the pass of an invite; where no room is named and `recognises` says yes
    to the one that is met, `KnownRoom` ends the visit before it has begun. `accepts` decides by a
    host's pin and proven key whether to go on with it, at each connection. `token` gets the host's
    seat inside the host's process. `preferences` say how this person likes to be answered. `space`
    is awaited before anything is received, so that what comes is not more than can be put away.
    """

    def __init__(
        self,
        connector: Connector,
        follower: Follower,
        *,
        name: str,
        engine: bool = False,
        agent: str = "",
        room: str = "",
        since: int = 0,
        mark: int = 0,
        token: str = "",
        identity: Identity | None = None,
        ticket: InviteSecret | None = None,
        recognises: Callable[[str], bool] | None = None,
        device: str = "",
        preferences: str = "",
        patient: bool = True,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.time,
        space: Callable[[], Awaitable[None]] | None = None,
        accepts: Callable[[str, str], bool] | None = None,
    ) -> None:
        self._connector = connector
        self._follower = follower
        self._introduction = Introduction(
            name,
            identity or Identity.generate(),
            device or secrets.token_hex(8),
            engine,
            agent,
            room,
            token,
            ticket,
            recognises,
            preferences,
            accepts,
            visit=secrets.token_urlsafe(12),
        )
        self._patient = patient
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._space = space
        self._author = Signatory(self._introduction)
        self._outbox = Outbox()
        self._inbox = Inbox(
            follower,
            self._outbox,
            self._introduction,
            last=since,
            mark=mark,
            report=self._report,
            changed=self._note_outbox,
        )
        self._limits = Limits()
        self._status = LinkStatus(Link.CONNECTING)
        self._failures = 0
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self._leaving = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()
        self._farewell = ""

    @property
    def name(self) -> str:
        """The own name, as the room spells it once it has let us in."""
        return self._introduction.name

    @property
    def key(self) -> str:
        """The public key of who is here."""
        return self._author.key

    @property
    def author(self) -> Signatory:
        """What signs for this person, and knows what they have said."""
        return self._author

    @property
    def device(self) -> str:
        """What tells this terminal from others of the same person."""
        return self._introduction.device

    @property
    def link(self) -> LinkStatus:
        """How the connection is."""
        return self._status

    @property
    def limits(self) -> Limits:
        """What the room accepts, as far as known."""
        return self._limits

    @property
    def unsent(self) -> tuple[Unsent, ...]:
        """The messages that the room has not acknowledged, oldest first."""
        return self._outbox.unsent

    @property
    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """The own engine's steps that the room's log does not show, oldest first."""
        return self._outbox.unrecorded

    async def run(self) -> None:
        """Stay connected until `bye`. Cancelling drops the connection without a farewell.

        Raises:
            RoomRefused: the room does not want us, or no longer.
            Diverged: the room's log has another event where our last one is.
            KnownRoom: there is a copy of the room, from which to go on.
            OtherHost: at the first attempt, the host is none that `accepts` says yes to.
            NotLoopback: the address leads to another machine.
            FrameError: the room sent something that is no frame, or an event that can't be.
            Unreachable: nothing answered the first attempt, unless `patient`.
            ConnectionLost: it was answered, and broken off; unless `patient`.

        """
        self._ended.clear()
        detail = ""
        try:
            while not self._leaving.is_set():
                detail = await self._attempt()
                if not self._leaving.is_set():
                    await self._wait_to_retry(detail)
        except RoomError as error:
            detail = str(error)
            raise
        finally:
            self._ended.set()
            self._report(LinkStatus(Link.CLOSED, self._farewell or detail))

    def say(
        self,
        text: str,
        *,
        emote: bool = False,
        files: Sequence[FileRef] = (),
        quotes: Sequence[Quote] = (),
    ) -> str:
        """Send a message; returns the id by which its `MessagePosted` event can be recognised.

        Raises:
            TooLong: the room does not take so long a text.
            TooManyUnsent: too much waits for the connection already.

        """
        unsent = self.compose(text, emote=emote, files=files, quotes=quotes)
        self.send(unsent)
        return unsent.id

    def compose(
        self,
        text: str,
        *,
        emote: bool = False,
        files: Sequence[FileRef] = (),
        quotes: Sequence[Quote] = (),
    ) -> Unsent:
        """Make a message to `send` when its time has come.

        Raises:
            TooLong: the room does not take so long a text.

        """
        whole, limit = whole_text(text), self._limits.text_chars
        if len(whole) > limit:
            raise TooLong(len(whole), limit)
        id_ = secrets.token_hex(8)
        return Unsent(id_, whole, emote, self._clock(), tuple(files), tuple(quotes))

    def send(self, unsent: Unsent) -> None:
        """Send a message that has its id already; raises what `say` does."""
        self._author.note(unsent.id)
        self._outbox.say(unsent)
        self._note_outbox()
        self._follower.on_unsent(self.unsent)

    def bequeath(self, events: Sequence[Event]) -> None:
        """Bring the room what an earlier host of it recorded and the present one lacks."""
        self._outbox.bequeath(events)
        self._note_outbox()

    def ask(self, frame: ClientFrame) -> bool:
        """Ask something of the room once; False, and nothing happens, without a connection."""
        if self._status.link is not Link.ONLINE:
            return False
        self._outbox.wish(frame)
        self._changed.set()
        return True

    def publish(self, body: RunBody, said: MessagePosted | None = None) -> None:
        """Report what the own engine did; signed, if it is about what this person `said`.

        Raises:
            FrameError: it is too large or holds what can't be recorded.
            TooManyUnsent: too much waits for the connection already.

        """
        if said is not None:
            body = self._author.sign_report(said, normal(body, self._limits.frame_bytes))
        self._outbox.publish(secrets.token_hex(8), body, self._inbox.last)
        self._note_outbox()

    def report_again(self, steps: Iterable[Unrecorded]) -> None:
        """Report what an earlier engine of this person did, as it was signed then."""
        for step in steps:
            self._outbox.keep(step)
        self._note_outbox()

    def equip(self, label: str) -> None:
        """Tell the room by what label the own engine goes."""
        self._introduction.agent = label
        self._outbox.equip(label)
        self._note_outbox()

    def typing(self) -> None:
        """Signal that something is being written; cheap to call for every key."""
        if self._status.link is Link.ONLINE:
            self._outbox.typing()
            self._changed.set()

    def delta(self, message: int, text: str) -> None:
        """Pass on text of an answer in the making; merged, and lost without a connection."""
        if self._status.link is Link.ONLINE:
            self._outbox.delta(message, text)
            self._changed.set()

    def progress(self, progress: ReportProgress) -> None:
        """Pass on what an agent is at; lost without a connection."""
        if self._status.link is Link.ONLINE:
            self._outbox.progress(progress)
            self._changed.set()

    def prefer(self, text: str) -> bool:
        """Tell the room, now and at each arrival, how this person likes to be answered."""
        self._introduction.preferences = text
        return self.ask(SetPreferences(text))

    def stop(self, message: int) -> None:
        """Ask for the run for a message to be stopped; lost without a connection."""
        if self._status.link is Link.ONLINE:
            self._outbox.stop(message)
            self._changed.set()

    async def settle(self, grace: float = BYE_GRACE) -> bool:
        """Wait up to `grace` seconds until all messages and reports are acknowledged.

        Returns whether they are. Without a connection it does not wait.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._status.link is Link.ONLINE and not self._outbox.settled:
                    self._settled.clear()
                    await self._settled.wait()
        return self._outbox.settled

    async def bye(self, reason: str = "", grace: float = BYE_GRACE) -> None:
        """Leave: wait up to `grace` seconds for acknowledgements, say farewell, end `run`."""
        self._farewell = reason
        await self.settle(grace)
        self._leaving.set()
        self._changed.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(BYE_GRACE):
                await self._ended.wait()

    # -- connecting

    async def _attempt(self) -> str:
        """Connect and stay until the connection ends; returns why it did."""
        if not self._inbox.welcomed:
            self._report(LinkStatus(Link.CONNECTING))
        try:
            link = await self._connector()
        except Unreachable as error:
            if not (self._patient or self._inbox.welcomed):
                raise
            return str(error)
        try:
            ending = await self._converse(link)
        finally:
            self._inbox.disconnected()
            await link.close()
            self._outbox.disconnected()
        if not (self._patient or self._inbox.welcomed):
            raise ConnectionLost(f"the room did not let us in: {ending}")
        return ending

    async def _converse(self, link: ClientConnection) -> str:
        last, mark = self._inbox.last, self._inbox.mark
        try:
            answer = await self._introduction.meet(link, last, mark, self._held)
        except (ConnectionLost, FrameError) as error:
            return str(error)
        except OtherHost:
            if not (self._patient or self._inbox.welcomed):
                raise
            return OTHER_HOST
        if isinstance(answer, FrameRefused):
            return self._inbox.refused(answer)
        self._welcome(answer)
        began = self._now()
        try:
            return await self._stay(link)
        finally:
            if self._now() - began >= STEADY:
                self._failures = 0

    def _held(self, why: str) -> None:
        self._report(LinkStatus(Link.CONNECTING, why))

    def _welcome(self, welcome: Welcome) -> None:
        who = self._introduction
        who.name, who.room = welcome.name, welcome.room
        self._limits = welcome.limits
        unsent, steps = self._outbox.connected(welcome.limits)
        self._inbox.welcome(welcome)
        self._inbox.given_up(unsent, steps, welcome.limits)
        self._report(LinkStatus(Link.ONLINE))

    async def _stay(self, link: ClientConnection) -> str:
        """Receive in this task and send in another; returns why the connection ended."""
        async with asyncio.TaskGroup() as tasks:
            sender = tasks.create_task(self._send_forever(link))
            try:
                return await self._receive_forever(link)
            except RoomError as error:
                refusal = error
            finally:
                sender.cancel()
        raise refusal

    async def _wait_to_retry(self, why: str) -> None:
        delay = self._backoff.delay(self._failures)
        self._failures += 1
        self._report(LinkStatus(Link.RETRYING, self._inbox.suspended or why, delay))
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._leaving.wait()

    def _report(self, status: LinkStatus) -> None:
        if status != self._status or status.link is Link.CONNECTING:
            self._status = status
            self._settled.set()
            self._follower.on_link(status)

    # -- receiving

    async def _receive_forever(self, link: ClientConnection) -> str:
        while True:
            if self._space is not None:
                await self._space()
            try:
                frame = await link.receive()
            except ConnectionLost as error:
                return str(error)
            except FrameError as error:
                # It is in the room's log or its program, so that coming back would not help.
                what = f"the room sent what can't be understood: {error}"
                raise FrameError(error.code, what) from error
            ending = self._inbox.take(frame)
            if ending is not None:
                return ending

    # -- sending

    async def _send_forever(self, link: ClientConnection) -> None:
        try:
            while not self._leaving.is_set():
                self._changed.clear()
                # Until all is known that the room has of us, sending again would be guesswork.
                if self._inbox.is_caught_up:
                    await link.send(
                        [self._author.sign(one) for one in self._outbox.take(self._now())]
                    )
                    await self._change(within=self._outbox.due(self._now()))
                else:
                    await self._change(within=None)
            await link.send([Bye(self._farewell)])
        except (ConnectionLost, FrameError) as error:
            logger.debug("sending ended: %s", error)
        await link.close(self._farewell)

    async def _change(self, within: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._changed.wait()

    def _note_outbox(self) -> None:
        self._changed.set()
        if self._outbox.settled:
            self._settled.set()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
