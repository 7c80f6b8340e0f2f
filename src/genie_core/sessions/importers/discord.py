"""A channel of Discord as DiscordChatExporter writes it: a JSON object with a list of messages."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from genie_core.sessions.importers.files import each_in, text_at
from genie_core.sessions.importers.history import Author, History, HistoryMessage

SOURCE: Final = "discord"


class _Author(msgspec.Struct, rename="camel"):
    id: str
    name: str = ""
    nickname: str | None = ""
    is_bot: bool = False


class _File(msgspec.Struct, rename="camel"):
    file_name: str = "file"


class _Reference(msgspec.Struct, rename="camel"):
    message_id: str | None = ""


class _Message(msgspec.Struct, rename="camel"):
    id: str
    timestamp: datetime
    author: _Author
    type: str = "Default"
    content: str = ""
    attachments: list[_File] = []
    reference: _Reference | None = None


class _Export(msgspec.Struct):
    channel: dict[str, Any]
    messages: list[msgspec.Raw]
    guild: dict[str, Any] = {}


def read_discord(data: memoryview) -> History:
    """Return the channel; raises `ValueError` if it is none."""
    export = msgspec.json.decode(data, type=_Export)
    left: Counter[str] = Counter()
    names = (text_at(export.guild, "name"), f"#{text_at(export.channel, 'name')}")
    title = " ".join(each for each in names if each)
    id_ = text_at(export.channel, "id") or title
    return History(SOURCE, id_, title, _messages(export.messages, left), left)


def _messages(items: list[msgspec.Raw], left: Counter[str]) -> Iterator[HistoryMessage]:
    for message in each_in(items, _Message, left):
        files = tuple(each.file_name for each in message.attachments)
        if message.type not in ("Default", "Reply"):
            left["notice, such as who joined"] += 1
        elif not (message.content.strip() or files):
            left["message without text, such as a form"] += 1
        else:
            by = message.author
            yield HistoryMessage(
                Author(by.id, by.nickname or by.name, by.is_bot),
                message.content,
                message.timestamp.timestamp(),
                files,
                message.id,
                reply_to=(message.reference and message.reference.message_id) or "",
            )
