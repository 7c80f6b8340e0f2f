"""A channel of Discord as DiscordChatExporter writes it: a JSON object with a list of messages."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from genie_import.export_files import each_in
from genie_import.fields import (
    WORDS,
    file_names,
    first_text,
    items_at,
    joined,
    moment_of,
    text_at,
    text_of,
    value_at,
    words_in,
)
from genie_import.importer import (
    NOTICE,
    UNKNOWN_AUTHOR,
    Author,
    Entry,
    History,
    HistoryMessage,
    LeftOut,
    read_each,
    with_rest,
)

SOURCE: Final = "discord"

_SAID: Final = frozenset({"", "0", "19", "20", "21", "23"})
_NOTICES: Final = re.compile(
    "Recipient(Add|Remove)|Call|Channel(NameChange|IconChange|PinnedMessage|FollowAdd)"
    "|GuildMemberJoin|ThreadCreated|UserJoin|GuildBoost(Tier[123])?"
)
_EMBED: Final = ("author", "name", *WORDS)
_CARRIED: Final = (*WORDS, "attachments", "stickers", "forwardedMessage", "poll")


def read_discord(export: Mapping[str, msgspec.Raw], items: list[msgspec.Raw]) -> History:
    """Return the channel of an export with its messages."""
    about = {key: next(each_in([export[key]])) for key in ("guild", "channel") if key in export}
    channel = text_at(about, "channel", "name") or "channel"
    title = f"{text_at(about, 'guild', 'name')} #{channel}".strip()
    id_ = text_at(about, "channel", "id") or title
    return History(SOURCE, id_, title, _entries(about, items))


def _entries(about: dict[str, Any], items: list[msgspec.Raw]) -> Iterator[Entry]:
    if topic := text_at(about, "channel", "topic"):
        yield LeftOut("topic of the channel", topic)
    yield from read_each(each_in(items), _message)


def _message(message: dict[str, Any]) -> Iterator[Entry]:
    kind, at = text_at(message, "type"), moment_of(message.get("timestamp"))
    words = words_in([message.get(key) for key in _CARRIED])
    if _NOTICES.fullmatch(kind) or (kind.isdecimal() and kind not in _SAID):
        yield LeftOut(NOTICE, "\n".join(words), at)
        return
    forwarded = value_at(message, "forwardedMessage")
    said = HistoryMessage(
        _author(message),
        joined([_text(message), _quoted(_text(forwarded))]),
        at,
        (*_files(message), *_files(forwarded)),
        text_at(message, "id"),
        reply_to=text_at(message, "reference", "messageId"),
    )
    yield from with_rest(said, words, message)


def _text(message: Any) -> str:
    """Return the text with the words of embeds, polls and stickers."""
    stickers = file_names(value_at(message, "stickers"), "name")
    embeds = [text_of(each, _EMBED) for each in items_at(message, "embeds")]
    said = text_of(value_at(message, "content")), text_of(value_at(message, "poll"))
    return joined([*said, *embeds, *(f"[sticker: {each}]" for each in stickers)])


def _quoted(text: str) -> str:
    return text and "\n".join(("forwarded:", *(f"> {line}" for line in text.split("\n"))))


def _files(message: Any) -> tuple[str, ...]:
    return file_names(value_at(message, "attachments"), "fileName")


def _author(message: dict[str, Any]) -> Author:
    by = message.get("author")
    name = first_text(by, "nickname", "name", "id")
    if not name:
        return UNKNOWN_AUTHOR
    return Author(text_at(by, "id") or name, name, value_at(by, "isBot") is True)
