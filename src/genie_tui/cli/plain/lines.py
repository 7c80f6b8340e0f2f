"""The events of a room as entries of text, a tool call in full, and an event as JSON.

An entry of the log begins with its number in brackets, everything else with a word of the program.
Texts are safe to show; those of several lines need the marks of `output.Output`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from genie_core.room.engine.approval_policy import ANSWER_SERVER
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    DecisionMade,
    Event,
    MessagePosted,
    RecoveredEvent,
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
    plain_value,
    reads_private,
    risk_of,
    tool_words,
)
from genie_core.room.view.plain import plain_text
from genie_core.room.view.reader import Earlier, entry_of, is_hidden
from genie_core.room.view.wording import (
    author_line,
    has_effect,
)
from genie_core.text.format import clock_time
from genie_core.text.safe import visible, visible_line
from genie_tui.cli.output import harmless_json

# -- the log


def entries_of(
    events: Iterable[Event], state: RoomState, earlier: Earlier | None = None
) -> Iterator[str]:
    """Yield an entry for each event that tells something; the state includes them all.

    Messages read as their authors have left them by now. Left out are decisions to answer, as the
    answers follow, and tool calls that ask nobody, as their outcome follows.
    """
    for event in events:
        entry = entry_of(event, state, earlier)
        if entry is not None and not _is_left_out(event):
            yield f"[{event.seq}] {plain_text(entry)}"
        if earlier is not None:
            earlier.add(event)


def _is_left_out(event: Event) -> bool:
    match event.original.body:
        case DecisionMade(decision="delegate") | ApprovalRequested(unasked=True):
            return True
    return False


def last_entries(events: Sequence[Event], state: RoomState, most: int) -> list[str]:
    """Return the entries of the last events that tell something, up to `most`."""
    return [*islice(entries_of(reversed(events), state), max(0, most))][::-1]


def thread_entries(thread: MessageThread, state: RoomState) -> Iterator[str]:
    """Yield a message and its answer as they are now, and the reactions to each."""
    if thread.is_hidden:
        return
    said = _again(thread.seq, thread.author, thread.recovered_from, thread.said)
    yield from entries_of([said], state)
    yield f"Posted at {clock_time(thread.at)}"
    yield from _reactions(thread.reactions)
    if thread.answer is not None and thread.answered_seq is not None:
        by, recovered_from = thread.handler or thread.author, thread.answer_recovered_from
        yield from entries_of(
            [_again(thread.answered_seq, by, recovered_from, thread.answer)], state
        )
        yield from _reactions(thread.answer_reactions)


def _again(seq: int, by: str, recovered_from: str, body: MessagePosted | AnswerPosted) -> Event:
    event = Event(seq, 0.0, by, body)
    return Event(seq, 0.0, recovered_from, RecoveredEvent(event)) if recovered_from else event


def _reactions(reactions: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for reaction, names in reactions.items():
        yield f"Reaction {visible_line(reaction)} by {', '.join(map(visible_line, names))}"


def json_of(event: Event, state: RoomState) -> str:
    """Return an event as one line of JSON that is harmless in a terminal.

    Beside the entry of the log it has `doubt`, with the problem of the entry, `effect`, which is
    false if it is only recorded, and `hidden`, which is true if it is private between others.
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
