"""Requests and their resolutions in words: risk, arguments, and the outcome of a call."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from genie_core.room.client.model import ANY_CALL
from genie_core.room.engine.approval_policy import ANSWER_SERVER, EXCEED_BUDGET, SAMPLE_MODEL
from genie_core.room.protocol.events import (
    MOST_OF_SCOPE,
    SUMMARISE,
    ApprovalRequested,
    ApprovalResolved,
    How,
    Scope,
)
from genie_core.room.state.thread import ToolApproval
from genie_core.text.edited_arguments import argument_diff
from genie_core.text.format import counted
from genie_core.text.safe import visible

RISKS: Final = {
    "read": "reads",
    "write": "writes",
    "execute": "runs programs",
    "network": "uses the network",
    "unknown": "may do anything",
}
"""The worst effect of a tool, by its risk; the risk is also the style class of the line."""

SPENDS: Final = "costs more"
"""The worst effect of exceeding the budget."""


SENDS_ANSWER: Final = "sends your answer to the server"
"""The worst effect of answering a tool server."""

_REQUESTS: Final = {
    EXCEED_BUDGET: "go over the budget of this session",
    ANSWER_SERVER: "have you answer a tool server",
    SAMPLE_MODEL: "let a tool server use your model",
}

WITHHELD: Final = "what it is called with is the host's alone"
"""Shown instead of arguments that only the person who runs the tool may see."""


def reads_private(call: ToolApproval) -> str:
    """Say of a call that may read private data who sees its result."""
    who = "only you see" if call.sealed else "everyone in the room sees"
    return f"this may read private data, and {who} the answer"


_ALLOWED: Final[dict[How, str]] = {
    "rule": " by rule",
    "grant": " in advance",
    "auto": " in auto mode",
}


_TYPED: Final = re.compile(r"(?P<count>[0-9]{1,6})\s*(?P<unit>x|m|min|h)?", re.ASCII)

SCOPE_HINT: Final = f"write a number up to {MOST_OF_SCOPE:,}, or minutes such as 10m"


def risk_of(request: ToolApproval) -> str:
    """The worst that the call can do; empty if unknown."""
    if request.tool == ANSWER_SERVER:
        return SENDS_ANSWER
    spends = request.tool in (EXCEED_BUDGET, SAMPLE_MODEL)
    return SPENDS if spends else RISKS.get(request.risk, "")


def tool_words(tool: str) -> str:
    """Name the requested tool, or the subject of the program's own request."""
    return _REQUESTS.get(tool, tool)


def plain_value(value: Any) -> str:
    """Format a value for people: text unchanged, everything else as indented JSON."""
    if isinstance(value, str):
        return visible(value)
    return visible(json.dumps(value, indent=2, ensure_ascii=False, default=repr))


def plain_arguments(arguments: Mapping[str, Any], *, withheld: bool = False) -> str:
    """Format all arguments in full; empty if there are none."""
    if withheld and not arguments:
        return WITHHELD
    return "\n\n".join(
        f"{visible(name)}:\n{plain_value(value)}" for name, value in arguments.items()
    )


def arguments_line(arguments: Mapping[str, Any], *, withheld: bool = False) -> str:
    """Format the arguments in one line, without null ones. Not yet safe to show."""
    if withheld and not arguments:
        return WITHHELD
    given = {name: value for name, value in arguments.items() if value is not None}
    return ", ".join(f"{name} {_short(value)}" for name, value in given.items()) or "no arguments"


def _short(value: Any) -> str:
    """Format a value for a line; an empty text becomes visible."""
    if isinstance(value, str) and value:
        return value
    return json.dumps(value, ensure_ascii=False, default=repr)


def allowed(settled: ApprovalResolved, tool: str, by: str) -> str:
    """Describe how a call was allowed: "allowed rm 5 times". Not yet safe to show."""
    if is_summary(settled, tool):
        return f"{by}'s agent summarised its conversation"
    if settled.how == "own":
        return f"{tool} ran without asking"
    if tool == ANSWER_SERVER:
        return "answered a tool server"
    if settled.how == "edit":
        return f"allowed {tool} with changes by {by}"
    return f"allowed {tool}{_ALLOWED.get(settled.how, _reach(settled))}"


def is_summary(settled: ApprovalResolved, tool: str) -> bool:
    """Whether a call only records that an agent has shortened its own conversation."""
    return settled.how == "own" and tool == SUMMARISE


def denied(settled: ApprovalResolved, tool: str) -> str:
    """Describe how a call was denied. Not yet safe to show."""
    return f"denied {tool}{' by rule' if settled.how == 'rule' else ''}"


def outcome(settled: ApprovalResolved) -> str:
    """Describe the outcome, its cause and its scope."""
    if settled.how == "own":
        return "made without asking"
    words: dict[How, str] = {
        "edit": " with changes",
        "rule": " by rule",
        "grant": " by what was allowed before",
        "auto": " in auto mode",
    }
    return settled.outcome + words.get(settled.how, _reach(settled))


def _reach(settled: ApprovalResolved) -> str:
    """Return how far an answer reaches: " for the session (git log*)"; empty for a single call."""
    words = scope_words(settled.scope, settled.count)
    if not words or not settled.covers:
        return words
    return f"{words} ({'any call' if settled.covers == ANY_CALL else settled.covers})"


def what_changed(asked: ApprovalRequested, edited: dict[str, Any] | None) -> list[str]:
    """Return the lines of a diff, safe to show; empty if nothing changed or it is hidden here."""
    if edited is None or (asked.withheld and not asked.arguments):
        return []
    return argument_diff(asked.arguments, edited)


def read_scope(text: str) -> tuple[Scope, int] | None:
    """Parse "5" as calls and "10m" or "1h" as minutes; None for other text."""
    found = _TYPED.fullmatch(text.strip().lower())
    if found is None:
        return None
    count, unit = int(found["count"]), found["unit"] or "x"
    number = count * 60 if unit == "h" else count
    if not 1 <= number <= MOST_OF_SCOPE:
        return None
    return ("times" if unit == "x" else "minutes"), number


def use_of(tool: str, subject: str, covers: str) -> str:
    """Describe the permission of an answer: "use rm with any arguments". Not yet safe to show."""
    if covers == ANY_CALL:
        return f"use {tool} with any arguments"
    if covers:
        return f"use {tool} ({covers})"
    return f"repeat exactly this call of {tool} ({subject})"


def extent_words(scope: Scope, count: int) -> str:
    """Say how long an answer with this scope holds: "until the session ends"."""
    match scope:
        case "times" if count > 1:
            return f"this time and {count - 1:,} more"
        case "minutes":
            return f"for {counted(count, 'minute')}"
        case "session":
            return "until the session ends"
        case _:
            return "this time only"


def scope_words(scope: Scope, count: int) -> str:
    """Return the words after "allowed", with a leading space; empty for a single call."""
    match scope:
        case "session":
            return " for the session"
        case "times" if count > 1:
            return f" {count} times"
        case "minutes" if count == 1:
            return " for a minute"
        case "minutes":
            return f" for {count} minutes"
        case _:
            return ""
