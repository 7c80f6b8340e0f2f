"""Requests and their resolutions in words: risk, arguments, and what became of a call."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from genie_core.room.engine.policy import EXCEED_BUDGET
from genie_core.room.protocol.events import (
    MOST_OF_SCOPE,
    ApprovalRequested,
    ApprovalResolved,
    How,
    Scope,
)
from genie_core.room.state.thread import ToolApproval
from genie_core.text.edited_arguments import argument_diff
from genie_core.text.safe import visible

RISKS: Final = {
    "read": "reads",
    "write": "writes",
    "execute": "runs programs",
    "network": "uses the network",
    "unknown": "may do anything",
}
"""What a tool can do at worst, by its risk; the risk is also the style class of the line."""

SPENDS: Final = "costs more"
"""What exceeding the budget does at worst."""


WITHHELD: Final = "what it is called with is the host's alone"
"""Shown instead of arguments that only the person who runs the tool may see."""


_ALLOWED: Final[dict[How, str]] = {
    "rule": " by rule",
    "grant": " in advance",
    "auto": " in auto mode",
}


_TYPED: Final = re.compile(r"(?P<count>[0-9]{1,6})\s*(?P<unit>x|m|min|h)?", re.ASCII)

SCOPE_HINT: Final = f"say how often or how long: 5, or 10m, up to {MOST_OF_SCOPE:,}"


def risk_of(request: ToolApproval) -> str:
    """What the call can do at worst; empty if nothing is known."""
    return SPENDS if request.tool == EXCEED_BUDGET else RISKS.get(request.risk, "")


def plain_value(value: Any) -> str:
    """A value as a person reads it: text as it is, everything else as indented JSON."""
    if isinstance(value, str):
        return visible(value)
    return visible(json.dumps(value, indent=2, ensure_ascii=False, default=repr))


def plain_arguments(arguments: Mapping[str, Any], *, withheld: bool = False) -> str:
    """All arguments in full, one after another; empty if there are none."""
    if withheld and not arguments:
        return WITHHELD
    return "\n\n".join(
        f"{visible(name)}:\n{plain_value(value)}" for name, value in arguments.items()
    )


def arguments_line(arguments: Mapping[str, Any], *, withheld: bool = False) -> str:
    """The arguments in one line, without those that are null. Not yet safe to show."""
    if withheld and not arguments:
        return WITHHELD
    given = {name: value for name, value in arguments.items() if value is not None}
    return ", ".join(f"{name} {_short(value)}" for name, value in given.items()) or "no arguments"


def _short(value: Any) -> str:
    """A value as a card writes it; an empty text as one that can be seen."""
    if isinstance(value, str) and value:
        return value
    return json.dumps(value, ensure_ascii=False, default=repr)


def allowed(settled: ApprovalResolved, tool: str, by: str) -> str:
    """How a call was allowed, as in "allowed rm 5 times". Not yet safe to show."""
    if settled.how == "edit":
        return f"allowed {tool} with changes by {by}"
    return f"allowed {tool}{_ALLOWED.get(settled.how, scope_words(settled.scope, settled.count))}"


def denied(settled: ApprovalResolved, tool: str) -> str:
    """How a call was denied. Not yet safe to show."""
    return f"denied {tool}{' by rule' if settled.how == 'rule' else ''}"


def outcome(settled: ApprovalResolved) -> str:
    """The outcome, what led to it, and how far it reaches."""
    words: dict[How, str] = {
        "edit": " with changes",
        "rule": " by rule",
        "grant": " by what was allowed before",
        "auto": " in auto mode",
    }
    return settled.outcome + words.get(settled.how, scope_words(settled.scope, settled.count))


def what_changed(asked: ApprovalRequested, edited: dict[str, Any] | None) -> list[str]:
    """The lines of a diff, safe to show; empty if nothing was changed or it can't be seen here."""
    if edited is None or (asked.withheld and not asked.arguments):
        return []
    return argument_diff(asked.arguments, edited)


def read_scope(text: str) -> tuple[Scope, int] | None:
    """So many calls, as "5", or so many minutes, as "10m" or "1h"; None if it is neither."""
    found = _TYPED.fullmatch(text.strip().lower())
    if found is None:
        return None
    count, unit = int(found["count"]), found["unit"] or "x"
    number = count * 60 if unit == "h" else count
    if not 1 <= number <= MOST_OF_SCOPE:
        return None
    return ("times" if unit == "x" else "minutes"), number


def scope_words(scope: Scope, count: int) -> str:
    """The words after "allowed", with a space before them; none for a single call."""
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
