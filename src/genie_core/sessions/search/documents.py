"""The documents of the search index: the text of each event that has some, and the hits."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RunCancelled,
    RunFailed,
)
from genie_core.sessions.search.query import Snippet
from genie_core.sessions.transcript import AGENT

DocumentKind: TypeAlias = Literal["title", "message", "answer", "decision", "approval", "failure"]

MOST_CHARS: Final = 100_000
"""Only the start of a longer text is indexed."""

MOST_ARGUMENT_CHARS: Final = 4_000
"""Only this much of a tool's arguments is indexed."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its place: event `seq`, about the message with number `message`."""

    seq: int
    message: int
    at: float
    by: str
    kind: DocumentKind
    text: str


def documents(
    events: Iterable[Event], changes: dict[tuple[int, str], Event] | None = None
) -> Iterator[Document]:
    """Yield the texts of events, without withheld values.

    Edits and deletions are no texts: `changes` gets the last one of each message and author, by the
    number of the message as the event has it.
    """
    for event in events:
        body = event.told.body
        if changes is not None and isinstance(body, MessageEdited | MessageDeleted):
            _note_change(changes, body.message, event)
        found = _document(event.seq, event.told)
        if found is not None and found.text.strip():
            yield found


def _document(seq: int, told: Event) -> Document | None:
    match told.body:
        case MessagePosted() as said:
            return Document(seq, seq, told.at, told.by, "message", _cut(_said(said, said.text)))
        case AnswerPosted(message=message, text=text):
            return Document(seq, message, told.at, AGENT, "answer", _cut(text))
        case DecisionMade(message=message, reason=reason):  # its query repeats what was said
            return Document(seq, message, told.at, told.by, "decision", _cut(reason))
        case ApprovalRequested() as asked:
            return Document(seq, asked.message, told.at, told.by, "approval", _asked(asked))
        case ApprovalResolved(message=message, reason=reason):
            return Document(seq, message, told.at, told.by, "approval", _cut(reason))
        case RunFailed(message=message, error=error, text=text):
            words = f"{error}\n{text}" if text else error
            return Document(seq, message, told.at, told.by, "failure", _cut(words))
        case RunCancelled(message=message, text=text):
            return Document(seq, message, told.at, AGENT, "answer", _cut(text))
        case _:
            return None


def changed_document(change: Event, message: Event) -> Document | None:
    """Return the text of a message after a change; None if the change is not its author's.

    Of a deleted message it is empty.
    """
    said, body = message.told.body, change.told.body
    if message.told.by != change.told.by or not isinstance(said, MessagePosted):
        return None
    text = _cut(_said(said, body.text)) if isinstance(body, MessageEdited) else ""
    return Document(message.seq, message.seq, message.told.at, message.told.by, "message", text)


def _note_change(changes: dict[tuple[int, str], Event], message: int, event: Event) -> None:
    known = changes.get((message, event.told.by))
    if known is None or not isinstance(known.told.body, MessageDeleted):
        changes[message, event.told.by] = event


def _said(said: MessagePosted, text: str) -> str:
    names = (file.name for file in said.files)
    quoted = (line.text for quote in said.quotes for line in quote.lines)
    return "\n".join((text, *names, *quoted))


def _asked(asked: ApprovalRequested) -> str:
    if asked.withheld:
        return asked.tool
    words = "\n".join(_strings(asked.arguments))[:MOST_ARGUMENT_CHARS]
    return f"{asked.tool}\n{words}" if words else asked.tool


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


def _cut(text: str | None) -> str:
    return (text or "")[:MOST_CHARS]


@dataclass(frozen=True, slots=True)
class SearchedSession:
    """A session to search: its folder's name, title, log and last activity."""

    id: str
    title: str
    log: Path
    at: float = 0.0


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
