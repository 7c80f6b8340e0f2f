"""The wire format of responses."""

import json
from collections.abc import Iterator
from typing import Any, Final

from genie_testing.openai.reply import ModelReply, media_type, split_text
from genie_testing.openai.request import ApiName, HistoryEntry, Role
from genie_testing.turns import split_words

_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
}


class ResponsesApi:
    """Reads requests to `/responses` and writes its answers."""

    name: ApiName = "responses"
    adjacent_results = False

    def entries(self, body: dict[str, Any]) -> Iterator[HistoryEntry]:
        if instructions := body.get("instructions"):
            yield HistoryEntry("system", (instructions,))
        given = body.get("input", ())
        if isinstance(given, str):
            yield HistoryEntry("user", (given,))
            return
        for item in given:
            yield from _entry(item)

    def tools(self, body: dict[str, Any]) -> list[str]:
        return [tool["name"] for tool in body.get("tools") or () if tool["type"] == "function"]

    def structured(self, body: dict[str, Any]) -> bool:
        """Whether the answer must be JSON."""
        kind = ((body.get("text") or {}).get("format") or {}).get("type")
        return kind in {"json_schema", "json_object"}

    def references(self, body: dict[str, Any]) -> list[str]:
        """Return the stored items that the conversation refers to."""
        given = body.get("input", ())
        items = () if isinstance(given, str) else given
        return [item["id"] for item in items if item.get("id")]

    def stored(self, reply: ModelReply) -> list[str]:
        """Return the items stored with an answer."""
        return [item["id"] for item in (*_messages(reply), *_calls(reply))]

    def whole(self, reply: ModelReply) -> dict[str, Any]:
        ending: dict[str, Any] = _response(reply, "completed")
        if reply.cut:
            details = {"reason": "max_output_tokens"}
            ending = {**_response(reply, "incomplete"), "incomplete_details": details}
        return {
            **ending,
            "output": [*_messages(reply), *_calls(reply)],
            "usage": _usage(reply),
        }

    def beginning(self, reply: ModelReply) -> Iterator[str]:
        """Return the events up to the end of the text."""
        opened = {**_response(reply, "in_progress"), "output": [], "usage": None}
        yield _event(reply, "response.created", response=opened)
        yield _event(reply, "response.in_progress", response=opened)
        for message in _messages(reply):
            item = {**message, "status": "in_progress", "content": []}
            yield _event(reply, "response.output_item.added", output_index=0, item=item)
            spot = {"item_id": message["id"], "output_index": 0, "content_index": 0}
            yield _event(reply, "response.content_part.added", **spot, part=_part(""))
            for word in split_words(reply.text or ""):
                delta = {**spot, "delta": word, "logprobs": []}
                yield _event(reply, "response.output_text.delta", **delta)

    def rest(self, reply: ModelReply) -> Iterator[str]:
        """Return the end of the text, the calls, their arguments in pieces, and the end."""
        for message in _messages(reply):
            spot = {"item_id": message["id"], "output_index": 0, "content_index": 0}
            done = {**spot, "text": reply.text, "logprobs": []}
            yield _event(reply, "response.output_text.done", **done)
            yield _event(reply, "response.content_part.done", **spot, part=message["content"][0])
            yield _event(reply, "response.output_item.done", output_index=0, item=message)
        for index, item in enumerate(_calls(reply), start=len(_messages(reply))):
            yield from _call_events(reply, index, item)
        kind = "response.incomplete" if reply.cut else "response.completed"
        yield _event(reply, kind, response=self.whole(reply))


def _entry(item: dict[str, Any]) -> Iterator[HistoryEntry]:
    match item.get("type", "message"):
        case "message":
            texts, files = _content(item["content"])
            yield HistoryEntry(_ROLES.get(item["role"], "user"), texts, files)
        case "function_call":
            name, arguments = item["name"], item["arguments"]
            yield HistoryEntry("call", call_id=item["call_id"], name=name, arguments=arguments)
        case "function_call_output":
            texts, files = _content(item["output"])
            yield HistoryEntry("tool", texts, files, item["call_id"])
        case _:
            pass  # reasoning and the like, which is not read back


def _content(content: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if isinstance(content, str):
        return (content,), ()
    texts = tuple(part["text"] for part in content if part["type"].endswith("_text"))
    return texts, tuple(file for part in content if (file := _file(part)))


def _file(part: dict[str, Any]) -> str:
    match part["type"]:
        case "input_image":
            return media_type(part.get("image_url") or part.get("file_id", ""))
        case "input_file":
            return media_type(
                part.get("file_data") or part.get("file_url") or part.get("file_id", "")
            )
        case _:
            return ""


def _call_events(reply: ModelReply, index: int, item: dict[str, Any]) -> Iterator[str]:
    opened = {**item, "arguments": "", "status": "in_progress"}
    spot = {"item_id": item["id"], "output_index": index}
    yield _event(reply, "response.output_item.added", output_index=index, item=opened)
    for part in split_text(item["arguments"]):
        yield _event(reply, "response.function_call_arguments.delta", **spot, delta=part)
    done = {**spot, "name": item["name"], "arguments": item["arguments"]}
    yield _event(reply, "response.function_call_arguments.done", **done)
    yield _event(reply, "response.output_item.done", output_index=index, item=item)


def _messages(reply: ModelReply) -> list[dict[str, Any]]:
    if reply.text is None:
        return []
    message = {
        "id": f"msg_{reply.tag}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [_part(reply.text)],
    }
    return [message]


def _calls(reply: ModelReply) -> list[dict[str, Any]]:
    return [
        {
            "id": call.id.replace("call_", "fc_"),
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
        }
        for call in reply.calls
    ]


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _response(reply: ModelReply, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_{reply.tag}",
        "object": "response",
        "created_at": float(reply.created),
        "status": status,
        "model": reply.body["model"],
        "error": None,
        "incomplete_details": None,
        "instructions": reply.body.get("instructions"),
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "text": {"format": {"type": "text"}},
    }


def _usage(reply: ModelReply) -> dict[str, Any]:
    return {
        "input_tokens": reply.tokens_in,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": reply.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.tokens_in + reply.tokens_out,
    }


def _event(reply: ModelReply, kind: str, **fields: Any) -> str:
    data = {"type": kind, "sequence_number": next(reply.sequence), **fields}
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
