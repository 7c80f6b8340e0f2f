"""How a seat is left: the others are told, work gets its time, and a receipt says what became of it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from genie_core.room.client import RoomClient
from genie_core.room.departure import Ending, Grace, Receipt, Step, make_receipt, take_steps
from genie_core.room.engine.host import EngineHost
from genie_core.room.mail import Mail
from genie_core.room.plan import Plan
from genie_core.room.protocol.errors import LeftInDisorder
from genie_core.room.seat import Link, Seat
from genie_core.room.visit import Visit

ENGINE_TIMEOUT: Final = 20.0
"""Seconds that putting the engine away may take after the grace."""

HEAR_TIMEOUT: Final = 2.0
"""Seconds in which a host hears of all messages that were taken in time."""

STEP_TIMEOUT: Final = 10.0
"""Seconds that one step of leaving may take before it is left behind."""


class Leaving:
    """One seat's leaving, with so many seconds for what still runs.

    `run` it once. Whoever runs it calls `look` whenever the seat's state or link has changed.
    `seen` tells up to which event the person has seen the room.
    """

    def __init__(
        self,
        seat: Seat,
        plan: Plan,
        seconds: float,
        *,
        engines: EngineHost,
        client: RoomClient,
        visit: Visit,
        mail: Mail,
        seen: Callable[[], int],
    ) -> None:
        self._seat = seat
        self._plan = plan
        self._engines = engines
        self._client = client
        self._visit = visit
        self._mail = mail
        self._seen = seen
        self._grace = Grace(seconds)
        self._runs = {exchange.seq for exchange in engines.runs}
        self._left_behind: set[int] = set()
        self._doing = ""
        self._changed = asyncio.Event()

    @property
    def ending(self) -> Ending:
        """How far it has come."""
        return Ending(self._doing, self._grace.left, tuple(self._engines.runs))

    def hurry(self) -> None:
        """End running work at once."""
        self._grace.end()

    def look(self) -> None:
        """Take note that the seat's state or its link may be another one."""
        self._changed.set()

    async def run(self, reason: str) -> Receipt:
        """Take each step, whatever becomes of the others; the room hears the reason.

        Raises:
            LeftInDisorder: not everything could be done; it has the receipt, too.

        """
        steps: list[Step] = [
            ("telling the others", self._announce, STEP_TIMEOUT),
            ("ending your agents", self._end_engine, self._grace.left + ENGINE_TIMEOUT),
            ("noting what you have seen", self._keep_seen, STEP_TIMEOUT),
            ("saying goodbye", partial(self._client.bye, reason), STEP_TIMEOUT),
            ("closing the room", partial(self._close_room, reason), STEP_TIMEOUT),
            ("disconnecting", self._visit.end, STEP_TIMEOUT),
            ("ending transfers", self._mail.aclose, STEP_TIMEOUT),
            ("closing the files", self._plan.put_away, STEP_TIMEOUT),
        ]
        problems = await take_steps(steps, self._begin_step)
        return self._receipt(problems)

    def _receipt(self, problems: list[str]) -> Receipt:
        seat = self._seat
        unsent = len(seat.unsent) if seat.parting is None else 0
        if unsent and not seat.saved:
            problems.append(f"{unsent} of your messages never reached the room's disk")
        receipt = make_receipt(
            seat.state,
            seat.name,
            self._runs,
            self._left_behind,
            unrecorded=[report.body for report in seat.unrecorded],
            unsent=unsent,
            problems=problems,
        )
        if problems:
            raise LeftInDisorder(receipt)
        return receipt

    def _begin_step(self, what: str) -> None:
        self._doing = what

    async def _announce(self) -> None:
        """Let the host take no more messages, and wait for those it has taken already.

        They count as under way then, as they were said in time.
        """
        if self._plan.begin_closing is None:
            return
        last = self._plan.begin_closing(self._grace.left if self._runs else 0.0)
        seat = self._seat
        with suppress(TimeoutError):  # a disk in trouble is told of where it matters
            async with asyncio.timeout(HEAR_TIMEOUT):
                while seat.state.head < last and seat.link.link is Link.ONLINE:
                    self._changed.clear()
                    await self._changed.wait()
        self._runs.update(exchange.seq for exchange in self._engines.runs)

    async def _end_engine(self) -> None:
        hosts = self._plan.close_room is not None
        reason = "the room was suspended" if hosts else f"{self._seat.name} left"
        self._left_behind = await self._engines.close(reason, self._grace)

    async def _keep_seen(self) -> None:
        if self._plan.note_seen is not None and self._seen():
            await asyncio.to_thread(self._plan.note_seen, self._seen())

    async def _close_room(self, reason: str) -> None:
        if self._plan.close_room is not None:
            await self._plan.close_room(reason)
