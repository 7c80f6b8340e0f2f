"""The part of a room that a browser shows: messages, answers and notices, made of a room's state.

All texts are safe to show. There are no keys, addresses, arguments or results of tools among them,
and nothing that is private between others.
"""

from typing import Final, TypeAlias

import msgspec

from genie_core.room.protocol.events import ChangeBody, Event, RunBody
from genie_core.room.state.members import Person
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase, ToolApproval
from genie_core.room.view import entries
from genie_core.room.view import reader as view
from genie_core.room.view.agents import approval_wait
from genie_core.room.view.approvals import tool_words
from genie_core.room.view.entries import Reactions, ReplyLine
from genie_core.room.view.reader import Earlier, entry_of
from genie_core.room.view.wording import caveat, quote_text, why_silent
from genie_core.text.safe import visible, visible_line

LEFT_OUT: Final = RunBody | ChangeBody
"""Events without an entry of their own: the entry of their message shows them."""

MOST_CALLS: Final = 5
"""The latest tool calls of a message that are shown."""

WORKING: Final = {
    Phase.DECIDING: "genie reads this",
    Phase.WORKING: "genie works on an answer",
}


ENDS: Final = {Phase.IGNORED: "silent", Phase.FAILED: "failed", Phase.CANCELLED: "stopped"}


class _Part(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of the JSON that the page gets."""


class FileEntry(_Part, frozen=True):
    """A file of a message; `about` is its type and size."""

    name: str
    about: str


class Reaction(_Part, frozen=True):
    """A reaction and who reacted so."""

    text: str
    by: tuple[str, ...]


class Work(_Part, frozen=True):
    """The work of an agent on a message: a line, tool calls and an explanation.

    `state` is "busy", "waiting", "silent", "failed" or "stopped".
    """

    state: str
    line: str
    calls: tuple[str, ...] = ()
    detail: str = ""


class MessageEntry(_Part, frozen=True, tag="message"):
    """A message; `private` says who else can read it, `note` the doubts about it."""

    seq: int
    at: float
    by: str
    text: str
    agent: bool = False
    emote: bool = False
    marks: tuple[str, ...] = ()
    deleted: bool = False
    private: str = ""
    note: str = ""
    reply: ReplyLine | None = None
    quotes: tuple[str, ...] = ()
    files: tuple[FileEntry, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    work: Work | None = None


class AnswerEntry(_Part, frozen=True, tag="answer"):
    """An agent's answer to a `message` of the member `to`."""

    seq: int
    at: float
    message: int
    to: str
    text: str
    note: str = ""
    reactions: tuple[Reaction, ...] = ()


class NoticeEntry(_Part, frozen=True, tag="notice"):
    """A change of the room, such as a member who joins."""

    seq: int
    at: float
    mark: str
    text: str


class Member(_Part, frozen=True):
    """A present member; `busy` is the work of their agent, `agent` whether they are one."""

    name: str
    role: str
    agent: bool = False
    muted: bool = False
    engine: str = ""
    busy: str = ""


Entry: TypeAlias = MessageEntry | AnswerEntry | NoticeEntry


def message_entry(
    thread: MessageThread, state: RoomState, text: str | None = None
) -> MessageEntry | None:
    """Return a message as its author has left it; None if it is hidden from this reader.

    `text` is that of a private message to the one reader who may know.
    """
    if thread.is_private and text is None:
        return None
    entry = view.thread_entry(thread, state)
    if text is not None and not thread.is_deleted:
        entry = msgspec.structs.replace(entry, text=visible(text))
    quotes = (each.quote for each in entry.quotes if each.quote is not None)
    return MessageEntry(
        entry.seq,
        entry.at,
        entry.author,
        entry.text,
        agent=entry.by_agent,
        emote=entry.emote,
        marks=entry.marks,
        deleted=thread.is_deleted,
        private=entry.private,
        note=entry.caveat,
        reply=entry.reply,
        quotes=tuple("\n".join(quote_text(each)) for each in quotes),
        files=tuple(FileEntry(each.name, each.about) for each in entry.files),
        reactions=_reactions(entry.reactions),
        work=_work(thread, state),
    )


def answer_entry(thread: MessageThread, state: RoomState) -> AnswerEntry | None:
    """Return the answer to a message; None if there is none, or it is private."""
    answer, seq = thread.answer, thread.answered_seq
    if answer is None or seq is None or thread.is_private:
        return None
    event = Event(seq, thread.ended_at or thread.at, thread.handler, answer)
    entry = view.answer_entry(event, answer, state)
    notes = [caveat(thread.answer_recovered_from, state.doubt_of(seq)), entry.incomplete]
    return AnswerEntry(
        seq,
        entry.at,
        entry.message,
        entry.receiver,
        entry.text,
        note="; ".join(filter(None, notes)),
        reactions=_reactions(entry.reactions),
    )


def notice_entry(event: Event, state: RoomState, earlier: Earlier) -> NoticeEntry | None:
    """Return a change of the room, which the state includes; None for any other event."""
    if isinstance(event.original.body, LEFT_OUT):
        return None
    entry = entry_of(event, state, earlier)
    if not isinstance(entry, entries.NoticeEntry):
        return None
    return NoticeEntry(event.seq, event.at, entry.mark, entry.text)


def members_of(state: RoomState) -> tuple[Member, ...]:
    """Return the members who are in the room, the host first."""
    return tuple(_member(person, state) for person in state.present())


def _member(person: Person, state: RoomState) -> Member:
    busy = state.presence(person.name).value
    return Member(
        visible_line(person.name),
        _role(person, state),
        agent=person.is_agent,
        muted=person.muted,
        engine=visible_line(person.agent) if person.engine else "",
        busy=busy if busy in ("thinking", "waiting") else "",
    )


def _role(person: Person, state: RoomState) -> str:
    """Return a person's role; an agent is marked elsewhere."""
    return person.role if person.is_agent else state.role_of(person)


def _reactions(reactions: Reactions) -> tuple[Reaction, ...]:
    return tuple(Reaction(text, names) for text, names in reactions)


def _work(thread: MessageThread, state: RoomState) -> Work | None:
    if thread.is_private:
        return None
    calls = _calls(thread, state)
    match thread.phase:
        case Phase.DECIDING | Phase.WORKING:
            return Work("busy", WORKING[thread.phase], calls)
        case Phase.WAITING:
            waiting = state.waiting_in(thread)
            line = approval_wait(waiting, "", 0.0) if waiting else WORKING[Phase.WORKING]
            return Work("waiting", visible_line(f"genie: {line}"), calls)
    run = view.run_of(thread, state)
    if run is not None:
        return Work(ENDS[thread.phase], run.line, calls, _detail(thread))
    return Work("done", "", calls) if calls else None


def _detail(thread: MessageThread) -> str:
    parts = [why_silent(thread)]
    if thread.partial:
        parts.append(f"The answer had begun:\n{visible(thread.partial)}")
    return "\n".join(parts)


def _calls(thread: MessageThread, state: RoomState) -> tuple[str, ...]:
    known = (state.calls.get(each) for each in thread.calls)
    calls = [_call(each) for each in known if each is not None and _is_over(each)]
    more = len(calls) - MOST_CALLS
    return (f"{more} earlier tool calls", *calls[-MOST_CALLS:]) if more > 0 else tuple(calls)


def _is_over(call: ToolApproval) -> bool:
    """Whether a call no longer waits for its owner, which the line above tells."""
    return call.unasked or call.outcome is not None


def _call(call: ToolApproval) -> str:
    if call.unasked:
        end = "made without asking"
    elif call.outcome == "parked":
        end = f"kept until {visible_line(call.owner)} answers"
    else:
        end = call.outcome or ""
    return f"{visible_line(tool_words(call.tool))}: {end}"
