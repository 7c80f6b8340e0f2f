"""Reports of an engine that the room's log does not contain yet. Pure."""

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
from genie_core.room.security.signing import same_content
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import RUNNING, MessageThread, Phase


def lacking(reports: Iterable[PendingReport], events: Iterable[Event]) -> list[PendingReport]:
    """Return the reports that these events of a log, in order, do not contain.

    An engine may take the same step twice, so a report only matches events after its `since`.
    """
    reports = list(reports)
    by_message: dict[int, list[PendingReport]] = {}
    for report in reports:
        by_message.setdefault(report.body.message, []).append(report)
    recorded: set[str] = set()
    for event in events:
        for report in by_message.get(getattr(event.body, "message", 0), ()):
            is_new = report.id not in recorded
            if is_new and report.since < event.seq and same_content(report.body, event.body):
                recorded.add(report.id)
                break
    return [report for report in reports if report.id not in recorded]


def unfinished(state: RoomState, unrecorded: Iterable[RunBody]) -> dict[int, list[str]]:
    """Return the messages whose runs have not ended, considering the `unrecorded` steps, in order.

    Maps each message to the ids of its open requests, in order.
    """
    steps: dict[int, list[RunBody]] = {}
    for body in unrecorded:
        steps.setdefault(body.message, []).append(body)
    open_requests: dict[int, list[str]] = {}
    for seq in sorted({*state.running, *(seq for seq in steps if seq in state.threads)}):
        waiting = _waiting_after(state.threads[seq], steps.get(seq, ()))
        if waiting is not None:
            open_requests[seq] = waiting
    return open_requests


def _waiting_after(thread: MessageThread, steps: Iterable[RunBody]) -> list[str] | None:
    """Return the open requests of a run after these steps; None if it has ended.

    Before the decision, ignore all other steps: the log may have lost the decision.
    """
    waiting: dict[str, None] | None = dict(thread.waiting) if thread.phase in RUNNING else None
    is_decided = thread.phase is not Phase.DECIDING
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
