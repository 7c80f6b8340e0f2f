"""Health and metrics of a service over HTTP, for programs on this machine.

`/healthz` answers as long as the event loop does, `/readyz` says whether members are served, and
`/metrics` is for Prometheus. There are no secrets in it, and no TLS: beyond loopback a proxy answers.
"""

import asyncio
from typing import Final

import uvicorn
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from genie_core.room.protocol.address import Address
from genie_core.room.transport.websocket import bind
from genie_core.serve.metrics import make_registry
from genie_core.serve.service import Service
from genie_core.serve.stores.store import StoreUnavailable

CLOSING: Final = 2.0
"""Seconds that requests have to end when the service stops."""

STORE_ANSWERS: Final = 2.0
REQUESTS_AT_ONCE: Final = 64


class OpsServer:
    """Serves health and metrics of a service on its event loop, from before it starts to its end."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._registry: CollectorRegistry = make_registry(service)
        routes = [
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/metrics", self._metrics),
        ]
        self._server = uvicorn.Server(
            uvicorn.Config(
                Starlette(routes=routes),
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                limit_concurrency=REQUESTS_AT_ONCE,
            )
        )

    async def start(self, address: Address) -> Address:
        """Listen on loopback; returns the address.

        Raises:
            NotLoopback: it leads beyond this machine.
            AddressInUse: another program listens there.
            CannotListen: the system does not let us.
        """
        sock = await bind(address)
        # Only the parts of uvicorn that neither take over signals nor run a timer.
        config = self._server.config
        config.load()
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup([sock])
        name = sock.getsockname()
        return Address(str(name[0]), int(name[1]))

    async def stop(self) -> None:
        """Stop listening, and end what is being answered within seconds."""
        for server in self._server.servers:
            server.close()
        state = self._server.server_state
        for connection in list(state.connections):
            connection.shutdown()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=CLOSING)
        for connection in list(state.connections):
            connection.transport.abort()

    async def _health(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _ready(self, request: Request) -> Response:
        service = self._service
        reasons = await unready(service)
        body = {"ready": not reasons, "reasons": reasons, "rooms": len(service.rooms)}
        return JSONResponse(body, 503 if reasons else 200)

    async def _metrics(self, request: Request) -> Response:
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(self._registry), headers={"content-type": kind})


async def unready(service: Service) -> list[str]:
    """Return why members are not served; empty if they are."""
    if not service.is_serving:
        return ["the service is starting or stopping"]
    rooms = [served.server.room for served in service.rooms.values()]
    waiting = [room.failure for room in rooms if room.failure and not room.log.refusal]
    reasons = [f"{len(waiting)} of {len(rooms)} rooms wait: {waiting[0]}"] if waiting else []
    if problem := await _store_problem(service):
        reasons.append(problem)
    return reasons


async def _store_problem(service: Service) -> str:
    if service.store is None:
        return ""
    try:
        async with asyncio.timeout(STORE_ANSWERS):
            await service.store.documents.get("ready")
    except TimeoutError:
        return f"the store does not answer within {STORE_ANSWERS:.0f} s"
    except StoreUnavailable as error:
        return str(error)
    return ""
