"""The documents that a search looks through: the text of each event that has some, and the hits."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import AGENT
from genie_core.room.view.spoken import Spoken, spoken_in
from genie_core.sessions.search.folding import one_line
from genie_core.sessions.search.query import DocumentKind
from genie_core.sessions.search.snippet import Snippet

MOST_CHARS: Final = 100_000
"""Only the start of a longer text is searched."""

MOST_ARGUMENT_CHARS: Final = 4_000
"""Only this much of a tool's arguments is searched."""

Target: TypeAlias = tuple[int | str, str]
"""A message's number or a tool call's id, and the author's name."""


class Document(msgspec.Struct, frozen=True):
    """A text on one line and its place: event `seq`, about the message with number `message`."""

    seq: int
    message: int
    at: float
    by: str
    kind: DocumentKind
    text: str
    has_file: bool = False


class Changes:
    """The last change of each message, and the outcome of each tool call.

    `recovered` returns the numbers of recovered messages by their former ones; see `RoomState`.
    """

    def __init__(self, recovered: Callable[[], Mapping[int, int]] = lambda: _NOTHING) -> None:
        self._recovered = recovered
        self._last: dict[Target, Event] = {}

    def note(self, event: Event) -> bool:
        """Take in an event that follows all others; returns whether it is a change."""
        if not isinstance(event.body, _CHANGING):
            return False
        target = self._target(event)
        if target is not None and not _deletes(self._last.get(target)):
            self._last[target] = event
        return target is not None

    def note_earlier(self, events: Iterable[Event]) -> None:
        """Take in events that precede all others."""
        earlier = Changes(self._recovered)
        for event in events:
            earlier.note(event)
        for target, event in earlier._last.items():
            if target not in self._last or _deletes(event):
                self._last[target] = event

    def take(self, event: Event) -> Event | None:
        """Return the change of an event, if there is one, and forget it."""
        if not isinstance(event.body, _CHANGEABLE):
            return None
        return self._last.pop(_identity(event), None)

    def rest(self) -> Mapping[Target, Event]:
        """Return the changes that were not taken."""
        return self._last

    def _target(self, event: Event) -> Target | None:
        told = event.told
        match told.body:
            case MessageEdited(message=number) | MessageDeleted(message=number):
                if told is not event:
                    number = self._recovered().get(number, number)
                return number, told.by
            case ApprovalResolved(approval=approval):
                return approval, told.by
            case _:
                return None


_CHANGING: Final = (ApprovalResolved, MessageEdited, MessageDeleted, RecoveredEvent)
_CHANGEABLE: Final = (MessagePosted, ApprovalRequested, RecoveredEvent)
"""Bodies of changes, and of what they change."""

_NOTHING: Final[Mapping[int, int]] = MappingProxyType({})


def documents(events: Iterable[Event], changes: Changes | None = None) -> Iterator[Document]:
    """Yield the texts of events as their authors left them, without withheld values.

    Without `changes`, those among the events count.
    """
    if changes is None:
        events, changes = list(events), Changes()
        changes.note_earlier(events)
    for event in events:
        found = document(event, changes.take(event))
        if found is not None:
            yield found


def document(event: Event, change: Event | None = None) -> Document | None:
    """Return the text of an event after a change by its author; None if there is none."""
    edit = None if change is None else change.told.body
    if isinstance(edit, MessageDeleted):
        return None
    match event.told.body:
        case DecisionMade(message=message, decision=decision, reason=reason):
            kind: DocumentKind = "silent" if decision == "ignore" else "decision"
            return _step(event, kind, message, reason or "")  # its query repeats messages
        case ApprovalRequested() as asked:
            outcome = edit if isinstance(edit, ApprovalResolved) else None
            text = f"{_asked(asked)}\n{(outcome and outcome.reason) or ''}"
            return _step(event, outcome.outcome if outcome else "approval", asked.message, text)
        case RunFailed(message=message, error=error, text=text):
            return _document(event, event.told.by, "failed", message, f"{error}\n{text}")
        case RunCancelled(message=message, reason=reason, text=text):
            return _document(event, AGENT, "stopped", message, f"{reason}\n{text}")
    said = spoken_in(event)
    if said is None:
        return None
    text = edit.text if isinstance(edit, MessageEdited) else said.text
    text = "\n".join((text, *_brought(said)))
    kind = "answer" if said.is_answer else "message"
    return _document(event, said.by, kind, said.message, text, has_file=bool(said.files))


def _document(
    event: Event, by: str, kind: DocumentKind, message: int, text: str, *, has_file: bool = False
) -> Document | None:
    line = one_line(text[:MOST_CHARS])
    return Document(event.seq, message, event.told.at, by, kind, line, has_file) if line else None


def _step(event: Event, kind: DocumentKind, message: int, text: str) -> Document | None:
    """Return a step of an agent, which is found by its kind even without a text, unless sealed."""
    told, line = event.told, one_line(text[:MOST_CHARS])
    is_sealed = bool(getattr(told.body, "sealed", ()))
    return (
        Document(event.seq, message, told.at, told.by, kind, line)
        if line or not is_sealed
        else None
    )


def is_same_call(event: Event, target: Target) -> bool:
    """Whether an event asks for the tool call of a target."""
    return _identity(event) == target and isinstance(event.told.body, ApprovalRequested)


def _identity(event: Event) -> Target:
    told = event.told
    if isinstance(told.body, ApprovalRequested):
        return told.body.approval, told.by
    return event.seq, told.by


def _deletes(event: Event | None) -> bool:
    return event is not None and isinstance(event.told.body, MessageDeleted)


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
