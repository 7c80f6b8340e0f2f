"""Claude's export: `conversations.json`, a list of conversations with their messages in order."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from genie_core.sessions.importers.files import each_in
from genie_core.sessions.importers.history import ME, Author, History, HistoryMessage

SOURCE: Final = "claude"

_ASSISTANT: Final = Author("assistant", "Claude", is_agent=True)
_LEFT: Final = {
    "thinking": "thought of the model",
    "redacted_thinking": "thought of the model",
    "tool_use": "tool call or its result",
    "tool_result": "tool call or its result",
}


class _Message(msgspec.Struct):
    sender: str
    uuid: str = ""
    text: str | None = ""
    content: list[dict[str, Any]] = []
    created_at: datetime | None = None
    attachments: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []


class _Conversation(msgspec.Struct):
    chat_messages: list[msgspec.Raw]
    uuid: str
    name: str | None = ""


def read_claude(items: list[msgspec.Raw], left: Counter[str]) -> Iterator[History]:
    """Yield the conversations; `left` counts those that can't be understood."""
    for found in each_in(items, _Conversation, left):
        lost: Counter[str] = Counter()
        yield History(SOURCE, found.uuid, found.name or "Claude", _messages(found, lost), lost)


def _messages(conversation: _Conversation, left: Counter[str]) -> Iterator[HistoryMessage]:
    for message in each_in(conversation.chat_messages, _Message, left):
        text = _text(message, left)
        files = tuple(
            name
            for each in (*message.attachments, *message.files)
            if isinstance(name := each.get("file_name"), str) and name
        )
        if not (text.strip() or files):
            continue
        at = message.created_at.timestamp() if message.created_at else None
        is_answer = message.sender == "assistant"
        author = _ASSISTANT if is_answer else Author(ME)
        yield HistoryMessage(author, text, at, files, message.uuid, is_answer=is_answer)


def _text(message: _Message, left: Counter[str]) -> str:
    """Return what was written; the older form has it in one piece."""
    texts: list[str] = []
    for part in message.content:
        kind = part.get("type")
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(kind, str) and kind in _LEFT:
            left[_LEFT[kind]] += 1
    return "\n\n".join(text for text in texts if text.strip()) or message.text or ""
