"""Everything a timeline shows, in order: the log, the answers being written, what is unsent."""

from collections.abc import Iterable, Sequence
from math import inf
from time import time
from typing import Final

from genie_core.room.client.model import PendingMessage
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.text.safe import visible, visible_line
from genie_tui.widgets.brought import file_lines, quote_lines
from genie_tui.widgets.entry import Day, Earlier, Entry, Reply, Speech, Waiting, message_of
from genie_tui.widgets.past_state import told
from genie_tui.widgets.past_stretch import Stretch
from genie_tui.widgets.stream import Streams
from genie_tui.widgets.transcript import Transcript

MOST: Final = 6_000
"""Live entries at most, between two batches of events."""

TOLD: Final = 200
"""Messages that are shown as the state tells of them, where a log can be read that tells more."""

KEPT: Final = 4_000
"""Live entries that are left when there were more."""


class Conversation:
    """The entries of a room as seen by one person.

    First come those `above`, from where the log was read back. Those up to `settled` are the log as
    it goes on and only grow in number, until old ones are forgotten; those behind, the tail, come
    and go.
    """

    def __init__(self, state: RoomState, me: str, *, can_read_back: bool = False) -> None:
        self._can_read_back = can_read_back
        self._state = state
        self._me = me
        self._streams = Streams()
        self._unsent: tuple[PendingMessage, ...] = ()
        self._tail: list[Entry] = []
        self._is_fresh = True
        self._earlier = 0
        self.stretch: Stretch | None = None
        self._begin(())

    def __len__(self) -> int:
        return self.settled + len(self._tail)

    def __getitem__(self, index: int) -> Entry:
        if index < len(self._above):
            return self._above[index]
        settled = self.settled
        if index < settled:
            return self._log.entries[index - len(self._above)]
        return self._tail[index - settled]

    @property
    def above(self) -> int:
        """How many entries there are before the live ones."""
        return len(self._above)

    @property
    def settled(self) -> int:
        """How many entries there are before the tail."""
        return len(self._above) + len(self._log.entries)

    def exchange(self, entry: Entry) -> MessageThread | None:
        """What came of the message that an entry shows."""
        return self._exchange(entry.message) if isinstance(entry, Speech) else None

    def exchange_at(self, index: int) -> MessageThread | None:
        """The message that an entry is about, or is."""
        return self._exchange(message_of(self[index]))

    def _exchange(self, message: int) -> MessageThread | None:
        found = self._state.exchanges.get(message)
        if found is None and self.stretch is not None:
            return self.stretch.exchange(message)
        return found

    def places_of(self, digest: str) -> list[int]:
        """The indices of the entries that show a file."""
        back = self.stretch.places_of(digest) if self.stretch is not None else []
        return [
            *(index + self._lead for index in back),
            *(index + self.above for index in self._log.places_of(digest)),
            *(
                index
                for index, entry in enumerate(self._tail, self.settled)
                if isinstance(entry, Waiting) and digest in {file.digest for file in entry.files}
            ),
        ]

    def place_of(self, message: int) -> int | None:
        """The index of the entry that shows a message."""
        index = self._log.place(message)
        if index is not None:
            return index + self.above
        index = self.stretch.place(message) if self.stretch is not None else None
        return None if index is None else index + self._lead

    def seq_at(self, index: int) -> int | None:
        """The number of the event that an entry shows; None for dates, for gaps and for the tail."""
        if index >= self.settled or isinstance(self[index], Day | Earlier):
            return None
        if index >= self.above:
            return self._log.seqs[index - self.above]
        return self.stretch.seqs[index - self._lead] if self.stretch is not None else None

    def holds(self, seq: int) -> bool:
        """Whether the place of an event is among what is shown."""
        back = self.stretch
        return seq >= self._since or (back is not None and back.first <= seq <= back.last)

    def near(self, seq: int) -> int | None:
        """The index of the entry that shows an event, or the first after it; None past the last."""
        if self.stretch is not None and seq <= self.stretch.last:
            found = _first_from(self.stretch.seqs, self.stretch.entries, seq)
            if found is not None:
                return found + self._lead
        found = _first_from(self._log.seqs, self._log.entries, seq)
        return None if found is None else found + self.above

    # Reading back, and forgetting

    @property
    def since(self) -> int:
        """The events from this one on are shown live."""
        return self._since

    @property
    def earlier(self) -> int:
        """How many messages there are before those."""
        return self._earlier

    @property
    def gap(self) -> int | None:
        """The index of the entry that stands for what is missing before the live ones."""
        last = self._above[-1] if self._above else None
        return self.above - 1 if isinstance(last, Earlier) and last.between else None

    @property
    def has_more_before(self) -> bool:
        """Whether there is something before the first entry that can be read."""
        first = self._above[0] if self._above else None
        return isinstance(first, Earlier) and not (first.lost or first.between)

    @property
    def surplus(self) -> int:
        """How many live entries should be forgotten: what the state has forgotten, and too many."""
        entries = self._log.entries
        count = 0
        if self._state.floor >= self._since:
            kept = (i for i, entry in enumerate(entries) if self._is_known(entry))
            count = next(kept, 0)
        return max(count, len(entries) - KEPT if len(entries) > MOST else 0)

    def since_without(self, count: int) -> int:
        """What `since` would be with so many live entries fewer."""
        seqs = self._log.seqs
        return seqs[count] if 0 < count < len(seqs) else self._since

    def forget(self, count: int) -> tuple[int, int]:
        """Drop the first live entries; returns how many at the top are gone, and how many new."""
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

    def show(self, stretch: Stretch | None) -> tuple[int, int]:
        """Show another part of the past, or none; returns what `forget` does.

        Live entries that it shows as well are forgotten.
        """
        before, self.stretch = self.above, stretch
        self._arrange()
        if stretch is None or stretch.last < self._since:
            return before, self.above
        above = self.above
        twice = next(i for i, seq in enumerate([*self._log.seqs, inf]) if seq > stretch.last)
        removed, added = self._drop(twice, stretch.last + 1)
        return before + removed - above, added

    def _is_known(self, entry: Entry) -> bool:
        return isinstance(entry, Speech) and entry.message > self._state.floor

    def _arrange(self) -> None:
        stretch, self._lead = self.stretch, 0
        self._above: list[Entry] = []
        if stretch is None:
            if self._since > 1 and (self._earlier or self._can_read_back):
                self._above = [Earlier(self._earlier)]
            return
        if stretch.first > 1:
            self._above.append(Earlier(stretch.before))
        elif stretch.before:
            self._above.append(Earlier(stretch.before, lost=True))
        self._lead = len(self._above)
        self._above += stretch.entries
        if stretch.last + 1 < self._since:
            known = stretch.before is not None
            more = self._earlier - (stretch.before or 0) - stretch.messages
            self._above.append(Earlier(max(0, more) if known else None, between=True))

    # What is live

    def is_running(self, message: int) -> bool:
        """Whether there is work on a message that could be stopped."""
        return message in self._state.running

    def is_news(self, entry: Entry) -> bool:
        """Whether an entry is something that others said."""
        return isinstance(entry, Reply) or (isinstance(entry, Speech) and entry.author != self._me)

    def add(self, events: Iterable[Event]) -> tuple[int, set[int]]:
        """Take events in; returns the first index that is new and what looks different before it.

        Events that are shown already are skipped. Those that come first tell more than the state
        did, and so does a log that starts at its first event: they take the place of what that
        showed.
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
            if self._log.shares(event) and self.settled == first:
                touched.add(first - 1)
            place = self._log.place(self._concerned(event))
            if place is not None and place + self.above < first:
                touched.add(place + self.above)
        self.refresh_tail()
        return first, touched

    def _tells_more(self, event: Event) -> bool:
        is_fresh, self._is_fresh = self._is_fresh, False
        return event.seq <= self._log.head and (is_fresh or (event.seq == 1 < self._log.head))

    def _begin(self, events: Sequence[Event]) -> None:
        """Show what the state tells of the time before these events, which are to be added then."""
        state = self._state
        upto = events[0].seq if events else state.head + 1
        before = told(state, events, TOLD if self._can_read_back else None) if upto > 1 else []
        self._log = Transcript(state)
        self._log.read(before, head=upto - 1)
        self._since = min([upto, *(event.seq for event in before)])
        self._since = max(self._since, state.floor + 1)
        self._earlier = state.messages - sum(seq >= self._since for seq in state.exchanges)
        self.stretch = None
        self._arrange()

    def stream(self, message: int, text: str) -> bool:
        """Take in more of an answer; False if it is not awaited, or no longer."""
        if message not in self._state.running:
            return False
        self._streams.add(message, text)
        return True

    def set_unsent(self, unsent: tuple[PendingMessage, ...]) -> bool:
        """Replace the unsent messages; True if there is one that was not known."""
        known = {message.id for message in self._unsent}
        self._unsent = unsent
        self.refresh_tail()
        return any(message.id not in known for message in unsent)

    def refresh_tail(self) -> None:
        """Bring the tail up to date."""
        self._tail = [
            self._log.reply(self._state.exchanges[message], text, time(), None)
            for message, text in self._streams
        ]
        me = visible_line(self._me)
        for message in self._unsent:
            last = self._tail[-1] if self._tail else None
            grouped = isinstance(last, Waiting) and not (last.emote or message.emote)
            opens = not grouped and (last is not None or self._log.opens(me, message.at))
            self._tail.append(
                Waiting(
                    me,
                    visible(message.text),
                    message.emote,
                    opens,
                    file_lines(message.files),
                    quote_lines(message.quotes),
                )
            )

    def _concerned(self, event: Event) -> int:
        """The message that looks different after an event, 0 if none does."""
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
            case RecoveredEvent(event=Event(body=AnswerPosted(message=message))):
                found = self._log.exchange_of(message)
                return found.seq if found is not None else 0
        return 0


def _first_from(seqs: Sequence[int], entries: Sequence[Entry], seq: int) -> int | None:
    """The index of the first entry that shows this event or a later one, and no date."""
    for index, each in enumerate(seqs):
        if each >= seq and not isinstance(entries[index], Day):
            return index
    return None
