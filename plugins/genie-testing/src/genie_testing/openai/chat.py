"""The wire format of chat completions."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from genie_testing.openai.reply import ModelReply, WrittenCall, media_type, split_text
from genie_testing.openai.request import ApiName, HistoryEntry
from genie_testing.turns import split_words


class ChatApi:
    """Reads requests to `/chat/completions` and writes its answers."""

    name: ApiName = "chat"
    adjacent_results = True

    def entries(self, body: dict[str, Any]) -> Iterator[HistoryEntry]:
        for message in body.get("messages", ()):
            texts, files = _content(message.get("content"))
            match message["role"]:
                case "system" | "developer":
                    yield HistoryEntry("system", texts)
                case "tool":
                    yield HistoryEntry("tool", texts, files, message["tool_call_id"])
                case "assistant":
                    if texts:
                        yield HistoryEntry("assistant", texts)
                    for call in message.get("tool_calls") or ():
                        yield HistoryEntry("call", call_id=call["id"], **call["function"])
                case _:
                    yield HistoryEntry("user", texts, files)

    def tools(self, body: dict[str, Any]) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools") or () if "function" in tool]

    def structured(self, body: dict[str, Any]) -> bool:
        """Whether the answer must be JSON."""
        kind = (body.get("response_format") or {}).get("type")
        return kind in {"json_schema", "json_object"}

    def references(self, _body: dict[str, Any]) -> list[str]:
        """Return the stored items that are referred to; this interface stores none."""
        return []

    def stored(self, _reply: ModelReply) -> list[str]:
        """Return the items stored with an answer; none, as above."""
        return []

    def whole(self, reply: ModelReply) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
        if reply.calls:
            message["tool_calls"] = [_call(call) for call in reply.calls]
        choice = {"index": 0, "message": message, "finish_reason": _reason(reply), "logprobs": None}
        return {
            **_envelope(reply, "chat.completion"),
            "choices": [choice],
            "usage": _usage(reply),
        }

    def beginning(self, reply: ModelReply) -> Iterator[str]:
        """Return the events up to the end of the text."""
        yield _chunk(reply, {"role": "assistant", "content": ""})
        for word in split_words(reply.text or ""):
            yield _chunk(reply, {"content": word})

    def rest(self, reply: ModelReply) -> Iterator[str]:
        """Return the calls, their arguments in pieces, and the end."""
        for index, call in enumerate(reply.calls):
            opened = {"index": index, **_call(replace(call, arguments=""))}
            yield _chunk(reply, {"tool_calls": [opened]})
            for part in split_text(call.arguments):
                bit = {"index": index, "function": {"arguments": part}}
                yield _chunk(reply, {"tool_calls": [bit]})
        yield _chunk(reply, {}, finish=_reason(reply))
        if (reply.body.get("stream_options") or {}).get("include_usage"):
            closing = {**_envelope(reply, "chat.completion.chunk"), "choices": []}
            yield _event({**closing, "usage": _usage(reply)})
        yield "data: [DONE]\n\n"


def _content(content: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if isinstance(content, str):
        return (content,), ()
    parts = content or ()
    texts = tuple(part["text"] for part in parts if part["type"] == "text")
    return texts, tuple(file for part in parts if (file := _file(part)))


def _file(part: dict[str, Any]) -> str:
    match part["type"]:
        case "image_url":
            return media_type(part["image_url"]["url"])
        case "file":
            return media_type(part["file"].get("file_data") or part["file"].get("file_id", ""))
        case "input_audio":
            return f"audio/{part['input_audio']['format']}"
        case _:
            return ""


def _call(call: WrittenCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _reason(reply: ModelReply) -> str:
    if reply.cut:
        return "length"
    return "tool_calls" if reply.calls else "stop"


def _envelope(reply: ModelReply, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{reply.tag}",
        "object": kind,
        "created": reply.created,
        "model": reply.body["model"],
    }


def _chunk(reply: ModelReply, delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return _event({**_envelope(reply, "chat.completion.chunk"), "choices": [choice]})


def _usage(reply: ModelReply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.tokens_in,
        "completion_tokens": reply.tokens_out,
        "total_tokens": reply.tokens_in + reply.tokens_out,
    }


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"
