"""The events of a session as text, for all written formats.

A `Passage` is one event, a `Footnote` a decision or an approval beside its message, and the
`Heading` describes the session. All texts are safe to show.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace as replace_fields

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    HostStarted,
    MemberLeft,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RunBody,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.room.security.sealing import is_sealed
from genie_core.room.state.proofs import GAP
from genie_core.room.state.room_state import IllegalEvent, RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.room.text.agents import agent_path
from genie_core.room.text.approvals import allowed, arguments_line, denied, what_changed
from genie_core.room.text.costs import spent_tree
from genie_core.room.text.events import (
    CUT,
    CUT_MARK,
    DELETED,
    PARKED_MARK,
    announcement,
    author_line,
    because,
    can_resume,
    caveat,
    copied_from,
    event_fields,
    parked_with,
    short_error,
    stage_name,
)
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.session import SavedSession
from genie_core.text.format import counted, local_time
from genie_core.text.query import question_in
from genie_core.text.safe import visible, visible_line


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
    """

    event: Event
    told: Event
    exchange: MessageThread | None = None
    proposal: ToolApproval | None = None
    line: StoryLine | None = None
    doubt: str = ""

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


def story(events: Iterable[Event], first: int = 1) -> Iterator[Passage]:
    """Tell what happened from event `first` on, in order and in bounded memory.

    The events before it only let one understand those that follow. If they are missing, so is
    some of what would be said. Private messages and the work on them are left out.
    """
    state = RoomState()
    for event in events:
        if state.head == 0 and event.seq > 1:
            state.begin_late(event.seq)
            state.unreadable.add(event.seq - 1)
        passage = _passage(state, event)
        if passage is not None and event.seq >= first and not _is_private(passage):
            yield passage


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
        return Passage(event, told, exchange, line=StoryLine(CUT_MARK, CUT) if is_cut else None)
    waiting = exchange.parked if exchange is not None and told is event else ()
    parked = [state.proposals[call].tool for call in waiting if call in state.proposals]
    line = _line(told, proposal, parked, here, host)
    return line and Passage(event, told, exchange, proposal, line)


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
            return raw and StoryLine(raw.mark, visible_line(" ".join(raw.text.split())))
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
            return _settled(body, by, proposal.tool if proposal else "a tool call")
        case RunCancelled() | RunFailed() if parked and can_resume(body):
            why = body.reason if isinstance(body, RunCancelled) else body.error
            return StoryLine(PARKED_MARK, because(f"the work on it was {parked_with(parked)}", why))
        case RunFailed():
            where = "" if body.stage in ("agent", "lost") else f" in {stage_name(body.stage)}"
            return StoryLine("✗", f"{by}'s agent failed{where}: {short_error(body.error)}")
        case RunCancelled():
            return StoryLine("■", because("the work on it was stopped", body.reason))
    return None


def _settled(body: ApprovalResolved, by: str, tool: str) -> StoryLine:
    match body.outcome:
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


@dataclass(frozen=True, slots=True)
class Footnote:
    """One thing that an engine did: the line for it, and all that is known, as label and text.

    Everything is safe to show; texts may have several lines.
    """

    at: float
    line: StoryLine
    fields: tuple[tuple[str, str], ...]


class Annotations(NamedTuple):
    """What follows about messages in a log, by their numbers: footnotes, and those changed later."""

    notes: dict[int, list[Footnote]]
    changed: dict[int, MessageThread]

    def as_left(self, seq: int, said: MessagePosted) -> MessagePosted:
        """Return a message as its author left it; without any content if they deleted it."""
        exchange = self.changed.get(seq)
        if exchange is None:
            return said
        if exchange.is_deleted:
            return replace_fields(said, text="", files=(), quotes=())
        return replace_fields(said, text=exchange.text)

    def change_of(self, seq: int) -> str:
        """Say whether a message was edited or deleted; empty if neither."""
        exchange = self.changed.get(seq)
        if exchange is None:
            return ""
        return DELETED if exchange.is_deleted else "edited"


def annotations(events: Iterable[Event], wrong: Container[int] = ()) -> Annotations:
    """Return the annotations of all messages, in memory.

    `wrong` are the messages whose decisions are marked as wrong.
    """
    found = Annotations({}, {})
    for passage in story(events):
        if is_footnote(passage) and passage.exchange and passage.line:
            footnote = _footnote(passage, passage.line, wrong)
            found.notes.setdefault(passage.exchange.seq, []).append(footnote)
        elif is_change(passage) and passage.exchange:
            found.changed[passage.exchange.seq] = passage.exchange
    return found


def is_change(passage: Passage) -> bool:
    """Whether a passage is an edit or a deletion that its message shows."""
    is_edit = isinstance(passage.told.body, MessageEdited | MessageDeleted)
    by_author = passage.exchange is not None and passage.exchange.author == passage.told.by
    return is_edit and by_author and passage.doubt in ("", GAP)


def is_footnote(passage: Passage) -> bool:
    """Whether a passage is shown beside its message rather than among the messages."""
    return passage.exchange is not None and isinstance(
        passage.told.body, DecisionMade | ApprovalRequested | ApprovalResolved
    )


def _footnote(passage: Passage, line: StoryLine, wrong: Container[int]) -> Footnote:
    body = passage.told.body
    fields = event_fields(body)
    if isinstance(body, DecisionMade):
        fields.append(("agents", spent_tree(body.spent)))
        if body.message in wrong:
            line = StoryLine(line.mark, f"{line.text} (marked as wrong)")
    if isinstance(body, ApprovalResolved) and passage.proposal is not None:
        fields.append(("changes", "\n".join(what_changed(passage.proposal.call, body.arguments))))
    if passage.is_recovered:
        fields.append(("recovered", f"from {passage.event.by}'s copy"))
    if passage.doubt:
        fields.append(("caution", f"not proven: {passage.doubt}"))
    shown = tuple((label, visible(text)) for label, text in fields if text)
    return Footnote(passage.told.at, line, shown)


FileAddress: TypeAlias = Callable[[FileRef], str]
"""Returns the address of a file in the export; empty if it is left out."""


def nowhere(_file: FileRef) -> str:
    """Leave all files out."""
    return ""


@dataclass(frozen=True, slots=True)
class Heading:
    """Texts of one line each, safe to show; `problems` say what could not be read."""

    title: str
    people: str
    extent: str
    problems: tuple[str, ...]


def heading_of(saved: SavedSession, log: LogReader) -> Heading:
    """Return a session's heading. Blocks."""
    state, record = log.state(), saved.metadata
    people = ", ".join(map(visible_line, state.people)) or "nobody"
    first, last = (local_time(at).strftime("%Y-%m-%d %H:%M") for at in _ends(log, record.created))
    messages = counted(state.messages, "message")
    title = visible_line(record.shown_title or state.title)
    problems = tuple(map(visible_line, log.problems))
    return Heading(title, people, f"{first} to {last}, {messages}", problems)


def _ends(log: LogReader, otherwise: float) -> tuple[float, float]:
    first, last = log.read(0, 1), log.read(log.head - 1, 1)
    return (first[0].at, last[0].at) if first and last else (otherwise, otherwise)
