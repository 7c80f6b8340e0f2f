"""The modern server on HTTP, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp
from tests.genie_core.assistant.servers.modern_server import made

from genie_core.runtime.tasks import start_task


@asynccontextmanager
async def serving(app: ASGIApp | None = None, port: int = 0) -> AsyncIterator[str]:
    """Serve an app, by default the modern server, on loopback; its address."""
    config = uvicorn.Config(
        app or made().streamable_http_app(),
        host="127.0.0.1",
        port=port,
        log_level="error",
        ws="none",
    )
    server = uvicorn.Server(config)
    started = asyncio.Event()
    begin = server.startup

    async def startup(*arguments: object, **more: object) -> None:
        await begin(*arguments, **more)  # type: ignore[arg-type]  # whatever it takes
        started.set()

    server.startup = startup  # type: ignore[method-assign]
    serve = start_task(server._serve(), name="web")
    try:
        await asyncio.wait(
            [serve, wait := start_task(started.wait())], return_when="FIRST_COMPLETED"
        )
        wait.cancel()
        port = port or server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = server.force_exit = True
        await serve
