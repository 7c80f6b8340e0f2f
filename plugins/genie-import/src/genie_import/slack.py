"""Slack's export: a folder or archive with `users.json`, and a folder of days for each channel."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial
from html import unescape
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from genie_import.export_files import ExportFile, each_in, listed
from genie_import.fields import (
    WORDS,
    file_names,
    first_text,
    items_at,
    joined,
    merged,
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

SOURCE: Final = "slack"

LISTS: Final = ("channels.json", "groups.json", "mpims.json", "dms.json")
USERS: Final = ("users.json", "org_users.json")

_NOTICES: Final = re.compile(r"(channel|group|bot|pinned|unpinned|ekm|sh_room)_\w+|tombstone")
_SAID: Final = ("bot_message", "channel_canvas_comment")
_EARLIER: Final = ("message_changed", "message_deleted", "message_replied")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d.*\.json")
_LINK: Final = re.compile(r"<([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
_CARRIED: Final = (*WORDS, "attachments", "files", "room")
_ATTACHED: Final = ("author_name", *WORDS, "message_blocks", "message", "fallback")

_People = dict[str, Author]


def is_day(file: ExportFile) -> bool:
    """Whether a file is called like those with a day's messages."""
    return bool(_DAY.fullmatch(file.name))


def is_slack(files: list[ExportFile]) -> bool:
    """Whether files are those of an export."""
    names = {each.name for each in files}
    return any(map(is_day, files)) or bool(names & set(LISTS) and names & set(USERS))


def read_slack(files: list[ExportFile], name: str) -> Iterator[History | LeftOut]:
    """Yield the channels and direct messages, and the parts of none.

    `name` is that of the channel if the export has only its days.
    """
    people: _People = {}
    for user in _all(files, USERS):
        if isinstance(user, LeftOut):
            yield user
        else:
            id_, is_bot = text_at(user, "id"), value_at(user, "is_bot") is True
            people[id_] = Author(id_, _shown_name(user), is_bot)
    folders = _folders(files, name)
    for channel in _all(files, LISTS):
        if isinstance(channel, LeftOut):
            yield channel
            continue
        found = _folder_of(channel, folders)
        days, about = folders.pop(found, []), _about(channel)
        if days or about:
            id_, entries = text_at(channel, "id") or found, chain(about, _days(days, people))
            yield History(SOURCE, id_, _title(channel, people), entries)
    for folder, days in folders.items():
        yield History(SOURCE, folder, f"#{folder}", _days(days, people))
    known = (*USERS, *LISTS)
    for file in files:
        if not is_day(file) and file.name not in known and file.name.endswith(".json"):
            for each in each_in(listed(file)):
                words = [each.text] if isinstance(each, LeftOut) else words_in(each)
                yield LeftOut(f"entry of {file.name}", "\n".join(words))


def read_day(items: list[msgspec.Raw], name: str) -> History:
    """Return one file with messages as a channel that is called like it."""
    messages = read_each(each_in(items), partial(_message, people={}))
    return History(SOURCE, name, f"#{name}", messages)


def _all(files: list[ExportFile], names: Iterable[str]) -> Iterator[dict[str, Any] | LeftOut]:
    """Yield the entries of the files with these names, in the order of the names."""
    for name in names:
        for file in files:
            if file.name == name:
                yield from each_in(listed(file))


def _folders(files: list[ExportFile], name: str) -> dict[str, list[ExportFile]]:
    """Return the files with messages, by the name of their folder."""
    folders: dict[str, list[ExportFile]] = {}
    for file in filter(is_day, files):
        folder = file.path.parent.name or PurePosixPath(name).stem
        folders.setdefault(unicodedata.normalize("NFC", folder), []).append(file)
    return folders


def _folder_of(channel: dict[str, Any], folders: dict[str, Any]) -> str:
    names = (unicodedata.normalize("NFC", text_at(channel, key)) for key in ("name", "id"))
    return next((each for each in names if each in folders), "")


def _shown_name(user: Any) -> str:
    names = ("display_name", "real_name")
    profile = first_text(value_at(user, "profile"), *names)
    return profile or first_text(user, *names, "name", "id")


def _title(channel: dict[str, Any], people: _People) -> str:
    name = text_at(channel, "name")
    members = [people[each].name for each in items_at(channel, "members") if each in people]
    return f"#{name}" if name and not (name.startswith("mpdm-") and members) else ", ".join(members)


def _about(channel: dict[str, Any]) -> list[LeftOut]:
    """Return the topic and the purpose."""
    found = {key: text_at(channel, key, "value") for key in ("topic", "purpose")}
    return [LeftOut(f"{key} of the channel", words) for key, words in found.items() if words]


def _days(days: list[ExportFile], people: _People) -> Iterator[Entry]:
    for day in days:
        found = list(each_in(listed(day)))
        yield from read_each(sorted(found, key=_order), partial(_message, people=people))


def _order(message: dict[str, Any] | LeftOut) -> float:
    return (isinstance(message, dict) and moment_of(message.get("ts"))) or 0.0


def _message(message: dict[str, Any], people: _People) -> Iterator[Entry]:
    shown = partial(_shown, people=people)
    at, ts, thread = (message.get("ts"), text_at(message, "ts"), text_at(message, "thread_ts"))
    kind = text_at(message, "subtype")
    if reason := _left_out(kind):
        parts = words_in([message.get(key) for key in (*_CARRIED, "message", "previous_message")])
        yield LeftOut(reason, "\n".join(map(shown, parts)), moment_of(at))
        return
    files = items_at(message, "files")
    said = HistoryMessage(
        _author(message, people),
        _text(message, files, people),
        moment_of(at),
        file_names(files, "name", "title"),
        ts,
        reply_to=thread if thread != ts else "",
        is_emote=kind == "me_message",
    )
    texts = words_in([message.get(key) for key in _CARRIED], shown)
    yield from with_rest(said, texts, message)


def _left_out(subtype: str) -> str:
    if subtype in _EARLIER:
        return "earlier version of a message"
    return NOTICE if subtype not in _SAID and _NOTICES.fullmatch(subtype) else ""


def _text(message: dict[str, Any], files: list[Any], people: _People) -> str:
    """Return the text, and the words in blocks, attachments and files that it lacks."""
    blocks = joined(_block(each, people) for each in items_at(message, "blocks"))
    parts = [text_of(message.get("text")), text_of(message.get("attachments"), _ATTACHED)]
    parts.append(text_of([_file_words(each) for each in files]))
    said, attached, in_files = (_shown(each, people) for each in parts)
    return merged([said, blocks, attached, in_files])


def _file_words(file: Any) -> list[Any]:
    """Return the comment on a file, and the text of a snippet or a recording."""
    keys = ("initial_comment", "plain_text", "preview", "transcription")
    return [value_at(file, key) for key in keys]


def _block(block: Any, people: _People) -> str:
    """Return the text of a block or of an element in one."""
    kind = text_at(block, "type")
    elements = items_at(block, "elements")
    parts = [_block(each, people) for each in elements]
    if kind.startswith("rich_text") and kind not in ("rich_text", "rich_text_list"):
        return "".join(parts)
    if elements:
        return "\n".join(parts)
    match kind:
        case "user":
            return _shown(f"<@{text_at(block, 'user_id')}>", people)
        case "usergroup" | "broadcast" | "channel":
            return f"@{first_text(block, 'range', 'usergroup_id', 'channel_id')}"
        case "emoji":
            return f":{text_at(block, 'name')}:"
        case "link":
            return first_text(block, "text", "url")
        case "text":
            return text_at(block, "text")
    return _shown(text_of(block, (*WORDS, "accessory", "label", "element", "fallback")), people)


def _author(message: dict[str, Any], people: _People) -> Author:
    key, bot = text_at(message, "user"), text_at(message, "bot_id")
    key = key or text_at(message, "comment", "user")
    if key in people:
        return people[key]
    name = first_text(message, "username") or _shown_name(message.get("user_profile"))
    name = name or first_text(message.get("bot_profile"), "name") or key or ("bot" if bot else "")
    if not name:
        return UNKNOWN_AUTHOR
    return Author(key or f"{bot}:{name}", name, is_agent=bool(bot) and not key)


def _shown(text: str, people: _People) -> str:
    """Return a text as it was shown: mentions by name, links with their address."""

    def shown(found: re.Match[str]) -> str:
        target, label = found[1], found[2] or ""
        if target.startswith("@"):
            user = people.get(target[1:])
            return f"@{user.name if user else label or target[1:]}"
        if target.startswith("#"):
            return f"#{label or target[1:]}"
        if target.startswith("!"):
            return label or f"@{target[1:].partition('^')[0]}"
        return f"{label} ({target})" if label and label != target else target

    return unescape(_LINK.sub(shown, text))
