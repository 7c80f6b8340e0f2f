"""Convert a session that group-genie saved.

group-genie saved a session's messages as `<id>/session.jsonl` and each person's helpers as
`<id>/<owner>/reasoner.jsonl`, `system.jsonl` and one `<name>_<instance>.jsonl` per subagent, at any
depth; before 0.0.3 as `.json` under the same names. It replaced many characters by `_`, so
different ids may share files.
"""

import json
import logging
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from genie_core.datastore import DataStore, path_name
from genie_core.message import SYSTEM
from genie_core.storage.atomic import make_private_folder, reason, sync_folder
from genie_core.storage.legacy import (
    JOURNAL,
    VALUE,
    Memory,
    earlier_name,
    is_plain,
    is_there,
    keep_original,
    plain_file,
    plain_files,
    read_memory,
    taken_over,
)

log = logging.getLogger(__name__)

_SESSION: Final = "session"
_REASONER: Final = "reasoner"
_SUBAGENT: Final = re.compile(r"(.+)_([0-9a-f]{8})")
_RAN_SUBAGENT: Final = '"subagent_instance"'


async def carry_over(store: DataStore) -> None:
    """Convert group-genie's files of a session into its store, once.

    The originals stay as `*.group-genie`. Memory that group-genie shared between people goes to
    none of them. Folders are renamed as a whole and the messages converted last: until then,
    opening the session continues an interrupted conversion.
    """
    session = _Session(store.root_path, store.earlier_path, store.report)
    await store.run(session.carry_over)


@dataclass(frozen=True, slots=True)
class _Session:
    """A session's folder, and the one where group-genie would have saved it."""

    folder: Path
    earlier: Path
    report: Callable[[str], None]

    def carry_over(self) -> None:
        try:
            if self._belongs_to_nobody():
                _rename(self.earlier, self.folder)
                self._tell_if_others_could_claim()
            messages = self._messages()
            if messages is None:
                return
            owners = self._owners(messages.values)
            helpers = sum(self._carry_helpers(name, theirs) for name, theirs in owners.items())
            messages.move(self.folder / _SESSION)
        except OSError as error:
            self.report(f"{self.earlier} can't be taken over from group-genie: {reason(error)}")
            return
        log.warning(
            "took over group-genie's session %s as %s, with %d messages and what %d reasoners and "
            "agents remember; the files as they were end in .group-genie",
            self.earlier,
            self.folder,
            len(messages.values),
            helpers,
        )

    def _belongs_to_nobody(self) -> bool:
        if self.folder == self.earlier or taken_over(self.folder / _SESSION):
            return False
        return plain_file(self.earlier, _SESSION) is not None

    def _tell_if_others_could_claim(self) -> None:
        if unquote(self.folder.name, errors="surrogateescape") != self.earlier.name:
            self.report(
                f"{self.folder}: took over group-genie's session {self.earlier.name!r}, a name that "
                "it gave to other ids as well; those ids have no saved state any more"
            )

    def _messages(self) -> Memory | None:
        """Return the messages, unless there are none or they are converted."""
        target = self.folder / f"{_SESSION}{JOURNAL}"
        if target.exists() and not is_plain(target):
            return None
        path = plain_file(self.folder, _SESSION)
        memory = read_memory(path, self.report) if path else None
        if memory is None or memory.suffix == JOURNAL:
            return memory
        state = memory.values[0]
        listed = state.get("messages") if isinstance(state, dict) else state
        return replace(memory, values=listed, suffix=JOURNAL) if isinstance(listed, list) else None

    def _owners(self, messages: list[Any]) -> dict[str, list[str]]:
        """Return the owner of each folder: the people who wrote messages."""
        found = [message.get("sender") for message in messages if isinstance(message, dict)]
        senders = {sender for sender in found if isinstance(sender, str)} - {SYSTEM, ""}
        owners: dict[str, list[str]] = {}
        for sender in sorted(senders):
            owners.setdefault(earlier_name(sender), []).append(sender)
        return owners

    def _carry_helpers(self, name: str, owners: list[str]) -> int:
        source, target = self.folder / name, self.folder / path_name(owners[0])
        if len(owners) > 1:
            self._leave_to_nobody(source, owners)
            return 0
        if source != target and is_there(source) and not target.exists():
            _rename(source, target)
        helpers = list(_Owner(target, self.report).helpers())
        for memory, place in helpers:
            memory.move(place)
        return len(helpers)

    def _leave_to_nobody(self, folder: Path, owners: list[str]) -> None:
        """Rename folders that the person of that name would take for theirs."""
        shared = plain_files(folder)
        for path in shared:
            keep_original(path)
            path.unlink()
        if shared:
            names = " and ".join(map(repr, owners))
            self.report(f"{folder} was shared by {names}, so none of them remembers it")


@dataclass(frozen=True, slots=True)
class _Owner:
    """The folder with one person's helpers."""

    folder: Path
    report: Callable[[str], None]

    def helpers(self) -> Iterator[tuple[Memory, Path]]:
        """Yield each memory and its path, without the suffix."""
        place = self.folder / _REASONER
        if reasoner := self._read(_REASONER, place):
            yield reasoner, place
        yield from self._agents()

    def _agents(self) -> Iterator[tuple[Memory, Path]]:
        """Yield the agents' memories; that of a subagent belongs below its parent's.

        The parent's memory names its subagents: it got their ids with the answers. Those without a
        parent count as the system agent's.
        """
        left = {path.stem for path in plain_files(self.folder)} - {_REASONER, SYSTEM}
        waiting = deque([(SYSTEM, self.folder / SYSTEM)])
        while waiting:
            name, place = waiting.popleft()
            if memory := self._read(name, place):
                yield _unwrapped(memory), place
                for key in sorted(set(_subagents_in(memory.values))):
                    child, below = earlier_name(key), place / path_name(key)
                    if child in left or taken_over(below):
                        left.discard(child)
                        waiting.append((child, below))
            if not waiting:
                waiting += _orphans(left, self.folder / SYSTEM)
                left.clear()

    def _read(self, name: str, place: Path) -> Memory | None:
        path = plain_file(self.folder, name) or taken_over(place)
        return read_memory(path, self.report) if path else None


def _rename(source: Path, target: Path) -> None:
    make_private_folder(target.parent)
    source.rename(target)
    sync_folder(source.parent)
    sync_folder(target.parent)


def _unwrapped(memory: Memory) -> Memory:
    """Remove group-genie's wrapper around the state of an agent."""
    match memory.values:
        case [{"agent": state, **others}] if memory.suffix == VALUE and not others:
            return replace(memory, values=[state])
    return memory


def _orphans(names: set[str], parent: Path) -> Iterator[tuple[str, Path]]:
    for name in sorted(names):
        if match := _SUBAGENT.fullmatch(name):
            yield name, parent / path_name(f"{match[1]}:{match[2]}")


def _subagents_in(values: list[Any]) -> Iterator[str]:
    """Return the keys of the subagents that an agent ran, anywhere in its memory."""
    waiting: list[Any] = [values]
    while waiting:
        match waiting.pop():
            case {"subagent_name": str(name), "subagent_instance": str(instance)}:
                yield f"{name}:{instance}"
            case dict() as fields:
                waiting += fields.values()
            case list() as items:
                waiting += items
            case str() as text if _RAN_SUBAGENT in text:
                with suppress(ValueError, RecursionError):
                    waiting.append(json.loads(text))
            case _:
                pass
