"""Which steps of an engine a room's log shows, and which it lacks. Pure."""

from collections.abc import Iterable

from genie_core.room.event import Answered, Asked, Cancelled, Decided, Failed, RunBody, Settled
from genie_core.room.exchange import Exchange, Phase
from genie_core.room.fold import RoomState
from genie_core.room.seat import Unreported


def unrecorded(reports: Iterable[Unreported], state: RoomState) -> list[Unreported]:
    """The reports that a room's log lacks about messages that it has, in their order.

    An engine's steps for one message are recorded in order, so that all before one that is there
    are there as well.
    """
    shown: set[int] = set()
    lacking: list[Unreported] = []
    for report in reversed(list(reports)):
        exchange = state.exchanges.get(report.body.message)
        if exchange is None or exchange.seq in shown:
            continue
        if _shows(state, exchange, report.body):
            shown.add(exchange.seq)
        else:
            lacking.append(report)
    return lacking[::-1]


def _shows(state: RoomState, exchange: Exchange, body: RunBody) -> bool:
    """Whether a message's exchange is as this step has left it."""
    match body:
        case Decided():
            return exchange.decision == body
        case Asked(approval=approval):
            return approval in exchange.proposals
        case Settled(approval=approval, outcome=outcome):
            proposal = state.proposals.get(approval)
            return proposal is not None and proposal.outcome == outcome
        case Answered():
            return exchange.answer == body
        case Failed():
            return exchange.error == body
        case Cancelled():
            return exchange.phase is Phase.CANCELLED


def waiting_after(exchange: Exchange, untold: Iterable[RunBody]) -> list[str] | None:
    """The approvals of a run that wait once the room has heard of these steps as well, in order.

    None if the run has ended by then.
    """
    waiting: dict[str, None] | None = dict(exchange.waiting)
    for body in untold:
        if body.message != exchange.seq:
            continue
        match body:
            case Asked(approval=approval) if waiting is not None:
                waiting[approval] = None
            case Settled(approval=approval) if waiting is not None:
                waiting.pop(approval, None)
            case Decided(decision="delegate") if waiting is None:
                waiting = {}
            case Decided(decision="ignore") | Answered() | Failed() | Cancelled():
                waiting = None
            case _:
                pass
    return None if waiting is None else list(waiting)
