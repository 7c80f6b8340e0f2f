"""Sending an answer in time, too late, or not to the end."""

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from starlette.types import Receive, Scope, Send

Drop = Callable[[Scope], None]


class Delivery:
    """A response that sends pieces one by one and then does what `ending` says."""

    def __init__(
        self,
        pieces: Iterable[str],
        media_type: str,
        ending: Callable[[Scope, Receive, Send], Awaitable[None]],
    ) -> None:
        self._pieces = pieces
        self._media_type = media_type
        self._ending = ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces, each as soon as the client takes it."""
        headers = [(b"content-type", self._media_type.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
        await self._ending(scope, receive, send)


async def complete(_scope: Scope, _receive: Receive, send: Send) -> None:
    """End the response properly."""
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def stall(_scope: Scope, receive: Receive, _send: Send) -> None:
    """Leave the response open until the client, or the server, closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def cut(drop: Drop) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Make the ending that closes the connection under the client."""

    async def ending(scope: Scope, receive: Receive, send: Send) -> None:
        drop(scope)
        await stall(scope, receive, send)

    return ending


def half(document: dict[str, Any]) -> list[str]:
    """Write the first half of a JSON document, as far as a broken connection lets it through."""
    text = json.dumps(document)
    return [text[: len(text) // 2]]
