"""Reports of an engine that the room's log does not show yet. Pure."""

from collections.abc import Iterable

from genie_core.room.client.model import PendingReport
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    RunBody,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import RUNNING, MessageThread, Phase


def lacking(kept: Iterable[PendingReport], events: Iterable[Event]) -> list[PendingReport]:
    """Drop the steps that these events of a log, in order, already show; return the others.

    An engine may do the same twice, so a step is only looked for after the last event that was
    known when it was taken.
    """
    steps = list(kept)
    by_message: dict[int, list[PendingReport]] = {}
    for step in steps:
        by_message.setdefault(step.body.message, []).append(step)
    there: set[str] = set()
    for event in events:
        for step in by_message.get(getattr(event.body, "message", 0), ()):
            if step.id not in there and step.since < event.seq and step.body == event.body:
                there.add(step.id)
                break
    return [step for step in steps if step.id not in there]


def unfinished(state: RoomState, unrecorded: Iterable[RunBody]) -> dict[int, list[str]]:
    """Return the messages whose runs have no end, these steps included, in order.

    Each comes with the ids of its open requests, in order.
    """
    steps: dict[int, list[RunBody]] = {}
    for body in unrecorded:
        steps.setdefault(body.message, []).append(body)
    found: dict[int, list[str]] = {}
    for seq in sorted({*state.running, *(seq for seq in steps if seq in state.exchanges)}):
        waiting = _waiting_after(state.exchanges[seq], steps.get(seq, ()))
        if waiting is not None:
            found[seq] = waiting
    return found


def _waiting_after(exchange: MessageThread, steps: Iterable[RunBody]) -> list[str] | None:
    """Return the open requests of a run after these steps; None if it has ended.

    Before a decision, only a decision counts: the log may have lost it.
    """
    waiting: dict[str, None] | None = dict(exchange.waiting) if exchange.phase in RUNNING else None
    is_decided = exchange.phase is not Phase.DECIDING
    for body in steps:
        match body:
            case ApprovalRequested(approval=approval) if waiting is not None and is_decided:
                waiting[approval] = None
            case ApprovalResolved(approval=approval) if waiting is not None:
                waiting.pop(approval, None)
            case DecisionMade(decision="delegate"):
                waiting, is_decided = waiting or {}, True
            case AnswerPosted() if not is_decided:
                pass
            case DecisionMade(decision="ignore") | AnswerPosted() | RunFailed() | RunCancelled():
                waiting = None
            case _:
                pass
    return None if waiting is None else list(waiting)
