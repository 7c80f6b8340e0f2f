"""Claude's export: `conversations.json`, a list of conversations with their messages in order."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from genie_import.export_files import each_in
from genie_import.fields import (
    WORDS,
    items_at,
    merged,
    moment_of,
    text_at,
    text_of,
    words_in,
)
from genie_import.importer import (
    ME,
    THOUGHT,
    TOOL,
    UNKNOWN_AUTHOR,
    Author,
    Entry,
    History,
    HistoryMessage,
    LeftOut,
    left_out,
    read_each,
    with_rest,
)

SOURCE: Final = "claude"

_ASSISTANT: Final = Author("assistant", "Claude", is_agent=True)
_AUTHORS: Final = {"human": Author(ME), "user": Author(ME), "assistant": _ASSISTANT}
_LEFT: Final = {
    "thinking": THOUGHT,
    "redacted_thinking": THOUGHT,
    "tool_use": TOOL,
    "tool_result": TOOL,
}
_OTHERS: Final = tuple(each for each in WORDS if each not in ("text", "content"))
_STAND_IN: Final = re.compile(r"```\s*This block is not supported [^`]*```")
"""The part of an older message in place of a tool call."""


def read_claude(items: list[msgspec.Raw]) -> Iterator[History | LeftOut]:
    """Yield the conversations, and the items that are none."""
    return read_each(each_in(items), _conversation, "chat_messages")


def _conversation(found: dict[str, Any]) -> Iterator[History]:
    title = text_at(found, "name").strip()
    id_ = text_at(found, "uuid") or f"{title}-{text_at(found, 'created_at')}"
    yield History(SOURCE, id_, title or "Claude", _entries(found))


def _entries(conversation: dict[str, Any]) -> Iterator[Entry]:
    if summary := text_at(conversation, "summary").strip():
        yield LeftOut("summary of the conversation", summary)
    yield from read_each(items_at(conversation, "chat_messages"), _message)


def _message(message: dict[str, Any]) -> Iterator[Entry]:
    at = moment_of(message.get("created_at"))
    blocks = items_at(message, "content")
    left = [each for each in blocks if text_at(each, "type") in _LEFT]
    for block in left:
        yield left_out(_LEFT[text_at(block, "type")], block, at)
    said = [each for each in blocks if each not in left]
    attached = [each for each in (message.get("attachments"), message.get("files")) if each]
    older, sender = _older(message.get("text")), text_at(message, "sender")
    shown = HistoryMessage(
        _AUTHORS.get(sender, Author(sender) if sender else UNKNOWN_AUTHOR),
        merged([text_of(said), *map(text_of, older), text_of(attached)]),
        at,
        _files(attached),
        text_at(message, "uuid"),
        is_answer=sender == "assistant",
    )
    others = [message.get(key) for key in _OTHERS]
    yield from with_rest(shown, words_in([older, said, attached, others]), message)


def _older(text: Any) -> list[Any]:
    """Return the paragraphs of the older form of a message, which is one text."""
    return _STAND_IN.sub("", text).split("\n\n") if isinstance(text, str) else [text]


def _files(attached: list[Any]) -> tuple[str, ...]:
    """Return the names of files; a pasted text has none."""
    files = (each for listed in attached for each in items_at(listed))
    return tuple(
        text_at(each, "file_name") or "file"
        for each in files
        if text_at(each, "file_name") or not text_of(each)
    )
