"""Events of a room as texts and tool calls for an editor, which shows them as Markdown.

Words of people and tools are data: control characters are spelled out, and it stays inside a quote
or a code span, so that it can't pass for another member's words or an editor's question.
"""

import re
from pathlib import Path
from typing import Final

from acp.helpers import text_block
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    PermissionOption,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
)

from genie_core.message import SYSTEM
from genie_core.room.client.model import Answer
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.protocol.events import (
    ApprovalResolved,
    Event,
    HostStarted,
    MemberModerated,
    RoomSuspended,
    RunCancelled,
    RunFailed,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase, ToolApproval
from genie_core.room.view.agents import agent_path
from genie_core.room.view.approvals import arguments_line, plain_arguments, risk_of
from genie_core.room.view.kinds import ABOUT_ROOM, STEPS
from genie_core.room.view.plain import plain_text
from genie_core.room.view.reader import entry_of, resolution, run_of
from genie_core.room.view.spoken import spoken_in
from genie_core.room.view.wording import CUT, UNHANDLED, because
from genie_core.text.safe import visible, visible_line

TITLE_CHARS: Final = 200
"""Longest part of a call that its title shows; the content has all of it."""

ALLOW: Final = "allow"
ALWAYS: Final = "always"
DENY: Final = "deny"

ANSWERS: Final = {
    ALLOW: Answer(allow=True),
    ALWAYS: Answer(allow=True, scope="session"),
    DENY: Answer(allow=False),
}
"""The meanings of the options of a permission request."""

_KINDS: Final[dict[str, ToolKind]] = {
    "read": "read",
    "write": "edit",
    "execute": "execute",
    "network": "fetch",
}
_STATUS: Final[dict[str, ToolCallStatus]] = {
    "approved": "in_progress",
    "denied": "failed",
    "expired": "failed",
    "parked": "pending",
}
_TICKS: Final = re.compile("`+")
_PICTURE: Final = re.compile(r"!(?=\[)|<(?=img)", re.IGNORECASE)


# -- text


LEFT_OUT: Final = ABOUT_ROOM - {HostStarted, RoomSuspended, MemberModerated} | STEPS
"""Kinds of events without a line: steps of a run are thoughts and tool calls."""


def is_message(event: Event) -> bool:
    """Whether an event is a message or an answer, complete or not, that can be read here."""
    said = spoken_in(event)
    return said is not None and (bool(said.text) or not said.is_private)


def is_line(event: Event) -> bool:
    """Whether an event is shown as a line, by `line_of`."""
    body = event.original.body
    if isinstance(body, RunFailed | RunCancelled):
        return bool(body.text)
    is_readable = not getattr(body, "sealed", ()) or bool(getattr(body, "text", ""))
    return is_readable and type(body) not in LEFT_OUT


def line_of(event: Event, state: RoomState) -> str:
    """Return the text of an event that `is_line`; empty if it is about a private message."""
    entry = entry_of(event, state, tab=0)
    return "" if entry is None else plain_text(entry, numbered=False, marked=True)


def quoted(text: str) -> str:
    """Return a text of another member as a Markdown quote of its own.

    Later lines are indented, so that none of them looks like the first line of another quote.
    Pictures are not loaded: their address would tell its server who reads this.
    """
    first, *more = _PICTURE.sub(r"\\\g<0>", text).split("\n")
    return "\n".join(["", f"> {first}", *(f">   {line}".rstrip() for line in more), "", ""])


def end_line(thread: MessageThread, state: RoomState) -> str:
    """Say why the work on a message ended without an answer; empty if there is one."""
    if thread.phase is Phase.UNHANDLED:
        return UNHANDLED
    if thread.answer is not None and thread.phase is Phase.ANSWERED:
        return CUT if thread.answer.cut else ""
    run = run_of(thread, state)
    return run.line if run is not None else ""


def fenced(text: str) -> str:
    """Return a text as a Markdown code block, which nothing in it can end."""
    fence = "`" * max(3, *(len(run) + 1 for run in _TICKS.findall(text)), 3)
    return f"{fence}\n{text}\n{fence}"


def code_span(text: str) -> str:
    """Return one line as a Markdown code span, which nothing in it can end."""
    runs = _TICKS.findall(text)
    fence = "`" * max(1, *(len(run) + 1 for run in runs), 1)
    space = " " if runs else ""
    return f"{fence}{space}{text}{space}{fence}"


# -- tool calls


def title_of(call: ToolApproval, asker: str) -> str:
    """Return the title of a call; `asker` is the person who asked for it, empty for oneself."""
    line = visible_line(
        f"{call.tool}: {arguments_line(call.arguments, withheld=call.withheld)}".strip()
    )
    if len(line) > TITLE_CHARS:
        line = f"{line[:TITLE_CHARS]}…"
    asked = f" for {code_span(visible_line(asker))}" if asker else ""
    return f"{code_span(line)}{asked}"


def call_content(
    call: ToolApproval, effects: ToolEffects | None, folder: Path | None
) -> list[ContentToolCallContent | FileEditToolCallContent]:
    """Return all that is known of a call: its arguments, its effects, and its change."""
    by = "" if call.agent == SYSTEM else f"by {agent_path(call.agent)}"
    risk = f"at worst it {risk_of(call)}" if risk_of(call) else ""
    known = (str(each) for each in effects.known) if effects is not None else call.effects
    lines = [
        plain_arguments(call.arguments, withheld=call.withheld),
        *(visible_line(each) for each in known),
        *(visible_line(each) for each in (by, risk, call.because) if each),
        f"on {visible_line(call.where)}" if call.where else "",
    ]
    if effects is not None and effects.refusal:
        lines.append(f"the tool will refuse it: {visible_line(effects.refusal)}")
    text = fenced("\n".join(filter(None, lines)))
    content: list[ContentToolCallContent | FileEditToolCallContent] = [
        ContentToolCallContent(type="content", content=text_block(text))
    ]
    if effects is not None and effects.diff:
        content += _changes(effects, folder)
    return content


def _changes(effects: ToolEffects, folder: Path | None) -> list[FileEditToolCallContent]:
    written = effects.targets("write")
    path = visible_line(written[0]) if len(written) == 1 else f"{len(written) or 'some'} files"
    place = str(folder / path) if folder is not None else path
    return [
        FileEditToolCallContent(type="diff", path=place, old_text=old or None, new_text=new)
        for old, new in hunks(effects.diff)
    ]


def hunks(diff: str) -> list[tuple[str, str]]:
    """Return the text before and after of each hunk of a diff in the format of `diff -u`."""
    found: list[tuple[list[str], list[str]]] = []
    for line in diff.split("\n"):
        if line.startswith("@@"):
            found.append(([], []))
        elif found and line[:1] in (" ", "-", "+") and line:
            old, new = found[-1]
            text = visible(line[1:], tab=0)
            if line[:1] != "+":
                old.append(text)
            if line[:1] != "-":
                new.append(text)
    return [("\n".join(old), "\n".join(new)) for old, new in found]


def call_start(
    call: ToolApproval, asker: str, effects: ToolEffects | None, folder: Path | None
) -> ToolCallStart:
    """Return the news that an agent wants to make a call."""
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=call.id,
        title=title_of(call, asker),
        kind=_KINDS.get(call.risk, "other"),
        status="pending",
        content=list(call_content(call, effects, folder)),
    )


def call_resolved(call: ToolApproval, resolved: ApprovalResolved) -> ToolCallProgress:
    """Return the news that a call was answered; its content stays."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call.id,
        status=_STATUS[resolved.outcome],
    )


def outcome_line(call: ToolApproval, resolved: ApprovalResolved, by: str) -> str:
    """Say how a call was answered, and why."""
    text = resolution(resolved, call.tool, by)[2]
    return code_span(because(text, resolved.reason or ""))


def call_ended(approval: str, *, complete: bool) -> ToolCallProgress:
    """Return the news that the run of an allowed call has ended."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=approval,
        status="completed" if complete else "failed",
    )


def question_about(
    call: ToolApproval, asker: str, effects: ToolEffects | None, folder: Path | None
) -> ToolCallUpdate:
    """Return the call that a permission request is about."""
    return ToolCallUpdate(
        tool_call_id=call.id,
        title=title_of(call, asker),
        kind=_KINDS.get(call.risk, "other"),
        status="pending",
        content=list(call_content(call, effects, folder)),
    )


def options_for(effects: ToolEffects | None, *, is_open: bool) -> list[PermissionOption]:
    """Return the answers that a person can give to a call."""
    options = [PermissionOption(option_id=ALLOW, name="Allow", kind="allow_once")]
    if is_open and effects is not None and effects.is_grantable:
        name = "Allow this same call for the session"
        options.append(PermissionOption(option_id=ALWAYS, name=name, kind="allow_always"))
    options.append(PermissionOption(option_id=DENY, name="Deny", kind="reject_once"))
    return options
