"""One seat's time in a room: from knocking to the end of the connection, and why it ended."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from genie_core.room.client import RoomClient
from genie_core.room.protocol.errors import Diverged, RoomError
from genie_core.room.seat import Going, Link, LinkStatus, Parting
from genie_core.runtime.tasks import start_task

logger = logging.getLogger(__name__)

BROKEN: Final = "an internal error ended the connection; the log file has the details"


class Visit:
    """Runs a client from `enter` to `end`, and knows how the connection is.

    `show` is told of each change that matters to a person. That the connection has ended is told
    last, and once it is known why. `saved` names the own copy of the room, from which a person
    goes on who has to part.
    """

    def __init__(
        self,
        client: RoomClient,
        saved: Callable[[], str],
        show: Callable[[LinkStatus], None],
    ) -> None:
        self._client = client
        self._saved = saved
        self._show = show
        self._link = LinkStatus(Link.CONNECTING)
        self._closed = LinkStatus(Link.CLOSED)
        self._parting: Parting | None = None
        self._welcomed = asyncio.Event()
        self._connection: asyncio.Task[None] | None = None

    @property
    def link(self) -> LinkStatus:
        """How the connection is now."""
        return self._link

    @property
    def parting(self) -> Parting | None:
        """Why it had to end and how to go on; None if it goes on, or just ended."""
        return self._parting

    async def enter(self) -> None:
        """Connect, and return once `on_welcome` was called.

        Raises what keeps the person out. Then, and when cancelled, the client has ended.
        """
        connection = start_task(self._stay(), name="room client")
        entry = start_task(self._welcomed.wait())
        self._connection = connection
        try:
            await asyncio.wait({connection, entry}, return_when=asyncio.FIRST_COMPLETED)
            if connection.done():
                connection.result()
        except BaseException:
            await self.end()
            raise
        finally:
            entry.cancel()

    async def end(self) -> None:
        """Drop the connection, if there is one."""
        if self._connection is not None:
            self._connection.cancel()
            with suppress(asyncio.CancelledError, RoomError):
                await self._connection
            self._connection = None

    def part(self, going: Going, why: str) -> None:
        """End, for the person to go on in another way; the first reason counts."""
        if self._parting is None:
            self._parting = Parting(going, self._saved(), why)
            if self._connection is not None:
                self._connection.cancel()

    def on_welcome(self) -> None:
        """Take note that the room has let the person in."""
        self._welcomed.set()

    def on_link(self, status: LinkStatus) -> None:
        """Take note of how the connection is; that it has ended is shown by whoever knows why."""
        if status.link is Link.CLOSED:
            self._closed = status
        else:
            self._note(status)

    async def _stay(self) -> None:
        try:
            await self._client.run()
        except Diverged as error:
            if not self._welcomed.is_set():
                raise
            self.part(Going.REJOIN, str(error))
        except RoomError:
            if not self._welcomed.is_set():
                raise
            logger.info("the connection to the room ended", exc_info=True)
        except Exception:  # a fault in what follows an event must be seen, not lost in a task
            logger.exception("following the room failed")
            if not self._welcomed.is_set():
                raise
            self._closed = LinkStatus(Link.CLOSED, BROKEN)
        finally:
            if self._parting is not None:
                self._closed = LinkStatus(Link.CLOSED, self._parting.text)
            if self._welcomed.is_set():  # else `enter` raises, and the next try is another seat's
                self._note(self._closed)

    def _note(self, status: LinkStatus) -> None:
        self._link = status
        self._show(status)
