"""Slack's export: a folder or archive with `users.json`, and a folder of days for each channel."""

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from importlib.resources.abc import Traversable
from typing import Any, Final

import msgspec

from genie_core.sessions.importers.files import decoded, each_in, text_at
from genie_core.sessions.importers.history import Author, History, HistoryMessage

SOURCE: Final = "slack"

LISTS: Final = ("channels.json", "groups.json", "mpims.json", "dms.json")
USERS: Final = "users.json"

_SAID: Final = (None, "", "thread_broadcast", "me_message", "file_share", "bot_message")
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d\.json")
_LINK: Final = re.compile(r"<([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")


class _User(msgspec.Struct):
    id: str
    name: str = ""
    is_bot: bool = False
    profile: dict[str, Any] = {}

    @property
    def shown(self) -> str:
        """The name that Slack shows."""
        names = (text_at(self.profile, "display_name"), text_at(self.profile, "real_name"))
        return next((each for each in names if each.strip()), self.name)


class _Channel(msgspec.Struct):
    id: str
    name: str = ""
    members: list[str] = []


class _File(msgspec.Struct):
    name: str | None = ""
    title: str | None = ""


class _Message(msgspec.Struct):
    ts: str
    type: str = "message"
    subtype: str | None = None
    user: str = ""
    username: str | None = ""
    bot_id: str | None = ""
    text: str | None = ""
    thread_ts: str = ""
    files: list[_File] = []
    user_profile: dict[str, Any] | None = None


def read_slack(root: Traversable, left: Counter[str]) -> Iterator[History]:
    """Yield the channels and direct messages; `left` counts what belongs to none."""
    users = _listed(root / USERS, _User, left)
    people = {each.id: each for each in users}
    for name in LISTS:
        for channel in _listed(root / name, _Channel, left):
            folder = root / _plain(channel.name or channel.id)
            if folder.is_dir():
                lost: Counter[str] = Counter()
                title = _title(channel, people)
                messages = _messages(folder, people, lost)
                yield History(SOURCE, channel.id, title, messages, lost)


def _listed(file: Traversable, kind: type[Any], left: Counter[str]) -> list[Any]:
    if not file.is_file():
        return []
    return list(each_in(decoded(file, list[msgspec.Raw]), kind, left))


def _plain(name: str) -> str:
    """Return a folder's name that can't lead elsewhere."""
    return name.replace("/", "_") if name not in ("", ".", "..") else "_"


def _title(channel: _Channel, people: dict[str, _User]) -> str:
    if channel.name:
        return f"#{channel.name}"
    return ", ".join(people[each].shown for each in channel.members if each in people)


def _messages(
    folder: Traversable, people: dict[str, _User], left: Counter[str]
) -> Iterator[HistoryMessage]:
    days = {each.name: each for each in folder.iterdir() if _DAY.fullmatch(each.name)}
    for day in sorted(days):
        found = list(each_in(decoded(days[day], list[msgspec.Raw]), _Message, left))
        for message in sorted(found, key=lambda each: each.ts):
            if message.type != "message" or message.subtype not in _SAID:
                left["notice, such as who joined"] += 1
                continue
            text = _text(message.text or "", people)
            files = tuple(each.name or each.title or "file" for each in message.files)
            if not (text.strip() or files):
                left["message without text, such as a form"] += 1
                continue
            yield HistoryMessage(
                _author(message, people),
                text,
                _moment(message.ts),
                files,
                message.ts,
                reply_to=message.thread_ts if message.thread_ts != message.ts else "",
                is_emote=message.subtype == "me_message",
            )


def _author(message: _Message, people: dict[str, _User]) -> Author:
    user = people.get(message.user)
    if user is not None:
        return Author(user.id, user.shown, user.is_bot)
    profile = message.user_profile or {}
    names = (message.username, text_at(profile, "display_name"), text_at(profile, "real_name"))
    name = next((each for each in names if each), message.user or "bot")
    key = message.user or f"{message.bot_id}:{name}"
    return Author(key, name, is_agent=bool(message.bot_id) and not message.user)


def _moment(ts: str) -> float | None:
    try:
        return float(ts)
    except ValueError:
        return None


def _text(text: str, people: dict[str, _User]) -> str:
    """Return a text as it was shown: mentions by name, links with their address."""

    def shown(found: re.Match[str]) -> str:
        target, label = found[1], found[2] or ""
        if target.startswith("@"):
            user = people.get(target[1:])
            return f"@{user.shown if user else label or target[1:]}"
        if target.startswith("#"):
            return f"#{label or target[1:]}"
        if target.startswith("!"):
            return label or f"@{target[1:].partition('^')[0]}"
        return f"{label} ({target})" if label and label != target else target

    return unescape(_LINK.sub(shown, text))
