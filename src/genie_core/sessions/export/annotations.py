"""Collect later entries about messages (footnotes, edits and deletions), and the outline of a log.

A transcript shows them with their message, so a first pass over the log collects them, on disk.
"""

import sqlite3
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec.structs import replace

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessageDeleted,
    MessageEdited,
)
from genie_core.room.state.proofs import GAP
from genie_core.room.state.signatures import EntrySignature
from genie_core.room.view.approvals import what_changed
from genie_core.room.view.costs import spent_tree
from genie_core.room.view.entries import AnswerEntry, CallEntry, MessageEntry
from genie_core.room.view.reader import resolution
from genie_core.room.view.wording import DELETED, EDITED, because, event_fields
from genie_core.sessions.export.choices import Choices
from genie_core.sessions.export.story import Passage, StoryLine
from genie_core.text.safe import visible, visible_line

_TABLES: Final = """
    create table notes (message integer, data blob);
    create table changes (message integer primary key, data blob);
"""

_ARGUMENTS: Final = frozenset({"arguments", "effects", "because"})
"""Fields that show, or may quote, arguments of a tool."""


class Proof(msgspec.Struct, frozen=True):
    """The public data for checking one signature; keys and signature are in base64."""

    by: str
    key: str
    signature: str
    signed: str


def proof_of(signature: EntrySignature | None) -> Proof | None:
    """Return a signature as text; None if there is none, or its bytes are no text."""
    if signature is None or not signature.signer or not signature.key:
        return None
    try:
        signed = signature.signed.decode()
    except UnicodeDecodeError:
        return None
    by = visible_line(signature.signer)
    return Proof(by, signature.key, b64encode(signature.signature).decode(), signed)


@dataclass(frozen=True, slots=True)
class Footnote:
    """One thing that an engine did: the line for it, and all that is known, as label and text.

    Everything is safe to show; texts may have several lines.
    """

    at: float
    line: StoryLine
    fields: tuple[tuple[str, str], ...]
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """How the author left a message that they edited or deleted."""

    text: str
    is_deleted: bool
    proof: Proof | None = None


@dataclass(slots=True)
class PageOutline:
    """One page of a transcript: its first entry, its number of messages, and the times of both ends."""

    first: int
    first_at: float
    last_at: float
    messages: int = 0


@dataclass(slots=True)
class Outline:
    """The pages of a transcript, and the names of all people in it."""

    pages: list[PageOutline] = field(default_factory=list)
    last: int = 0
    names: dict[str, None] = field(default_factory=dict)

    def add(self, passage: Passage, most: int) -> None:
        """Count a passage; a page has up to `most` messages, any number if that is 0."""
        at, is_message = passage.event.at, isinstance(passage.entry, MessageEntry)
        if not self.pages or (is_message and self.pages[-1].messages == most > 0):
            self.pages.append(PageOutline(passage.event.seq, at, at))
        page = self.pages[-1]
        page.last_at, self.last = at, passage.event.seq
        page.messages += is_message

    def span(self, otherwise: float) -> tuple[float, float]:
        """Return the times of the first and the last passage."""
        if not self.pages:
            return otherwise, otherwise
        return self.pages[0].first_at, self.pages[-1].last_at

    def __contains__(self, seq: int) -> bool:
        """Whether an entry is between the first passage and the last one."""
        return bool(self.pages) and self.pages[0].first <= seq <= self.last

    @property
    def messages(self) -> int:
        return sum(page.messages for page in self.pages)

    def page_of(self, seq: int) -> int:
        """Return the number of the page that has an entry; 0 if it is before the first."""
        return bisect_right(self.pages, seq, key=lambda page: page.first)


class Annotations:
    """The footnotes and changes of all messages, in a temporary file of the system's."""

    def __init__(self) -> None:
        # A generator may be closed by another thread than the one that began it.
        self._store = sqlite3.connect("", check_same_thread=False)
        self._store.executescript(_TABLES)

    def note(self, message: int, footnote: Footnote) -> None:
        """Keep a footnote of a message."""
        data = msgspec.json.encode(footnote)
        self._store.execute("insert into notes values (?, ?)", (message, data))

    def change(self, message: int, change: Change) -> None:
        """Keep how a message was left by now."""
        data = msgspec.json.encode(change)
        self._store.execute("replace into changes values (?, ?)", (message, data))

    def finish(self) -> None:
        """Make reading fast; nothing is kept afterwards."""
        self._store.execute("create index by_message on notes (message)")

    def notes_of(self, message: int) -> list[Footnote]:
        """Return the footnotes of a message, in their order."""
        found = self._store.execute(
            "select data from notes where message = ? order by rowid", (message,)
        )
        return [msgspec.json.decode(data, type=Footnote) for (data,) in found]

    def noted(self) -> Iterator[int]:
        """Yield the messages that have footnotes."""
        for (message,) in self._store.execute(
            "select distinct message from notes order by message"
        ):
            yield message

    def change_of(self, message: int) -> Change | None:
        """Return how the author left a message; None if they did not change it."""
        found = self._store.execute("select data from changes where message = ?", (message,))
        row = found.fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=Change)

    def close(self) -> None:
        self._store.close()


def as_left(said: MessageEntry, change: Change | None) -> MessageEntry:
    """Return a message as its author left it; without any content if they deleted it."""
    if change is None:
        return said
    if change.is_deleted:
        return replace(said, text="", files=(), quotes=())
    return replace(said, text=visible(change.text))


def marks_of(message: MessageEntry, change: Change | None) -> tuple[str, ...]:
    """Return the remarks about a message: those of its entry, and that it was changed later."""
    if change is None:
        return message.marks
    return (DELETED,) if change.is_deleted else (*message.marks, EDITED)


def collect(
    passages: Iterable[Passage],
    found: Annotations,
    choices: Choices,
    wrong: Container[int] = (),
    most: int = 0,
) -> Outline:
    """Collect all annotations and return the outline of pages of up to `most` messages. Blocks.

    `wrong` are the messages whose decisions are marked as wrong.
    """
    outline = Outline()
    for passage in passages:
        outline.names.update(dict.fromkeys(_names(passage)))
        if is_footnote(passage):
            _note(passage, found, choices, wrong)
        elif is_change(passage):
            _change(passage, found)
        elif is_shown(passage, choices):
            outline.add(passage, most)
    found.finish()
    return outline


def _names(passage: Passage) -> Iterator[str]:
    yield passage.original.by
    yield passage.event.by
    if isinstance(passage.entry, AnswerEntry):
        yield passage.entry.receiver
    if passage.thread is not None:
        yield passage.thread.author


def _note(passage: Passage, found: Annotations, choices: Choices, wrong: Container[int]) -> None:
    if passage.thread and passage.line and not choices.messages_only:
        found.note(passage.thread.seq, _footnote(passage, passage.line, choices, wrong))


def _change(passage: Passage, found: Annotations) -> None:
    if passage.thread is not None:
        thread, proof = passage.thread, proof_of(passage.signature)
        found.change(thread.seq, Change(thread.text, thread.is_deleted, proof))


def is_shown(passage: Passage, choices: Choices) -> bool:
    """Whether a passage has a place of its own in a transcript."""
    if is_footnote(passage) or is_change(passage) or not choices.covers(passage.event):
        return False
    is_text = isinstance(passage.entry, MessageEntry | AnswerEntry)
    return is_text or not choices.messages_only


def is_change(passage: Passage) -> bool:
    """Whether a passage is an edit or a deletion that its message shows."""
    is_edit = isinstance(passage.original.body, MessageEdited | MessageDeleted)
    by_author = passage.thread is not None and passage.thread.author == passage.original.by
    return is_edit and by_author and passage.doubt in ("", GAP)


def is_footnote(passage: Passage) -> bool:
    """Whether a passage is shown beside its message rather than among the messages."""
    return passage.thread is not None and isinstance(
        passage.original.body, DecisionMade | ApprovalRequested | ApprovalResolved
    )


def _footnote(
    passage: Passage, line: StoryLine, choices: Choices, wrong: Container[int]
) -> Footnote:
    body: object = passage.original.body
    if not choices.arguments:
        body, line = _without_arguments(passage, line)
    fields = event_fields(body)
    if isinstance(body, DecisionMade):
        fields += [("agent of", passage.original.by), ("agents", spent_tree(body.spent))]
        if body.message in wrong:
            line = StoryLine(line.mark, f"{line.text} (marked as wrong)")
    if isinstance(body, ApprovalResolved) and passage.call is not None:
        fields.append(("changes", "\n".join(what_changed(passage.call.call, body.arguments))))
    if passage.is_recovered:
        fields.append(("recovered", f"from {passage.event.by}'s copy"))
    if passage.doubt:
        fields.append(("caution", f"not proven: {passage.doubt}"))
    shown = tuple(
        (label, visible(text))
        for label, text in fields
        if text and (choices.arguments or label not in _ARGUMENTS)
    )
    return Footnote(passage.original.at, line, shown, proof_of(passage.signature))


def _without_arguments(passage: Passage, line: StoryLine) -> tuple[object, StoryLine]:
    """Return a step and its line without the arguments of a tool."""
    body, entry = passage.original.body, passage.entry
    if isinstance(body, ApprovalResolved):
        body = replace(body, covers="", arguments=None)
        tool = passage.call.tool if passage.call is not None else "a tool call"
        mark, _, text = resolution(body, tool, passage.original.by)
        return body, StoryLine(mark, because(text, body.reason or ""))
    return body, StoryLine(line.mark, entry.text) if isinstance(entry, CallEntry) else line
