"""Detect which program made an export, and read it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from genie_core.sessions.errors import NotImportable
from genie_core.sessions.importers.chatgpt import read_chatgpt
from genie_core.sessions.importers.claude import read_claude
from genie_core.sessions.importers.discord import read_discord
from genie_core.sessions.importers.files import head_of, mapped, opened_export
from genie_core.sessions.importers.group_genie import is_store, read_group_genie
from genie_core.sessions.importers.history import History
from genie_core.sessions.importers.irc import is_irc, read_irc
from genie_core.sessions.importers.slack import LISTS, USERS, read_slack

UNKNOWN: Final = (
    "it is neither an exported session nor an export of ChatGPT, Claude, Slack, Discord, an IRC "
    "client or group-genie"
)
_CONVERSATIONS: Final = "conversations"
_SPACE: Final = b" \t\r\n\xef\xbb\xbf"

_Histories: TypeAlias = Iterator[History]


@dataclass(slots=True)
class Export:
    """The conversations of an export; `left` counts what belongs to none of them."""

    histories: Iterator[History]
    left: Counter[str] = field(default_factory=Counter)


@contextmanager
def opened_history(path: Path, name: str) -> Iterator[Export]:
    """Open another program's export; `name` is its name in errors.

    Raises:
        NotImportable: it is none that is known, or is damaged; also while it is read in the block.
    """
    left: Counter[str] = Counter()
    with opened_export(path, name) as root:
        yield Export(_read(_inside(root), name, left), left)


def _inside(root: Traversable) -> Traversable:
    """Return the only folder in an archive or folder, if there is nothing else."""
    if not root.is_dir():
        return root
    children = [each for each in root.iterdir() if not each.name.startswith((".", "__MACOSX"))]
    is_only = len(children) == 1 and children[0].is_dir()
    return children[0] if is_only and not _is_store(root) else root


def _read(root: Traversable, name: str, left: Counter[str]) -> _Histories:
    if root.is_dir():
        return _read_folder(root, name, left)
    return _read_file(root, name, left)


def _read_folder(root: Traversable, name: str, left: Counter[str]) -> _Histories:
    if isinstance(root, Path) and _is_store(root):
        return read_group_genie(root)
    files = {each.name for each in root.iterdir()}
    found = sorted(each for each in files if _is_conversations(each))
    if found:
        return (each for file in found for each in _conversations(root / file, name, left))
    if USERS in files and files & set(LISTS):
        return read_slack(root, left)
    raise NotImportable(name, UNKNOWN)


def _is_store(root: Traversable) -> bool:
    return isinstance(root, Path) and is_store(root)


def _is_conversations(file: str) -> bool:
    return file.startswith(_CONVERSATIONS) and file.endswith(".json")


def _read_file(file: Traversable, name: str, left: Counter[str]) -> _Histories:
    if isinstance(file, Path) and is_store(file.parent, file.name):
        return read_group_genie(file.parent)
    head = head_of(file)
    match head.lstrip(_SPACE)[:1]:
        case b"[":
            return _conversations(file, name, left)
        case b"{":
            return _channel(file)
    if is_irc(head):
        return iter([read_irc(file)])
    raise NotImportable(name, UNKNOWN)


def _channel(file: Traversable) -> _Histories:
    with mapped(file) as data:
        yield read_discord(data)


def _conversations(file: Traversable, name: str, left: Counter[str]) -> _Histories:
    with mapped(file) as data:
        items = msgspec.json.decode(data, type=list[msgspec.Raw])
        if not items:
            return
        if _has(items[0], "mapping"):
            yield from read_chatgpt(items, left)
        elif _has(items[0], "chat_messages"):
            yield from read_claude(items, left)
        else:
            raise NotImportable(name, UNKNOWN)


def _has(item: msgspec.Raw, key: str) -> bool:
    try:
        return key in msgspec.json.decode(item, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return False
