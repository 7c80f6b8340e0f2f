"""Cutting a tool server's messages while they are read.

The MCP SDK reads a message of any length into memory before its length can be judged. A server that
lies, or a tool that returns a whole file, would take all memory. Here at most `LONGEST_MESSAGE`
bytes of a message are kept; of a longer one, the kept beginning becomes a result that says so.
"""

import logging
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import httpx2
import mcp.client.stdio
from anyio.streams.text import TextReceiveStream
from pydantic_core import from_json, to_json

from genie_core.assistant.servers.listed_tools import repaired

log = logging.getLogger(__name__)

LONGEST_MESSAGE: Final = 8_000_000
"""Bytes of one message of a server; a file of `LARGEST_FILE` bytes fits in."""

_KEPT: Final = 256_000
"""Bytes of a message that is too long: more than a model is given."""

_TIMEOUT: Final = httpx2.Timeout(30.0, read=300.0)

_END: Final = 400
_ID_AT_END: Final = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")\s*\}\s*$')


class LongMessage:
    """One message in pieces; of one with more than `longest` bytes, its beginning and end."""

    def __init__(self, longest: int = LONGEST_MESSAGE) -> None:
        self._longest = longest
        self._kept = bytearray()
        self._end = b""
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size <= self._longest:
            self._kept += piece
            return
        self._end = ((self._end or bytes(self._kept[-_END:])) + piece[-_END:])[-_END:]
        self._kept += piece[: max(_KEPT - len(self._kept), 0)]
        del self._kept[_KEPT:]

    def take(self, prefix: bytes = b"") -> bytes:
        """Return the message, or its replacement; `prefix` is no part of its JSON."""
        kept, size, end = bytes(self._kept), self.size, self._end
        self._kept, self.size, self._end = bytearray(), 0, b""
        if size <= self._longest:
            begin = len(prefix) if kept.startswith(prefix) else 0
            return kept[:begin] + repaired(kept[begin:])
        whole = kept.removeprefix(prefix)
        return prefix + shortened(whole, end, size) if whole != kept or not prefix else b""


def shortened(beginning: bytes, end: bytes, size: int) -> bytes:
    """Return a JSON-RPC message for one of `size` bytes; empty if it answers nothing.

    The result of a tool call keeps its first texts, and is marked as an error; any other answer
    becomes an error.
    """
    try:
        message = from_json(beginning, allow_partial="trailing-strings")
    except ValueError:
        message = None
    found = _ID_AT_END.search(end)
    match message:
        case {"method": _}:
            number = None
        case {"id": int() | str() as number}:
            pass
        case _:
            number = from_json(found[1]) if found else None
    if number is None:
        log.warning("a tool server sent a message of %.1f MB, which is not read", size / 1_000_000)
        return b""
    return to_json({"jsonrpc": "2.0", "id": number, **_outcome(message, size)})


def _outcome(message: Any, size: int) -> dict[str, Any]:
    size_shown = f"{size / 1_000_000:.1f} MB"
    match message:
        case {"result": {"content": [*parts]}}:
            texts = [part for part in map(_text, parts) if part is not None]
        case {"result": {"structuredContent": structured}}:
            texts = [{"type": "text", "text": to_json(structured).decode()}]
        case _:
            problem = f"the answer has {size_shown}, which is too much, and was not read"
            return {"error": {"code": -32603, "message": problem}}
    only = "only its beginning follows" if texts else "nothing of it can be used"
    note = f"[The result has {size_shown} and was cut while it was read: {only}.]"
    content = [{"type": "text", "text": note}, *texts]
    return {"result": {"content": content, "isError": True}}


def _text(part: Any) -> dict[str, str] | None:
    match part:
        case {"type": "text", "text": str() as text}:
            return {"type": "text", "text": text}
        case _:
            return None


class LongLines:
    """A stream of messages, one a line, as whole lines; see `LongMessage`.

    A line that begins with `prefix` has its message behind it.
    """

    def __init__(self, longest: int = LONGEST_MESSAGE, prefix: bytes = b"") -> None:
        self._message = LongMessage(longest)
        self._prefix = prefix

    @property
    def size(self) -> int:
        """The bytes of the line that is not complete."""
        return self._message.size

    def feed(self, chunk: bytes) -> bytes:
        """Take a part of the stream and return the lines that it completes."""
        *ends, rest = chunk.split(b"\n")
        lines = b"".join(self._line(end) for end in ends)
        self._message.add(rest)
        return lines

    def rest(self) -> bytes:
        """Return the last line, which has no end."""
        return self._message.take(self._prefix)

    def _line(self, end: bytes) -> bytes:
        self._message.add(end)
        return self._message.take(self._prefix) + b"\n"


class _LimitedText(TextReceiveStream):
    """The output of a server's program, in whole lines."""

    def __post_init__(self, encoding: str, errors: str) -> None:
        super().__post_init__(encoding, errors)
        self._lines = LongLines()

    async def receive(self) -> str:
        while True:
            lines = self._lines.feed(await self.transport_stream.receive())
            if lines.strip():
                return lines.decode("utf-8", "replace")


def limit_stdio() -> None:
    """Limit the lines that the MCP SDK reads from programs, in this whole process.

    The SDK has no setting for it, and both agent libraries call its `stdio_client`.
    """
    mcp.client.stdio.TextReceiveStream = _LimitedText  # type: ignore[attr-defined]


def limited_http(event_limit: int) -> Callable[..., httpx2.AsyncClient]:
    """Return a maker of HTTP clients whose answers are limited.

    `event_limit` are the bytes of one server-sent event.
    """

    def client(**options: Any) -> httpx2.AsyncClient:
        async def limit(response: httpx2.Response) -> None:
            _refuse_encoded(response)
            stream = response.stream
            if isinstance(stream, httpx2.AsyncByteStream):
                response.stream = _LimitedBody(stream, _kind(response), event_limit)

        headers = {**(options.pop("headers", None) or {}), "Accept-Encoding": "identity"}
        options.pop("follow_redirects", None)  # the MCP SDK follows those that stay at the server
        options["timeout"] = options.get("timeout") or _TIMEOUT
        return httpx2.AsyncClient(headers=headers, event_hooks={"response": [limit]}, **options)

    return client


def _kind(response: httpx2.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _refuse_encoded(response: httpx2.Response) -> None:
    """Refuse an answer compressed against our request: it may become a thousand times as long."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise httpx2.DecodingError(
            "the answer is compressed, though not asked for", request=response.request
        )


class _LimitedBody(httpx2.AsyncByteStream):
    """The body of an answer: one message, or events with one each."""

    def __init__(self, stream: httpx2.AsyncByteStream, kind: str, event_limit: int) -> None:
        self._stream = stream
        self._events = LongLines(event_limit, b"data:") if kind == "text/event-stream" else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._events is not None:
            async for chunk in self._stream:
                yield self._events.feed(chunk)
            yield self._events.rest()
            return
        message = LongMessage()
        async for chunk in self._stream:
            message.add(chunk)
        yield message.take()

    async def aclose(self) -> None:
        await self._stream.aclose()
