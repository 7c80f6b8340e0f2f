"""What happens in a room as entries of text, a tool call in full, and an event as JSON.

An entry of the log begins with its number in brackets, everything else with a word of the program.
Texts are safe to show; those of several lines need the marks of `output.Output`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from genie_core.room.engine.effects import ToolEffects
from genie_core.room.engine.policy import ANSWER_SERVER
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
)
from genie_core.room.protocol.frames import JoinRequested
from genie_core.room.security.key_words import key_words
from genie_core.room.security.sealing import is_sealed
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval
from genie_core.room.transport.origin import LOOPBACK
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import (
    WITHHELD,
    allowed,
    denied,
    plain_value,
    reads_private,
    risk_of,
    tool_words,
)
from genie_core.room.view.wording import (
    CUT,
    announcement,
    author_line,
    because,
    caveat,
    changed_thread,
    file_lines,
    has_effect,
    private_reader,
    quote_text,
    short_error,
)
from genie_core.text.format import clock_time, counted
from genie_core.text.safe import visible, visible_line
from genie_tui.cli.output import harmless_json

# -- the log


def entries_of(events: Iterable[Event], state: RoomState) -> Iterator[str]:
    """Yield an entry for each event that tells something; the state includes them all.

    Messages read as their authors have left them by now.
    """
    for event in events:
        if (text := _entry_of(event, state)) is not None:
            yield f"[{event.seq}] {text}"


def last_entries(events: Sequence[Event], state: RoomState, most: int) -> list[str]:
    """Return the entries of the last events that tell something, up to `most`."""
    return [*islice(entries_of(reversed(events), state), max(0, most))][::-1]


def _entry_of(event: Event, state: RoomState) -> str | None:
    if is_hidden(event, state):
        return None
    told = event.told
    caution = caveat(event.by if told is not event else "", state.doubt_of(event.seq))
    match told.body:
        case MessagePosted() as said:
            return _message(event, said, state, caution)
        case MessageEdited() | MessageDeleted() | ReactionChanged():
            text = _change(event, state)
        case UnreadableEvent(why=why):
            text = because("this entry can't be read", why)
        case AnswerPosted() | RunFailed() | RunCancelled() | DecisionMade():
            text = _of_run(event, state)
        case ApprovalRequested() | ApprovalResolved():
            text = _of_call(event, state)
        case _:
            announced = announcement(event, {})
            text = announced[1] if announced is not None else ""
            if text and not has_effect(event, state):
                text = f"without effect: {text}"
    head, *more = text.split("\n")
    return "\n".join([f"{head} ({caution})" if caution and head else head, *more]) or None


def is_hidden(event: Event, state: RoomState) -> bool:
    """Whether an event is private between others, or about something that is."""
    told = event.told
    thread = state.exchanges.get(event.seq) or changed_thread(event, state)
    if thread is not None:
        return thread.is_hidden
    return is_sealed(told.body) and not getattr(told.body, "text", "")


def _message(event: Event, said: MessagePosted, state: RoomState, caution: str) -> str:
    told, thread = event.told, state.exchanges.get(event.seq)
    by = author_line(told.by, by_agent=state.members.is_agent(told.by))
    notes = [f"private, to {private_reader(told.by, said.to)}"] if said.to else []
    notes += [f"in reply to {_target(said.reply_to, state)}"] if said.reply_to else []
    quoted = sum(len(quote.lines) for quote in said.quotes)
    notes += [f"with {counted(len(said.files), 'file')}"] if said.files else []
    notes += [f"quotes {counted(quoted, 'message')}"] if quoted else []  # text could pass for one
    notes += ["edited"] if thread is not None and thread.edit is not None else []
    notes += [caution] if caution else []
    head = f"{by} ({'; '.join(notes)})" if notes else by
    if thread is not None and thread.is_deleted:
        return f"{head} deleted this message"
    text = visible(said.text if thread is None else thread.text)
    lines = [f"* {head} {text}" if said.emote else f"{head}: {text}"]
    lines += [f"file {each.number}: {each.name}, {each.about}" for each in file_lines(said.files)]
    for quote in said.quotes:
        lines += quote_text(quote)
    return "\n".join(lines)


def _target(seq: int, state: RoomState) -> str:
    """Name the message or answer with a number, and its author, if it is one of the latest."""
    thread = state.exchanges.get(seq)
    if thread is not None:
        return f"{visible_line(thread.author)} [{seq}]"
    is_answer = any(each.answered_seq == seq for each in state.exchanges.values())
    return f"genie [{seq}]" if is_answer else f"[{seq}]"


def _number(event: Event, state: RoomState) -> int:
    """The number of the message that an event is about."""
    thread = changed_thread(event, state)
    return thread.seq if thread is not None else int(getattr(event.told.body, "message", 0))


def _change(event: Event, state: RoomState) -> str:
    told, thread = event.told, changed_thread(event, state)
    by = author_line(told.by, by_agent=state.members.is_agent(told.by))
    what = f"[{_number(event, state)}]"
    if not has_effect(event, state):
        return f"{by} tried to change {what}, without effect"
    match told.body:
        case MessageEdited() if thread is not None and thread.is_deleted:
            return f"{by} edited {what}, which is deleted"
        case MessageEdited(text=text):
            return f"{by} edited {what}: {visible(text)}"
        case ReactionChanged(reaction=reaction, on=on, answer=answer):
            whose = "the answer to " if answer else ""
            did = "reacted to" if on else "took back a reaction to"
            return f"{by} {did} {whose}{what}: {visible_line(reaction)}"
    return f"{by} deleted {what}"


def _of_run(event: Event, state: RoomState) -> str:
    told, what = event.told, f"[{_number(event, state)}]"
    thread = changed_thread(event, state)
    private = " (private)" if is_sealed(told.body) else ""
    match told.body:
        case AnswerPosted(text=text, receiver=receiver, cut=cut):
            to = visible_line(receiver or (thread.author if thread is not None else ""))
            end = f"\n[{CUT}]" if cut else ""
            return f"genie to {to}{private}, about {what}: {visible(text)}{end}"
        case DecisionMade(decision="ignore", reason=reason):
            return because(f"genie stayed silent on {what}{private}", reason or "no reason given")
        case RunFailed(error=error, text=text):
            line = f"genie could not answer {what}{private}: {visible_line(short_error(error))}"
            return f"{line}\nit had begun: {visible(text)}" if text else line
        case RunCancelled(reason=reason, text=text):
            line = because(f"genie's work on {what}{private} was stopped", reason)
            return f"{line}\nit had begun: {visible(text)}" if text else line
    return ""


def _of_call(event: Event, state: RoomState) -> str:
    by = visible_line(event.by)
    match event.told.body:
        case ApprovalRequested(tool=tool, unasked=False):
            return f"{by}'s agent wants to use {visible_line(tool)}: call {event.seq}"
        case ApprovalResolved(approval=approval) as resolved:
            call = state.proposals.get(approval)
            tool, number = (call.tool, f"call {call.seq}") if call is not None else ("a tool", "")
            match resolved.outcome:
                case "approved":
                    line = allowed(resolved, tool, event.by)
                case "denied":
                    line = denied(resolved, tool)
                case outcome:
                    line = f"{outcome} {tool}"
            return because(f"{by}: {number}: {visible_line(line)}", resolved.reason or "")
    return ""


def thread_entries(thread: MessageThread, state: RoomState) -> Iterator[str]:
    """Yield a message and its answer as they are now, and the reactions to each."""
    said = _again(thread.seq, thread.author, thread.voucher, thread.said)
    yield from entries_of([said], state)
    yield f"Posted at {clock_time(thread.at)}"
    yield from _reactions(thread.reactions)
    if thread.answer is not None and thread.answered_seq is not None:
        by, voucher = thread.handler or thread.author, thread.answer_voucher
        yield from entries_of([_again(thread.answered_seq, by, voucher, thread.answer)], state)
        yield from _reactions(thread.answer_reactions)


def _again(seq: int, by: str, voucher: str, body: MessagePosted | AnswerPosted) -> Event:
    event = Event(seq, 0.0, by, body)
    return Event(seq, 0.0, voucher, RecoveredEvent(event)) if voucher else event


def _reactions(reactions: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for reaction, names in reactions.items():
        yield f"Reaction {visible_line(reaction)} by {', '.join(map(visible_line, names))}"


def json_of(event: Event, state: RoomState) -> str:
    """Return an event as one line of JSON that is harmless in a terminal.

    Beside the entry of the log it has `doubt`, which says what is wrong with the entry, `effect`,
    which is false if it is only recorded, and `hidden`, which is true if it is private between others.
    Sealed contents are left out in their encrypted form.
    """
    entry: dict[str, Any] = msgspec.to_builtins(_without_boxes(event))
    entry["doubt"] = state.doubt_of(event.seq)
    entry["effect"] = has_effect(event, state)
    entry["hidden"] = is_hidden(event, state)
    return harmless_json(json.dumps(entry, ensure_ascii=False))


def _without_boxes(event: Event) -> Event:
    body = event.body
    if isinstance(body, RecoveredEvent):
        body = RecoveredEvent(_without_boxes(body.event))
    elif is_sealed(body):
        body = msgspec.structs.replace(body, sealed=())
    return event if body is event.body else msgspec.structs.replace(event, body=body)


# -- questions


def call_entries(
    call: ToolApproval,
    thread: MessageThread,
    effects: ToolEffects | None,
    description: str = "",
) -> Iterator[str]:
    """Yield all that is known of a tool call that waits for its owner, and how to answer it."""
    tool = tool_words(call.tool)
    kept = ", kept from before" if call.outcome == "parked" else ""
    yield f"CALL {call.seq}{kept}: your agent asks to use {visible_line(tool)}"
    author = author_line(thread.author, by_agent=thread.by_agent)
    yield f"Asked by: {author}, {clock_time(call.asked_at)}, in message [{thread.seq}]"
    yield f"Message: {visible(thread.text) or '(deleted)'}"
    if thread.text != thread.said.text:
        yield f"Posted as: {visible(thread.said.text)}"
    yield f"Agent: {visible_line(agent_path(call.agent))}"
    yield f"Runs on: {visible_line(call.where) or 'this machine'}"
    yield from _effects(call, effects)
    for name, value in call.arguments.items():
        yield f"Argument {visible_line(name)}: {plain_value(value)}"
    if not call.arguments:
        yield f"Arguments: {WITHHELD if call.withheld else 'none'}"
    if description:
        yield f"What the tool says of itself: {visible(description)}"
    yield f"Risk: {visible_line(risk_of(call)) or 'unknown'}"
    yield f"Asked because: {visible_line(call.because) or 'nothing allows it'}"
    read = ", ".join(visible_line(each) for each in call.origins)
    yield f"Words of others that the agent has read: {read or 'none'}"
    if call.tool == ANSWER_SERVER and "url" not in call.arguments:
        yield f"It can be answered on the screen only. Type /deny {call.seq} to decline."
        return
    yield f"Type /allow {call.seq} to allow it this time only, or /deny {call.seq} and a reason."


def _effects(call: ToolApproval, effects: ToolEffects | None) -> Iterator[str]:
    if effects is None:
        yield from (f"Effect: {visible(each)}" for each in call.effects)
        return
    if effects.refusal:
        yield f"The tool will refuse it: {visible_line(effects.refusal)}"
    yield from (f"Effect: {visible(str(each))}" for each in effects.known)
    if effects.anything:
        yield f"Effect: may run anything: {visible_line(effects.why)}"
    elif effects.why:
        yield f"Effect: {visible_line(effects.why)}"
    if effects.unheld:
        yield f"Effect: {visible_line(effects.unheld)}"
    if effects.private:
        yield f"Effect: {reads_private(call)}"
    if effects.sandbox:
        yield f"Sandbox: {visible_line(effects.sandbox)}"
    if effects.diff:
        yield f"Change:\n{visible(effects.diff)}"


def request_entry(request: JoinRequested) -> str:
    """Say who asks to join, and how to answer."""
    kind = ", an agent" if request.kind == "agent" else ""
    is_here = request.source in ("", LOOPBACK)
    source = "this machine" if is_here else visible_line(request.source)
    return (
        f"JOIN REQUEST {request.knock}: {visible_line(request.name)}{kind}, from {source}. Their key in "
        f"words: {key_words(request.key)}. Ask them to read out theirs, and type /admit "
        f"{request.knock} or /refuse {request.knock}."
    )
