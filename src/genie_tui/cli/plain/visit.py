"""A room that a command without screens has joined, from opening it to leaving it."""

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from genie_core.errors import GenieError
from genie_core.room.client.events import EventsRecorded, Notice, RoomEvent
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.commands.outcome import Outcome
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import OpenRequest
from genie_core.room.open.session import RoomSession
from genie_core.room.participant.receipt import LeftInDisorder
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.names import check_name
from genie_core.runtime.grace import QUICK_GRACE
from genie_core.runtime.tasks import start_task
from genie_core.settings.credentials import hide_own_secrets
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations
from genie_core.settings.model import default_name
from genie_core.text.safe import visible_line
from genie_tui.cli.log_file import log_to
from genie_tui.cli.plain.output import Output
from genie_tui.cli.shutdown import SIGNALS


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a command that took time."""

    outcome: Outcome = None
    error: GenieError | None = None


Item: TypeAlias = RoomEvent | Finished | str | None
"""An event of the room, the end of a command, a typed line, or the end of the input."""

Work: TypeAlias = "Callable[[Visit], Coroutine[Any, Any, int]]"
"""The work of a command in a room; it returns the exit code."""


class Visit:
    """A room and its events, which may begin to arrive before the room is known."""

    def __init__(self, opener: RoomOpener, opening: OpenRequest, output: Output) -> None:
        self.output = output
        self._session = RoomSession(opening, opener, self._take)
        self._items: asyncio.Queue[Item] = asyncio.Queue()

    async def enter(self) -> tuple[JoinedRoom, list[Event]]:
        """Join the room; return it and its past, as far as it arrived. Later events are `next`.

        Notes for a person while they wait to be let in are written to standard error.
        """
        joined = await self._session.enter()
        waiting = [self._items.get_nowait() for _ in range(self._items.qsize())]
        past = [each for each in waiting if isinstance(each, EventsRecorded)]
        for each in waiting:
            if not isinstance(each, EventsRecorded):
                self._items.put_nowait(each)
        return joined, [event for each in past for event in each.events]

    async def next(self) -> Item:
        """Wait for the next event."""
        return await self._items.get()

    def put(self, item: Item) -> None:
        self._items.put_nowait(item)

    def hurry(self) -> None:
        """Stop waiting for running work, if the room is being left."""
        if self._session.entered is not None:
            self._session.entered.hurry()

    async def leave(self) -> int:
        """Leave the room, if it was entered; 1 if something is lost, otherwise 0."""
        joined, code = self._session.entered, 0
        if joined is None:
            return 0
        try:
            await joined.leave(grace=QUICK_GRACE)
        except LeftInDisorder as error:
            complain(str(error))
            code = 1
        for message in joined.messages.pending:
            complain(f"not sent: {message.text}")
            code = 1
        return code

    def _take(self, event: RoomEvent) -> None:
        if self._session.entered or not isinstance(event, Notice | ConnectionStatus):
            self._items.put_nowait(event)
        elif isinstance(event, Notice):
            complain(event.text)
        elif event.state is ConnectionState.CONNECTING and event.detail:
            complain(event.detail)


def complain(text: str) -> None:
    """Write a line to standard error."""
    with suppress(OSError):
        sys.stderr.write(f"genie-tui: {visible_line(text)}\n")
        sys.stderr.flush()


def visit_room(
    opening: OpenRequest,
    source: SettingsSource,
    locations: Locations,
    work: Work,
    *,
    signal_succeeds: bool = True,
) -> int:
    """Do something in a room; returns the exit code.

    A signal ends it in good order, with 0 if it `signal_succeeds`, otherwise 128 and its number.

    Raises:
        GenieError: the room can't be entered, or the work failed.
        BrokenPipeError: the reader of the output is gone.
    """
    reading = source.read()
    settings = reading.settings
    name = check_name(default_name() if settings.name is None else settings.name)
    log_to(locations.log_file)
    threading.Thread(target=hide_own_secrets, args=(name, locations), daemon=True).start()
    renamed = reading.origin(("name",)).layer == "command line"
    opener = RoomOpener(name, settings, locations, renamed=renamed)

    async def run() -> int:
        return await attend(Visit(opener, opening, Output()), work, signal_succeeds=signal_succeeds)

    return asyncio.run(run())


async def attend(visit: Visit, work: Work, *, signal_succeeds: bool = True) -> int:
    """Run `work`, until a signal arrives or the output is closed, and leave the room."""
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    with _stopping(visit, stopped):
        working = start_task(work(visit), name="visit")
        try:
            await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError, Exception):  # raised again below
                await working
            code = await visit.leave()
    if not working.cancelled():
        return working.result() or code
    number = stopped.result()
    if not number:
        raise BrokenPipeError
    return code if signal_succeeds else 128 + number


@contextmanager
def _stopping(visit: Visit, stopped: "asyncio.Future[int]") -> Iterator[None]:
    """Set `stopped` to a signal's number, or to 0 when the output is closed."""
    loop = asyncio.get_running_loop()
    output = visit.output

    def stop(number: int) -> None:
        if stopped.done():
            visit.hurry()
        else:
            stopped.set_result(number)

    def close() -> None:
        loop.remove_reader(output.descriptor)
        stop(0)

    for number in SIGNALS:
        loop.add_signal_handler(number, stop, number)
    output.when_closed(close, loop.add_reader)
    try:
        yield
    finally:
        loop.remove_reader(output.descriptor)
        for number in SIGNALS:
            loop.remove_signal_handler(number)
