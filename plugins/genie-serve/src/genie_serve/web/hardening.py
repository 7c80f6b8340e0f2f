"""Limits on connections to the page that are slow, never read, or send odd bytes."""

import asyncio
from typing import Any, Final

import h11
from starlette.types import Message
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from genie_core.room.transport.hardening import (
    PINGS_AT_ONCE,
    PINGS_PER_SECOND,
    HalfOpenLimiter,
)
from genie_core.room.transport.rate import TokenBucket
from genie_serve.asgi import PromptHttp

HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""On every response: the page loads nothing from elsewhere, and none of it is kept."""

NO_BODY: Final = "content-length: 0\r\nconnection: close\r\n\r\n"

CLOSING: Final = 2.0
"""Seconds for a tab to take the reason why it is closed."""

MOST_FRAGMENTS: Final = 256
"""Frames of one message; a browser cuts a large one at some kilobytes."""


class PageHttp(PromptHttp):
    """Answers invalid requests with the headers of all other answers."""

    def send_400_response(self, msg: str) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        if self.conn.our_state is h11.IDLE or self.conn.our_state is h11.SEND_RESPONSE:
            self.transport.write(f"HTTP/1.1 400 Bad Request\r\n{lines}{NO_BODY}".encode())
        self.transport.close()


class TabSocket(WebSocketsSansIOProtocol):
    """A tab's connection: it ends when the tab does not read, or sends odd frames.

    It is a stranger to the `limiter` until it is accepted.
    """

    def __init__(self, limiter: HalfOpenLimiter, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limiter = limiter
        self._pings = TokenBucket(PINGS_AT_ONCE, PINGS_PER_SECOND)

    def handle_ping(self) -> None:
        if self._may_ping():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._may_ping():
            super().handle_pong(event)

    def _may_ping(self) -> bool:
        may = self._pings.take(self.loop.time())
        if not may:
            self.transport.abort()
        return may

    def handle_cont(self, event: Frame) -> None:
        super().handle_cont(event)
        if len(self.frames) > MOST_FRAGMENTS:
            self.transport.abort()

    def keepalive_timeout(self) -> None:
        self.transport.abort()  # closing would wait until the tab has read everything

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        self.loop.call_later(CLOSING, self.transport.abort)

    async def send(self, message: Message) -> None:  # type: ignore[override]
        await super().send(message)  # type: ignore[arg-type]
        if message["type"] == "websocket.accept":
            self._limiter.let_in(self.transport.get_extra_info("socket").fileno())
