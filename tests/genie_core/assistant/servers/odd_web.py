"""Tool servers on HTTP as older and stricter programs are."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.genie_core.assistant.servers.toy_server import TOOLS, answer
from tests.ports import free_port


class OddWeb:
    """Listens on loopback, over server-sent events at `/sse`, with sessions at `/mcp`."""

    def __init__(self) -> None:
        self.port = free_port()
        self.sessions: set[str] = set()
        self.refusal = "404 Not Found"
        self.heads: list[str] = []
        self._events: asyncio.StreamWriter | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._count = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                self.heads.append(head)
                length = head.lower().partition("content-length:")[2].split("\r\n")[0].strip()
                body = await reader.readexactly(int(length or 0))
                self._answer(writer, head, json.loads(body) if body else {})
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    def _answer(self, writer: asyncio.StreamWriter, head: str, message: dict[str, Any]) -> None:
        if head.startswith("GET /sse"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            writer.write(b"event: endpoint\ndata: /messages?session_id=1\n\n")
            self._events = writer
        elif head.startswith("POST /messages"):
            _reply(writer, "202 Accepted")
            if (found := answer(message, TOOLS)) is not None and self._events is not None:
                self._events.write(f"event: message\ndata: {json.dumps(found)}\n\n".encode())
        elif head.startswith("POST /mcp"):
            self._in_session(writer, head, message)
        else:
            _reply(writer, "405 Method Not Allowed")

    def _in_session(self, writer: asyncio.StreamWriter, head: str, message: dict[str, Any]) -> None:
        session = head.lower().partition("mcp-session-id:")[2].split("\r\n")[0].strip()
        if message.get("method") == "initialize":
            self._count += 1
            self.sessions.add(f"s{self._count}")
            _reply(writer, "200 OK", answer(message, TOOLS), f"mcp-session-id: s{self._count}\r\n")
        elif session not in self.sessions:
            refused = {"code": -32600, "message": "Session not found"}
            _reply(writer, self.refusal, {"jsonrpc": "2.0", "id": "server-error", "error": refused})
        elif (found := answer(message, TOOLS)) is None:
            _reply(writer, "202 Accepted")
        else:
            _reply(writer, "200 OK", found)


def _reply(writer: asyncio.StreamWriter, status: str, content: Any = None, more: str = "") -> None:
    body = json.dumps(content).encode() if content is not None else b""
    kind = "content-type: application/json\r\n" if content is not None else ""
    head = f"HTTP/1.1 {status}\r\n{kind}{more}content-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)


@asynccontextmanager
async def odd_web() -> AsyncIterator[OddWeb]:
    web = OddWeb()
    server = await asyncio.start_server(web.serve, "127.0.0.1", web.port)
    try:
        yield web
    finally:
        server.close()
        web.close()
