"""The server itself: whose turn it is, and its requests."""

import itertools
import json
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from genie_testing.openai.chat import ChatApi
from genie_testing.openai.delivery import Api, delivery, raw
from genie_testing.openai.listener import Listener
from genie_testing.openai.refusal import (
    incomplete_history,
    refusal,
    unknown_item,
    unknown_model,
    wrong_key,
)
from genie_testing.openai.reply import reply_to
from genie_testing.openai.request import ModelRequest, unmatched
from genie_testing.openai.responses import ResponsesApi
from genie_testing.shown import Arrivals
from genie_testing.turns import Raw, Refuse, Say, Turn


class FakeOpenAI:
    """An OpenAI-compatible provider whose model does one turn of a script per request.

    Use it as `async with FakeOpenAI(Say("hello")) as server:` and point a client at
    `server.base_url` with `server.api_key`; any other key is refused. Both `/chat/completions` and
    `/responses` take turns from the same script, streaming or not. When no turn is left, `choose`
    picks one for each request; without it, the model repeats the user's words, or, where JSON is
    asked for, the last JSON it was told to say.

    With `models`, these are the only ones there are. As with the real service, a conversation in
    which a tool call has no result is refused, and so is one with the id of an item that this server
    has not made itself; such requests use up no turn. Leaving the context drops every client.
    """

    def __init__(
        self,
        *turns: Turn,
        api_key: str = "sk-scripted-key",
        models: Sequence[str] = (),
        choose: Callable[[ModelRequest], Turn] | None = None,
    ) -> None:
        self.api_key = api_key
        self._asked: Arrivals[ModelRequest] = Arrivals()
        self._models = tuple(models)
        self._turns: deque[Turn] = deque(turns)
        self._choose = choose
        self._json = "{}"
        self._tags = (f"{secrets.token_hex(4)}_{number}" for number in itertools.count(1))
        self._stored: set[str] = set()
        self._listener: Listener | None = None

    @property
    def base_url(self) -> str:
        """The service's base URL; valid only while it runs."""
        if self._listener is None:
            raise RuntimeError("FakeOpenAI has no address outside its `async with`")
        return f"http://127.0.0.1:{self._listener.port}/v1"

    @property
    def requests(self) -> list[ModelRequest]:
        """All requests that named a model, in order of arrival."""
        return self._asked.items

    def script(self, *turns: Turn) -> None:
        self._turns.extend(turns)

    async def reached(self, count: int) -> None:
        """Wait for a number of requests, refused ones included."""
        await self._asked.reached(count)

    async def __aenter__(self) -> Self:
        routes = [
            Route("/v1/models", self._list_models),
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/responses", self._responses, methods=["POST"]),
        ]
        listener = Listener(Starlette(routes=routes))
        await listener.start()
        self._listener = listener
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.stop()

    async def _list_models(self, request: Request) -> ASGIApp:
        if (key := _key(request)) != self.api_key:
            return refusal(wrong_key(key))
        models = [
            {"id": name, "object": "model", "created": 0, "owned_by": "genie"}
            for name in self._models or ("scripted",)
        ]
        return JSONResponse({"object": "list", "data": models})

    async def _chat(self, request: Request) -> ASGIApp:
        return await self._answer(ChatApi(), request)

    async def _responses(self, request: Request) -> ASGIApp:
        return await self._answer(ResponsesApi(), request)

    async def _answer(self, api: Api, http: Request) -> ASGIApp:
        try:
            request = _read(api, await http.json(), http)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            return refusal(Refuse(400, f"The body is not a request to this endpoint: {error!r}"))
        await self._asked.add(request)
        if refused := self._objection(api, request):
            return refusal(refused)
        turn = self._next_turn(request)
        if isinstance(turn, Refuse):
            return refusal(turn)
        if isinstance(turn, Raw):
            return raw(turn, streamed=turn.streamed and bool(request.body.get("stream")))
        reply = reply_to(request, next(self._tags), turn)
        self._stored.update(api.stored(reply))
        return delivery(api, reply, turn, self._drop)

    def _objection(self, api: Api, request: ModelRequest) -> Refuse | None:
        if request.key != self.api_key:
            return wrong_key(request.key)
        if self._models and request.model not in self._models:
            return unknown_model(request.model)
        if ids := unmatched(request.entries, adjacent=api.adjacent_results):
            return incomplete_history(ids)
        if unknown := [each for each in api.references(request.body) if each not in self._stored]:
            return unknown_item(unknown[0])
        return None

    def _next_turn(self, request: ModelRequest) -> Turn:
        turn = self._turns.popleft() if self._turns else None
        if isinstance(turn, Say) and _is_json(turn.text):
            self._json = turn.text
        if turn is not None:
            return turn
        if self._choose is not None:
            return self._choose(request)
        return Say(self._json if request.structured else f"echo: {request.query}")

    def _drop(self, scope: Scope) -> None:
        if self._listener is not None:  # otherwise all clients are being dropped already
            self._listener.drop(scope)


def _key(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ").strip()


def _read(api: Api, body: dict[str, Any], http: Request) -> ModelRequest:
    if not isinstance(body["model"], str):
        raise TypeError("model must be a string")
    return ModelRequest(
        api=api.name,
        body=body,
        key=_key(http),
        entries=tuple(api.entries(body)),
        tools=api.tools(body),
        structured=api.structured(body),
        headers=dict(http.headers),
    )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
