"""Read a provider's HTTP response before its SDK does: mend it, and note whether it is complete.

The SDKs take the end of a stream for the end of an answer, whether or not the model had finished.
"""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from genie_core.agent.provider.chat_response import ChatResponse
from genie_core.agent.provider.failures import ModelRequestInfo, info_of
from genie_core.errors import ModelFailed

_EVENTS: Final = "text/event-stream"
_JSON: Final = "application/json"
_DONE: Final = b"data:[DONE]"
NO_END: Final = "its server did not say that the answer is complete"

_CHAT: Final = "/chat/completions"
_LAST_EVENTS: Final[Mapping[str, frozenset[str]]] = {
    "/responses": frozenset(
        {"response.completed", "response.incomplete", "response.failed", "error"}
    ),
    "/messages": frozenset({"message_stop", "error"}),
}
"""The events that end a stream, by the end of the path."""


def mend(response: httpx2.Response) -> None:
    """Replace the stream of a response by one that is mended and checked.

    Raises `ModelFailed` for one that is no answer of a model.
    """
    path = urlsplit(str(response.request.url)).path
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    request = _request_in(response.request)
    if response.headers.get("content-encoding", "identity") != "identity" or not request:
        return
    asked = info_of(response.request, str(request.get("model", "")))
    if path.endswith(_CHAT):
        if kind not in (_EVENTS, _JSON):
            raise asked.failed("answer", f"it is of type {kind!r}, so no model's")
        _mend_chat(
            response, ChatResponse(asked, request), kind, streamed=bool(request.get("stream"))
        )
    elif kind == _EVENTS and (last := [_LAST_EVENTS[e] for e in _LAST_EVENTS if path.endswith(e)]):
        response.stream = _Events(response.stream, _EventReader(asked, last[0]))


def _mend_chat(response: httpx2.Response, chat: ChatResponse, kind: str, *, streamed: bool) -> None:
    if kind == _EVENTS:
        response.stream = _Events(response.stream, chat)
        return
    response.stream = _Body(response.stream, chat, streamed=streamed)
    response.headers["content-type"] = _EVENTS if streamed else _JSON


def _request_in(request: httpx2.Request) -> dict[str, Any]:
    with suppress(ValueError, httpx2.RequestNotRead):
        body = json.loads(request.content)
        return body if isinstance(body, dict) else {}
    return {}


class UnfinishedResponse(httpx2.RemoteProtocolError):
    """A response without the end of an answer. SDKs handle it as a lost connection."""


class _EventReader:
    """Reads the events of another response, with the members that `ChatResponse` has."""

    def __init__(self, asked: ModelRequestInfo, last: frozenset[str]) -> None:
        self.failure: ModelFailed | None = None
        self.is_finished = False
        self._asked = asked
        self._last = last

    def read(self, event: dict[str, Any]) -> dict[str, Any]:
        self.is_finished = self.is_finished or event.get("type") in self._last
        if event.get("type") == "response.incomplete":
            response = event.get("response") or {}
            if (response.get("incomplete_details") or {}).get("reason") == "content_filter":
                raise self._asked.failed("filter")
            if any(each.get("type") == "function_call" for each in response.get("output") or ()):
                raise self._asked.failed("output")
        return event

    def rest(self) -> dict[str, Any] | None:
        return None


class _Wrapped(httpx2.AsyncByteStream):
    """A stream in place of another one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Events(_Wrapped):
    """Server-sent events, mended one by one. A stream without an end raises an error of `httpx2`.

    As with a lost connection, an SDK reports it and keeps the text so far.
    """

    def __init__(self, stream: Any, reader: ChatResponse | _EventReader) -> None:
        super().__init__(stream)
        self._reader = reader
        self._is_refused = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self._stream:
            *lines, rest = (rest + piece).split(b"\n")
            for mended in self._mended(lines):
                yield mended
        for mended in self._mended([rest, _DONE] if rest else [_DONE]):
            yield mended

    def _mended(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            is_last = line.replace(b" ", b"").startswith(_DONE)
            if is_last and not (self._reader.is_finished or self._is_refused):
                if rest := self._reader.rest():
                    yield _event(rest)
                raise UnfinishedResponse(NO_END)
            yield self._line(line)
            if self._reader.failure is not None:
                raise self._reader.failure

    def _line(self, line: bytes) -> bytes:
        text = line.decode("utf-8", "replace").strip()
        if not text.startswith("data:"):
            return line + b"\n"
        with suppress(ValueError, RecursionError):
            event = json.loads(text.removeprefix("data:"))
            if isinstance(event, dict):
                self._is_refused = self._is_refused or bool(event.get("error"))
                return _event(self._reader.read(event))
        return line + b"\n"


class _Body(_Wrapped):
    """A whole chat completion, mended; with `streamed`, as the events that were asked for."""

    def __init__(self, stream: Any, chat: ChatResponse, *, streamed: bool) -> None:
        super().__init__(stream)
        self._chat = chat
        self._streamed = streamed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = self._chat.whole(b"".join([piece async for piece in self._stream]))
        if self._chat.failure is not None:
            raise self._chat.failure
        if not self._chat.is_finished:
            raise UnfinishedResponse(NO_END)
        yield _as_events(body) if self._streamed else json.dumps(body).encode()


def _as_events(body: dict[str, Any]) -> bytes:
    choices = [{**each, "delta": each.pop("message")} for each in body["choices"]]
    return _event({**body, "object": "chat.completion.chunk", "choices": choices})


def _event(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event).encode() + b"\n\n"
