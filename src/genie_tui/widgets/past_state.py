"""The events that a state still knows, so that what it amounts to can be shown without its log."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import inf
from typing import TypeAlias

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
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase, ToolApproval

Deed: TypeAlias = tuple[type, int, str]
"""A kind of event, the message it is about and the tool call, if it is about one."""


def told(state: RoomState, but_for: Iterable[Event] = (), most: int | None = None) -> list[Event]:
    """What was said and done about it, in order, as far as the state has not forgotten it.

    That is about all messages, or about the latest ones, `most` at most.
    Left out is what `but_for` tell, the first of which says where they begin. The sequence numbers
    are right for what was said, asked and answered; all else has that of its message.
    """
    following = list(but_for)
    upto = following[0].seq if following else state.head + 1
    elsewhere = {deed for event in following if (deed := _deed(event)) is not None}
    kept = [seq for seq in state.exchanges if state.floor < seq < upto]
    kept = kept if most is None else kept[-most:]
    told_of = [list(_about(state, state.exchanges[seq])) for seq in kept]
    sure = _Moments(event for events in told_of for event in events if _is_sure(event))
    known = [
        (place, event)
        for events in told_of
        for place, event in zip(sure.places(events), events, strict=True)
        if place < upto and _deed(event) not in elsewhere
    ]
    known.sort(key=lambda each: (each[0], not _is_sure(each[1])))
    return [event for _, event in known]


class _Moments:
    """Which of the events with a known number was the last at a time.

    Times count as the latest that was reached by then: a clock may go back.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        ordered = sorted((event.seq, event.at) for event in events)
        self._seqs = [seq for seq, _ in ordered]
        self._times = list(accumulate((at for _, at in ordered), max))

    def places(self, events: list[Event]) -> list[int]:
        """After which event each of these stands, which are about one message and in order."""
        places: list[int] = []
        upto = inf
        for event in reversed(events):
            if _is_sure(event):
                place = event.seq
            else:
                guess = bisect_right(self._times, event.at)
                place = self._seqs[guess - 1] if guess else 0
            places.append(int(max(event.seq, min(place, upto - 1))))
            upto = event.seq if _is_sure(event) else upto
        return list(accumulate(reversed(places), max))


def _is_sure(event: Event) -> bool:
    """Whether it stands in the log under this number."""
    return isinstance(event.body, MessagePosted | ApprovalRequested | AnswerPosted | RecoveredEvent)


def _deed(event: Event) -> Deed | None:
    match event.body:
        case ApprovalRequested(message=message, approval=approval):
            return ApprovalRequested, message, approval
        case ApprovalResolved(message=message, approval=approval):
            return ApprovalResolved, message, approval
        case DecisionMade() | AnswerPosted() | RunFailed() | RunCancelled() as body:
            return type(body), body.message, ""
    return None


def _about(state: RoomState, exchange: MessageThread) -> Iterator[Event]:
    yield _as_it_came(
        exchange, exchange.voucher, exchange.seq, exchange.at, exchange.author, exchange.said
    )
    if exchange.decision is not None:
        at = exchange.decided_at if exchange.decided_at is not None else exchange.at
        yield Event(exchange.seq, at, exchange.handler, exchange.decision)
    for id_ in exchange.proposals:
        if (proposal := state.proposals.get(id_)) is not None:
            yield from _call(proposal)
    yield from _end(exchange)


def _end(exchange: MessageThread) -> Iterator[Event]:
    at = exchange.ended_at if exchange.ended_at is not None else exchange.at
    if exchange.answer is not None:
        seq = exchange.answered_seq or exchange.seq
        yield _as_it_came(
            exchange, exchange.answer_voucher, seq, at, exchange.handler, exchange.answer
        )
    if exchange.error is not None:
        yield Event(exchange.seq, at, exchange.handler, exchange.error)
    if exchange.phase is Phase.CANCELLED:
        cancelled = exchange.cancelled or RunCancelled(exchange.seq)
        yield Event(exchange.seq, at, exchange.handler, cancelled)


def _call(proposal: ToolApproval) -> Iterator[Event]:
    yield Event(proposal.seq, proposal.asked_at, proposal.owner, proposal.call)
    if proposal.outcome is None or proposal.outcome == "expired":
        return
    settled = ApprovalResolved(
        proposal.message,
        proposal.id,
        proposal.outcome,
        proposal.reason,
        proposal.scope,
        proposal.edited,
        proposal.count,
        proposal.how,
    )
    at = proposal.settled_at if proposal.settled_at is not None else proposal.asked_at
    yield Event(proposal.message, at, proposal.settled_by or proposal.owner, settled)


def _as_it_came(
    exchange: MessageThread,
    voucher: str,
    seq: int,
    at: float,
    by: str,
    body: MessagePosted | AnswerPosted,
) -> Event:
    """An event as it was, or as it was recovered."""
    event = Event(seq, at, by, body)
    return Event(seq, at, voucher, RecoveredEvent(event)) if voucher else event
