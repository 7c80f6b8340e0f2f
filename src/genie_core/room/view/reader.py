"""Make the entries of a room: the one place that words its events.

A surface that leaves a kind of entry out does so by its class, its `tone` or its `mark`.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from msgspec import structs

from genie_core.room.engine.approval_policy import ANSWER_SERVER
from genie_core.room.protocol.events import (
    STOPPED_BY,
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ChangeBody,
    DecisionMade,
    Event,
    HostConfirmed,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    ReactionChanged,
    RoomSuspended,
    RunCancelled,
    RunFailed,
    Stage,
    UnreadableEvent,
)
from genie_core.room.security.sealing import is_sealed
from genie_core.room.state.room_state import AGENT, RoomState
from genie_core.room.state.thread import MessageThread, Phase, Reply, ToolApproval
from genie_core.room.state.thread import Reactions as Reacted
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import allowed, arguments_line, denied, is_summary
from genie_core.room.view.entries import (
    AnswerEntry,
    CallEntry,
    Entry,
    MessageEntry,
    Move,
    NoticeEntry,
    Reactions,
    ReplyLine,
    RunEntry,
    Tone,
)
from genie_core.room.view.wording import (
    CUT,
    CUT_MARK,
    PARKED_MARK,
    announcement,
    can_resume,
    caveat,
    changed_thread,
    copied_from,
    file_lines,
    has_effect,
    marks_of,
    parked_with,
    private_reader,
    quote_lines,
    short_error,
    stage_name,
    with_caveat,
)
from genie_core.text.query import question_in
from genie_core.text.safe import quoted_line, visible, visible_line

SUMMARY_MARK: Final = "≡"
"""Stands for an agent that shortened its own conversation."""

LEFT_OUT: Final[frozenset[type]] = frozenset({HostConfirmed, PreferencesChanged})
"""Kinds of events without an entry, unless they are not proven: /who shows preferences."""

RETURN: Final = 60.0
"""Seconds after a restart of the host in which its members come back without a notice."""

EXCERPT: Final = 80
"""Characters of a message that a notice about it repeats."""

NO_REASON: Final = "no reason given"


class Earlier:
    """The part of a log before an event that its wording depends on; call `add` after each event.

    The state may be later than the event, so it does not tell.
    """

    def __init__(self) -> None:
        self.host = ""
        self.devices: dict[str, set[str]] = {}
        """The terminals of each member who is here."""
        self.parked: dict[str, int] = {}
        """The messages of parked calls that have no answer yet."""
        self.kept: set[str] = set()
        """All calls that were ever parked."""
        self._is_hosting = False
        self._returning: set[str] = set()
        self._since = 0.0

    def begin(self, state: RoomState) -> None:
        """Begin with a room as it is."""
        self.host = state.host
        self.devices = {each.name: set(each.terminals) for each in state.present()}
        self.parked = {call.id: call.message for call in state.parked.values()}
        self.kept = set(self.parked)
        self._is_hosting = state.hosting

    def add(self, event: Event) -> None:
        match event.body:
            case HostStarted(host=host):
                here = {name for name, devices in self.devices.items() if devices}
                self._returning = here if self.is_restart(event) else set()
                self.host, self._is_hosting, self._since = host, True, event.at
                self.devices.clear()
            case RoomSuspended():
                self._is_hosting = False
                self.devices.clear()
            case MemberJoined(device=device):
                self._returning.discard(event.by)
                self.devices.setdefault(event.by, set()).add(device)
            case MemberLeft(name=name, device=device):
                here = self.devices.get(name, set())
                here.intersection_update(here - {device} if device else ())
            case ApprovalResolved(approval=approval, outcome="parked", message=message):
                self.parked[approval] = message
                self.kept.add(approval)
            case ApprovalResolved(approval=approval):
                self.parked.pop(approval, None)

    def is_restart(self, event: Event) -> bool:
        """Whether the same host begins again, without having suspended the room."""
        body = event.body
        is_same = isinstance(body, HostStarted) and body.host == self.host and not body.copied
        return is_same and self._is_hosting

    def is_return(self, event: Event) -> bool:
        """Whether a member only comes back after a restart of the host's program: no news."""
        is_soon = 0 <= event.at - self._since <= RETURN
        return isinstance(event.body, MemberJoined) and event.by in self._returning and is_soon

    def moves(self, event: Event) -> tuple[Move, ...]:
        """Return who comes or goes with an event, at their only terminal."""
        match event.body:
            case MemberJoined() if not self.devices.get(event.by):
                return ((visible_line(event.by), True),)
            case MemberLeft(name=name, device=device):
                more = self.devices.get(name, set()) - {device} if device else ()
                return () if more else ((visible_line(name), False),)
        return ()


def entry_of(
    event: Event, state: RoomState, earlier: Earlier | None = None, *, tab: int = 4
) -> Entry | None:
    """Return the entry of an event that the state includes; None if it has nothing to show.

    A member who only comes back after a restart of the host's program is no news.
    `tab` is the width of a tab in texts, 0 to keep tabs.
    """
    if is_hidden(event, state):
        return None
    original = event.original
    match original.body:
        case MessagePosted() as posted:
            return message_entry(event, posted, state, tab=tab)
        case AnswerPosted() as answer:
            return answer_entry(event, answer, state, tab=tab)
        case RunFailed() | RunCancelled() as end:
            return _ended(event, end, state, earlier, tab=tab)
        case DecisionMade() as decision:
            author = _author(event, changed_thread(event, state))
            return _placed(decision_entry(event, decision, author), event, state)
        case ApprovalRequested() as asked:
            return _placed(request_entry(event, asked), event, state)
        case ApprovalResolved() as resolved:
            call = state.calls.get(resolved.approval)
            return _placed(resolution_entry(event, resolved, call), event, state)
    return _notice(event, state, earlier or Earlier())


def is_hidden(event: Event, state: RoomState) -> bool:
    """Whether an event is private between others, or about something that is."""
    body = event.original.body
    thread = state.threads.get(event.seq) or changed_thread(event, state)
    if thread is not None:
        return thread.is_hidden
    return is_sealed(body) and not getattr(body, "text", "")


def caveat_of(event: Event, state: RoomState) -> str:
    """Say from whose copy an entry was recovered, and its problem; empty if neither."""
    return caveat(event.by if event.original is not event else "", state.doubt_of(event.seq))


Step = TypeVar("Step", RunEntry, CallEntry)


def _placed(entry: Step, event: Event, state: RoomState) -> Step:
    """Return a step of a run with its message as the log here counts, and what is wrong with it."""
    thread = changed_thread(event, state)
    return structs.replace(
        entry,
        message=thread.seq if thread is not None else entry.message,
        caveat=caveat_of(event, state),
        private=bool(getattr(event.original.body, "sealed", ())),
    )


def _author(event: Event, thread: MessageThread | None) -> str:
    """Return the author of the message that a step is about; its handler if it is forgotten."""
    return visible_line(thread.author if thread is not None else event.original.by)


# -- messages


def message_entry(
    event: Event, posted: MessagePosted, state: RoomState, *, tab: int = 4
) -> MessageEntry:
    """Return the entry of a message as its author left it."""
    original, thread = event.original, state.threads.get(event.seq)
    entry = MessageEntry(
        event.seq,
        original.at,
        visible_line(original.by),
        visible(posted.text, tab=tab),
        posted.emote,
        files=file_lines(posted.files),
        quotes=quote_lines(posted.quotes),
        caveat=caveat_of(event, state),
        by_agent=state.members.is_agent(original.by),
        reply_to=posted.reply_to,
        private=private_reader(original.by, posted.to),
    )
    return entry if thread is None else revised(entry, thread, state, tab=tab)


def thread_entry(thread: MessageThread, state: RoomState) -> MessageEntry:
    """Return the entry of a message that the state knows."""
    by, seq = thread.author, thread.seq
    entry = message_entry(Event(seq, thread.at, by, thread.said), thread.said, state)
    return structs.replace(entry, caveat=caveat(thread.recovered_from, state.doubt_of(seq)))


def revised(
    entry: MessageEntry, thread: MessageThread, state: RoomState, *, tab: int = 4
) -> MessageEntry:
    """Return a message's entry with the changes by its author and others."""
    reply = state.reply_of(thread)
    line = None if reply is None else _reply(reply)
    reactions, marks = reactions_in(thread.reactions), marks_of(thread)
    entry = structs.replace(entry, reply=line, reactions=reactions, marks=marks)
    if thread.is_deleted:
        return structs.replace(entry, text="", is_deleted=True, files=(), quotes=(), reply=None)
    if thread.edit is not None:
        return structs.replace(entry, text=visible(thread.text, tab=tab))
    return entry


def _reply(reply: Reply) -> ReplyLine:
    return ReplyLine(
        visible_line(reply.author), "" if reply.is_deleted else quoted_line(reply.text)
    )


def reactions_in(reactions: Reacted) -> Reactions:
    return tuple(
        (visible_line(each), tuple(map(visible_line, names))) for each, names in reactions.items()
    )


# -- answers


def answer_entry(
    event: Event,
    body: AnswerPosted | RunFailed | RunCancelled,
    state: RoomState,
    *,
    tab: int = 4,
) -> AnswerEntry:
    """Return the entry of an answer, or of the text of an incomplete one."""
    original, thread = event.original, changed_thread(event, state)
    is_whole = isinstance(body, AnswerPosted)
    is_cut = isinstance(body, AnswerPosted) and body.cut
    receiver = body.receiver if isinstance(body, AnswerPosted) else None
    owner = thread.handler if thread is not None else ""
    return AnswerEntry(
        thread.seq if thread is not None else body.message,
        original.at,
        visible_line(receiver or _author(event, thread)),
        visible_line(owner or original.by),
        visible(body.text, tab=tab),
        elapsed=body.elapsed if isinstance(body, AnswerPosted) else 0.0,
        caveat=caveat_of(event, state),
        reactions=reactions_in(thread.answer_reactions) if is_whole and thread is not None else (),
        incomplete=CUT if is_cut else "",
        mark=CUT_MARK if is_cut else "",
        private=bool(body.sealed),
        seq=event.seq,
    )


def _ended(
    event: Event,
    end: RunFailed | RunCancelled,
    state: RoomState,
    earlier: Earlier | None,
    *,
    tab: int,
) -> RunEntry | AnswerEntry:
    """Show how a run ended without an answer, below its partial text."""
    thread = changed_thread(event, state)
    run = end_entry(event, end, _author(event, thread), _tools_parked(end, thread, state, earlier))
    run = _placed(run, event, state)
    if not end.text:
        return run
    answer = answer_entry(event, end, state, tab=tab)
    why = f"incomplete: {structs.replace(run, caveat='').line}"
    return structs.replace(answer, incomplete=why, mark=run.mark, tone=run.tone)


def end_entry(
    event: Event, end: RunFailed | RunCancelled, author: str, parked: Sequence[str] = ()
) -> RunEntry:
    """Return how the run for a message of this author ended; `parked` are its waiting tools."""
    why = end.reason if isinstance(end, RunCancelled) else short_error(end.error)
    seq, by, at = event.seq, visible_line(event.original.by), event.original.at
    work = f"{AGENT}'s work for {author}"
    if parked and can_resume(end):
        verb = f"was {parked_with(parked)}"
        return RunEntry(
            seq, end.message, at, PARKED_MARK, Tone.ASKS, work, verb, by, quoted_line(why)
        )
    if isinstance(end, RunFailed):
        verb, why = f"could not answer {author}", f"{_where(end.stage)}{why}"
        return RunEntry(seq, end.message, at, "✗", Tone.BAD, AGENT, verb, by, quoted_line(why))
    verb = "was stopped"
    if why.startswith(STOPPED_BY):
        verb, why = f"was {visible_line(why)}", ""
    return RunEntry(seq, end.message, at, "■", Tone.QUIET, work, verb, by, quoted_line(why))


def _where(stage: Stage) -> str:
    return "" if stage in ("agent", "lost") else f"{stage_name(stage)} failed: "


def _tools_parked(
    end: RunFailed | RunCancelled,
    thread: MessageThread | None,
    state: RoomState,
    earlier: Earlier | None,
) -> list[str]:
    """Return the tools that wait for an answer after the end of a run."""
    if earlier is not None:
        calls = [call for call, message in earlier.parked.items() if message == end.message]
    else:
        calls = list(thread.parked) if thread is not None else []
    known = (state.calls.get(call) for call in calls)
    return [call.tool if call is not None else "a tool call" for call in known]


def decision_entry(event: Event, decision: DecisionMade, author: str) -> RunEntry:
    """Return the reasoner's decision about a message of this author."""
    is_silent = decision.decision == "ignore"
    verb = "stayed silent" if is_silent else f"answers {visible_line(decision.receiver or author)}"
    return RunEntry(
        event.seq,
        decision.message,
        event.original.at,
        "○" if is_silent else "●",
        Tone.QUIET if is_silent else Tone.GOOD,
        AGENT,
        verb,
        visible_line(event.original.by),
        quoted_line(decision.reason or (NO_REASON if is_silent else "")),
        "" if is_silent else quoted_line(question_in(decision.query or "")),
    )


def run_of(thread: MessageThread, state: RoomState) -> RunEntry | None:
    """Return how the work on a message ended without an answer; None if it did not."""
    seq, at, by = thread.seq, thread.ended_at or thread.at, thread.handler
    parked = [state.calls[call].tool for call in thread.parked if call in state.calls]
    author = visible_line(thread.author)
    match thread.phase:
        case Phase.IGNORED if thread.decision is not None:
            return decision_entry(Event(seq, at, by, thread.decision), thread.decision, author)
        case Phase.FAILED if thread.error is not None:
            return end_entry(Event(seq, at, by, thread.error), thread.error, author, parked)
        case Phase.CANCELLED:
            end = thread.cancelled or RunCancelled(seq)
            return end_entry(Event(seq, at, by, end), end, author, parked)
    return None


# -- tool calls


def request_entry(event: Event, asked: ApprovalRequested) -> CallEntry:
    """Return a tool call that an agent wants to make."""
    given = arguments_line(asked.arguments, withheld=asked.withheld)
    return CallEntry(
        event.seq,
        asked.message,
        event.original.at,
        "▲",
        Tone.ASKS,
        quoted_line(f"{agent_path(asked.agent)} asks for {asked.tool}"),
        event.seq,
        visible_line(event.original.by),
        given=quoted_line(given),
        effects=quoted_line("; ".join(asked.effects)),
    )


def resolution_entry(
    event: Event, resolved: ApprovalResolved, call: ToolApproval | None
) -> CallEntry:
    """Return how a tool call was answered."""
    tool = call.tool if call is not None else "a tool call"
    mark, tone, text = resolution(resolved, tool, event.original.by)
    return CallEntry(
        event.seq,
        resolved.message,
        event.original.at,
        mark,
        tone,
        text,
        call.seq if call is not None else 0,
        visible_line(event.original.by),
        quoted_line(resolved.reason or ""),
        outcome=resolved.outcome,
    )


def resolution(resolved: ApprovalResolved, tool: str, by: str) -> tuple[str, Tone, str]:
    """Return mark, tone and wording of how a tool call was answered."""
    who = "" if resolved.how else f" by {by}"
    match resolved.outcome:
        case "approved" if is_summary(resolved, tool):
            mark, tone, text = SUMMARY_MARK, Tone.QUIET, allowed(resolved, tool, by)
        case "approved" if tool == ANSWER_SERVER:
            mark, tone, text = "✓", Tone.GOOD, f"{by} answered a tool server"
        case "approved" if resolved.how == "own":
            mark, tone, text = "!", Tone.BAD, allowed(resolved, tool, by)
        case "approved":
            mark, tone, text = "✓", Tone.GOOD, f"{allowed(resolved, tool, by)}{who}"
        case "denied":
            mark, tone, text = "✗", Tone.BAD, f"{denied(resolved, tool)}{who}"
        case "parked":
            mark, tone, text = PARKED_MARK, Tone.ASKS, f"parked {tool}"
        case _:
            mark, tone, text = "…", Tone.QUIET, f"unanswered {tool}"
    return mark, tone, quoted_line(text)


# -- notices


def _notice(event: Event, state: RoomState, earlier: Earlier) -> NoticeEntry | None:
    original, caution = event.original, caveat_of(event, state)
    before = earlier if original is event else Earlier()
    if before.is_return(original) and not caution:
        return None
    thread = changed_thread(event, state) if isinstance(original.body, ChangeBody) else None
    message = thread.seq if thread is not None else getattr(original.body, "message", 0)
    line, counts = _announced(original, before, thread), has_effect(event, state)
    if line is None and (counts or not caution):
        return None
    mark, text = line or ("⚠", f"entry {event.seq:,} has no effect")
    if line is not None and not counts:
        mark, text = "⚠", _without_effect(original, text, message)
    is_new_host = isinstance(original.body, HostStarted) and before.host not in (
        "",
        original.body.host,
    )
    return NoticeEntry(
        event.at,
        mark,
        with_caveat(text, caution),
        message=thread.seq if thread is not None else 0,
        moves=before.moves(original) if not caution else (),
        quote=_excerpt(thread) if isinstance(original.body, ReactionChanged) else "",
        sets_off=counts and is_new_host,
        seq=event.seq,
    )


def _excerpt(thread: MessageThread | None) -> str:
    if thread is None or thread.is_deleted:
        return ""
    text = quoted_line(thread.text)
    return (
        f"{visible_line(thread.author)}: {text if len(text) <= EXCERPT else f'{text[:EXCERPT]}…'}"
    )


def _without_effect(original: Event, text: str, message: int) -> str:
    """Word a change that does not count, without the content of a forged one."""
    if isinstance(original.body, ChangeBody):
        return f"{visible_line(original.by)} tried to change message {message}, without effect"
    return f"without effect: {text}"


def unreadable_line(first: int, last: int, why: str) -> str:
    """Say which entries of a log can't be read, and why."""
    which = f"entry {first:,}" if first == last else f"entries {first:,} to {last:,}"
    return f"{which} can't be read: {visible_line(why)}"


def _announced(
    original: Event, before: Earlier, thread: MessageThread | None
) -> tuple[str, str] | None:
    match original.body:
        case MessageEdited() if thread is not None and thread.is_deleted:
            return "✎", f"{visible_line(original.by)} edited message {thread.seq}, which is deleted"
        case UnreadableEvent(why=why):
            return "⚠", unreadable_line(original.seq, original.seq, why)
        case HostStarted(host=host) as started if before.host not in ("", host):
            return "◇", f"{visible_line(host)} hosts now{copied_from(started)}"
        case HostStarted(host=host) if before.is_restart(original):
            return "◇", f"{visible_line(host)} is hosting again"
    return announcement(original, before.devices, thread.seq if thread is not None else 0)
