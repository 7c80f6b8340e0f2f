"""The offline helper's conversation as messages of pydantic-ai, which a model chosen later reads.

They are written as JSON, in the form of `ModelMessagesTypeAdapter`: importing pydantic-ai takes a
second and 60 MB, and there is no model to run on it.
"""

import base64
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias, get_args

from genie_core.agent.provider.files import Family, described, read_file
from genie_core.message import Attachment

ModelMessage: TypeAlias = dict[str, Any]


async def content_of(query: str, attachments: Sequence[Attachment]) -> str | list[Any]:
    """Return the content of a prompt: the query and the files, each after a line that describes it.

    Raises:
        AttachmentError: a file is missing, too large or of a type that no model reads.
    """
    content: list[Any] = [query]
    for attachment in attachments:
        content += [described(attachment), await _file(attachment)]
    return content if attachments else query


async def _file(attachment: Attachment) -> ModelMessage:
    file = await read_file(attachment, get_args(Family))
    is_text, media_type = file.family == "text", file.media_type
    if is_text and not media_type.startswith("text/"):
        media_type = "text/plain"
    data = base64.urlsafe_b64encode(file.text.encode() if is_text else file.data)
    return {"kind": "binary", "data": data.decode("ascii"), "media_type": media_type}


def request(part_kind: str, content: Any, **fields: Any) -> ModelMessage:
    """Write a message to the model: a "user-prompt", or a "tool-return"."""
    now = datetime.now(UTC).isoformat()
    part = {"part_kind": part_kind, "content": content, "timestamp": now, **fields}
    return {"kind": "request", "parts": [part], "timestamp": now}


def response(part_kind: str, **fields: Any) -> ModelMessage:
    """Write a message of the model: "text", or a "tool-call"."""
    return {
        "kind": "response",
        "parts": [{"part_kind": part_kind, **fields}],
        "timestamp": datetime.now(UTC).isoformat(),
        "model_name": "offline-helper",
        "provider_name": "genie",
    }


def is_prompt(message: ModelMessage) -> bool:
    """Whether a message has content from outside, with which a turn begins."""
    return any(part.get("part_kind") == "user-prompt" for part in message.get("parts", ()))
