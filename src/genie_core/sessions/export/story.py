"""The events of a session as text, for all written formats.

A `Passage` is one event, a `Footnote` a decision or an approval beside its message, and the
`Heading` describes the session. All texts are safe to show.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from genie_core.room.protocol.events import Event
from genie_core.room.security.sealing import is_sealed
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.room.state.signatures import EntrySignature, signature_in
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.room.view.entries import AnswerEntry, Entry, MessageEntry, NoticeEntry
from genie_core.room.view.reader import Earlier, entry_of
from genie_core.room.view.wording import changed_thread
from genie_core.text.safe import visible_line


class StoryLine(NamedTuple):
    """An event other than a message, as one line that is safe to show; `mark` is one character."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One event with something to show, and its `entry`."""

    event: Event
    entry: Entry
    thread: MessageThread | None = None
    """The message that it is or concerns, as it is right after it; None if that is missing."""
    call: ToolApproval | None = None
    """The tool call that it is about; likewise."""
    doubt: str = ""
    signature: EntrySignature | None = None
    """That of a proven entry, if signatures were asked for."""

    @property
    def original(self) -> Event:
        """The event, or the one that it recovers."""
        return self.event.original

    @property
    def is_recovered(self) -> bool:
        """Whether it was recovered from a member's copy."""
        return self.original is not self.event

    @property
    def line(self) -> StoryLine | None:
        """Mark and text of a notice or a step, or why an answer is incomplete; None if complete."""
        match self.entry:
            case MessageEntry():
                return None
            case AnswerEntry(mark=mark, incomplete=incomplete):
                return StoryLine(mark, incomplete) if incomplete else None
        return StoryLine(self.entry.mark, self.entry.line)


def story(
    events: Iterable[Event], first: int = 1, *, signatures: bool = False
) -> Iterator[Passage]:
    """Describe the events from `first` on, in order and in bounded memory.

    The events before it only let one understand those that follow. If they are missing, so are some
    of the words. Private messages and the work on them are left out. With `signatures`, proven
    entries have theirs.
    """
    state, earlier = RoomState(), Earlier()
    for event in events:
        if state.head == 0 and event.seq > 1:
            state.begin_late(event.seq)
            state.unreadable.add(event.seq - 1)
        signature = signature_in(state, event) if signatures and state.founding else None
        passage = _passage(state, event, earlier)
        earlier.add(event)
        if passage is not None and event.seq >= first and not _is_private(passage):
            yield passage if passage.doubt else replace(passage, signature=signature)


def _is_private(passage: Passage) -> bool:
    thread = passage.thread
    return is_sealed(passage.original.body) or (thread is not None and thread.is_private)


def _passage(state: RoomState, event: Event, earlier: Earlier) -> Passage | None:
    try:
        state.apply(event)
    except IllegalEvent as error:
        text = f"entry {event.seq:,} is left out: {visible_line(str(error))}"
        state.head = event.seq
        return Passage(event, NoticeEntry(event.at, "⚠", text, seq=event.seq))
    entry = entry_of(event, state, earlier)
    if entry is None:
        return None
    thread = state.threads.get(event.seq) or changed_thread(event, state)
    approval = getattr(event.body, "approval", "")
    return Passage(event, entry, thread, state.calls.get(approval), state.doubt_of(event.seq))
