"""Mend chat completions of OpenAI-compatible servers, before an SDK reads them.

Servers differ in parts that the SDKs rely on: they give parallel calls one index or one id, leave
out ids, write thoughts and calls into the text, or stop without a finish reason.
"""

import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from genie_core.agent.provider.failures import (
    ModelRequestInfo,
    code_in,
    kind_of_status,
    message_in,
)
from genie_core.agent.provider.progress_reporter import ProgressReporter
from genie_core.errors import ModelFailed, ModelTrouble
from genie_core.text.thoughts import THOUGHTS_END, TextFilter

_UNKNOWN: Final = 500  # the kind of an error without a status
_MOST_KNOWN: Final = 100

_THINKS: Final = re.compile(r"(?i)thinking|qwq|reasoner|\br1\b")
"""Names of models whose template may begin the thoughts, so that no marker does.

Their text is held back until the thoughts end, unless the server separates them.
"""

_unopened: dict[tuple[str, str], None] = {}
"""Models, with their addresses, whose thoughts end with a marker but do not begin with one."""


class ChatResponse:
    """Mends one chat completion: the chunks of a stream, or a whole one.

    `asked` and `request` are the request that it answers. `failure` is set when the response ends
    in a way that is no answer; `is_finished` once it has a finish reason.
    """

    def __init__(self, asked: ModelRequestInfo, request: Mapping[str, Any]) -> None:
        self.is_finished = False
        self.failure: ModelFailed | None = None
        self._asked = asked
        self._model = asked.where, asked.model
        thinks = self._model in _unopened or _THINKS.search(asked.model) is not None
        self._text = TextFilter(hold=thinks)
        self._calls = ToolCalls(_ids_in(request))
        self._pulse = ProgressReporter()
        self._last: dict[str, Any] | None = None

    def read(self, chunk: dict[str, Any]) -> dict[str, Any]:
        """Return a chunk as the SDKs expect it."""
        for choice in _choices_in(chunk):
            delta = choice["delta"] = dict(choice.get("delta") or {})
            if delta.get("reasoning_content") or delta.get("reasoning"):
                self._text.release()
            if content := delta.get("content"):
                delta["content"] = self._shown(self._text.feed, _text_in(content)) or None
            if self._text.is_hiding:
                self._pulse.at("thinking")
            if calls := delta.get("tool_calls"):
                delta["tool_calls"] = self._calls.take(calls)
            if reason := choice.get("finish_reason"):
                rest = self._shown(partial(self._text.finish, complete=reason != "length"))
                delta["content"] = (delta.get("content") or "") + rest or None
                self._end(str(reason))
        self._last = chunk
        return chunk

    def _shown(self, read: Callable[..., str], *piece: str) -> str:
        """Return the text to show. Thoughts that were shown end with a marker, for the reader."""
        before = self._text.retracted
        shown = read(*piece)
        return shown if before == self._text.retracted else f"{THOUGHTS_END}{shown}"

    def rest(self) -> dict[str, Any] | None:
        """Return a chunk with the rest of the text of a stream that has no end, if any."""
        if (
            not (rest := self._shown(partial(self._text.finish, complete=False)))
            or self._last is None
        ):
            return None
        choice = {"index": 0, "delta": {"content": rest}, "finish_reason": None}
        return {**self._last, "choices": [choice]}

    def whole(self, text: bytes) -> dict[str, Any]:
        """Return a whole response as the SDKs expect it. Raises `ModelFailed`."""
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            raise self._asked.failed("answer", "it is no JSON") from None
        if not isinstance(body, dict) or not (choices := _choices_in(body)):
            code, detail = code_in(body), message_in(body)
            raise self._asked.failed(kind_of_status(_UNKNOWN, code, detail), detail)
        message = dict(choices[0].pop("message", None) or {})
        decision = message.pop("content") if _is_object(message.get("content")) else None
        named = {key: value for key, value in body.items() if value is not None}
        choice = {**choices[0], "index": 0, "delta": message}
        defaults = {"id": "", "object": "chat.completion", "created": 0, "model": self._asked.model}
        body = self.read({**defaults, **named, "choices": [choice]})
        message = choice.pop("delta")
        content = message.get("content") if decision is None else decision
        choice["message"] = {"role": "assistant", **message, "content": content}
        return body

    def _end(self, reason: str) -> None:
        self.is_finished = True
        if self._text.unopened:
            _unopened[self._model] = None
            if len(_unopened) > _MOST_KNOWN:
                del _unopened[next(iter(_unopened))]
        elif not self._text.thought and reason != "length":
            _unopened.pop(self._model, None)
        if trouble := self._trouble(reason):
            self.failure = self._asked.failed(*trouble)

    def _trouble(self, reason: str) -> tuple[ModelTrouble, str] | None:
        """Return why the response is no answer, if it is none."""
        is_blank = not self._text.text.strip()
        if reason == "content_filter":
            return "filter", ""
        if reason == "error":
            return "server", ""
        if reason == "length" and (is_blank or self._calls.count):
            return "output", ""
        if self._text.call:
            return "call", self._text.call_name
        if self._calls.nameless:
            return "answer", "a tool call has no name"
        if is_blank and self._text.thought and not self._calls.count:
            return "thoughts", ""
        return None


@dataclass(slots=True)
class _Call:
    """One tool call: its number, the index and id that the server gave, and the id to use."""

    number: int
    index: object
    given_id: str
    id: str
    name: str = ""
    arguments: str = ""

    @property
    def is_whole(self) -> bool:
        return _is_object(self.arguments)


class ToolCalls:
    """Tells the tool calls of a response apart, and gives each its own index and id.

    A part belongs to another call if its index is another, or its id, or if it has a name and the
    call so far another one or complete arguments. `used` are ids of earlier calls.
    """

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._calls: list[_Call] = []

    @property
    def count(self) -> int:
        return len(self._calls)

    @property
    def nameless(self) -> bool:
        """Whether a call has no name."""
        return any(not call.name for call in self._calls)

    def take(self, parts: Iterable[Any]) -> list[dict[str, Any]]:
        """Return the parts of calls in one chunk with their calls' own indices and ids."""
        begun: list[int] = []
        return [self._take(part, begun) for part in parts if isinstance(part, dict)]

    def _take(self, part: dict[str, Any], begun: list[int]) -> dict[str, Any]:
        function = part.get("function") or {}
        name, arguments = function.get("name") or "", function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        given_id = str(part.get("id") or "")
        call = self._known(part.get("index"), given_id, name, arguments, begun)
        if is_new := call is None:
            call = self._begin(part.get("index"), given_id)
        if name:
            begun.append(call.number)
        sent_name = "" if call.name else name
        call.name = call.name or name
        call.arguments += arguments
        return {
            **part,
            "index": call.number,
            "type": "function",
            "id": call.id if is_new else None,
            "function": {**function, "name": sent_name or None, "arguments": arguments},
        }

    def _known(
        self, index: object, given_id: str, name: str, arguments: str, begun: list[int]
    ) -> _Call | None:
        """Return the call that a part continues, if any."""
        alike = [call for call in self._calls if index is None or call.index == index]
        same = [call for call in alike if given_id and call.given_id == given_id]
        if not alike:
            return None
        call = (same or alike)[-1]
        if not name or not call.name:
            return call
        other = given_id and call.given_id and not same
        if other or call.name != name or call.number in begun:
            return None
        begins = arguments.lstrip().startswith("{") or not same
        return None if call.is_whole and begins else call

    def _begin(self, index: object, given_id: str) -> _Call:
        own_id = given_id
        while not own_id or own_id in self._used:
            own_id = secrets.token_hex(5)[:9]  # in the form that Mistral's models want
        self._used.add(own_id)
        call = _Call(len(self._calls), index, given_id, own_id)
        self._calls.append(call)
        return call


def _choices_in(body: Any) -> list[dict[str, Any]]:
    choices = body.get("choices") if isinstance(body, dict) else None
    return [each for each in choices or () if isinstance(each, dict)]


def _is_object(text: Any) -> bool:
    """Whether a text is a JSON object, in which markers are values."""
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError, RecursionError):
        return False


def _text_in(content: Any) -> str:
    """Return a text that may come in parts, some of which are thoughts."""
    if isinstance(content, str):
        return content
    parts = (
        [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    )
    return "".join(each.get("text") or "" for each in parts if each.get("type") == "text")


def _ids_in(request: Mapping[str, Any]) -> list[str]:
    """Return the ids of calls in the conversation that was sent."""
    messages = [each for each in request.get("messages") or () if isinstance(each, dict)]
    calls = [call for each in messages for call in each.get("tool_calls") or ()]
    return [str(call.get("id")) for call in calls]
