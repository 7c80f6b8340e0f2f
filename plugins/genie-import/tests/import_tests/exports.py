"""Read exports in tests, and write small ones."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from genie_core.room.protocol.events import AnswerPosted, Event, MessageEdited, MessagePosted
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.session import SavedSession
from genie_import.detect import opened_history
from genie_import.importer import HistoryMessage, LeftOut
from genie_import.writer import ImportReport, write_rooms

NOW = 1_795_000_000.0


def imported(base: Path, path: Path, **options: Any) -> ImportReport:
    """Import an export."""
    with opened_history(path, path.name) as histories:
        return write_rooms(Catalog(base), histories, "ann", NOW, **options)


def read(path: Path) -> tuple[list[HistoryMessage], list[LeftOut]]:
    """Return all messages of an export, and all words that are left out."""
    messages: list[HistoryMessage] = []
    left: list[LeftOut] = []
    with opened_history(path, path.name) as histories:
        for found in histories:
            for each in [found] if isinstance(found, LeftOut) else found.entries:
                if isinstance(each, LeftOut):
                    left.append(each)
                else:
                    messages.append(each)
    return messages, left


def texts(path: Path) -> list[str]:
    """Return the texts of all messages of an export."""
    return [each.text for each in read(path)[0]]


def reasons(path: Path) -> dict[str, int]:
    """Return why words of an export are left out, with the number of entries."""
    return Counter(each.reason for each in read(path)[1])


def events(saved: SavedSession) -> list[Event]:
    """Return the log of a room."""
    with saved.reader() as log:
        assert log.problems == []
        return list(log.events())


def lines(saved: SavedSession) -> list[str]:
    """Return the words in a room, as people read them."""
    found = []
    for event in events(saved):
        match event.body:
            case MessagePosted(text=text) | MessageEdited(text=text):
                found.append(f"{event.by}: {text}")
            case AnswerPosted(text=text):
                found.append(f"genie: {text}")
    return found


def written(path: Path, value: Any) -> Path:
    """Write JSON, or bytes, to a file and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return path


def asked(text: Any, role: str = "user", **fields: Any) -> dict[str, Any]:
    """Return a message of ChatGPT."""
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "content": content, **fields}


def chat(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a conversation of ChatGPT whose messages follow each other."""
    mapping = {
        str(n): {"message": {"id": f"m{n}", **message}, "parent": str(n - 1) if n else None}
        for n, message in enumerate(messages)
    }
    return {"id": "c1", "title": "Soup", "mapping": mapping, **fields}
