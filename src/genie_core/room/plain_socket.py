"""WebSockets that take only what rooms and participants send: whole messages, and few pings and pongs.

The protocol allows more. A message may come in any number of parts, empty ones too, all of which
are kept until the last one; and each ping is answered at once, whether or not anybody reads. A pong
needs no ping, and costs as much to read as one.
"""

from typing import TYPE_CHECKING, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode, Frame, Opcode

from genie_core.room.rate import TokenBucket

if TYPE_CHECKING:
    from websockets.protocol import Event

PINGS_AT_ONCE: Final = 32
PINGS_PER_SECOND: Final = 4.0
"""A participant sends one per second, a host fewer; each is answered with one pong."""

HANGING_UP: Final = 1.0
"""Seconds in which whoever does not keep to this may still read why."""


class PlainSocket(Connection):
    """Ends when the other end sends parts of messages, or many pings or pongs."""

    _pings: TokenBucket | None = None
    _failed = False

    def process_event(self, event: "Event") -> None:
        """Pass a frame on, unless it is one that no program of this kind sends."""
        if isinstance(event, Frame):
            if self._failed:
                return
            if why := self._objection(event):
                self._fail(why)
                return
        super().process_event(event)

    def _objection(self, frame: Frame) -> str:
        if frame.opcode is Opcode.CONT or not frame.fin:
            return "messages come in one piece here"
        if frame.opcode in (Opcode.PING, Opcode.PONG):
            if self._pings is None:
                self._pings = TokenBucket(PINGS_AT_ONCE, PINGS_PER_SECOND)
            if not self._pings.take(self.loop.time()):
                return "too many pings or pongs"
        return ""

    def _fail(self, why: str) -> None:
        self._failed = True
        self.protocol.fail(CloseCode.POLICY_VIOLATION, why)
        self.send_data()
        self.loop.call_later(HANGING_UP, self.transport.abort)


class PlainServerSocket(PlainSocket, ServerConnection):
    """A host's end."""


class PlainClientSocket(PlainSocket, ClientConnection):
    """A participant's end."""


class Straight(connect):
    """Connects to where it is told and nowhere else, whatever answers there."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Follow nobody who says that the room is elsewhere: only deeds and invites tell."""
        return exc
