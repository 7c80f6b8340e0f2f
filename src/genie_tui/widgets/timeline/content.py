"""Everything that a timeline shows, in order: history, live log, growing answers, unsent."""

from collections.abc import Iterable, Sequence
from math import inf
from time import time
from typing import Final

from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ChangeBody,
    DecisionMade,
    Event,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.room.view.entries import (
    AnswerEntry,
    DayEntry,
    GapEntry,
    MessageEntry,
    TimelineEntry,
    UnsentEntry,
)
from genie_core.room.view.log import EntryLog, message_of
from genie_core.room.view.wording import changed_thread, file_lines, private_reader, quote_lines
from genie_core.text.safe import visible, visible_line
from genie_tui.notifications import mentions
from genie_tui.widgets.timeline.history_pages import HistorySpan, known_events
from genie_tui.widgets.timeline.streaming import AnswerStreams

MOST: Final = 6_000
"""Live entries at most, between two batches of events."""

TOLD: Final = 200
"""Messages that are shown from the state alone where a log with more of them can be read."""

KEPT: Final = 4_000
"""Live entries that are left when there were more."""


class TimelineContent:
    """The entries of a room as seen by one person.

    First come those `above`, which are read back from the log. Those up to `settled` are the live
    log and only grow in number, until old ones are forgotten. Those behind, the tail, are growing
    answers and unsent messages, which come and go.
    """

    def __init__(self, state: RoomState, me: str, *, can_read_back: bool = False) -> None:
        self._can_read_back = can_read_back
        self._state = state
        self._me = me
        self._streams = AnswerStreams()
        self._unsent: tuple[PendingMessage, ...] = ()
        self._tail: list[TimelineEntry] = []
        self._hues: dict[str, int] = {}
        self._is_fresh = True
        self._earlier = 0
        self.span: HistorySpan | None = None
        self._begin(())

    def __len__(self) -> int:
        return self.settled + len(self._tail)

    def __getitem__(self, index: int) -> TimelineEntry:
        if index < len(self._above):
            return self._above[index]
        settled = self.settled
        if index < settled:
            return self._log.entries[index - len(self._above)]
        return self._tail[index - settled]

    @property
    def agents(self) -> frozenset[str]:
        """The names of the members that are agents."""
        return frozenset(each.name for each in self._state.people.values() if each.is_agent)

    def hue(self, name: str) -> int:
        """Return the place of a person among all who were here, by which they get a colour."""
        people = self._state.people
        if len(self._hues) < len(people):
            self._hues = {visible_line(each): place for place, each in enumerate(people)}
        return self._hues.get(name, 0)

    @property
    def doubts(self) -> dict[int, str]:
        """The problems of entries of the log, by number."""
        return dict(self._state.doubts)

    @property
    def above(self) -> int:
        """The number of entries before the live ones."""
        return len(self._above)

    @property
    def settled(self) -> int:
        """The number of entries before the tail."""
        return len(self._above) + len(self._log.entries)

    def thread(self, entry: TimelineEntry) -> MessageThread | None:
        """Return the message thread that an entry shows."""
        return self._thread(entry.message) if isinstance(entry, MessageEntry) else None

    def is_own(self, thread: MessageThread) -> bool:
        """Whether this person wrote a message."""
        return thread.author == self._me

    def thread_at(self, index: int) -> MessageThread | None:
        """Return the message thread at an index."""
        return self._thread(message_of(self[index]))

    def _thread(self, message: int) -> MessageThread | None:
        found = self._state.threads.get(message)
        if found is None and self.span is not None:
            return self.span.thread(message)
        return found

    def indices_of_file(self, digest: str) -> list[int]:
        """Return the indices of the entries that show a file."""
        back = self.span.log.indices_of_file(digest) if self.span is not None else []
        return [
            *(index + self._lead for index in back),
            *(index + self.above for index in self._log.indices_of_file(digest)),
            *(
                index
                for index, entry in enumerate(self._tail, self.settled)
                if isinstance(entry, UnsentEntry)
                and digest in {file.digest for file in entry.files}
            ),
        ]

    def index_of(self, message: int) -> int | None:
        """Return the index of the entry that shows a message."""
        index = self._log.index_of(message)
        if index is not None:
            return index + self.above
        index = self.span.log.index_of(message) if self.span is not None else None
        return None if index is None else index + self._lead

    def seq_at(self, index: int) -> int | None:
        """Return the number of an entry's event; None for dates, gaps and the tail."""
        if index >= self.settled or isinstance(self[index], DayEntry | GapEntry):
            return None
        if index >= self.above:
            return self._log.seqs[index - self.above]
        return self.span.log.seqs[index - self._lead] if self.span is not None else None

    def holds(self, seq: int) -> bool:
        """Whether an event is in a part that is shown."""
        back = self.span
        return seq >= self._since or (back is not None and back.first <= seq <= back.last)

    def near(self, seq: int) -> int | None:
        """Return the index of an event's entry, or of the next one; None past the last."""
        if self.span is not None and seq <= self.span.last:
            found = _first_from(self.span.log.seqs, self.span.log.entries, seq)
            if found is not None:
                return found + self._lead
        found = _first_from(self._log.seqs, self._log.entries, seq)
        return None if found is None else found + self.above

    # Reading back, and forgetting

    @property
    def since(self) -> int:
        """The number of the first live event."""
        return self._since

    @property
    def earlier(self) -> int:
        """The number of messages before the live ones."""
        return self._earlier

    @property
    def gap(self) -> int | None:
        """The index of the gap entry between the span and the live entries."""
        last = self._above[-1] if self._above else None
        return self.above - 1 if isinstance(last, GapEntry) and last.between else None

    @property
    def has_more_before(self) -> bool:
        """Whether earlier messages can be read."""
        first = self._above[0] if self._above else None
        return isinstance(first, GapEntry) and not (first.lost or first.between)

    @property
    def surplus(self) -> int:
        """The number of live entries to forget: forgotten by the state, or too many."""
        entries = self._log.entries
        count = 0
        if self._state.floor >= self._since:
            kept = (i for i, entry in enumerate(entries) if self._is_known(entry))
            count = next(kept, 0)
        return max(count, len(entries) - KEPT if len(entries) > MOST else 0)

    def since_without(self, count: int) -> int:
        """Return `since` without the first `count` live entries."""
        seqs = self._log.seqs
        return seqs[count] if 0 < count < len(seqs) else self._since

    def forget(self, count: int) -> tuple[int, int]:
        """Forget the first live entries; return how many entries at the top are gone and new."""
        return self._drop(count, self.since_without(count))

    def _drop(self, count: int, since: int) -> tuple[int, int]:
        before = self.above
        kept = len(self._log.entries) - count
        self._earlier += self._log.forget(count)
        if self._log.head == self._state.head:
            self._earlier = self._state.messages - self._log.messages
        self._since = since
        self._arrange()
        changed = min(1, kept)  # it has a name above it now
        dated = len(self._log.entries) - kept
        return before + count + changed, self.above + dated + changed

    def show(self, span: HistorySpan | None) -> tuple[int, int]:
        """Show another part of the history, or none; returns the result of `forget`.

        Live entries that it shows as well are forgotten.
        """
        before, self.span = self.above, span
        if span is not None:
            span.follow(self._state)  # it may have changed while the page was read
        self._arrange()
        if span is None or span.last < self._since:
            return before, self.above
        above = self.above
        twice = next(i for i, seq in enumerate([*self._log.seqs, inf]) if seq > span.last)
        removed, added = self._drop(twice, span.last + 1)
        return before + removed - above, added

    def _is_known(self, entry: TimelineEntry) -> bool:
        return isinstance(entry, MessageEntry) and entry.message > self._state.floor

    def _arrange(self) -> None:
        span, self._lead = self.span, 0
        self._above: list[TimelineEntry] = []
        if span is None:
            if self._since > 1 and (self._earlier or self._can_read_back):
                self._above = [GapEntry(self._earlier)]
            return
        if span.first > 1:
            self._above.append(GapEntry(span.before))
        elif span.before:
            self._above.append(GapEntry(span.before, lost=True))
        self._lead = len(self._above)
        self._above += span.log.entries
        if span.last + 1 < self._since:
            known = span.before is not None
            more = self._earlier - (span.before or 0) - span.messages
            self._above.append(GapEntry(max(0, more) if known else None, between=True))

    # Live entries

    def is_news(self, entry: TimelineEntry) -> bool:
        """Whether an entry is a message or answer of others."""
        return isinstance(entry, AnswerEntry) or (
            isinstance(entry, MessageEntry) and entry.author != self._me
        )

    def is_for_me(self, entry: TimelineEntry) -> bool:
        """Whether an entry is an answer to this person or has their name."""
        match entry:
            case AnswerEntry(receiver=receiver, text=text):
                return receiver == visible_line(self._me) or mentions(text, self._me)
            case MessageEntry(author=author, text=text, private=private):
                me = visible_line(self._me)
                return author != me and (private == me or mentions(text, self._me))
        return False

    def add(self, events: Iterable[Event]) -> tuple[int, set[int]]:
        """Add events; return the first index that is new and the changed ones before it.

        Events that are shown already are skipped. The first batch tells more than the state does,
        and so does a log from its first event on: they replace the entries made from the state.
        """
        first = self.settled
        touched: set[int] = set()
        arrived = list(events)
        for at, event in enumerate(arrived):
            if self._tells_more(event):
                self._begin(arrived[at:])
                first = 0
            if event.seq <= self._log.head:
                continue
            self._log.add(event)
            if self._log.extends_last(event) and self.settled == first:
                touched.add(first - 1)
            concerned = self._concerned(event)
            for place in self._log.indices_about(concerned):
                if place + self.above < first:
                    touched.add(place + self.above)
            touched |= self._revise_span(event, concerned)
        self.refresh_tail()
        return first, touched

    def _tells_more(self, event: Event) -> bool:
        is_fresh, self._is_fresh = self._is_fresh, False
        return event.seq <= self._log.head and (is_fresh or (event.seq == 1 < self._log.head))

    def _begin(self, events: Sequence[Event]) -> None:
        """Add the earlier entries of the state before these events; they follow separately."""
        state = self._state
        upto = events[0].seq if events else state.head + 1
        before = (
            known_events(state, events, TOLD if self._can_read_back else None) if upto > 1 else []
        )
        self._log = EntryLog(state)
        self._log.read(before, head=upto - 1)
        self._since = min([upto, *(event.seq for event in before)])
        self._since = max(self._since, state.floor + 1)
        self._earlier = state.messages - sum(seq >= self._since for seq in state.threads)
        self.span = None
        self._arrange()

    def stream(self, message: int, text: str) -> bool:
        """Add text to a streaming answer; False if there is no run for it."""
        if message not in self._state.running:
            return False
        self._streams.add(message, text)
        return True

    def set_unsent(self, unsent: tuple[PendingMessage, ...]) -> bool:
        """Replace the unsent messages; True if there is a new one."""
        known = {message.id for message in self._unsent}
        self._unsent = unsent
        self.refresh_tail()
        return any(message.id not in known for message in unsent)

    def refresh_tail(self) -> None:
        self._tail = [
            self._log.growing_answer(self._state.threads[message], text, time())
            for message, text in self._streams
        ]
        me = visible_line(self._me)
        for message in self._unsent:
            last, private = self._tail[-1] if self._tail else None, private_reader(me, message.to)
            if isinstance(last, UnsentEntry):
                opens = last.emote or message.emote or last.private != private
            else:
                opens = last is not None or self._log.opens_group(me, message.at, private)
            self._tail.append(
                UnsentEntry(
                    me,
                    visible(message.text),
                    message.emote,
                    opens,
                    file_lines(message.files),
                    quote_lines(message.quotes),
                    private,
                )
            )

    def _revise_span(self, event: Event, message: int) -> set[int]:
        """Change a message in the part that was read back; return its index."""
        if self.span is None or not isinstance(event.original.body, ChangeBody):
            return set()
        places = self.span.follow_message(self._state, message)
        return {place + self._lead for place in places}

    @property
    def amended(self) -> dict[int, int]:
        """The forgotten messages that were edited or deleted, each with the number of the event."""
        changed = self._state.amended.items()
        return {seq: change for seq, change in changed if seq not in self._state.threads}

    def _concerned(self, event: Event) -> int:
        """Return the message whose entry an event changes; 0 for none."""
        match event.body:
            case (
                AnswerPosted(message=message)
                | RunFailed(message=message)
                | RunCancelled(message=message)
            ):
                self._streams.end(message)
                return message
            case (
                DecisionMade(message=message)
                | ApprovalRequested(message=message)
                | ApprovalResolved(message=message)
            ):
                return message
            case RecoveredEvent(event=Event(body=AnswerPosted())):
                found = changed_thread(event, self._state)
                return found.seq if found is not None else 0
            case _ if (changed := self._state.changed_by(event)) is not None:
                return changed.seq
        return 0


def _first_from(seqs: Sequence[int], entries: Sequence[TimelineEntry], seq: int) -> int | None:
    """Return the index of the first entry, dates aside, of this event or a later one."""
    for index, each in enumerate(seqs):
        if each >= seq and not isinstance(entries[index], DayEntry):
            return index
    return None
