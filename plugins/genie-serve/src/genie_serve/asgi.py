"""An ASGI application at a socket, on the running event loop.

uvicorn's own `Server.serve` takes over signal handlers and wakes ten times a second; this is the rest.
"""

import asyncio
import socket
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

TLS_TIMEOUT: Final = 10.0
"""Seconds for a TLS handshake."""


HEAD_TIMEOUT: Final = 10.0
"""Seconds for a connection to send its first request, and for the body of one."""

REQUEST_TIMEOUT: Final = 30.0
"""Seconds from one request of a connection to the next, its answer included."""


class PromptHttp(H11Protocol):
    """Drops a connection that sends no whole request in time, or does not take the answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(HEAD_TIMEOUT, self._drop_if_idle, None)

    def _drop_if_idle(self, before: object) -> None:
        """Drop it if no request began since the one that is given."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return  # it became a WebSocket
        if self.scope is before:
            self.transport.abort()
        else:
            self.loop.call_later(REQUEST_TIMEOUT, self._drop_if_idle, self.scope)


class AsgiServer:
    """Serves an application from `listen` to `close`.

    `http` makes the protocol of each connection; `options` are those of `uvicorn.Config`.

    Raises:
        OSError: its certificate or key can't be used.
    """

    def __init__(
        self, app: ASGIApp, *, http: type[PromptHttp] = PromptHttp, **options: Any
    ) -> None:
        self._config = uvicorn.Config(
            app,
            http=http,
            lifespan="off",
            log_config=None,
            log_level="error",  # below, it logs addresses, and a line for all that is no request
            access_log=False,
            server_header=False,
            **options,
        )
        self._config.load()
        self._state = ServerState()
        self._state.default_headers = self._config.encoded_headers
        self._listening: asyncio.Server | None = None

    async def listen(self, sock: socket.socket) -> None:
        """Accept connections at a listening socket, which is closed with the server."""
        self._listening = await asyncio.get_running_loop().create_server(
            self._protocol,
            sock=sock,
            ssl=self._config.ssl,
            ssl_handshake_timeout=TLS_TIMEOUT if self._config.ssl is not None else None,
        )

    def shut(self) -> None:
        """Accept no more connections."""
        if self._listening is not None:
            self._listening.close()

    async def close(self, within: float) -> None:
        """Stop; running answers have so many seconds to end."""
        self.shut()
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=within)
        for connection in list(self._state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)  # aborted transports close their sockets in the next round

    def _protocol(self) -> asyncio.Protocol:
        make = self._config.http_protocol_class
        return make(config=self._config, server_state=self._state, app_state={})  # type: ignore[call-arg]
