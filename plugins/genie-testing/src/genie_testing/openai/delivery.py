"""Sending an answer in time, too late, or not to the end."""

import json
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Final, TypeAlias

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from genie_testing.openai.chat import ChatApi
from genie_testing.openai.reply import ModelReply
from genie_testing.openai.responses import ResponsesApi
from genie_testing.turns import Call, Calls, Cut, Raw, Say, Stall

Api: TypeAlias = ChatApi | ResponsesApi
Drop: TypeAlias = Callable[[Scope], None]

_EVENTS: Final = "text/event-stream"
_JSON: Final = "application/json"


def delivery(
    api: Api, reply: ModelReply, turn: Say | Call | Calls | Stall | Cut, drop: Drop
) -> ASGIApp:
    """Choose how a reply is sent, whole or as events, and how it ends."""
    streamed = bool(reply.body.get("stream"))
    match turn:
        case Stall():
            return InPieces(api.beginning(reply), _EVENTS, stall) if streamed else stall
        case Cut():
            if streamed:
                return InPieces(api.beginning(reply), _EVENTS, cut(drop))
            return InPieces(_half(api.whole(reply)), _JSON, cut(drop))
        case _:
            if streamed:
                return InPieces(chain(api.beginning(reply), api.rest(reply)), _EVENTS, complete)
            return JSONResponse(api.whole(reply))


def raw(turn: Raw, *, streamed: bool) -> ASGIApp:
    """Return the events of a turn as they are."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in turn.events]
    if not streamed:
        return InPieces(texts[:1], _JSON, complete)
    lines = [
        text if isinstance(each, str) else f"data: {text}"
        for each, text in zip(turn.events, texts, strict=True)
    ]
    return InPieces([f"{line}\n\n" for line in lines], _EVENTS, complete)


class InPieces:
    """A response that sends pieces one by one and then ends as `ending` says."""

    def __init__(self, pieces: Iterable[str], media_type: str, ending: ASGIApp) -> None:
        self._pieces = pieces
        self._media_type = media_type
        self._ending = ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces, each as soon as the client accepts it."""
        headers = [(b"content-type", self._media_type.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece.encode(), "more_body": True})
        await self._ending(scope, receive, send)


async def complete(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def stall(_scope: Scope, receive: Receive, _send: Send) -> None:
    """Keep the response open until the client or the server closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


def cut(drop: Drop) -> ASGIApp:
    """Return an ending that closes the connection to the client."""

    async def ending(scope: Scope, receive: Receive, send: Send) -> None:
        drop(scope)
        await stall(scope, receive, send)

    return ending


def _half(document: dict[str, Any]) -> list[str]:
    """Return the first half of a JSON document."""
    text = json.dumps(document)
    return [text[: len(text) // 2]]
