"""What a timeline shows: its entries, and how they are made from the events of a room's log.

An entry is one small value per thing that is shown. Its text is safe to show.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final, Literal, TypeAlias

from genie_core.room.engine.policy import ANSWER_SERVER
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalResolved,
    ChangeBody,
    Event,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    RecoveredEvent,
    RoomSuspended,
    RunBody,
    RunCancelled,
    RunFailed,
    Stage,
    UnreadableEvent,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Reply
from genie_core.room.view.approvals import allowed, is_summary
from genie_core.room.view.wording import (
    CUT,
    CUT_MARK,
    DELETED,
    PARKED_MARK,
    FileLine,
    QuoteLine,
    Restarts,
    announcement,
    because,
    can_resume,
    caveat,
    copied_from,
    file_lines,
    parked_with,
    private_reader,
    quote_lines,
    short_error,
    stage_name,
)
from genie_core.text.format import local_time
from genie_core.text.safe import quoted_line, visible, visible_line

GROUPED: Final = 300.0
"""Seconds within which messages of one author stand under one name."""

MOST_MOVES: Final = 200
"""Who came and went that one note takes up."""

QUOTED: Final = 120
"""Characters of a question that are repeated above an answer."""


Reactions: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Reactions in the order in which they came first, each with the names of those who reacted so."""


Move: TypeAlias = tuple[str, bool]
"""A name, and whether that person came."""


@dataclass(frozen=True, slots=True)
class DayEntry:
    """The start of a day."""

    day: date


@dataclass(frozen=True, slots=True)
class DividerEntry:
    """A change of the whole room, which sets off what follows."""

    text: str


@dataclass(frozen=True, slots=True)
class GapEntry:
    """Messages that are not shown here: their number, None if that is not known.

    `between` two parts that are shown, otherwise above all of them. `lost` if they can't be read.
    """

    messages: int | None
    between: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """An event of the room in a line. `message` is the message it is about, 0 for none.

    `opens` a run of notes, which is set off from the messages before. `moves` are those who came and
    went, in order, in a note that may take up the next ones, too.
    """

    at: float
    mark: str
    text: str
    opens: bool
    failed: bool = False
    message: int = 0
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """A message by a person. `opens` a new group, which gets a line with name and time.

    `caveat` says from whose copy it was recovered and what is wrong with it; empty for any other.
    `by_agent`: the author is an agent that is a member. `reply` repeats what it replies to.
    `private` names the other reader of a private message: a member, or "genie".
    """

    message: int
    at: float
    author: str
    text: str
    emote: bool
    opens: bool
    files: tuple[FileLine, ...] = ()
    quotes: tuple[QuoteLine, ...] = ()
    caveat: str = ""
    by_agent: bool = False
    reply: str = ""
    change: Literal["", "edited", "deleted"] = ""
    reactions: Reactions = ()
    private: str = ""


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """An agent's answer to `message`.

    `receiver` is the person it is for, `owner` the agent's owner if that is another. `quote`
    repeats the question if that is not right above. `elapsed` is in seconds, None while the
    answer is still being written. `voucher` is as in `MessageEntry`. `incomplete` says why an
    answer ends early, after `mark`; empty if it is complete. `failed` if a fault ended it. A
    `private` one is shown to its receiver only.
    """

    message: int
    at: float
    receiver: str
    owner: str
    text: str
    quote: str
    elapsed: float | None
    caveat: str = ""
    reactions: Reactions = ()
    incomplete: str = ""
    mark: str = ""
    failed: bool = False
    private: bool = False


@dataclass(frozen=True, slots=True)
class UnsentEntry:
    """A message that was written here and that the room has not acknowledged."""

    author: str
    text: str
    emote: bool
    opens: bool
    files: tuple[FileLine, ...] = ()
    quotes: tuple[QuoteLine, ...] = ()
    private: str = ""


TimelineEntry: TypeAlias = (
    GapEntry | DayEntry | DividerEntry | NoteEntry | MessageEntry | AnswerEntry | UnsentEntry
)


def message_of(entry: TimelineEntry) -> int:
    """Return the message of an entry; 0 for none."""
    match entry:
        case (
            NoteEntry(message=message)
            | MessageEntry(message=message)
            | AnswerEntry(message=message)
        ):
            return message
        case GapEntry() | DayEntry() | DividerEntry() | UnsentEntry():
            return 0


def text_of(entry: TimelineEntry) -> str | None:
    """Return a message's or answer's text; None for other entries."""
    match entry:
        case MessageEntry(text=text) | AnswerEntry(text=text) | UnsentEntry(text=text):
            return text
        case GapEntry() | DayEntry() | DividerEntry() | NoteEntry():
            return None


class LogEntries:
    """The entries of a log so far. `add` appends at most a date and one entry for an event.

    Events in a row that can't be read, for the same reason, share one entry, which then changes.
    `head` is the number of the last event, and `seqs` has the event's number for each entry.
    Messages that the state has forgotten are not shown; `forget` drops entries, too.
    """

    def __init__(self, state: RoomState) -> None:
        self.entries: list[TimelineEntry] = []
        self.seqs: list[int] = []
        self.head = 0
        self._state = state
        self._index: dict[int, int] = {}
        self._answers: dict[int, int] = {}
        self._replies: dict[int, list[int]] = {}  # by what they reply to
        self._day = (0.0, 0.0)  # begin and end of the day of the last entry
        self._parked: dict[str, int] = {}  # messages by their waiting calls
        self._kept: set[str] = set()
        self._files: dict[str, list[int]] = {}
        self._host = ""
        self._devices: dict[str, set[str]] = {}
        self._restarts = Restarts()
        self._merged = 0  # the latest event that the entry before took up
        self._lost = (0, 0, "")  # first and last of the latest unreadable events, and why

    @property
    def messages(self) -> int:
        """The number of messages among the entries."""
        return len(self._index)

    def index_of(self, message: int) -> int | None:
        """Return the index of the entry that shows a message."""
        return self._index.get(message)

    def indices_about(self, message: int) -> set[int]:
        """Return the indices of the entries that show or quote a message, or show its answer."""
        known = (self._index.get(each) for each in (message, *self._replies.get(message, ())))
        return {at for at in (*known, self._answers.get(message)) if at is not None}

    def revise(self, message: int) -> None:
        """Show a message as it is after edits, deletion and reactions, also where it is quoted."""
        for at in self.indices_about(message):
            entry = self.entries[at]
            exchange = self._state.exchanges.get(message_of(entry))
            if exchange is not None and isinstance(entry, MessageEntry):
                self.entries[at] = _revised(entry, exchange, self._state.reply_of(exchange))
            elif exchange is not None and isinstance(entry, AnswerEntry):
                quote = _quote(exchange) if entry.quote else ""
                reactions = _reactions(exchange.answer_reactions)
                self.entries[at] = replace(entry, quote=quote, reactions=reactions)

    def indices_of_file(self, digest: str) -> list[int]:
        """Return the indices of the entries that show a file."""
        return [self._index[message] for message in self._files.get(digest, ())]

    def read(self, events: Iterable[Event], *, head: int) -> None:
        """Append entries for events that stand for the whole log up to `head`."""
        for event in events:
            self.add(event)
        self.head = head
        if head == self._state.head:
            self._host = self._state.host
            self._restarts.begin(self._state)

    def add(self, event: Event) -> None:
        """Append an entry for an event, if it is shown."""
        self.head = max(self.head, event.seq)
        if isinstance(event.told.body, ChangeBody):
            if (changed := self._state.changed_by(event)) is not None:
                self.revise(changed.seq)
            return
        is_shown = event.seq > self._state.floor and not self._is_hidden(event)
        entry = self._entry(event) if is_shown else None
        if entry is not None:
            now = local_time(event.at)
            if not self._day[0] <= now.timestamp() < self._day[1]:  # a clock may go back
                self._start_day(now, event.seq)
                entry = self._entry(event) or entry  # a group never spans two days
            before = self.entries[-1] if self.extends_last(event) else None
            together = self._together(entry)
            if together is not None:
                self.entries[-1], self._merged = together, event.seq
            elif isinstance(before, NoteEntry) and isinstance(entry, NoteEntry):
                self.entries[-1] = replace(entry, opens=before.opens)
            else:
                self._append(entry, event.seq)
        self._track_devices(event)
        self._restarts.add(event)

    def _is_hidden(self, event: Event) -> bool:
        """Whether an event is about a private message of others."""
        body = event.told.body
        if isinstance(body, MessagePosted):
            return bool(body.sealed) and not body.text
        return isinstance(body, RunBody) and bool(body.sealed) and not self._is_readable(body)

    def _is_readable(self, body: RunBody) -> bool:
        exchange = self._state.exchanges.get(body.message)
        return exchange is not None and not exchange.is_hidden

    def extends_last(self, event: Event) -> bool:
        """Whether the last entry combines this event with earlier ones."""
        if event.seq == self._merged:
            return True
        first, last, _ = self._lost
        return first < last == event.seq and bool(self.seqs) and self.seqs[-1] == first

    def _together(self, entry: TimelineEntry) -> NoteEntry | None:
        """Return the last entry with one more who came or went; None if they don't belong together."""
        last = self.entries[-1] if self.entries else None
        if not (isinstance(last, NoteEntry) and isinstance(entry, NoteEntry)):
            return None
        if not (last.moves and entry.moves):
            return None
        moves = (*last.moves, *entry.moves)[-MOST_MOVES:]
        return replace(last, mark="⇄", text=who_moved(moves), moves=moves)

    def forget(self, count: int) -> int:
        """Drop the first `count` entries and return how many messages were among them.

        The entry that comes first then gets its date above it, and its author's name.
        """
        gone = sum(isinstance(entry, MessageEntry) for entry in self.entries[:count])
        kept = list(zip(self.entries[count:], self.seqs[count:], strict=True))
        self.entries, self.seqs = [], []
        self._index, self._files, self._answers, self._replies = {}, {}, {}, {}
        if kept and (at := _moment(kept[0][0])) is not None:
            self._append(DayEntry(local_time(at).date()), kept[0][1])
        for entry, seq in kept:
            if isinstance(entry, MessageEntry) and len(self.entries) <= 1:
                entry = replace(entry, opens=True)
            self._append(entry, seq)
        return gone

    def _append(self, entry: TimelineEntry, seq: int) -> None:
        if isinstance(entry, MessageEntry):
            self._index[entry.message] = len(self.entries)
            for file in entry.files:
                self._files.setdefault(file.digest, []).append(entry.message)
            exchange = self._state.exchanges.get(entry.message)
            if exchange is not None and exchange.reply:
                self._replies.setdefault(exchange.reply, []).append(entry.message)
        elif isinstance(entry, AnswerEntry):
            self._answers[entry.message] = len(self.entries)
        self.entries.append(entry)
        self.seqs.append(seq)

    def _answer(self, event: Event, answered: AnswerPosted) -> AnswerEntry:
        reply = self._said_by_agent(event, answered, answered.elapsed, answered.receiver)
        reply = replace(reply, caveat=self._caveat(event))
        return replace(reply, incomplete=CUT, mark=CUT_MARK) if answered.cut else reply

    def _said_by_agent(
        self,
        event: Event,
        said: AnswerPosted | RunCancelled | RunFailed,
        elapsed: float,
        receiver: str | None = None,
    ) -> AnswerEntry:
        exchange = self._state.exchanges.get(said.message)
        if exchange is not None:
            return self.answer_entry(exchange, said.text, event.at, elapsed)
        by, whom = visible_line(event.by), visible_line(receiver or event.by)
        owner = by if by != whom else ""
        return AnswerEntry(said.message, event.at, whom, owner, visible(said.text), "", elapsed)

    def _ended(self, event: Event, end: RunCancelled | RunFailed) -> NoteEntry | AnswerEntry:
        """Show how a run ended without an answer, below its partial text."""
        note = self._how_it_ended(event, end)
        if not end.text:
            return note
        reply = self._said_by_agent(event, end, 0.0)
        why = f"incomplete: {note.text}"
        return replace(reply, incomplete=why, mark=note.mark, failed=note.failed)

    def _how_it_ended(self, event: Event, end: RunCancelled | RunFailed) -> NoteEntry:
        author, tools = self._author(event, end.message), self._tools_parked(end)
        match end:
            case _ if tools is not None:
                text = f"genie's work for {author} was {parked_with(tools)}"
                why = end.reason if isinstance(end, RunCancelled) else end.error
                return self._note(event, PARKED_MARK, because(text, why), message=end.message)
            case RunFailed(stage=stage, error=error):
                why = f"{_where(stage)}{visible_line(short_error(error))}"
                text = f"genie could not answer {author}: {why}"
                return self._note(event, "✗", text, failed=True, message=end.message)
            case RunCancelled(reason=reason):
                return self._note(event, "■", _stopped(author, reason), message=end.message)

    def _author(self, event: Event, message: int) -> str:
        """Return the message's author; its handler if the message is forgotten."""
        exchange = self._state.exchanges.get(message)
        return visible_line(exchange.author if exchange is not None else event.by)

    def answer_entry(
        self, exchange: MessageThread, text: str, at: float, elapsed: float | None
    ) -> AnswerEntry:
        """Return the entry of an answer as it would be shown at the end now."""
        answer = exchange.answer
        receiver = (answer.receiver if answer else None) or exchange.author
        owner = exchange.handler if exchange.handler not in ("", receiver) else ""
        last = self.entries[-1] if self.entries else None
        follows = isinstance(last, MessageEntry) and last.message == exchange.seq
        quote = "" if follows else _quote(exchange)
        return AnswerEntry(
            exchange.seq,
            at,
            visible_line(receiver),
            visible_line(owner),
            visible(text),
            quote,
            elapsed,
            reactions=_reactions(exchange.answer_reactions),
            private=exchange.is_private,
        )

    def opens_group(self, author: str, at: float, private: str = "") -> bool:
        """Whether a message by this author would start a new group."""
        last = self.entries[-1] if self.entries else None
        return not (
            isinstance(last, MessageEntry)
            and last.author == author
            and last.private == private
            and not last.emote
            and not last.caveat
            and abs(at - last.at) < GROUPED
        )

    def _start_day(self, now: datetime, seq: int) -> None:
        day = now.date()
        midnights = (datetime.combine(day + timedelta(days=each), time.min) for each in (0, 1))
        begin, end = (midnight.astimezone().timestamp() for midnight in midnights)
        self._day = begin, end
        self._append(DayEntry(day), seq)

    def _entry(self, event: Event) -> TimelineEntry | None:
        match event.body:
            case MessagePosted() as said:
                return self._message(event.seq, event, said, self._caveat(event))
            case AnswerPosted() as answered:
                return self._answer(event, answered)
            case RunCancelled() | RunFailed() as end:
                return self._ended(event, end)
            case ApprovalResolved() as settled:
                return self._settled(event, settled)
            case RecoveredEvent(event=original):
                return self._recovered(event, original)
            case UnreadableEvent(why=why):
                return self._unreadable(event, why)
            case HostStarted(host=host) as hosted if self._host not in ("", host):
                return DividerEntry(f"{visible_line(host)} hosts now{copied_from(hosted)}")
            case HostStarted(host=host) if self._restarts.is_restart(event):
                return self._note(event, "◇", f"{visible_line(host)} is hosting again")
            case MemberJoined() if self._restarts.is_return(event) and not self._caveat(event):
                return None
        line = announcement(event, self._devices)
        if line is not None and (moves := self._moves(event)):
            return replace(self._note(event, *line), moves=moves)
        if line is None and self._state.doubt_of(event.seq):
            line = "⚠", f"entry {event.seq:,} has no effect"
        return line and self._note(event, *line)

    def _moves(self, event: Event) -> tuple[Move, ...]:
        """Return who came or went with an event, at their only terminal."""
        if self._caveat(event):
            return ()
        match event.body:
            case MemberJoined() if not self._devices.get(event.by):
                return ((visible_line(event.by), True),)
            case MemberLeft(name=name, device=device):
                more = self._devices.get(name, set()) - {device} if device else ()
                return () if more else ((visible_line(name), False),)
        return ()

    def _message(
        self, message: int, event: Event, said: MessagePosted, caveat: str
    ) -> MessageEntry:
        author = visible_line(event.by)
        private = private_reader(event.by, said.to) if said.sealed else ""
        entry = MessageEntry(
            message,
            event.at,
            author,
            visible(said.text),
            said.emote,
            bool(caveat) or self.opens_group(author, event.at, private),
            file_lines(said.files),
            quote_lines(said.quotes),
            caveat,
            by_agent=self._state.members.is_agent(event.by),
            private=private,
        )
        exchange = self._state.exchanges.get(message)
        if exchange is None:
            return entry
        return _revised(entry, exchange, self._state.reply_of(exchange))

    def _unreadable(self, event: Event, why: str) -> NoteEntry:
        first, last, before = self._lost
        first = first if (last + 1, before) == (event.seq, why) else event.seq
        self._lost = first, event.seq, why
        which = f"entry {first:,}" if first == event.seq else f"entries {first:,} to {event.seq:,}"
        return self._note(event, "⚠", f"{which} can't be read: {visible_line(why)}")

    def _recovered(self, event: Event, original: Event) -> TimelineEntry | None:
        """Show an earlier host's event as it was, and who recovered it."""
        match original.body:
            case MessagePosted() as said:
                return self._message(event.seq, original, said, self._caveat(event))
            case AnswerPosted(message=message, text=text, elapsed=elapsed, cut=cut):
                found = self.exchange_of(message)
                if found is None:
                    return None
                reply = self.answer_entry(found, text, original.at, elapsed)
                if cut:
                    reply = replace(reply, incomplete=CUT, mark=CUT_MARK)
                return replace(reply, caveat=self._caveat(event))
        line = announcement(original, {})
        if line is None:
            return None
        mark, text = line
        return self._note(event, mark, text)

    def exchange_of(self, recovered: int) -> MessageThread | None:
        """Return the message that a recovered event means by its former number."""
        number = self._state.recovered.get(recovered, recovered)
        return self._state.exchanges.get(number)

    def _track_devices(self, event: Event) -> None:
        match event.body:
            case HostStarted(host=host):
                self._host = host
                self._devices.clear()
            case RoomSuspended():
                self._devices.clear()
            case MemberJoined(device=device):
                self._devices.setdefault(event.by, set()).add(device)
            case MemberLeft(name=name, device=device):
                here = self._devices.get(name, set())
                here.discard(device)
                if not device:
                    here.clear()

    def _tools_parked(self, end: RunCancelled | RunFailed) -> list[str] | None:
        """Return the tools that wait after a run that can resume."""
        calls = [call for call, message in self._parked.items() if message == end.message]
        if not calls or not can_resume(end):
            return None
        known = (self._state.proposals.get(call) for call in calls)
        return [call.tool if call is not None else "a tool call" for call in known]

    def _settled(self, event: Event, settled: ApprovalResolved) -> NoteEntry | None:
        """Show edits, and denials after a pause, which no answer follows."""
        proposal = self._state.proposals.get(settled.approval)
        if settled.outcome == "parked":
            self._parked[settled.approval] = settled.message
            self._kept.add(settled.approval)
            return None
        self._parked.pop(settled.approval, None)
        if proposal is None:
            return None
        by, tool = visible_line(event.by), visible_line(proposal.tool)
        if is_summary(settled, tool):
            return self._note(event, "≡", allowed(settled, tool, by), message=settled.message)
        if settled.outcome == "approved" and settled.how == "edit":
            text = f"{tool} was allowed with changes by {by}"
            if proposal.tool == ANSWER_SERVER:
                text = f"{by} answered a tool server"
            return self._note(event, "✎", text, message=settled.message)
        if settled.approval not in self._kept or settled.outcome != "denied":
            return None
        text = because(f"{by} did not allow {tool}", proposal.reason or "")
        return self._note(event, "✗", text, message=settled.message)

    def _caveat(self, event: Event) -> str:
        voucher = event.by if isinstance(event.body, RecoveredEvent) else ""
        return caveat(voucher, self._state.doubt_of(event.seq))

    def _note(
        self, event: Event, mark: str, text: str, *, failed: bool = False, message: int = 0
    ) -> NoteEntry:
        opens = not (self.entries and isinstance(self.entries[-1], NoteEntry))
        if caution := self._caveat(event):
            mark, text = "⚠" if self._state.doubt_of(event.seq) else mark, f"{text} ({caution})"
        return NoteEntry(event.at, mark, text, opens, failed, message)


def who_moved(moves: Sequence[Move]) -> str:
    """Say in a line who joined, left, came and went, or came back."""
    ways: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for name, _ in moves):
        own = [came for each, came in moves if each == name]
        way = ("joined" if own[-1] else "left") if own[0] == own[-1] else "came back"
        if own[0] and not own[-1]:
            way = "came and went"
        ways.setdefault(way, []).append(name)
    return " · ".join(f"{_names(names)} {way}" for way, names in ways.items())


def _names(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _quote(exchange: MessageThread) -> str:
    """Return the start of a message in one line, to stand above what refers to it."""
    return DELETED if exchange.is_deleted else quoted_line(exchange.text[:QUOTED])


def _revised(entry: MessageEntry, exchange: MessageThread, reply: Reply | None) -> MessageEntry:
    """Return a message's entry with what its author and others changed."""
    quote = ""
    if reply is not None:
        quote = quoted_line(f"{reply.author}: {DELETED if reply.is_deleted else reply.text}")
    shown = replace(entry, reply=quote, reactions=_reactions(exchange.reactions))
    if exchange.is_deleted:
        return replace(shown, text="", change="deleted", files=(), quotes=(), reply="")
    if exchange.edit is not None:
        return replace(shown, text=visible(exchange.text), change="edited")
    return shown


def _reactions(reactions: Mapping[str, Sequence[str]]) -> Reactions:
    return tuple(
        (visible_line(each), tuple(map(visible_line, names))) for each, names in reactions.items()
    )


def _moment(entry: TimelineEntry) -> float | None:
    match entry:
        case NoteEntry(at=at) | MessageEntry(at=at) | AnswerEntry(at=at):
            return at
    return None


def _where(stage: Stage) -> str:
    return "" if stage in ("agent", "lost") else f"{stage_name(stage)} failed: "


def _stopped(author: str, reason: str) -> str:
    if reason.startswith("stopped by "):
        return f"genie's work for {author} was {visible_line(reason)}"
    return because(f"genie's work for {author} was stopped", reason)
