"""A service with administrators: a real one in a folder, on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from tests.genie_core.room.doubles import Guest, participant, tls_connector

from genie_core.room.security.challenge import InviteSecret
from genie_core.room.security.invite import read_invite
from genie_core.settings.locations import Locations
from genie_serve.admin.client import ask_here
from genie_serve.admin.remotes import Remote
from genie_serve.admin.requests import AnyAnswer, AnyRequest
from genie_serve.admin.server import PATIENCE, administered
from genie_serve.config import ServeConfig
from genie_serve.service import Service

LOCAL = ServeConfig(listen="127.0.0.1", port=0)


def places(home: Path) -> Locations:
    return Locations(home / "config", home / "data", home / "log")


class Administered:
    """A running service, and a person who administers it."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.stopped = asyncio.Event()

    async def ask(self, request: AnyRequest) -> AnyAnswer:
        return await asyncio.to_thread(ask_here, self.service.locations, request)

    @property
    def remote(self) -> Remote:
        return Remote(str(self.service.address), self.service.host.certificate.pin)


@asynccontextmanager
async def administering(
    home: Path, config: ServeConfig = LOCAL, *, patience: float = PATIENCE
) -> AsyncIterator[Administered]:
    service = Service(config, places(home))
    await service.start()
    try:
        running = Administered(service)
        async with administered(service, running.stopped.set, patience=patience):
            yield running
    finally:
        await service.stop()


def joining(invite: str, name: str, **options: Any) -> AbstractAsyncContextManager[Guest]:
    """Join by an invite, as a client does that knows nothing more of the room."""
    found = read_invite(invite)
    options.setdefault("ticket", InviteSecret(found.pass_id, found.secret))
    options.setdefault("digest", found.room)
    return participant(tls_connector(found.addresses[0], found.pin), name, **options)
