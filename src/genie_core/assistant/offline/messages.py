"""The offline helper's conversation as messages of pydantic-ai, which a model chosen later reads.

They are written as JSON, in the form of `ModelMessagesTypeAdapter`: importing pydantic-ai takes a
second and 60 MB, and there is no model to run on it.
"""

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, get_args

from genie_core.agent.provider.files import Family, described, read_file
from genie_core.assistant.offline.ask import PlannedCall
from genie_core.assistant.offline.calls import CallResult
from genie_core.message import Attachment

ModelMessage: TypeAlias = dict[str, Any]

_NAME: Final = {"model_name": "offline-helper", "provider_name": "genie"}


async def content_of(query: str, attachments: Sequence[Attachment]) -> str | list[Any]:
    """Return the content of a prompt: the query and the files, each after a line that describes it.

    Raises:
        AttachmentError: a file is missing, too large or of a type that no model reads.
    """
    if not attachments:
        return query
    content: list[Any] = [query]
    for attachment in attachments:
        file = await read_file(attachment, get_args(Family))
        is_text = file.family == "text"
        media_type = file.media_type
        if is_text and not media_type.startswith("text/"):
            media_type = "text/plain"
        data = file.text.encode() if is_text else file.data
        content += [
            described(attachment),
            {
                "kind": "binary",
                "data": base64.urlsafe_b64encode(data).decode("ascii"),
                "media_type": media_type,
            },
        ]
    return content


def prompt(content: str | list[Any]) -> ModelMessage:
    return _request({"part_kind": "user-prompt", "content": content})


def asked_call(call: PlannedCall, number: str) -> ModelMessage:
    return _response(
        {
            "part_kind": "tool-call",
            "tool_name": call.tool,
            "args": dict(call.args),
            "tool_call_id": number,
        }
    )


def returned(result: CallResult, number: str) -> ModelMessage:
    return _request(
        {
            "part_kind": "tool-return",
            "tool_name": result.tool,
            "content": result.text,
            "tool_call_id": number,
            "outcome": result.outcome,
        }
    )


def answered(text: str) -> ModelMessage:
    return _response({"part_kind": "text", "content": text})


def is_prompt(message: ModelMessage) -> bool:
    """Whether a message has content from outside, with which a turn begins."""
    return any(part.get("part_kind") == "user-prompt" for part in message.get("parts", ()))


def _request(part: Mapping[str, Any]) -> ModelMessage:
    now = _now()
    return {"kind": "request", "parts": [{**part, "timestamp": now}], "timestamp": now}


def _response(part: Mapping[str, Any]) -> ModelMessage:
    return {"kind": "response", "parts": [dict(part)], "timestamp": _now(), **_NAME}


def _now() -> str:
    return datetime.now(UTC).isoformat()
