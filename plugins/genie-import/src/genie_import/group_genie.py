"""A store of group-genie: a folder for each session, with the memory of its reasoners and agents.

`genie_core.storage.group_genie` describes the files. Memory comes along: it is copied as it is, with
the messages numbered as in the room, and converted when the room is first hosted.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from genie_core.message import SYSTEM
from genie_core.storage.atomic import create_file, make_private_folder, sync_data, write_whole
from genie_core.storage.legacy import JOURNAL, VALUE, Memory, earlier_name, read_memory
from genie_import.export_files import SMALL_BYTES
from genie_import.fields import file_names
from genie_import.importer import (
    NOT_UNDERSTOOD,
    Author,
    Entry,
    History,
    HistoryMessage,
    LeftOut,
    left_out,
)
from genie_import.names import Names

SOURCE: Final = "group-genie"

_FILES: Final = (f"session{JOURNAL}", f"session{VALUE}")


def is_store(folder: Path, file: str = "") -> bool:
    """Whether a folder is a session of group-genie or has some; with `file`, whether that is one."""
    if file:
        return file in _FILES
    return any(_sessions(folder))


def read_group_genie(folder: Path) -> Iterator[History]:
    """Yield the sessions in a folder, or the one that it is; unreadable ones are empty."""
    for session in _sessions(folder):
        left: list[LeftOut] = []
        entries = list(_entries(session, left))
        yield History(
            SOURCE,
            session.name,
            session.name,
            chain(left, _messages(entries)),
            partial(_remember, session, entries),
        )


def _sessions(folder: Path) -> Iterator[Path]:
    if _file(folder):
        yield folder
    elif folder.is_dir():
        yield from (each for each in sorted(folder.iterdir()) if _file(each))


def _file(folder: Path) -> Path | None:
    """Return the file with a session's messages; a journal is newer than a value."""
    paths = (folder / name for name in _FILES)
    return next((path for path in paths if path.is_file() and not path.is_symlink()), None)


def _entries(session: Path, left: list[LeftOut]) -> Iterator[dict[str, Any]]:
    """Yield the messages that can be understood; the others are added to `left`."""
    path = _file(session)
    if path is None or path.stat().st_size > SMALL_BYTES:
        left += [LeftOut("file that is too large", path.name)] if path is not None else []
        return
    memory = read_memory(path, lambda problem: left.append(LeftOut(NOT_UNDERSTOOD, problem)))
    for value in _listed(memory):
        match value:
            case {"content": str(), "sender": str(sender)} if sender.strip():
                yield value
            case _:
                left.append(left_out(NOT_UNDERSTOOD, value))


def _listed(memory: Memory | None) -> list[Any]:
    """Return the messages of a journal, or of the one value of an early version."""
    match memory:
        case Memory(suffix=".jsonl", values=values):
            return values
        case Memory(values=[{"messages": list(listed)}] | [list(listed)]):
            return listed
    return []


def _messages(entries: list[dict[str, Any]]) -> Iterator[Entry]:
    answered = {_id(each) for each in entries if each["sender"] == SYSTEM}
    for each in entries:
        is_answer = each["sender"] == SYSTEM
        if each.get("threads"):
            yield left_out("quoted conversation", each["threads"])
        yield HistoryMessage(
            _author(each),
            each["content"],
            files=file_names(each.get("attachments"), "name", nameless=""),
            id="" if is_answer else _id(each),
            reply_to=_id(each) if is_answer else "",
            is_answer=is_answer,
            is_answered=bool(_id(each)) and _id(each) in answered,
        )


def _author(entry: dict[str, Any]) -> Author:
    if entry["sender"] == SYSTEM:
        return Author(SYSTEM, "assistant", is_agent=True)
    return Author(f"+{entry['sender']}", entry["sender"])


def _id(entry: dict[str, Any]) -> str:
    found = entry.get("request_id")
    return found if isinstance(found, str) else ""


def _remember(
    session: Path, entries: list[dict[str, Any]], folder: Path, seqs: Sequence[int], names: Names
) -> None:
    """Copy the memory of reasoners and agents into the folder of the room's engine."""
    make_private_folder(folder)
    numbers = {
        _id(each): seq
        for each, seq in zip(entries, seqs, strict=True)
        if each["sender"] != SYSTEM and _id(each)
    }
    lines = [
        json.dumps(_numbered(each, numbers.get(_id(each), seq), names))
        for each, seq in zip(entries, seqs, strict=True)
    ]
    _write(folder / _FILES[0], "".join(f"{line}\n" for line in lines).encode())
    senders = {each["sender"] for each in entries} - {SYSTEM}
    targets = {each: earlier_name(names.of(Author(f"+{each}", each))) for each in senders}
    shared_from, shared_to = Counter(map(earlier_name, senders)), Counter(targets.values())
    for sender in sorted(senders):
        source, target = session / earlier_name(sender), targets[sender]
        # Memory between people, before or after, goes to none of them.
        is_shared = shared_from[source.name] > 1 or shared_to[target] > 1
        if source.is_dir() and not (source.is_symlink() or is_shared):
            _copy(source, folder / target)


def _numbered(entry: dict[str, Any], seq: int, names: Names) -> dict[str, Any]:
    """Return a message with its number and author as in the room."""
    sender, receiver = entry["sender"], entry.get("receiver")
    known = {"sender": sender if sender == SYSTEM else names.of(_author(entry))}
    if isinstance(receiver, str) and receiver != SYSTEM:
        known["receiver"] = names.of(Author(f"+{receiver}", receiver))
    return {**entry, **known, "request_id": str(seq)}


def _copy(source: Path, target: Path) -> None:
    make_private_folder(target)
    for path in sorted(source.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir():
            _copy(path, target / path.name)
        elif path.suffix in (JOURNAL, VALUE) and path.stat().st_size <= SMALL_BYTES:
            _write(target / path.name, path.read_bytes())


def _write(path: Path, content: bytes) -> None:
    descriptor = create_file(path)
    try:
        write_whole(descriptor, content)
        sync_data(descriptor)
    finally:
        os.close(descriptor)
