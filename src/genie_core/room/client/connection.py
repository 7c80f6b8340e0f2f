"""A member's connection to a room, which reconnects by itself."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from genie_core.room.client.events import Deliver
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.messages import Messages
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.client.receiver import Receiver
from genie_core.room.client.send_queue import SendQueue
from genie_core.room.client.signer import Signer
from genie_core.room.protocol.errors import (
    ConnectionLost,
    FrameError,
    OtherHost,
    RoomError,
    Unreachable,
)
from genie_core.room.protocol.events import RunBody
from genie_core.room.protocol.frames import Bye, FrameRefused, SetPreferences, Welcome
from genie_core.room.transport.connection import ClientConnection
from genie_core.room.transport.dialer import Backoff, Dialer
from genie_core.room.transport.websocket import Connector

BYE_GRACE: Final = 3.0

OTHER_HOST: Final = "your copy of the room does not know the host at this address"

STEADY: Final = 10.0
"""Seconds after which a connection counts as stable, which resets the backoff."""

logger = logging.getLogger(__name__)


class RoomConnection:
    """Keeps one member connected to a room.

    `run` connects and reconnects until `bye` or a final refusal. All other methods may be called at
    any time, connected or not. `deliver` receives everything from the room, in order, and must not
    block. `messages` sends messages; `queue` sends everything else.

    Args:
        who: the person or agent, the room and the right to enter.
        since: number of the last known event; `mark` is its `event_mark`, by which the room can
            tell whether its log has the same event.
        patient: whether to retry if the first attempt fails.
        space: awaited before each frame, to limit reception to the free space.
    """

    def __init__(
        self,
        connector: Connector | Dialer,
        deliver: Deliver,
        who: ClientHandshake,
        *,
        since: int = 0,
        mark: int = 0,
        patient: bool = True,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.time,
        space: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._connector = connector
        self._deliver = deliver
        self._handshake = who
        self._patient = patient
        self._goes_on = False
        self._backoff = backoff or Backoff()
        self._space = space
        self.signer = Signer(self._handshake)
        self.queue = SendQueue(self._note_queue)
        self.messages = Messages(self.queue, self.signer, deliver, clock)
        self._receiver = Receiver(
            deliver, self.queue, self._handshake, last=since, mark=mark, report=self._report
        )
        self._status = ConnectionStatus(ConnectionState.CONNECTING)
        self._failures = 0
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self._leaving = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()
        self._goodbye = ""

    @property
    def name(self) -> str:
        return self._handshake.name

    @property
    def device(self) -> str:
        """Id that distinguishes this terminal from others of the same person."""
        return self._handshake.device

    @property
    def is_agent(self) -> bool:
        """Whether an agent, not a person, joins."""
        return self._handshake.kind == "agent"

    @property
    def position(self) -> tuple[int, int]:
        """Number and mark of the latest known event, for another connection to go on from."""
        return self._receiver.last, self._receiver.mark

    async def run(self) -> None:
        """Stay connected until `bye`. Cancelling drops the connection without a goodbye.

        Raises:
            RoomRefused: the room refuses this person.
            Diverged: the room's log has another event in place of the last known one.
            KnownRoom: this machine has a copy of the room to resume from.
            OtherHost: `accepts` rejected the host on the first attempt.
            NotLoopback: the address leads to another machine.
            FrameError: the room sent an invalid frame or event.
            Unreachable: the first attempt got no answer, unless `patient`.
            ConnectionLost: the first connection was lost, unless `patient`.
        """
        self._ended.clear()
        detail = ""
        try:
            while not self._leaving.is_set():
                detail = await self._attempt()
                if not (self._leaving.is_set() or self._goes_on):
                    await self._wait_to_retry(detail)
        except RoomError as error:
            detail = str(error)
            raise
        finally:
            if isinstance(self._connector, Dialer):
                self._connector.close()
            self._ended.set()
            self._report(ConnectionStatus(ConnectionState.CLOSED, self._goodbye or detail))

    def publish(self, body: RunBody) -> None:
        """Report a step of this member's engine; it is signed when it is sent.

        It is sealed immediately if its message is private.

        Raises:
            FrameError: the step is too large or can't be recorded.
            TooManyUnsent: too many reports wait for the connection.
        """
        self.queue.publish(secrets.token_hex(8), self.signer.sealed(body), self._receiver.last)

    def equip(self, label: str) -> None:
        self._handshake.agent = label
        self.queue.equip(label)

    def prefer(self, text: str) -> bool:
        """Send this person's preferences; False while offline."""
        return self.queue.ask(SetPreferences(text))

    async def settle(self, grace: float = BYE_GRACE) -> bool:
        """Wait up to `grace` seconds until all messages and reports are acknowledged.

        Returns whether they are. Does not wait without a connection.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._status.state is ConnectionState.ONLINE and not self.queue.settled:
                    self._settled.clear()
                    await self._settled.wait()
        return self.queue.settled

    async def bye(self, reason: str = "", grace: float = BYE_GRACE) -> None:
        """Leave: wait up to `grace` seconds for acknowledgements, say goodbye, end `run`."""
        self._goodbye = reason
        await self.settle(grace)
        self._leaving.set()
        self._changed.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(BYE_GRACE):
                await self._ended.wait()

    # -- connecting

    async def _attempt(self) -> str:
        """Connect and stay until the connection ends; returns the reason."""
        if not self._receiver.welcomed:
            self._report(ConnectionStatus(ConnectionState.CONNECTING))
        self._goes_on = False
        try:
            link = await self._connector()
        except Unreachable as error:
            if not (self._patient or self._receiver.welcomed):
                raise
            return str(error)
        try:
            ending = await self._converse(link)
        finally:
            self._receiver.disconnected()
            await link.close()
            self.queue.disconnected()
        if not (self._patient or self._receiver.welcomed or self._goes_on):
            raise ConnectionLost(f"the connection ended before the room's welcome: {ending}")
        return ending

    async def _converse(self, link: ClientConnection) -> str:
        last, mark = self._receiver.last, self._receiver.mark
        try:
            answer = await self._handshake.meet(link, last, mark, self._join_pending)
        except (ConnectionLost, FrameError) as error:
            self._pass_over()
            return str(error)
        except OtherHost:
            if not (self._patient or self._receiver.welcomed):
                raise
            return OTHER_HOST
        if isinstance(answer, FrameRefused):
            self._goes_on = self._pass_over() and _is_elsewhere(answer)
            return self._receiver.refused(answer)
        self._welcome(answer)
        began = self._now()
        try:
            return await self._stay(link)
        finally:
            if self._now() - began >= STEADY:
                self._failures = 0

    def _pass_over(self) -> bool:
        """Try other addresses first; returns whether one of them may still answer."""
        return isinstance(self._connector, Dialer) and self._connector.pass_over()

    def _join_pending(self, why: str) -> None:
        self._report(ConnectionStatus(ConnectionState.CONNECTING, why))

    def _welcome(self, welcome: Welcome) -> None:
        who = self._handshake
        who.name, who.room = welcome.name, welcome.room
        self.messages.limits = welcome.limits
        self.messages.host_knows = welcome.knows
        unsent, steps = self.queue.connected(welcome.limits)
        self._receiver.welcome(welcome)
        self._receiver.report_dropped(unsent, steps, welcome.limits)
        self._report(ConnectionStatus(ConnectionState.ONLINE))

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
        self._report(
            ConnectionStatus(ConnectionState.RETRYING, self._receiver.suspended or why, delay)
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._leaving.wait()

    def _report(self, status: ConnectionStatus) -> None:
        if status != self._status or status.state is ConnectionState.CONNECTING:
            self._status = status
            self.queue.online = status.state is ConnectionState.ONLINE
            self._settled.set()
            self._deliver(status)

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
                # The same frame would come again, so reconnecting does not help.
                raise FrameError(error.code, f"the room sent an invalid frame: {error}") from error
            ending = self._receiver.take(frame)
            if ending is not None:
                return ending

    # -- sending

    async def _send_forever(self, link: ClientConnection) -> None:
        try:
            while not self._leaving.is_set():
                self._changed.clear()
                timeout = None
                # The missing events may acknowledge messages in the queue.
                if self._receiver.is_caught_up:
                    await link.send([self.signer.sign(one) for one in self.queue.take(self._now())])
                    timeout = self.queue.due(self._now())
                with suppress(TimeoutError):
                    async with asyncio.timeout(timeout):
                        await self._changed.wait()
            await link.send([Bye(self._goodbye)])
        except (ConnectionLost, FrameError) as error:
            logger.debug("sending ended: %s", error)
        await link.close(self._goodbye)

    def _note_queue(self) -> None:
        self._changed.set()
        if self.queue.settled:
            self._settled.set()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _is_elsewhere(refused: FrameRefused) -> bool:
    """Whether a host says that another process may host the room now."""
    return not refused.final and refused.code in ("suspended", "wrong_room")
