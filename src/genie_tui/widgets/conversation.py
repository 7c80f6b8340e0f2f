"""Everything a timeline shows, in order: the log, the answers being written, what is unsent."""

from collections.abc import Iterable
from time import time

from genie_core.room.event import (
    Answered,
    Asked,
    Cancelled,
    Decided,
    Event,
    Failed,
    Recovered,
    Settled,
)
from genie_core.room.exchange import Exchange
from genie_core.room.fold import RoomState
from genie_core.room.seat import Unsent
from genie_tui.text import visible, visible_line
from genie_tui.widgets.brought import file_lines, quote_lines
from genie_tui.widgets.entry import Entry, Reply, Speech, Waiting, message_of
from genie_tui.widgets.stream import Streams
from genie_tui.widgets.transcript import Transcript, past


class Conversation:
    """The entries of a room as seen by one person.

    The first `settled` of them only ever grow in number; those behind, its tail, come and go.
    """

    def __init__(self, state: RoomState, me: str) -> None:
        self._state = state
        self._me = me
        self._log = Transcript(state)
        self._log.read(past(state), head=state.head)
        self._streams = Streams()
        self._unsent: tuple[Unsent, ...] = ()
        self._tail: list[Entry] = []

    def __len__(self) -> int:
        return self.settled + len(self._tail)

    def __getitem__(self, index: int) -> Entry:
        settled = self.settled
        return self._log.entries[index] if index < settled else self._tail[index - settled]

    @property
    def settled(self) -> int:
        """How many entries there are before the tail."""
        return len(self._log.entries)

    def exchange(self, entry: Entry) -> Exchange | None:
        """What came of the message that an entry shows."""
        return self._state.exchanges.get(entry.message) if isinstance(entry, Speech) else None

    def exchange_at(self, index: int) -> Exchange | None:
        """The message that an entry is about, or is."""
        return self._state.exchanges.get(message_of(self[index]))

    def places_of(self, digest: str) -> list[int]:
        """The indices of the entries that show a file."""
        return [
            *self._log.places_of(digest),
            *(
                index
                for index, entry in enumerate(self._tail, self.settled)
                if isinstance(entry, Waiting) and digest in {file.digest for file in entry.files}
            ),
        ]

    def place_of(self, message: int) -> int | None:
        """The index of the entry that shows a message."""
        return self._log.place(message)

    def is_running(self, message: int) -> bool:
        """Whether there is work on a message that could be stopped."""
        return message in self._state.running

    def is_news(self, entry: Entry) -> bool:
        """Whether an entry is something that others said."""
        return isinstance(entry, Reply) or (isinstance(entry, Speech) and entry.author != self._me)

    def add(self, events: Iterable[Event]) -> tuple[int, set[int]]:
        """Take events in; returns the first index that is new and what looks different before it.

        Events that are shown already are skipped. A log that starts at its first event tells more
        than the state did and takes the place of what that showed.
        """
        first = self.settled
        touched: set[int] = set()
        for event in events:
            if event.seq == 1 and self._log.head > 1:
                self._log, first = Transcript(self._state), 0
            if event.seq <= self._log.head:
                continue
            self._log.add(event)
            place = self._log.place(self._concerned(event))
            if place is not None and place < first:
                touched.add(place)
        self.refresh_tail()
        return first, touched

    def stream(self, message: int, text: str) -> bool:
        """Take in more of an answer; False if it is not awaited, or no longer."""
        if message not in self._state.running:
            return False
        self._streams.add(message, text)
        return True

    def set_unsent(self, unsent: tuple[Unsent, ...]) -> bool:
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
            case Answered(message=message) | Failed(message=message) | Cancelled(message=message):
                self._streams.end(message)
                return message
            case Decided(message=message) | Asked(message=message) | Settled(message=message):
                return message
            case Recovered(event=Event(body=Answered(message=message))):
                found = self._log.exchange_of(message)
                return found.seq if found is not None else 0
        return 0
