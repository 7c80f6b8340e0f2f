"""A client of a tool server on the MCP SDK, over stdio, HTTP or server-sent events."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import httpx2
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
)

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.launch import supervised
from genie_core.assistant.servers.long_results import LONGEST_MESSAGE, limit_stdio, limited_http
from genie_core.assistant.servers.stderr import ErrorLog

limit_stdio()

SSE_SILENCE: Final = 86_400.0
"""Seconds without an event after which a connection counts as lost; many servers send none."""

Elicitation: TypeAlias = Callable[[ElicitRequestParams], Awaitable[ElicitResult]]
Sampling: TypeAlias = Callable[
    [CreateMessageRequestParams], Awaitable[CreateMessageResult | ErrorData]
]


def client_of(
    spec: ServerSpec,
    errors: ErrorLog,
    *,
    elicit: Elicitation | None = None,
    sample: Sampling | None = None,
    auth: httpx2.Auth | None = None,
) -> Client:
    """Return a client of a server that is ready to start; entering it connects.

    `elicit` and `sample` answer what the server asks for during a call. Nothing has a time limit:
    the caller sets one.
    """
    streams: Any = _over_stdio(spec, errors)
    if spec.url:
        streams = _over_sse(spec, auth) if spec.sse else _over_http(spec, auth)
    return Client(
        streams,
        mode="legacy" if spec.legacy else "auto",
        cache=None,
        elicitation_callback=callback(elicit),
        sampling_callback=callback(sample),
    )


def callback(answer: Elicitation | Sampling | None) -> Any:
    """Return a function that answers a server's requests in the form that the SDK calls."""

    async def on_request(context: ClientRequestContext, params: Any) -> Any:
        return await answer(params) if answer is not None else None

    return on_request if answer is not None else None


@asynccontextmanager
async def _over_stdio(spec: ServerSpec, errors: ErrorLog) -> AsyncGenerator[Any]:
    """Start a program whose standard error goes to the log."""
    command, args = supervised(spec)
    started = StdioServerParameters(
        command=command, args=args, env=dict(spec.env), cwd=spec.cwd or None
    )
    try:
        async with stdio_client(started, errlog=errors.open()) as streams:
            yield streams
    finally:
        errors.close()


@asynccontextmanager
async def _over_http(spec: ServerSpec, auth: httpx2.Auth | None) -> AsyncGenerator[Any]:
    async with (
        limited_http(LONGEST_MESSAGE)(headers=dict(spec.headers), auth=auth) as http,
        streamable_http_client(
            spec.url, http_client=http, max_sse_event_size=2 * LONGEST_MESSAGE
        ) as streams,
    ):
        yield streams


@asynccontextmanager
async def _over_sse(spec: ServerSpec, auth: httpx2.Auth | None) -> AsyncGenerator[Any]:
    make = limited_http(LONGEST_MESSAGE)
    async with sse_client(
        spec.url,
        dict(spec.headers),
        sse_read_timeout=SSE_SILENCE,
        httpx_client_factory=make,
        auth=auth,
    ) as streams:
        yield streams
