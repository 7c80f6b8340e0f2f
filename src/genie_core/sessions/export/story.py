"""The events of a session as text, for all written formats.

A `Passage` is one event, a `Footnote` a decision or an approval beside its message, and the
`Heading` describes the session. All texts are safe to show.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

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
from genie_core.room.security.sealing import is_sealed
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.room.state.signatures import EntrySignature, signature_in
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import allowed, arguments_line, denied, is_summary
from genie_core.room.view.wording import (
    CUT,
    CUT_MARK,
    PARKED_MARK,
    announcement,
    author_line,
    because,
    can_resume,
    caveat,
    copied_from,
    parked_with,
    short_error,
    stage_name,
)
from genie_core.text.query import question_in
from genie_core.text.safe import visible_line


class StoryLine(NamedTuple):
    """An event other than a message, as one line that is safe to show; `mark` is one character."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One event with something to show.

    `event` is the one in the log, `told` the one to show: another one if it was recovered by
    `event.by`. `exchange` is the message that it is or concerns, and `proposal` the tool call, as
    they are right after it; None if earlier events are missing. `line` is None for messages and
    answers, unless an answer is incomplete. `doubt` is what is wrong with the entry, empty if nothing.
    `signature` is that of a proven entry, if signatures were asked for. `replied_to` is the author of
    what a message replies to, if that is known.
    """

    event: Event
    told: Event
    exchange: MessageThread | None = None
    proposal: ToolApproval | None = None
    line: StoryLine | None = None
    doubt: str = ""
    signature: EntrySignature | None = None
    replied_to: str = ""

    @property
    def is_recovered(self) -> bool:
        """Whether it was recovered from a member's copy."""
        return self.told is not self.event

    @property
    def caveat(self) -> str:
        """Who recovered it, and what is wrong with it, safe to show; empty for any other."""
        by = self.event.by if self.is_recovered else ""
        return caveat(by, self.doubt)

    @property
    def author(self) -> str:
        """The author in one line, safe to show."""
        by_agent = self.exchange is not None and self.exchange.by_agent
        return author_line(self.told.by, by_agent=by_agent)

    @property
    def by_agent(self) -> str | None:
        """An agent's text, complete or not; None if this is no answer."""
        match self.told.body:
            case AnswerPosted(text=text):
                return text
            case RunFailed(text=text) | RunCancelled(text=text) if text:
                return text
        return None

    @property
    def took(self) -> float | None:
        """Seconds until an answer was complete; None if it is not."""
        body = self.told.body
        return body.elapsed if isinstance(body, AnswerPosted) else None

    @property
    def receiver(self) -> str:
        """The receiver of an answer in one line, safe to show; empty if unknown."""
        body = self.told.body
        named = body.receiver if isinstance(body, AnswerPosted) else None
        return visible_line(named or (self.exchange.author if self.exchange else ""))


def story(
    events: Iterable[Event], first: int = 1, *, signatures: bool = False
) -> Iterator[Passage]:
    """Tell what happened from event `first` on, in order and in bounded memory.

    The events before it only let one understand those that follow. If they are missing, so is
    some of what would be said. Private messages and the work on them are left out. With
    `signatures`, proven entries have theirs.
    """
    state = RoomState()
    for event in events:
        if state.head == 0 and event.seq > 1:
            state.begin_late(event.seq)
            state.unreadable.add(event.seq - 1)
        signature = signature_in(state, event) if signatures and state.founding else None
        passage = _passage(state, event)
        if passage is not None and event.seq >= first and not _is_private(passage):
            yield passage if passage.doubt else replace(passage, signature=signature)


def _is_private(passage: Passage) -> bool:
    exchange = passage.exchange
    return is_sealed(passage.told.body) or (exchange is not None and exchange.is_private)


def _passage(state: RoomState, event: Event) -> Passage | None:
    passage = _told_by(state, event)
    doubt = state.doubt_of(event.seq)
    if passage is None:
        what = StoryLine("⚠", f"entry {event.seq} has no effect")
        return Passage(event, event, line=what, doubt=doubt) if doubt else None
    return replace(passage, doubt=doubt)


def _told_by(state: RoomState, event: Event) -> Passage | None:
    told = event.told
    here = _devices(state, told)
    host = state.host
    try:
        state.apply(event)
    except IllegalEvent as error:
        text = f"entry {event.seq} is left out: {visible_line(str(error))}"
        state.head = event.seq
        return Passage(event, event, line=StoryLine("⚠", text))
    exchange = _exchange(state, event, told)
    proposal = None
    if isinstance(told.body, ApprovalRequested | ApprovalResolved) and told is event:
        proposal = state.proposals.get(told.body.approval)
    if isinstance(told.body, MessagePosted | AnswerPosted):
        is_cut = isinstance(told.body, AnswerPosted) and told.body.cut
        line = StoryLine(CUT_MARK, CUT) if is_cut else None
        return Passage(event, told, exchange, line=line, replied_to=_replied_to(state, exchange))
    waiting = exchange.parked if exchange is not None and told is event else ()
    parked = [state.proposals[call].tool for call in waiting if call in state.proposals]
    line = _line(told, proposal, parked, here, host)
    return line and Passage(event, told, exchange, proposal, line)


def _replied_to(state: RoomState, exchange: MessageThread | None) -> str:
    reply = None if exchange is None else state.reply_of(exchange)
    return visible_line(reply.author) if reply is not None else ""


def _devices(state: RoomState, told: Event) -> dict[str, set[str]]:
    """Return the terminals of an event's subject before it, by name."""
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
    return state.changed_by(event)


def _line(
    told: Event,
    proposal: ToolApproval | None,
    parked: list[str],
    here: dict[str, set[str]],
    host: str,
) -> StoryLine | None:
    match told.body:
        case UnreadableEvent(why=why):
            return StoryLine("⚠", f"entry {told.seq} can't be read: {visible_line(why)}")
        case HostStarted(host=now) as hosted if host not in ("", now):
            return StoryLine("◇", f"{visible_line(now)} hosts now{copied_from(hosted)}")
        case (
            DecisionMade() | ApprovalRequested() | ApprovalResolved() | RunFailed() | RunCancelled()
        ):
            raw = _of_run(told.body, told.by, proposal, parked)
            return raw and _safe(raw)
    announced = announcement(told, here)
    return announced and StoryLine(*announced)


def _of_run(
    body: RunBody, by: str, proposal: ToolApproval | None, parked: list[str]
) -> StoryLine | None:
    """Describe an engine's event; not yet safe to show."""
    match body:
        case DecisionMade(decision="ignore"):
            return StoryLine("○", f"{by}'s agent stays silent: {body.reason or 'no reason given'}")
        case DecisionMade():
            whom = f" for {body.receiver}" if body.receiver else ""
            asks = f": {question_in(body.query)}" if body.query else ""
            return StoryLine("●", f"{by}'s agent takes it up{whom}{asks}")
        case ApprovalRequested():
            given = arguments_line(body.arguments, withheld=body.withheld)
            return StoryLine("▲", f"{agent_path(body.agent)} asks for {body.tool}: {given}")
        case ApprovalResolved():
            return _settled(body, by, proposal)
        case RunCancelled() | RunFailed() if parked and can_resume(body):
            why = body.reason if isinstance(body, RunCancelled) else body.error
            return StoryLine(PARKED_MARK, because(f"the work on it was {parked_with(parked)}", why))
        case RunFailed():
            where = "" if body.stage in ("agent", "lost") else f" in {stage_name(body.stage)}"
            return StoryLine("✗", f"{by}'s agent failed{where}: {short_error(body.error)}")
        case RunCancelled():
            return StoryLine("■", because("the work on it was stopped", body.reason))
    return None


def resolution_line(body: ApprovalResolved, by: str, proposal: ToolApproval | None) -> StoryLine:
    """Say what became of a tool call."""
    return _safe(_settled(body, by, proposal))


def _safe(raw: StoryLine) -> StoryLine:
    return StoryLine(raw.mark, visible_line(" ".join(raw.text.split())))


def _settled(body: ApprovalResolved, by: str, proposal: ToolApproval | None) -> StoryLine:
    tool = proposal.tool if proposal else "a tool call"
    match body.outcome:
        case "approved" if is_summary(body, tool):
            return StoryLine("≡", allowed(body, tool, by))
        case "approved" if body.how == "own":
            return StoryLine("!", allowed(body, tool, by))
        case "approved":
            who = "" if body.how else f" by {by}"
            return StoryLine("✓", f"{allowed(body, tool, by)}{who}")
        case "denied":
            return StoryLine("✗", because(f"{denied(body, tool)} by {by}", body.reason or ""))
        case "parked":
            return StoryLine("‖", f"parked {tool}")
        case _:
            return StoryLine("…", because(f"expired {tool}", body.reason or ""))
