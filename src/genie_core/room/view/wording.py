"""Room events as plain text, for the timeline, the activity list, the replay and exports.

Nothing here draws. All texts are safe to show unless a function says otherwise.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from genie_core.room.protocol.events import (
    STOPPED_BY,
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    ChangeBody,
    DecisionMade,
    EngineChanged,
    Event,
    FileRef,
    HeirsChanged,
    HostStarted,
    Measure,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    Quote,
    ReactionChanged,
    RoomCreated,
    RoomSuspended,
    RunCancelled,
    RunFailed,
    Stage,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import RISKS, outcome, plain_arguments
from genie_core.storage.filenames import safe_name
from genie_core.text.format import counted, duration, file_size, local_time
from genie_core.text.safe import quoted_line, visible, visible_line

# Changes to the room

_MODERATED: Final[dict[Measure, str]] = {
    "kick": "{by} put {name} out",
    "ban": "{by} banned {name}",
    "pardon": "{by} lets {name} come back",
    "mute": "{by} muted {name}",
    "unmute": "{by} lets {name} write again",
    "role": "{by} made {name} {role}",
    "free": "{by} freed the name {name}, by which nobody wrote",
}
_ROLES: Final = {"member": "a member", "guest": "a guest", "observer": "an observer"}


def copied_from(hosted: HostStarted) -> str:
    """Name the room that this one was copied from or continues; empty if neither."""
    if not hosted.copied:
        return ""
    how = {
        "import": "imported from",
        "fork": "forked from",
        "continuation": "a new room that continues",
    }[hosted.copied]
    return f" ({how} {visible_line(hosted.origin)})"


def announcement(
    event: Event, devices: Mapping[str, set[str]], message: int = 0
) -> tuple[str, str] | None:
    """Return a mark and a line for a change to the room or a message; None for any other event.

    `devices` are the terminals that each member was connected from before the event, and `message`
    is the number here of the message that it is about, 0 for the number that it gives itself.
    """
    message = message or getattr(event.body, "message", 0)
    by = visible_line(decided_by(event))
    match event.body:
        case RoomCreated(title=title):
            return "◇", f"the room {visible_line(title)} was opened"
        case HostStarted() as hosted:
            return "◇", f"{visible_line(hosted.host)} is hosting{copied_from(hosted)}"
        case RoomSuspended(heir=heir) if heir:
            return "◇", f"the room was handed over to {visible_line(heir)}"
        case RoomSuspended(reason=reason):
            return "◇", because("the room was suspended", reason)
        case MemberJoined() as joined:
            return "→", by + _joined(joined, again=bool(devices.get(event.by)))
        case MemberLeft(name=name, reason=reason, device=device):
            more = devices.get(name, set()) - {device} if device else set()
            how = "left one terminal" if more else "left"
            return "←", because(f"{visible_line(name)} {how}", reason)
        case EngineChanged(agent=agent) if agent:
            return "·", f"{by}'s agent now uses {visible_line(agent)}"
        case MemberModerated() as moderated:
            return "⚑", because(_moderated(by, moderated), moderated.reason)
        case HeirsChanged(automatic=automatic, anyone=anyone) if automatic or anyone:
            return None  # the program keeps the list
        case HeirsChanged() as rule:
            return "⚑", f"{by} decided: {heirs_line(rule)}"
        case MessageEdited(sealed=sealed, text="") if sealed:
            return None
        case MessageEdited(text=text):
            return "✎", f"{by} edited message {message}: {visible(text)}"
        case MessageDeleted():
            return "✎", f"{by} deleted message {message}"
        case ReactionChanged(reaction=reaction, on=on, answer=answer):
            what = f"the answer to message {message}" if answer else f"message {message}"
            did = "reacted to" if on else "took back a reaction to"
            return "·", f"{by} {did} {what}: {visible_line(reaction)}"
        case ArgumentSharingChanged(on=True):
            return "⚑", f"{by} shows guests what tools are called with"
        case ArgumentSharingChanged():
            return "⚑", f"{by} no longer shows guests what tools are called with"
    return None


def decided_by(event: Event) -> str:
    """Return the author of an event, or the member who asked the host for it."""
    match event.body:
        case MemberModerated(asked_by=asked_by) | ArgumentSharingChanged(asked_by=asked_by):
            return asked_by or event.by
    return event.by


def private_reader(author: str, to: str) -> str:
    """Return who can read a private message beside its author, safe to show; empty if all can."""
    return "genie" if to and to == author else visible_line(to)


def author_line(name: str, *, by_agent: bool) -> str:
    """Return a message's author in one line; an agent's name is marked, as no name has a space."""
    return f"{visible_line(name)} (agent)" if by_agent else visible_line(name)


def caveat(recovered_from: str, doubt: str) -> str:
    """Say from whose copy an entry was recovered, and its problem; empty if neither."""
    parts = [f"recovered from {visible_line(recovered_from)}'s copy"] if recovered_from else []
    parts += [f"⚠ not proven: {doubt}"] if doubt else []
    return ", ".join(parts)


def with_caveat(text: str, caution: str) -> str:
    """Append the problem of an entry, if there is one."""
    return f"{text} ({caution})" if caution else text


def changed_thread(event: Event, state: RoomState) -> MessageThread | None:
    """Return the message that an entry is about, as far as it is known; a recovered entry's, too."""
    original = event.original
    message = getattr(original.body, "message", 0)
    return state.threads.get(message) if original is event else state.meant(message, original.seq)


def has_effect(event: Event, state: RoomState) -> bool:
    """Whether an entry, which the state includes, is proven and its changes are permitted.

    An entry of an engine or a message that is not proven is shown with its `caveat`; a change of a
    message, or of the room, must not be reported as if it had happened.
    """
    original = event.original
    if not state.is_proven(event.seq):
        return False
    if not isinstance(original.body, ChangeBody):
        return True
    thread = changed_thread(event, state)
    is_reaction = isinstance(original.body, ReactionChanged)
    return thread is not None and (is_reaction or thread.author == original.by)


def heirs_line(rule: HeirsChanged) -> str:
    """Say who may host a room in its host's place."""
    names = ", then ".join(map(visible_line, rule.heirs))
    if not rule.heirs:
        return "only the host, and a member the host hands the room to, may host"
    return f"{names} may host in the host's place"


def order_line(state: RoomState) -> str:
    """Say who may host the room, in order."""
    succession = state.succession
    names = [state.owner_of(key) or "a person not met here" for key in succession.order]
    if not names:
        return "This room is not founded: who has a copy may host it."
    first, *heirs = map(visible_line, names)
    if not heirs:
        return f"Only {first}, and a member {first} hands the room to, may host."
    keeps = " The host's program keeps this list." if succession.is_automatic else ""
    return f"{first} hosts; in {first}'s place {', then '.join(heirs)}.{keeps}"


def because(text: str, reason: str) -> str:
    """Append the reason to a line, if there is one."""
    line = quoted_line(reason)
    return f"{text}: {line}" if line else text


def _joined(joined: MemberJoined, *, again: bool) -> str:
    role = {"guest": " as a guest", "observer": " as an observer"}.get(joined.role, "")
    if joined.kind == "agent":
        role = " as an agent that only reads" if joined.role == "observer" else " as an agent"
    agent = f" with {visible_line(joined.agent)}" if joined.agent and not role else ""
    where = " at another terminal" if again else ""
    return f" joined{role}{where}{agent}"


def _moderated(by: str, moderated: MemberModerated) -> str:
    role = _ROLES.get(moderated.role or "", "another role")
    words = _MODERATED[moderated.measure]
    if moderated.role == "host":
        words = "{by} gave {name} the host's role"
    return words.format(by=by, name=visible_line(moderated.name), role=role)


# How runs end

CUT: Final = "incomplete: the model's length limit ended this answer"
CUT_MARK: Final = "✂"

PARKED_MARK: Final = "‖"
"""Stands for a run that waits for an answer beyond the end of the room's session."""

_WHOSE: Final = re.compile(r"(?:agent 'system'|reasoner) of [^:]{1,64}: ")
_STAGES: Final[dict[Stage, str]] = {"factory": "set-up"}


def stage_name(stage: Stage) -> str:
    return _STAGES.get(stage, stage)


def short_error(error: str) -> str:
    """Drop agent and owner from an error; the line around it names them. Not yet safe to show."""
    whose = _WHOSE.match(error)
    return error[whose.end() :] or error if whose else error


def can_resume(end: RunCancelled | RunFailed) -> bool:
    """Whether a run that ended so resumes once its parked approvals are answered.

    A suspend and the end of a program interrupt it; a person who stops it, or a fault, ends it.
    """
    if isinstance(end, RunFailed):
        return end.stage == "lost"
    return not end.reason.startswith(STOPPED_BY)


def parked_with(tools: Sequence[str]) -> str:
    """Describe a parked run and the tool calls it waits for."""
    what = visible_line(tools[0]) if len(tools) == 1 else f"{len(tools)} tool calls"
    return f"parked with {what} to answer"


def waits_for(thread: MessageThread) -> str:
    """Describe which answer a parked run waits for."""
    calls = "a tool call" if len(thread.parked) == 1 else f"{len(thread.parked)} tool calls"
    return f"genie goes on when {visible_line(thread.handler)} has answered {calls}"


# Why a message has no answer

UNHANDLED = "Nobody who could answer was in the room, so nothing was decided about this message."
RECOVERED = (
    "This was recovered from {}'s copy of the room. What was decided about it under an earlier host "
    "is not known here."
)
BY_AGENT = (
    "An agent that is a member wrote this. No person's agent acts on it, so nothing was decided about "
    "it; they read it with the next message of a person."
)
UNDECIDED = "At this moment nothing is decided about this message yet."
STOPPED = "The work on this message was stopped before anything was decided."


def why_silent(thread: MessageThread) -> str:
    """Explain the decision about a message."""
    if thread.recovered_from:
        return RECOVERED.format(visible_line(thread.recovered_from))
    if thread.phase is Phase.UNHANDLED:
        return BY_AGENT if thread.by_agent else UNHANDLED
    decision = thread.decision
    whose = visible_line(thread.handler)
    if decision is None:
        return _undecided(thread, whose)
    took = f" within {duration(decision.elapsed)}" if decision.elapsed else ""
    if decision.decision == "ignore":
        head = f"The agent of {whose} decided{took} to stay silent."
    else:
        head = f"The agent of {whose} decided{took} to act on this message."
    parts = [
        head,
        f"Its reason: {visible(decision.reason)}" if decision.reason else "It gave no reason.",
    ]
    if decision.query:
        parts.append(f"What it passed on:\n{visible(decision.query)}")
    none_came = "The answer is incomplete" if thread.partial else "No answer came"
    if thread.error is not None:
        parts.append(f"{none_came}: {visible(thread.error.error)}")
        parts += [f"The work on it was parked: {waits_for(thread)}."] if thread.parked else []
    elif thread.parked and thread.phase is Phase.CANCELLED:
        parts.append(f"No answer came yet, as the work on it was parked: {waits_for(thread)}.")
    elif thread.phase is Phase.CANCELLED:
        parts.append(f"{none_came}, as the work on it was stopped.")
    return "\n\n".join(parts) + "\n"


def _undecided(thread: MessageThread, whose: str) -> str:
    if thread.error is not None:
        return f"The agent of {whose} could not decide: {visible(thread.error.error)}"
    return STOPPED if thread.phase is Phase.CANCELLED else UNDECIDED


# Messages

DELETED: Final = "deleted by its author"
EDITED: Final = "edited"
QUIET: Final = "quiet"
"""Marks a message that its author sent without a notification."""
"""Stands in place of a message that its author took back."""

_FENCE: Final = re.compile(r"^ {0,3}```[ ]*+(?P<language>[\w+#.-]*+)[ ]*+$", re.MULTILINE)
"""A line that opens a block of code or, if it names no language, closes one."""


@dataclass(frozen=True, slots=True)
class Code:
    """A fenced block of code."""

    code: str
    language: str


class FileLine(msgspec.Struct, frozen=True):
    """A file of a message; `number` counts them from 1, `about` is its type and size."""

    number: int
    digest: str
    name: str
    about: str
    file: FileRef | None = None


class QuoteLine(msgspec.Struct, frozen=True):
    """Messages of another room that a message quotes, folded to one line."""

    text: str
    quote: Quote | None = None


def blocks(text: str) -> Iterator[str | Code]:
    """Split a text into plain parts and fenced code. An unclosed fence is plain text."""
    end = 0
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif not fence["language"]:
            if plain := text[end : opening.start()].removesuffix("\n"):
                yield plain
            code = text[opening.end() + 1 : fence.start()].removesuffix("\n")
            yield Code(code, opening["language"])
            end = min(fence.end() + 1, len(text))  # with the line break
            opening = None
    if end == 0 or text[end:]:
        yield text[end:]


def file_lines(files: Iterable[FileRef]) -> tuple[FileLine, ...]:
    return tuple(
        FileLine(number, file.digest, visible_line(safe_name(file.name)), _about(file), file)
        for number, file in enumerate(files, 1)
    )


def quote_lines(quotes: Iterable[Quote]) -> tuple[QuoteLine, ...]:
    return tuple(
        QuoteLine(
            quote_name(quote)
            if quote.is_mark
            else f"{quote_name(quote)} · {counted(len(quote.lines), 'message')}",
            quote,
        )
        for quote in quotes
    )


def quote_name(quote: Quote) -> str:
    """Name the room that a quote comes from, or the source of the text."""
    return visible_line(quote.title or quote.room)


def quote_text(quote: Quote) -> Iterator[str]:
    """Yield the quoted messages, after a line with the name of their room."""
    yield f"── from {quote_name(quote)} ──"
    for line in quote.lines:
        text = visible(line.text).replace("\n", "\n    ")  # or a line could pass for another's
        yield f"{visible_line(line.sender)}, {_moment(line.at)}: {text}"


def quote_of(text: str, posted: str, most: int | None = None) -> str:
    """Quote a message in one safe line, with up to `most` characters of each text.

    `text` is its latest text, empty if its author deleted it, and `posted` the first one. Both are
    quoted if they differ: an agent may have acted on either.
    """
    first, now = (
        f"“{line if most is None or len(line) <= most else f'{line[:most]}…'}”"
        for line in map(visible_line, (posted, text))
    )
    if text == posted:
        return first
    return f"{now} (edited; posted as {first})" if text else f"{first} (deleted since)"


def marks_of(thread: MessageThread) -> tuple[str, ...]:
    """Return the remarks, a word each, that every surface shows beside a message."""
    quiet = (QUIET,) if thread.said.quiet else ()
    return (*quiet, EDITED) if thread.edit is not None and not thread.is_deleted else quiet


def message_title(thread: MessageThread) -> str:
    """Return the author and time of a message."""
    return f"{author_line(thread.author, by_agent=thread.by_agent)}, {_moment(thread.at)}"


def message_text(thread: MessageThread) -> str:
    """Return a message as its author left it, with its files, quotes and answer in full."""
    said = thread.said
    if thread.is_deleted:
        said, parts = msgspec.structs.replace(said, files=(), quotes=()), [f"[{DELETED}]"]
    else:
        parts = [visible(thread.text)] if thread.text else []
        parts += [f"[{mark}]" for mark in marks_of(thread)]
    if said.files:
        files = file_lines(said.files)
        parts.append("\n".join(f"▤ {file.number} {file.name}  {file.about}" for file in files))
    parts += ["\n".join(quote_text(quote)) for quote in said.quotes]
    if thread.answer is not None:
        parts.append(f"genie answered:\n{visible(thread.answer.text)}")
        parts += [f"[{CUT}]"] if thread.answer.cut else []
    elif thread.partial:
        parts.append(f"genie began to answer:\n{visible(thread.partial)}\n\n[incomplete]")
    return "\n\n".join(parts) + "\n"


def _about(file: FileRef) -> str:
    size = file_size(file.size)
    return f"{visible_line(file.media)} · {size}" if file.media else size


def _moment(at: float) -> str:
    moment = local_time(at)
    return f"{moment.day} {moment:%B %Y, %H:%M}"


# Events of a run in detail


def event_fields(body: object) -> list[tuple[str, str]]:
    """Return an event of a run as labels and texts.

    Some texts are empty, and none is safe to show yet. Other events have no fields.
    """
    match body:
        case DecisionMade():
            return [
                ("decision", body.decision.upper()),
                ("reason", body.reason or ""),
                ("query", body.query or ""),
                ("receiver", body.receiver or ""),
                ("took", duration(body.elapsed)),
            ]
        case ApprovalRequested():
            return [
                ("agent", agent_path(body.agent)),
                ("tool", body.tool),
                ("effects", "\n".join(body.effects)),
                ("arguments", plain_arguments(body.arguments, withheld=body.withheld) or "none"),
                ("runs", body.where),
                ("risk", RISKS.get(body.risk, "")),
                ("because", body.because),
                ("also read", ", ".join(body.origins)),
            ]
        case ApprovalResolved():
            reason = "" if body.how == "auto" else body.reason or ""
            return [("outcome", outcome(body)), ("reason", reason)]
        case AnswerPosted():
            return [
                ("answer", body.text),
                ("ended", CUT if body.cut else ""),
                ("took", duration(body.elapsed)),
            ]
        case RunFailed():
            return [("failed in", body.stage), ("error", body.error), ("answer so far", body.text)]
        case RunCancelled():
            return [("stopped", body.reason or "yes"), ("answer so far", body.text)]
    return []
