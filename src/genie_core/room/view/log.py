"""The entries of a conversation, as a log's events add and change them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, time, timedelta
from typing import Final

from msgspec.structs import replace

from genie_core.room.protocol.events import (
    ApprovalRequested,
    ApprovalResolved,
    ChangeBody,
    DecisionMade,
    Event,
    UnreadableEvent,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.room.view.entries import (
    AnswerEntry,
    CallEntry,
    DayEntry,
    GapEntry,
    MessageEntry,
    Move,
    NoticeEntry,
    RunEntry,
    TimelineEntry,
    Tone,
    UnsentEntry,
)
from genie_core.room.view.reader import (
    SUMMARY_MARK,
    Earlier,
    entry_of,
    reactions_in,
    revised,
    unreadable_line,
)
from genie_core.room.view.wording import DELETED, changed_thread
from genie_core.text.format import local_time
from genie_core.text.safe import quoted_line, visible, visible_line

LEFT_OUT: Final[frozenset[type]] = frozenset({DecisionMade, ApprovalRequested})
"""Kinds of events without an entry of their own: the message shows how the work on it goes."""

GROUPED: Final = 300.0
"""Seconds within which messages of one author stand under one name."""

MOST_MOVES: Final = 200
"""Who came and went that one note takes up."""

QUOTED: Final = 120
"""Characters of a question that are repeated above an answer."""


def message_of(entry: TimelineEntry) -> int:
    """Return the message of an entry; 0 for none."""
    match entry:
        case (
            NoticeEntry(message=message)
            | MessageEntry(message=message)
            | AnswerEntry(message=message)
        ):
            return message
        case GapEntry() | DayEntry() | UnsentEntry():
            return 0


def text_of(entry: TimelineEntry) -> str | None:
    """Return a message's or answer's text; None for other entries."""
    match entry:
        case MessageEntry(text=text) | AnswerEntry(text=text) | UnsentEntry(text=text):
            return text
        case GapEntry() | DayEntry() | NoticeEntry():
            return None


class EntryLog:
    """The entries of a log so far. `add` appends at most a date and one entry for an event.

    Events in a row that can't be read, for the same reason, share one entry, which then changes.
    `head` is the number of the last event, and `seqs` has the event's number for each entry.
    Messages that the state has forgotten are not shown; `forget` drops entries, too.
    """

    def __init__(self, state: RoomState) -> None:
        self.entries: list[TimelineEntry] = []
        self.seqs: list[int] = []
        self.head = 0
        self._state = state
        self._index: dict[int, int] = {}
        self._answers: dict[int, int] = {}
        self._replies: dict[int, list[int]] = {}  # by their originals
        self._day = (0.0, 0.0)  # begin and end of the day of the last entry
        self._files: dict[str, list[int]] = {}
        self._earlier = Earlier()
        self._merged = 0  # the latest event that the entry before took up
        self._lost = (0, 0, "")  # first and last of the latest unreadable events, and why

    @property
    def messages(self) -> int:
        """The number of messages among the entries."""
        return len(self._index)

    def index_of(self, message: int) -> int | None:
        """Return the index of the entry that shows a message."""
        return self._index.get(message)

    def indices_about(self, message: int) -> set[int]:
        """Return the indices of the entries that show or quote a message, or show its answer."""
        known = (self._index.get(each) for each in (message, *self._replies.get(message, ())))
        return {at for at in (*known, self._answers.get(message)) if at is not None}

    def revise(self, message: int) -> None:
        """Show a message as it is after edits, deletion and reactions, also where it is quoted."""
        for at in self.indices_about(message):
            entry = self.entries[at]
            thread = self._state.threads.get(message_of(entry))
            if thread is not None and isinstance(entry, MessageEntry):
                self.entries[at] = revised(entry, thread, self._state)
            elif thread is not None and isinstance(entry, AnswerEntry):
                quote = _quote(thread) if entry.quote else ""
                reactions = reactions_in(thread.answer_reactions)
                self.entries[at] = replace(entry, quote=quote, reactions=reactions)

    def indices_of_file(self, digest: str) -> list[int]:
        """Return the indices of the entries that show a file."""
        return [self._index[message] for message in self._files.get(digest, ())]

    def read(self, events: Iterable[Event], *, head: int) -> None:
        """Append entries for events that stand for the whole log up to `head`."""
        for event in events:
            self.add(event)
        self.head = head
        if head == self._state.head:
            self._earlier.begin(self._state)

    def add(self, event: Event) -> None:
        """Append an entry for an event, if it is shown."""
        self.head = max(self.head, event.seq)
        if isinstance(event.original.body, ChangeBody):
            if (changed := self._state.changed_by(event)) is not None:
                self.revise(changed.seq)
            return
        is_shown = event.seq > self._state.floor and type(event.original.body) not in LEFT_OUT
        entry = self._entry(event) if is_shown else None
        if entry is not None:
            now = local_time(event.at)
            if not self._day[0] <= now.timestamp() < self._day[1]:  # a clock may go back
                self._start_day(now, event.seq)
                entry = self._entry(event) or entry  # a group never spans two days
            before = self.entries[-1] if self.extends_last(event) else None
            together = self._together(entry)
            if together is not None:
                self.entries[-1], self._merged = together, event.seq
            elif isinstance(before, NoticeEntry) and isinstance(entry, NoticeEntry):
                self.entries[-1] = replace(entry, opens=before.opens)
            else:
                self._append(entry, event.seq)
        self._earlier.add(event)

    def extends_last(self, event: Event) -> bool:
        """Whether the last entry combines this event with earlier ones."""
        if event.seq == self._merged:
            return True
        first, last, _ = self._lost
        return first < last == event.seq and bool(self.seqs) and self.seqs[-1] == first

    def _together(self, entry: TimelineEntry) -> NoticeEntry | None:
        """Return the last entry with one more who came or went; None if they don't belong together."""
        last = self.entries[-1] if self.entries else None
        if not (isinstance(last, NoticeEntry) and isinstance(entry, NoticeEntry)):
            return None
        if not (last.moves and entry.moves):
            return None
        moves = (*last.moves, *entry.moves)[-MOST_MOVES:]
        return replace(last, mark="⇄", text=who_moved(moves), moves=moves)

    def forget(self, count: int) -> int:
        """Drop the first `count` entries and return how many messages were among them.

        The entry that comes first then gets its date above it, and its author's name.
        """
        gone = sum(isinstance(entry, MessageEntry) for entry in self.entries[:count])
        kept = list(zip(self.entries[count:], self.seqs[count:], strict=True))
        self.entries, self.seqs = [], []
        self._index, self._files, self._answers, self._replies = {}, {}, {}, {}
        if kept and (at := _moment(kept[0][0])) is not None:
            self._append(DayEntry(local_time(at).date()), kept[0][1])
        for entry, seq in kept:
            if isinstance(entry, MessageEntry) and len(self.entries) <= 1:
                entry = replace(entry, opens=True)
            self._append(entry, seq)
        return gone

    def _append(self, entry: TimelineEntry, seq: int) -> None:
        if isinstance(entry, MessageEntry):
            self._index[entry.message] = len(self.entries)
            for file in entry.files:
                self._files.setdefault(file.digest, []).append(entry.message)
            thread = self._state.threads.get(entry.message)
            if thread is not None and thread.reply:
                self._replies.setdefault(thread.reply, []).append(entry.message)
        elif isinstance(entry, AnswerEntry):
            self._answers[entry.message] = len(self.entries)
        self.entries.append(entry)
        self.seqs.append(seq)

    def growing_answer(self, thread: MessageThread, text: str, at: float) -> AnswerEntry:
        """Return the entry of an unfinished answer as it would be shown at the end now."""
        answer = AnswerEntry(
            thread.seq,
            at,
            visible_line(thread.author),
            visible_line(thread.handler),
            visible(text),
            elapsed=None,
            reactions=reactions_in(thread.answer_reactions),
            private=thread.is_private,
        )
        return self._with_question(answer)

    def _with_question(self, answer: AnswerEntry) -> AnswerEntry:
        """Repeat the question where it is not right above."""
        thread = self._state.threads.get(answer.message)
        last = self.entries[-1] if self.entries else None
        if thread is None or (isinstance(last, MessageEntry) and last.message == thread.seq):
            return answer
        return replace(answer, quote=_quote(thread))

    def opens_group(self, author: str, at: float, private: str = "") -> bool:
        """Whether a message by this author would start a new group."""
        last = self.entries[-1] if self.entries else None
        return not (
            isinstance(last, MessageEntry)
            and last.author == author
            and last.private == private
            and not last.emote
            and not last.caveat
            and abs(at - last.at) < GROUPED
        )

    def _start_day(self, now: datetime, seq: int) -> None:
        day = now.date()
        midnights = (datetime.combine(day + timedelta(days=each), time.min) for each in (0, 1))
        begin, end = (midnight.astimezone().timestamp() for midnight in midnights)
        self._day = begin, end
        self._append(DayEntry(day), seq)

    def _entry(self, event: Event) -> TimelineEntry | None:
        entry = entry_of(event, self._state, self._earlier)
        match entry:
            case MessageEntry():
                opens = bool(entry.caveat) or self.opens_group(
                    entry.author, entry.at, entry.private
                )
                return replace(entry, opens=opens)
            case AnswerEntry():
                is_lost = event.original is not event and changed_thread(event, self._state) is None
                return None if is_lost else self._with_question(entry)
            case RunEntry():
                return self._noted(event, entry)
            case CallEntry() if self._is_news(event, entry):
                return self._noted(event, replace(entry, tone=Tone.QUIET))
            case NoticeEntry():
                return replace(
                    entry, text=self._unreadable(event, entry), opens=self._opens_notices()
                )
        return None

    def _noted(self, event: Event, entry: RunEntry | CallEntry) -> NoticeEntry:
        mark = "⚠" if self._state.doubt_of(event.seq) else entry.mark
        opens = self._opens_notices()
        return NoticeEntry(event.at, mark, entry.line, opens, entry.tone, entry.message)

    def _opens_notices(self) -> bool:
        last = self.entries[-1] if self.entries else None
        return not isinstance(last, NoticeEntry) or last.sets_off

    def _is_news(self, event: Event, call: CallEntry) -> bool:
        """Whether a resolved call is shown: with changes, or denied after a pause, without an answer."""
        resolved = event.original.body
        if not isinstance(resolved, ApprovalResolved):
            return False
        is_late = resolved.approval in self._earlier.kept and resolved.outcome == "denied"
        return is_late or resolved.how == "edit" or call.mark == SUMMARY_MARK

    def _unreadable(self, event: Event, entry: NoticeEntry) -> str:
        """Return a notice's text; one for all entries in a row that can't be read for one reason."""
        if not isinstance(event.body, UnreadableEvent):
            return entry.text
        why = event.body.why
        first, last, before = self._lost
        first = first if (last + 1, before) == (event.seq, why) else event.seq
        self._lost = first, event.seq, why
        return unreadable_line(first, event.seq, why)


def who_moved(moves: Sequence[Move]) -> str:
    """Say in a line who joined, left, came and went, or came back."""
    ways: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for name, _ in moves):
        own = [came for each, came in moves if each == name]
        way = ("joined" if own[-1] else "left") if own[0] == own[-1] else "came back"
        if own[0] and not own[-1]:
            way = "came and went"
        ways.setdefault(way, []).append(name)
    return " · ".join(f"{_names(names)} {way}" for way, names in ways.items())


def _names(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _quote(thread: MessageThread) -> str:
    """Return the start of a message in one line, to stand above its replies."""
    return DELETED if thread.is_deleted else quoted_line(thread.text[:QUOTED])


def _moment(entry: TimelineEntry) -> float | None:
    match entry:
        case NoticeEntry(at=at) | MessageEntry(at=at) | AnswerEntry(at=at):
            return at
    return None
