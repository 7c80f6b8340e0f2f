"""Earlier parts of a room: the next page of the log, and the entries of the state.

`known_events` rebuilds events from the state, for entries that are shown without reading the log. A
`HistorySpan` shows a part of the log that was read again.
"""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from math import inf
from types import MappingProxyType
from typing import Final, TypeAlias

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.members import Person
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.room.state.thread import RUNNING, MessageThread, Phase, ToolApproval
from genie_core.room.view.log import EntryLog

PAGE: Final = 500
"""Events that are read in one go."""

MOST: Final = 3 * PAGE
"""Events of a span at most."""

ReadHistory: TypeAlias = Callable[[int, int], Awaitable[list[Event]]]
"""Read the last events before a number, at most so many. Raises `GenieError` or `OSError`."""


# Pages of the log


class HistorySpan:
    """The events from `first` to `last`, with their entries in `log`.

    `before` is the number of messages before the span, None if that is not known. `agents` are the
    names of the members that are agents, as they may have joined before the span. `amendments` are
    edits and deletions that the span itself does not tell, by message. Making one takes some
    hundredths of a second and changes nothing else, so it can be done in a thread.
    """

    def __init__(
        self,
        events: Sequence[Event],
        first: int,
        last: int,
        before: int | None = None,
        doubts: Mapping[int, str] = MappingProxyType({}),
        agents: frozenset[str] = frozenset(),
        amendments: Mapping[int, Event] = MappingProxyType({}),
    ) -> None:
        self.events = events
        self._amendments = amendments
        self._doubts = doubts
        self._agents = agents
        self.first = first
        self.last = last
        self.before = 0 if first <= 1 and before is None else before
        self.messages = count_messages(events)
        self._state = RoomState()
        self._state.begin_late(first)
        self._state.doubts = dict(doubts)
        for name in agents:
            self._state.people[name] = Person(
                name, "guest", engine=False, agent="", present=False, since=0.0, kind="agent"
            )
        self.log = EntryLog(self._state)
        for event in events:
            self._take(event)
        for message, event in amendments.items():
            self._state.amend(message, event)
            self.log.revise(message)

    def follow(self, room: RoomState) -> None:
        """Show each message as the room has it, with the changes that followed since."""
        for message in list(self._state.threads):
            self.follow_message(room, message)

    def follow_message(self, room: RoomState, message: int) -> set[int]:
        """Show a message as the room has it; return the indices of the entries that show it."""
        here, there = self._state.threads.get(message), room.threads.get(message)
        if here is None:
            return set()
        if there is not None:
            here.edit, here.is_deleted = there.edit, there.is_deleted
            here.reactions, here.answer_reactions = there.reactions, there.answer_reactions
        elif message in room.reactions:
            here.reactions, here.answer_reactions = room.reactions[message]
        self.log.revise(message)
        return self.log.indices_about(message)

    def thread(self, message: int) -> MessageThread | None:
        """Return a message of the span; None if it or the end of its run is outside."""
        found = self._state.threads.get(message)
        return None if found is None or found.phase in RUNNING else found

    def with_front(
        self,
        events: Sequence[Event],
        first: int,
        amendments: Mapping[int, Event] = MappingProxyType({}),
    ) -> "HistorySpan":
        """Return a span that starts with these events, from `first` on, and ends sooner."""
        amendments = {**self._amendments, **amendments}
        before = self.before
        if before is not None:
            before = max(0, before - count_messages(events))
        whole = [*events, *self.events]
        kept = whole[:MOST]
        last = kept[-1].seq if len(kept) < len(whole) else self.last
        return HistorySpan(kept, first, last, before, self._doubts, self._agents, amendments)

    def with_back(
        self,
        events: Sequence[Event],
        last: int,
        amendments: Mapping[int, Event] = MappingProxyType({}),
    ) -> "HistorySpan":
        """Return a span that ends with these events, at `last`, and starts later."""
        amendments = {**self._amendments, **amendments}
        whole = [*self.events, *events]
        kept = whole[-MOST:]
        if len(kept) == len(whole):
            return HistorySpan(
                kept, self.first, last, self.before, self._doubts, self._agents, amendments
            )
        gone = count_messages(whole[: -len(kept)])
        before = self.before + gone if self.before is not None else None
        return HistorySpan(kept, kept[0].seq, last, before, self._doubts, self._agents, amendments)

    def _take(self, event: Event) -> None:
        try:
            self._state.apply(event)
        except IllegalEvent:  # a log with a hole in it is still worth reading
            self._state.head = event.seq
        self.log.add(event)


def count_messages(events: Sequence[Event]) -> int:
    """Count the messages among events, recovered ones included."""
    return sum(event.posted is not None for event in events)


class PageEdge(Enum):
    """Where the page that is read next belongs."""

    START = "the room's first events"
    FRONT = "before the span"
    BACK = "after the span"
    LIVE = "before the live events"
    AT = "around an event"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Read the last events before `before`, at most `most`; `seq` is the event wanted, or 0."""

    edge: PageEdge
    before: int
    most: int
    seq: int = 0


def page_request(
    edge: PageEdge, since: int, span: HistorySpan | None, seq: int = 0
) -> PageRequest | None:
    """Return the part to read, None for nothing; events from `since` on are live."""
    before, most = since, PAGE
    match edge:
        case PageEdge.START:
            before = min(PAGE + 1, since)
        case PageEdge.AT:
            before = min(seq + PAGE // 2 + 1, since)
        case PageEdge.FRONT if span is not None:
            before = span.first
        case PageEdge.BACK if span is not None:
            before = min(span.last + PAGE + 1, since)
            most = before - span.last - 1
    if before <= 1 or most <= 0:
        return None
    return PageRequest(edge, before, most, seq)


def with_page(
    request: PageRequest,
    span: HistorySpan | None,
    events: Sequence[Event],
    since: int,
    earlier: int,
    doubts: Mapping[int, str] = MappingProxyType({}),
    agents: frozenset[str] = frozenset(),
    amendments: Mapping[int, Event] = MappingProxyType({}),
) -> HistorySpan:
    """Return the span with a page that was read. Call it in a thread, as it may take long.

    `earlier` messages come before `since`. Fewer events than were requested mean that the log
    begins there, and no events that it has none of those that are missing. `doubts` are those of the
    room, by event, and `agents` the names of its agents. `amendments` are edits and deletions of
    messages in the page.
    """
    last = request.before - 1
    first = events[0].seq if len(events) >= request.most else 1
    if span is not None and request.edge is PageEdge.FRONT:
        return span.with_front(events, first, amendments)
    if span is not None and request.edge is PageEdge.BACK:
        return span.with_back(events, last, amendments)
    if not events:
        return HistorySpan((), 1, since - 1, earlier, doubts, agents)
    before = max(0, earlier - count_messages(events)) if request.before == since else None
    return HistorySpan(events, first, last, before, doubts, agents, amendments)


# Entries of the state

_Key: TypeAlias = tuple[type, int, str]
"""A kind of event, the message it is about and the tool call, if it is about one."""


def known_events(
    state: RoomState, but_for: Iterable[Event] = (), most: int | None = None
) -> list[Event]:
    """Rebuild the events about messages that the state has not forgotten, in order.

    They are about all messages, or about the latest ones, `most` at most. The events in
    `but_for` are left out; the first of them says where they begin. Messages, approval requests
    and answers have their own sequence numbers; all other events have that of their message.
    """
    following = list(but_for)
    upto = following[0].seq if following else state.head + 1
    elsewhere = {key for event in following if (key := _key(event)) is not None}
    kept = [seq for seq in state.threads if state.floor < seq < upto]
    kept = kept if most is None else kept[-most:]
    rebuilt = [list(_events_of(state, state.threads[seq])) for seq in kept]
    numbered = _EventTimes(event for events in rebuilt for event in events if _has_number(event))
    known = [
        (place, event)
        for events in rebuilt
        for place, event in zip(numbered.places(events), events, strict=True)
        if place < upto and _key(event) not in elsewhere
    ]
    known.sort(key=lambda each: (each[0], not _has_number(each[1])))
    return [event for _, event in known]


class _EventTimes:
    """Finds the last event with a known number at a time.

    Times count as the latest that was reached by then, since a clock may go back.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        ordered = sorted((event.seq, event.at) for event in events)
        self._seqs = [seq for seq, _ in ordered]
        self._times = list(accumulate((at for _, at in ordered), max))

    def places(self, events: list[Event]) -> list[int]:
        """Return after which event each of these belongs; they concern one message, in order."""
        places: list[int] = []
        upto = inf
        for event in reversed(events):
            if _has_number(event):
                place = event.seq
            else:
                guess = bisect_right(self._times, event.at)
                place = self._seqs[guess - 1] if guess else 0
            places.append(int(max(event.seq, min(place, upto - 1))))
            upto = event.seq if _has_number(event) else upto
        return list(accumulate(reversed(places), max))


def _has_number(event: Event) -> bool:
    """Whether the event has its own number in the log."""
    numbered = ApprovalRequested | AnswerPosted | RecoveredEvent
    return event.posted is not None or isinstance(event.body, numbered)


def _key(event: Event) -> _Key | None:
    match event.body:
        case ApprovalRequested(message=message, approval=approval):
            return ApprovalRequested, message, approval
        case ApprovalResolved(message=message, approval=approval):
            return ApprovalResolved, message, approval
        case DecisionMade() | AnswerPosted() | RunFailed() | RunCancelled() as body:
            return type(body), body.message, ""
    return None


def _events_of(state: RoomState, thread: MessageThread) -> Iterator[Event]:
    yield _original(
        thread, thread.recovered_from, thread.seq, thread.at, thread.author, thread.said
    )
    if thread.decision is not None:
        at = thread.decided_at if thread.decided_at is not None else thread.at
        yield Event(thread.seq, at, thread.handler, thread.decision)
    for id_ in thread.calls:
        if (call := state.calls.get(id_)) is not None:
            yield from _approval_events(call)
    yield from _end_events(thread)


def _end_events(thread: MessageThread) -> Iterator[Event]:
    at = thread.ended_at if thread.ended_at is not None else thread.at
    if thread.answer is not None:
        seq = thread.answered_seq or thread.seq
        yield _original(
            thread, thread.answer_recovered_from, seq, at, thread.handler, thread.answer
        )
    if thread.error is not None:
        yield Event(thread.seq, at, thread.handler, thread.error)
    if thread.phase is Phase.CANCELLED:
        cancelled = thread.cancelled or RunCancelled(thread.seq)
        yield Event(thread.seq, at, thread.handler, cancelled)


def _approval_events(call: ToolApproval) -> Iterator[Event]:
    yield Event(call.seq, call.asked_at, call.owner, call.call)
    if call.outcome is None or call.outcome == "expired":
        return
    settled = ApprovalResolved(
        call.message,
        call.id,
        call.outcome,
        call.reason,
        call.scope,
        call.edited,
        call.count,
        call.how,
        covers=call.covers,
    )
    at = call.settled_at if call.settled_at is not None else call.asked_at
    yield Event(call.message, at, call.settled_by or call.owner, settled)


def _original(
    thread: MessageThread,
    recovered_from: str,
    seq: int,
    at: float,
    by: str,
    body: MessagePosted | AnswerPosted,
) -> Event:
    event = Event(seq, at, by, body)
    return Event(seq, at, recovered_from, RecoveredEvent(event)) if recovered_from else event
