"""An HTTP server on loopback that drops a client on request, and that ends immediately."""

import asyncio
import socket
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Scope

_CLOSING: Final = 5.0


class Listener:
    """Serves an application on a free port, in the event loop that started it.

    Nothing of uvicorn's own life cycle is used: it takes over signal handlers and waits for
    clients, and tests want neither.
    """

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app, http="h11", ws="none", lifespan="off", log_config=None, proxy_headers=False
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        self._socket: socket.socket | None = None

    @property
    def port(self) -> int:
        """The port; valid only while started."""
        if self._socket is None:
            raise RuntimeError("the server is not running")
        return int(self._socket.getsockname()[1])

    async def start(self) -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        try:
            await self._server.startup([listening])
        except BaseException:
            listening.close()
            raise
        self._socket = listening

    async def stop(self) -> None:
        """Disconnect every client and wait some seconds for their requests to end."""
        for server in self._server.servers:
            server.close()
        state = self._server.server_state
        for connection in list(state.connections):
            connection.transport.abort()
        async with asyncio.timeout(_CLOSING):
            await asyncio.gather(*state.tasks, return_exceptions=True)
            await asyncio.sleep(0)  # aborted transports close their sockets in the next round
        self._socket = None

    def drop(self, scope: Scope) -> None:
        """Close a client's connection after the sent part."""
        for connection in list(self._server.server_state.connections):
            transport = connection.transport
            if transport.get_extra_info("peername") == tuple(scope["client"]):
                transport.close()
