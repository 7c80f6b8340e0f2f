"""Detect which program made an export, and read it."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from genie_core.sessions.errors import NotImportable
from genie_import.chatgpt import read_chatgpt
from genie_import.claude import read_claude
from genie_import.discord import read_discord
from genie_import.export_files import (
    ExportFile,
    head_of,
    mapped,
    opened_export,
    raw_fields,
    raw_items,
)
from genie_import.group_genie import is_store, read_group_genie
from genie_import.importer import Found, History, LeftOut
from genie_import.irc import channel_of, first_line, has_time, is_irc, read_irc
from genie_import.slack import is_slack, read_day, read_slack

UNKNOWN: Final = (
    "it is neither an exported session nor an export of ChatGPT, Claude, Slack, Discord, an IRC "
    "client or group-genie"
)
OTHER_FILE: Final = "file that is no conversation"

_QUOTED: Final = 60
_LISTS: Final = ("messages", "conversations", "chats")

_Found: TypeAlias = Iterator[Found]


@contextmanager
def opened_history(path: Path, name: str) -> Iterator[_Found]:
    """Open another program's export: its conversations, and the parts of none of them.

    `name` is its name in errors.

    Raises:
        NotImportable: it is none that is known, or is damaged; also while it is read in the block.
    """
    store = path if path.is_dir() else path.parent
    with opened_export(path, name) as files:
        if is_store(store, "" if path.is_dir() else path.name):
            yield read_group_genie(store)
        elif is_slack(files) and (path.is_dir() or len(files) > 1):
            yield read_slack(files, path.name)
        else:
            yield _read(files, name)


def _read(files: list[ExportFile], name: str) -> _Found:
    """Read each file by itself; logs of one channel's days are one conversation."""
    is_known = False
    for _, group in groupby(files, lambda file: (file.path.parent, channel_of(file))):
        for found in _read_channel(list(group)):
            is_known |= isinstance(found, History)
            yield found
    if not (is_known or any(b"".join(head_of(file, 1024).split()) == b"[]" for file in files)):
        line = first_line(files[0])[:_QUOTED] if len(files) == 1 else ""
        raise NotImportable(name, f"{UNKNOWN}; its first line is {line!r}" if line else UNKNOWN)


def _read_channel(files: list[ExportFile]) -> _Found:
    logs = [file for file in files if is_irc(file)]
    for file in files:
        if file not in logs:
            yield from _read_json(file)
    if logs:
        yield read_irc(logs)


def _read_json(file: ExportFile) -> _Found:
    first = head_of(file).lstrip()[:1]
    if first not in (b"[", b"{") or has_time(first_line(file)):
        yield LeftOut(OTHER_FILE, str(file.path))
        return
    with mapped(file) as data:
        if first == b"[":
            yield from _conversations(raw_items(data, file.name), file)
        elif fields := raw_fields(data):
            yield from _object(fields, data, file)
        else:
            raw_items(data, file.name)  # which says where it is damaged


def _object(fields: dict[str, msgspec.Raw], data: memoryview, file: ExportFile) -> _Found:
    lists = [each for each in _LISTS if bytes(memoryview(fields.get(each, b""))[:1]) == b"["]
    if "mapping" in fields or "chat_messages" in fields:
        yield from _conversations([msgspec.Raw(data)], file)
    elif not lists:
        yield LeftOut(OTHER_FILE, str(file.path))
    elif lists[0] == "messages" and "channel" in fields:
        yield read_discord(fields, raw_items(fields["messages"], file.name))
    else:
        yield from _conversations(raw_items(fields[lists[0]], file.name), file)


def _conversations(items: list[msgspec.Raw], file: ExportFile) -> _Found:
    """Read a list by the fields of any item."""
    for item in items:
        match raw_fields(item):
            case {"mapping": _}:
                return (yield from read_chatgpt(items))
            case {"chat_messages": _}:
                return (yield from read_claude(items))
            case {"ts": _, "text": _} | {"ts": _, "user": _} | {"ts": _, "blocks": _}:
                yield read_day(items, file.path.stem)
                return
    if items:
        yield LeftOut(OTHER_FILE, str(file.path))
