"""ChatGPT's export: `conversations.json`, a list of conversations that are trees of messages.

A tree has a branch for each edit of a question and each other answer; the one that was shown last is
taken. Read as exports of 2023 to 2026 have it.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from genie_core.sessions.importers.files import each_in, names_in
from genie_core.sessions.importers.history import ME, Author, History, HistoryMessage

SOURCE: Final = "chatgpt"

_ASSISTANT: Final = Author("assistant", "ChatGPT", is_agent=True)
_MOST_STEPS: Final = 1_000_000


class _Message(msgspec.Struct):
    id: str = ""
    author: dict[str, Any] = {}
    create_time: float | None = None
    content: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    recipient: str | None = "all"


class _Node(msgspec.Struct):
    message: _Message | None = None
    parent: str | None = None


class _Conversation(msgspec.Struct):
    mapping: dict[str, _Node]
    title: str | None = ""
    create_time: float | None = None
    current_node: str | None = None
    conversation_id: str = ""
    id: str = ""


def read_chatgpt(items: list[msgspec.Raw], left: Counter[str]) -> Iterator[History]:
    """Yield the conversations; `left` counts those that can't be understood."""
    for found in each_in(items, _Conversation, left):
        lost: Counter[str] = Counter()
        id_ = found.conversation_id or found.id or f"{found.title}-{found.create_time}"
        yield History(SOURCE, id_, found.title or "ChatGPT", _messages(found, lost), lost)


def _messages(conversation: _Conversation, left: Counter[str]) -> Iterator[HistoryMessage]:
    branch = _branch(conversation)
    shown = [each.message for each in branch if each.message is not None]
    whole = sum(node.message is not None for node in conversation.mapping.values())
    if whole > len(shown):
        left["message of another branch"] += whole - len(shown)
    for message in shown:
        if kind := _left_out(message):
            left[kind] += 1
            continue
        text, files = _content(message)
        is_answer = message.author.get("role") == "assistant"
        if not (text.strip() or files):
            continue
        author = _ASSISTANT if is_answer else Author(ME)
        yield HistoryMessage(
            author, text, message.create_time, files, message.id, is_answer=is_answer
        )


def _branch(conversation: _Conversation) -> list[_Node]:
    """Return the nodes from the root to the one that was shown last."""
    place = conversation.current_node or next(reversed(conversation.mapping), None)
    branch: list[_Node] = []
    seen: set[str] = set()
    while place is not None and place not in seen and len(seen) < _MOST_STEPS:
        seen.add(place)
        node = conversation.mapping.get(place)
        if node is None:
            break
        branch.append(node)
        place = node.parent
    return branch[::-1]


def _left_out(message: _Message) -> str:
    role, kind = message.author.get("role"), message.content.get("content_type")
    if role == "tool" or message.recipient not in ("all", None):
        return "tool call or its result"
    if role not in ("user", "assistant"):
        return "instruction of the program"
    if kind in ("thoughts", "reasoning_recap"):
        return "thought of the model"
    if kind in ("user_editable_context", "model_editable_context"):
        return "instruction of the program"
    return ""


def _content(message: _Message) -> tuple[str, tuple[str, ...]]:
    """Return the text, and the names of files; images without a name are counted among them."""
    parts = message.content.get("parts")
    texts: list[str] = []
    files = names_in(message.metadata.get("attachments"))
    images = 0
    for part in parts if isinstance(parts, list) else [message.content.get("text")]:
        match part:
            case str():
                texts.append(part)
            case {"text": str(text)}:
                texts.append(text)
            case {"content_type": "image_asset_pointer" | "audio_asset_pointer"}:
                images += 1
    files += ["image"] * max(images - len(files), 0)
    return "\n\n".join(text for text in texts if text.strip()), tuple(files)
