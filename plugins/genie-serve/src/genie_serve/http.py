"""Health and metrics of a service over HTTP, for programs on this machine.

`/healthz` answers as long as the event loop does, `/readyz` says whether members are served, and
`/metrics` is for Prometheus. There are no secrets in it, and no TLS: beyond loopback a proxy answers.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import Gauge
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from genie_core.room.protocol.address import Address
from genie_core.room.protocol.errors import AddressInUse
from genie_core.room.transport.websocket import bind
from genie_serve.asgi import AsgiServer
from genie_serve.errors import CannotServe
from genie_serve.metrics import make_registry
from genie_serve.service import Service
from genie_serve.stores.store import StoreUnavailable

CLOSING: Final = 2.0
"""Seconds that requests have to end when the service stops."""

STORE_ANSWERS: Final = 2.0
REQUESTS_AT_ONCE: Final = 64


@asynccontextmanager
async def serve_ops(service: Service, address: Address) -> AsyncIterator[Address]:
    """Serve health and metrics on the service's event loop, from before it starts to its end.

    Yields the address, which port 0 leaves to the system.

    Raises:
        NotLoopback: it leads beyond this machine.
        CannotServe: another program listens there.
        CannotListen: the system does not let us.
    """
    try:
        sock = await bind(address)
    except AddressInUse as error:
        why = "another program listens there; set ops in the configuration of this service"
        raise CannotServe(f"can't serve health and metrics at {address}: {why}") from error
    server = AsgiServer(
        _app(service),
        ws="none",
        proxy_headers=False,
        date_header=False,
        limit_concurrency=REQUESTS_AT_ONCE,
    )
    await server.listen(sock)
    name = sock.getsockname()
    try:
        yield Address(str(name[0]), int(name[1]))
    finally:
        await server.close(CLOSING)


def _app(service: Service) -> Starlette:
    registry = make_registry(service)
    if service.store is not None:
        store_up = Gauge("genie_store_up", "1 if the store answers, else 0", registry=registry)

    async def health(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def ready(request: Request) -> Response:
        reasons = await unready(service)
        body = {"ready": not reasons, "reasons": reasons, "rooms": len(service.rooms)}
        body |= {"idle": service.idle, "unopened": service.unopened}
        if service.store is not None:
            body["shards"] = len(service.shards_held)  # 0 for a stand-by, which is ready, too
        return JSONResponse(body, 503 if reasons else 200)

    async def metrics(request: Request) -> Response:
        if service.store is not None:
            store_up.set(not await _store_problem(service))
        encode, kind = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), headers={"content-type": kind})

    routes = {"/healthz": health, "/readyz": ready, "/metrics": metrics}
    return Starlette(routes=[Route(path, answer) for path, answer in routes.items()])


async def unready(service: Service) -> list[str]:
    """Return why members are not served; empty if they are."""
    if not service.is_serving:
        return ["the service is starting or stopping"]
    rooms = [served.server.room for served in service.rooms.values()]
    waiting = [room.failure for room in rooms if room.failure and not room.log.refusal]
    reasons = [f"{len(waiting)} of {len(rooms)} rooms wait: {waiting[0]}"] if waiting else []
    if service.problems and not service.rooms and not service.idle:
        why = next(iter(service.problems.values()))
        reasons.append(f"none of {len(service.problems)} rooms can be opened: {why}")
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
