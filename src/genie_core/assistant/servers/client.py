"""A client of a tool server on fastmcp, over stdio, HTTP or server-sent events."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TextIO, TypeAlias

import httpx2
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

from genie_core.agent.provider.stderr import ErrorLog
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.launch import supervised
from genie_core.assistant.servers.long_results import LONGEST_MESSAGE, limit_stdio, limited_http

limit_stdio()
_logger = logging.getLogger("fastmcp")
for _handler in list(_logger.handlers):  # they write to the terminal
    _logger.removeHandler(_handler)
_logger.propagate = True

SSE_SILENCE: Final = 86_400.0
"""Seconds without an event after which a connection counts as lost; many servers send none."""

_UNKNOWN_YET: Final = "http://unknown.invalid/"

Answer: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Answers a server's request for input, or for the model, by the request's parameters."""


class ProgramTransport(StdioTransport):
    """Starts a program whose standard error goes to the log."""

    def __init__(self, server: str) -> None:
        self._errors = ErrorLog(f"tool server {server!r}")
        super().__init__("", [])

    @property
    def log_file(self) -> TextIO:
        """The file for standard error, read at each start."""
        return self._errors.open()

    @log_file.setter
    def log_file(self, _value: object) -> None:
        """Ignore the library's default."""

    async def disconnect(self) -> None:
        try:
            await super().disconnect()  # type: ignore[no-untyped-call]  # fastmcp gives no types
        finally:
            self._errors.close()

    def last_line(self) -> str:
        return self._errors.last_line


Transport: TypeAlias = ProgramTransport | StreamableHttpTransport | SSETransport


def transport_of(spec: ServerSpec, auth: httpx2.Auth | None = None) -> Transport:
    """Return a transport to a server, for which `prepare` fills in the rest before each start."""
    if spec.sse:
        return SSETransport(
            _UNKNOWN_YET,
            auth=auth,
            sse_read_timeout=SSE_SILENCE,
            httpx_client_factory=limited_http(LONGEST_MESSAGE),
        )
    if spec.url:
        return StreamableHttpTransport(
            _UNKNOWN_YET,
            auth=auth,
            httpx_client_factory=limited_http(LONGEST_MESSAGE),
            max_sse_event_size=2 * LONGEST_MESSAGE,
        )
    return ProgramTransport(spec.name)


def prepare(transport: Transport, spec: ServerSpec) -> None:
    """Set the address or the program of a server that is ready to start."""
    if not isinstance(transport, ProgramTransport):
        transport.url, transport.headers = spec.url, dict(spec.headers)
    else:
        transport.command, transport.args = supervised(spec)
        transport.env, transport.cwd = dict(spec.env), spec.cwd or None


def client_over(transport: Transport, spec: ServerSpec) -> Client[Any]:
    """Return a client that leaves nothing running when it is left, and has no time limits."""
    if isinstance(transport, ProgramTransport):
        transport.keep_alive = False
    return Client(transport, mode="legacy" if spec.legacy else "auto", init_timeout=0, timeout=0)


@asynccontextmanager
async def connected(
    spec: ServerSpec, auth: httpx2.Auth | None = None
) -> AsyncIterator[Client[Any]]:
    """Connect to a server that is ready to start."""
    transport = transport_of(spec, auth)
    prepare(transport, spec)
    client = client_over(transport, spec)
    await enter(client)
    try:
        yield client
    finally:
        await leave(client)


async def enter(client: Client[Any]) -> None:
    """Connect; raises the error itself, which fastmcp only quotes."""
    try:
        await client.__aenter__()  # type: ignore[no-untyped-call]  # fastmcp gives no types
    except RuntimeError as error:
        if error.__cause__ is None:
            raise
        raise error.__cause__ from None


async def leave(client: Client[Any]) -> None:
    """Disconnect, also from a server that has ended."""
    await client.close()  # type: ignore[no-untyped-call]  # fastmcp gives no types


def answer_requests(client: Client[Any], *, elicit: Answer, sample: Answer | None) -> None:
    """Answer a server's requests during calls.

    The client's own handlers make types of the server's schemas and apply their regular expressions.
    """
    callbacks: Any = client._session_kwargs  # noqa: SLF001 - see above
    callbacks["elicitation_callback"] = _callback(elicit)
    if sample is not None:
        callbacks["sampling_callback"] = _callback(sample)


def _callback(answer: Answer) -> Any:
    async def on_request(_context: Any, params: Any) -> Any:
        return await answer(params)

    return on_request
