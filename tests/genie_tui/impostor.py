"""A host that lies, made of nothing but websockets, JSON and cryptography.

It shares no code with the program, so that what it gets is what anyone on the network would get.
"""

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.genie_core.room.scribe import Certificate, meeting, url64
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

Frame = dict[str, Any]
CONTEXT = "genie-tui room host 1"

Script = Callable[["Impostor", Frame], Awaitable[Sequence[Frame]] | Sequence[Frame]]
"""What to answer to the first frame of a participant."""


class Impostor:
    """Answers as a script says, and remembers everything that it is sent."""

    def __init__(self, folder: Path, room: str, script: Script) -> None:
        self.room = room
        self.heard: list[Frame] = []
        self.port = 0
        self._script = script
        self._key = Ed25519PrivateKey.generate()
        self._certificate = Certificate(folder / "impostor.pem")
        self.pin = self._certificate.pin

    @property
    def key(self) -> str:
        return url64(self._key.public_key().public_bytes_raw())

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Impostor"]:
        tls = self._certificate.tls
        async with serve(self._serve, "127.0.0.1", 0, ssl=tls, compression=None) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            yield self

    def sign(self, hello: Frame, nonce: str, pin: str = "") -> str:
        """A host's signature over a meeting, as a stranger can make it."""
        told = meeting(CONTEXT, self.room, hello, nonce, pin or self.pin)
        return base64.b64encode(self._key.sign(told)).decode()

    async def _serve(self, ws: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            self.heard.append(json.loads(await ws.recv()))
            answer = self._script(self, self.heard[-1])
            for frame in await answer if isinstance(answer, Awaitable) else answer:
                await ws.send(json.dumps(frame))
            while True:
                self.heard.append(json.loads(await ws.recv()))
