"""Begins TLS with accepted connections, in an order and at a pace that a host sets."""

import asyncio
import ctypes
import ssl
import sys
import traceback
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from websockets.asyncio.server import Server, ServerConnection
from websockets.server import ServerProtocol

from genie_core.room.transport.hardening import HalfOpenLimiter, PlainServerSocket
from genie_core.room.transport.origin import client_origin, site_of
from genie_core.runtime.tasks import start_task

Begin: TypeAlias = Callable[[str], float]
"""Seconds until TLS may begin with one more connection from this origin; at 0 it begins."""

SHORTEST_WAIT: Final = 0.05
"""Seconds for which a connection waits at least, if it has to."""

Queues: TypeAlias = WeakValueDictionary[str, asyncio.Lock]
"""Lets the connections of each site wait in turn."""

READ_BYTES: Final = 32 * 1024
"""Bytes read in one go from a TLS connection: two records.

Asyncio keeps a buffer of this size for each.
"""

_M_MMAP_THRESHOLD: Final = -3
_MMAP_THRESHOLD: Final = 128 * 1024


class TlsStarter(asyncio.Protocol):
    """Stands for an accepted connection until TLS is set up, and hands it to a WebSocket then.

    Nothing is read until it may `begin`. Where a connection ends before, all that was made for it
    goes immediately: how asyncio accepts a TLS connection leaves reference cycles to the garbage
    collector, before Python 3.13 with transports and 256 KiB of buffers in them.
    """

    def __init__(
        self,
        protocol: ServerProtocol,
        server: Server,
        *,
        gate: HalfOpenLimiter,
        begin: Begin,
        queues: Queues,
        context: ssl.SSLContext,
        timeout: float,
        **options: Any,
    ) -> None:
        self._protocol = protocol
        self._connect = partial(PlainServerSocket, protocol, server, **options)
        self._gate = gate
        self._begin = begin
        self._queues = queues
        self._context = context
        self._timeout = timeout
        self._close_timeout: float | None = options.get("close_timeout")
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - it is a stream
        transport.pause_reading()
        task = start_task(self._open(transport), name="TLS handshake")

        def end() -> None:
            transport.abort()
            task.cancel()

        self._gate.on_hang_up(transport.get_extra_info("socket").fileno(), end)

    def data_received(self, data: bytes) -> None:
        """Keep the bytes that come in one piece with the end of the handshake."""
        self._early.append(data)

    async def _open(self, transport: asyncio.Transport) -> None:
        tls = None
        try:
            async with asyncio.timeout(self._timeout):
                await self._wait(client_origin(str(transport.get_extra_info("peername")[0])))
                tls = await asyncio.get_running_loop().start_tls(
                    *(transport, self, self._context),
                    server_side=True,
                    ssl_handshake_timeout=self._timeout,
                    ssl_shutdown_timeout=self._close_timeout,
                )
        except (OSError, TimeoutError, asyncio.CancelledError) as error:
            traceback.clear_frames(error.__traceback__)  # acts of strangers are no news
        if tls is None or tls.is_closing():
            self._protocol.parser.close()
            transport.abort()
        else:
            self._hand_over(tls)

    async def _wait(self, source: str) -> None:
        """Wait until TLS may begin, behind those of the same site who came before."""
        async with self._queues.setdefault(site_of(source), asyncio.Lock()):
            while True:
                seconds = self._begin(source)
                if not seconds:
                    return
                await asyncio.sleep(max(seconds, SHORTEST_WAIT))

    def _hand_over(self, tls: asyncio.Transport) -> None:
        connection: ServerConnection = self._connect()
        tls.set_protocol(connection)
        connection.connection_made(tls)
        if self._early:
            connection.data_received(b"".join(self._early))


def use_small_buffers() -> None:
    """Let connections made from now on have a read buffer of `READ_BYTES`.

    asyncio has no option for it; its default of 256 KiB is most of the cost of an idle member.
    """
    SSLProtocol.max_size = READ_BYTES


@cache
def return_large_blocks() -> None:
    """Have the C library give back each freed block of 128 KiB and more.

    glibc raises this bound to the largest block ever freed, such as asyncio's read buffer for TLS.
    After a flood of connections its heap then has holes, and the process stays as large as it was.
    Where there is no such function, there is no such bound.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, _MMAP_THRESHOLD)
