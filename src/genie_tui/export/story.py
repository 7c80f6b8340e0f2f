"""What happened in a room, one passage after another: the common ground of all written forms."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from genie_core.assistant.reasoners.query import question_in
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MemberLeft,
    MessagePosted,
    RunBody,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_tui.text import visible_line
from genie_tui.widgets.agent_path import agent_path
from genie_tui.widgets.announcement import announcement, because, copied_from
from genie_tui.widgets.approval_text import allowed, denied
from genie_tui.widgets.arguments import arguments_line
from genie_tui.widgets.failure import CUT, CUT_MARK, part, why_failed
from genie_tui.widgets.parking import MARK, goes_on, parked_with


class Line(NamedTuple):
    """What happened besides talk, as one line that is safe to show; `mark` is one character."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One event that there is something to say about.

    `event` is the one in the log, `told` what it tells of: another one if it was recovered, for
    which `event.by` vouches. `exchange` is the message that it is, or is about, and `proposal` the
    tool call, as they are right after it; None where what went before is not known. There is
    no `line` for what a person or an agent said, except for how an incomplete answer ended.
    """

    event: Event
    told: Event
    exchange: MessageThread | None = None
    proposal: ToolApproval | None = None
    line: Line | None = None

    @property
    def voucher(self) -> str:
        """Who vouches for it, empty for what was recorded when it happened."""
        return self.event.by if self.told is not self.event else ""

    @property
    def by_agent(self) -> str | None:
        """Return an agent's text, complete or not; None if this is no answer."""
        match self.told.body:
            case AnswerPosted(text=text):
                return text
            case RunFailed(text=text) | RunCancelled(text=text) if text:
                return text
        return None

    @property
    def took(self) -> float | None:
        """The seconds until an answer was complete, None if it is not or this is none."""
        body = self.told.body
        return body.elapsed if isinstance(body, AnswerPosted) else None

    @property
    def receiver(self) -> str:
        """Whom an answer is for, one line that is safe to show; empty if that is not known."""
        body = self.told.body
        named = body.receiver if isinstance(body, AnswerPosted) else None
        return visible_line(named or (self.exchange.author if self.exchange else ""))


def story(events: Iterable[Event], first: int = 1) -> Iterator[Passage]:
    """Tell what happened from event `first` on, in order and in bounded memory.

    The events before it only let one understand those that follow. If they are missing, so is
    some of what would be said.
    """
    state = RoomState()
    for event in events:
        if state.head == 0 and event.seq > 1:
            _begin_late(state, event.seq)
        passage = _passage(state, event)
        if passage is not None and event.seq >= first:
            yield passage


def _begin_late(state: RoomState, seq: int) -> None:
    """Let the state take in events that refer to what it has not seen."""
    state.head = state.floor = seq - 1
    state.unreadable.add(seq - 1)


def _passage(state: RoomState, event: Event) -> Passage | None:
    told = event.told
    here = _devices(state, told)
    host = state.host
    try:
        state.apply(event)
    except IllegalEvent as error:
        text = f"entry {event.seq} is left out: {visible_line(str(error))}"
        state.head = event.seq
        return Passage(event, event, line=Line("⚠", text))
    exchange = _exchange(state, event, told)
    proposal = None
    if isinstance(told.body, ApprovalRequested | ApprovalResolved) and told is event:
        proposal = state.proposals.get(told.body.approval)
    if isinstance(told.body, MessagePosted | AnswerPosted):
        is_cut = isinstance(told.body, AnswerPosted) and told.body.cut
        return Passage(event, told, exchange, line=Line(CUT_MARK, CUT) if is_cut else None)
    waiting = exchange.parked if exchange is not None and told is event else ()
    parked = [state.proposals[call].tool for call in waiting if call in state.proposals]
    line = _line(told, proposal, parked, here, host)
    return line and Passage(event, told, exchange, proposal, line)


def _devices(state: RoomState, told: Event) -> dict[str, set[str]]:
    """Where the person whom an event is about was before it, by name."""
    name = told.body.name if isinstance(told.body, MemberLeft) else told.by
    person = state.people.get(name)
    return {name: set(person.terminals)} if person else {}


def _exchange(state: RoomState, event: Event, told: Event) -> MessageThread | None:
    match told.body:
        case MessagePosted():
            return state.exchanges.get(event.seq)
        case (
            DecisionMade()
            | ApprovalRequested()
            | ApprovalResolved()
            | AnswerPosted()
            | RunFailed()
            | RunCancelled()
        ):
            message = told.body.message
            if told is not event:
                message = state.recovered.get(message, message)
            return state.exchanges.get(message)
    return None


def _line(
    told: Event,
    proposal: ToolApproval | None,
    parked: list[str],
    here: dict[str, set[str]],
    host: str,
) -> Line | None:
    match told.body:
        case UnreadableEvent(why=why):
            return Line("⚠", f"entry {told.seq} can't be read: {visible_line(why)}")
        case HostStarted(host=now) as hosted if host not in ("", now):
            return Line("◇", f"{visible_line(now)} hosts now{copied_from(hosted)}")
        case (
            DecisionMade() | ApprovalRequested() | ApprovalResolved() | RunFailed() | RunCancelled()
        ):
            raw = _of_run(told.body, told.by, proposal, parked)
            return raw and Line(raw.mark, visible_line(" ".join(raw.text.split())))
    announced = announcement(told, here)
    return announced and Line(*announced)


def _of_run(
    body: RunBody, by: str, proposal: ToolApproval | None, parked: list[str]
) -> Line | None:
    """What an engine did about a message, of which these tools wait; not yet safe to show."""
    match body:
        case DecisionMade(decision="ignore"):
            return Line("○", f"{by}'s agent stays silent: {body.reason or 'no reason given'}")
        case DecisionMade():
            whom = f" for {body.receiver}" if body.receiver else ""
            asks = f": {question_in(body.query)}" if body.query else ""
            return Line("●", f"{by}'s agent takes it up{whom}{asks}")
        case ApprovalRequested():
            given = arguments_line(body.arguments, withheld=body.withheld)
            return Line("▲", f"{agent_path(body.agent)} asks for {body.tool}: {given}")
        case ApprovalResolved():
            return _settled(body, by, proposal.tool if proposal else "a tool call")
        case RunCancelled() | RunFailed() if parked and goes_on(body):
            why = body.reason if isinstance(body, RunCancelled) else body.error
            return Line(MARK, because(f"the work on it was {parked_with(parked)}", why))
        case RunFailed():
            where = "" if body.stage in ("agent", "lost") else f" in {part(body.stage)}"
            return Line("✗", f"{by}'s agent failed{where}: {why_failed(body.error)}")
        case RunCancelled():
            return Line("■", because("the work on it was stopped", body.reason))
    return None


def _settled(body: ApprovalResolved, by: str, tool: str) -> Line:
    match body.outcome:
        case "approved":
            who = "" if body.how else f" by {by}"
            return Line("✓", f"{allowed(body, tool, by)}{who}")
        case "denied":
            return Line("✗", because(f"{denied(body, tool)} by {by}", body.reason or ""))
        case "parked":
            return Line("‖", f"parked {tool}")
        case _:
            return Line("…", because(f"expired {tool}", body.reason or ""))
