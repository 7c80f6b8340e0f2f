"""The toy server on HTTP, in this process: it can be taken away at any moment."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.genie_core.assistant.servers.toy_server import TOOLS, answer, huge
from tests.ports import free_port


class ToyWeb:
    """Listens on loopback; keeps the headers of each request, and its path."""

    def __init__(self) -> None:
        self.tools: list[dict[str, Any]] = list(TOOLS)
        self.heads: list[str] = []
        self.events = False  # whether a long result is sent as an event
        self.port = free_port()  # it may be started there again
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    def kill(self) -> None:
        """Cut all connections, and take no more."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                self.heads.append(head)
                length = head.lower().partition("content-length:")[2].split("\r\n")[0].strip()
                body = await reader.readexactly(int(length or 0))
                if head.startswith("POST"):
                    await self._post(writer, json.loads(body))
                else:
                    self._reply(writer, "405 Method Not Allowed")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _post(self, writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
        name = message.get("params", {}).get("name")
        if message["method"] == "tools/call" and name == "crash":
            self.kill()
        elif message["method"] == "tools/call" and name == "hang":
            pass
        elif message["method"] == "tools/call" and name == "huge":
            await self._huge(writer, message)
        elif (reply := answer(message, self.tools)) is None:
            self._reply(writer, "202 Accepted")
        else:
            self._reply(writer, "200 OK", json.dumps(reply))

    async def _huge(self, writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
        kind = "text/event-stream" if self.events else "application/json"
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + b"data: " * self.events)
        for piece in huge(message):
            writer.write(piece.encode())
            await writer.drain()
        writer.write(b"\n\n")
        writer.close()

    def _reply(self, writer: asyncio.StreamWriter, status: str, body: str = "") -> None:
        kind = "content-type: application/json\r\n" if body else ""
        writer.write(
            f"HTTP/1.1 {status}\r\n{kind}content-length: {len(body)}\r\n\r\n{body}".encode()
        )


@asynccontextmanager
async def toy_web() -> AsyncIterator[ToyWeb]:
    web = ToyWeb()
    await web.start()
    try:
        yield web
    finally:
        web.kill()
