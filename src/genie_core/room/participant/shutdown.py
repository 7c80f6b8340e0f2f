"""Leave a room: tell the members, end work in time, and save the rest."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.model import ConnectionState
from genie_core.room.participant.config import RoomConfig
from genie_core.room.participant.receipt import (
    LeftInDisorder,
    Receipt,
    ShutdownProgress,
    make_receipt,
)
from genie_core.runtime.grace import Grace
from genie_core.runtime.resource_task import abandon
from genie_core.runtime.tasks import start_task

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

ENGINE_TIMEOUT: Final = 20.0
"""Seconds for shutting down the engine, after the grace."""

HEAR_TIMEOUT: Final = 2.0
"""Seconds for a host to receive all messages sent in time."""

STEP_TIMEOUT: Final = 10.0
"""Seconds for any other step."""

CANCEL_GRACE: Final = 1.0
"""Seconds for a cancelled step to end."""

Step: TypeAlias = tuple[str, Callable[[], Awaitable[None]], float]
"""A name, such as "closing the room"; the step; and its limit in seconds."""

logger = logging.getLogger(__name__)


class Shutdown:
    """Leaves a room, with a grace in seconds for running work. Call `run` once."""

    def __init__(
        self, room: "JoinedRoom", config: RoomConfig, connection: RoomConnection, seconds: float
    ) -> None:
        self._room = room
        self._config = config
        self._connection = connection
        self._grace = Grace(seconds)
        self._runs = {thread.seq for thread in room.engine.runs}
        self._left_behind: set[int] = set()
        self._doing = ""
        self._changed = asyncio.Event()

    @property
    def ending(self) -> ShutdownProgress:
        return ShutdownProgress(self._doing, self._grace.left, tuple(self._room.engine.runs))

    def hurry(self) -> None:
        self._grace.end()

    def look(self) -> None:
        """Check the room again after a change of state or connection."""
        self._changed.set()

    async def run(self, reason: str) -> Receipt:
        """Run each step, whether or not others succeed; the room gets the reason.

        Raises:
            LeftInDisorder: not everything succeeded.
        """
        steps: list[Step] = [
            ("telling the others", self._announce, STEP_TIMEOUT),
            ("ending your agents", self._end_engine, self._grace.left + ENGINE_TIMEOUT),
            ("noting what you have seen", self._keep_seen, STEP_TIMEOUT),
            ("saying goodbye", partial(self._connection.bye, reason), STEP_TIMEOUT),
            ("closing the room", partial(self._close_room, reason), STEP_TIMEOUT),
            ("disconnecting", self._room.disconnect, STEP_TIMEOUT),
            ("ending transfers", self._room.files.sync.aclose, STEP_TIMEOUT),
            ("closing the files", self._config.put_away, STEP_TIMEOUT),
        ]
        problems = await take_steps(steps, self._begin_step)
        return self._receipt(problems)

    def _receipt(self, problems: list[str]) -> Receipt:
        room = self._room
        unsent = len(room.messages.pending) if room.ended is None else 0
        if unsent and not room.saved:
            problems.append(f"{unsent} of your messages never reached the room's disk")
        receipt = make_receipt(
            room.state,
            room.name,
            self._runs,
            self._left_behind,
            unrecorded=[report.body for report in room.reports],
            unsent=unsent,
            problems=problems,
        )
        if problems:
            raise LeftInDisorder(receipt)
        return receipt

    def _begin_step(self, what: str) -> None:
        self._doing = what

    async def _announce(self) -> None:
        """Make the host refuse further messages, and wait for those that it accepted.

        These count as running work, as they came in time.
        """
        if self._config.begin_closing is None:
            return
        last = await self._config.begin_closing(self._grace.left if self._runs else 0.0)
        room = self._room
        with suppress(TimeoutError):  # trouble with the disk is reported where it matters
            async with asyncio.timeout(HEAR_TIMEOUT):
                while room.state.head < last and room.connection.state is ConnectionState.ONLINE:
                    self._changed.clear()
                    await self._changed.wait()
        self._runs.update(thread.seq for thread in room.engine.runs)

    async def _end_engine(self) -> None:
        hosts = self._config.close_room is not None
        reason = "the room was suspended" if hosts else f"{self._room.name} left"
        self._left_behind = await self._room.engine.close(reason, self._grace)

    async def _keep_seen(self) -> None:
        if self._config.note_seen is not None and self._room.seen:
            await asyncio.to_thread(self._config.note_seen, self._room.seen)

    async def _close_room(self, reason: str) -> None:
        if self._config.close_room is not None:
            await self._config.close_room(reason)


async def take_steps(
    steps: Iterable[Step], begun: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Run each step in order, whether or not others succeed; return the failures.

    Each step is a task of its own, so that one that ignores its cancellation does not block the
    others. `begun` is called with each step.
    """
    problems: list[str] = []
    for what, step, seconds in steps:
        begun(what)
        problem = await _take(what, step, seconds)
        if problem:
            problems.append(problem)
    return problems


async def _take(what: str, step: Callable[[], Awaitable[None]], seconds: float) -> str:
    """Run a step; return the failures."""
    task = start_task(_run(step), name=what)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_GRACE)
            return f"{what} took too long"
    finally:
        abandon(task)
    with suppress(asyncio.CancelledError):
        error = task.exception()
        if error is not None:  # the steps that follow are needed all the more
            logger.error("%s failed", what, exc_info=error)
            return f"{what} failed: {str(error) or type(error).__name__}"
    return ""


async def _run(step: Callable[[], Awaitable[None]]) -> None:
    await step()
