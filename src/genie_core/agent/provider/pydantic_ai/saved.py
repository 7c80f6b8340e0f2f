"""Read saved messages of a model, from this version or an older one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    SystemPromptPart,
)


def to_json(messages: Sequence[ModelMessage]) -> list[Any]:
    """Convert messages to JSON values."""
    values: list[Any] = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return values


def from_json(values: Sequence[Any]) -> list[ModelMessage]:
    """Convert JSON values to messages.

    Raises `ValueError` that names parts unknown to this version.

    The agent's own prompts are left out: each run has its own. A message with nothing else comes
    back without parts, so that the number of messages stays the same.
    """
    try:
        messages = ModelMessagesTypeAdapter.validate_python(list(values))
    except ValidationError as error:
        raise ValueError(_strange(values)) from error
    return [without_prompt(message) for message in messages]


def without_prompt(message: ModelMessage) -> ModelMessage:
    """Remove instructions and system prompts."""
    if not isinstance(message, ModelRequest):
        return message
    parts = [part for part in message.parts if not isinstance(part, SystemPromptPart)]
    if message.instructions is None and len(parts) == len(message.parts):
        return message
    return replace(message, parts=parts, instructions=None)


def _strange(values: Sequence[Any]) -> str:
    """Return the values that are no messages."""
    for number, value in enumerate(values, start=1):
        if _is_known(value):
            continue
        if not isinstance(value, dict) or not isinstance(value.get("parts"), list):
            return f"message {number} of {len(values)} is no message of a model's conversation"
        if not _is_known({**value, "parts": []}):
            return (
                f"message {number} of {len(values)} is not understood: kind {value.get('kind')!r}"
            )
        for part in value["parts"]:
            if not _is_known({**value, "parts": [part]}):
                kind = part.get("part_kind") if isinstance(part, dict) else part
                return f"message {number} of {len(values)}: a part is not understood: kind {kind!r}"
    return "the messages do not fit together"


def _is_known(value: Any) -> bool:
    try:
        ModelMessagesTypeAdapter.validate_python([value])
    except ValidationError:
        return False
    return True
