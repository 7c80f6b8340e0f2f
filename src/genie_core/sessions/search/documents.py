"""The documents that a search looks through: the text of each event that has some, and the hits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessageEdited,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import AGENT
from genie_core.room.view.kinds import ABOUT_ROOM, CHANGES
from genie_core.room.view.spoken import Spoken, spoken_in
from genie_core.sessions.changes import Changes
from genie_core.sessions.search.folding import one_line
from genie_core.sessions.search.query import DocumentKind
from genie_core.sessions.search.snippet import Snippet

MOST_CHARS: Final = 100_000
"""Only the start of a longer text is searched."""

MOST_ARGUMENT_CHARS: Final = 4_000
"""Only this much of a tool's arguments is searched."""


LEFT_OUT: Final = ABOUT_ROOM | CHANGES | {ApprovalResolved}
"""Kinds of events without a document; the one that they change shows edits and outcomes."""


class Document(msgspec.Struct, frozen=True):
    """A text on one line and its place: event `seq`, about the message with number `message`."""

    seq: int
    message: int
    at: float
    by: str
    kind: DocumentKind
    text: str
    has_file: bool = False
    fixed: str = ""
    """The part of the text that no change replaces."""
    call: str = ""
    """The id of the tool call that it asks for."""


def documents(events: Iterable[Event], changes: Changes | None = None) -> Iterator[Document]:
    """Yield the texts of events as their authors left them, without withheld values.

    Without `changes`, those among the events count.
    """
    if changes is None:
        events, changes = list(events), Changes()
        changes.note_earlier(events)
    for event in events:
        found, change = document(event), changes.take(event)
        if found is not None and change is not None:
            found = changed(found, change)
        if found is not None:
            yield found


def document(event: Event) -> Document | None:
    """Return the text of an event; None if there is none."""
    match event.original.body:
        case DecisionMade(message=message, decision=decision, reason=reason):
            kind: DocumentKind = "silent" if decision == "ignore" else "decision"
            return _step(event, kind, message, reason or "")  # its query repeats messages
        case ApprovalRequested() as asked:
            return _step(event, "approval", asked.message, _asked(asked), asked.approval)
        case RunFailed(message=message, error=error, text=text):
            return _document(event, event.original.by, "failed", message, f"{error}\n{text}")
        case RunCancelled(message=message, reason=reason, text=text):
            return _document(event, AGENT, "stopped", message, f"{reason}\n{text}")
    said = spoken_in(event)
    if said is None:
        return None
    brought = "\n".join(_brought(said))
    text = f"{said.text}\n{brought}"
    found = _document(event, said.by, "answer" if said.is_answer else "message", said.message, text)
    return found and replace(found, has_file=bool(said.files), fixed=_line(brought))


def changed(found: Document, change: Event) -> Document | None:
    """Return a document after a change by its author; None if it was deleted or has no text."""
    match change.original.body:
        case MessageEdited(text=text):
            line = _line(f"{text}\n{found.fixed}")
            return replace(found, text=line) if line else None
        case ApprovalResolved(outcome=outcome, reason=reason):
            return replace(found, kind=outcome, text=_line(f"{found.fixed}\n{reason or ''}"))
    return None


def _line(text: str) -> str:
    return one_line(text[:MOST_CHARS])


def _document(
    event: Event, by: str, kind: DocumentKind, message: int, text: str
) -> Document | None:
    line = _line(text)
    return Document(event.seq, message, event.original.at, by, kind, line) if line else None


def _step(
    event: Event, kind: DocumentKind, message: int, text: str, call: str = ""
) -> Document | None:
    """Return a step of an agent, which is found by its kind even without a text, unless sealed."""
    original, line = event.original, _line(text)
    if not line and bool(getattr(original.body, "sealed", ())):
        return None
    fixed = line if call else ""
    return Document(
        event.seq, message, original.at, original.by, kind, line, fixed=fixed, call=call
    )


def _brought(said: Spoken) -> Iterator[str]:
    """Yield the names of a message's files, and the texts that it quotes."""
    yield from (file.name for file in said.files)
    yield from (line.text for quote in said.quotes for line in quote.lines)


def _asked(asked: ApprovalRequested) -> str:
    if asked.withheld:
        return asked.tool
    words = "\n".join(_strings(asked.arguments))[:MOST_ARGUMENT_CHARS]
    return f"{asked.tool}\n{words}"


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in a tool's arguments, at any depth."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(fields):
                waiting += reversed(fields.values())
            case list(items):
                waiting += reversed(items)
            case _:
                pass


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A match in the session with this folder's name.

    It is in event `seq` (0 for the title) about the message `message`. Time and numbers are the
    log's; `by` is "genie" for an agent.
    """

    session: str
    title: str
    seq: int
    message: int
    at: float
    by: str
    kind: DocumentKind
    snippet: Snippet
