"""What became of a tool call, in words for the ledger and the timeline. Not yet safe to show."""

from typing import Any, Final

from genie_core.room.protocol.events import ApprovalRequested, ApprovalResolved, How
from genie_tui.changes import changes
from genie_tui.extent import extent_words

_ALLOWED: Final[dict[How, str]] = {
    "rule": " by rule",
    "grant": " in advance",
    "auto": " in auto mode",
}


def allowed(settled: ApprovalResolved, tool: str, by: str) -> str:
    """How a call was allowed, as in "allowed rm 5 times"."""
    if settled.how == "edit":
        return f"allowed {tool} with changes by {by}"
    return f"allowed {tool}{_ALLOWED.get(settled.how, extent_words(settled.scope, settled.count))}"


def denied(settled: ApprovalResolved, tool: str) -> str:
    """How a call was denied."""
    return f"denied {tool}{' by rule' if settled.how == 'rule' else ''}"


def outcome(settled: ApprovalResolved) -> str:
    """What became of it, by what, and how far."""
    words: dict[How, str] = {
        "edit": " with changes",
        "rule": " by rule",
        "grant": " by what was allowed before",
        "auto": " in auto mode",
    }
    return settled.outcome + words.get(settled.how, extent_words(settled.scope, settled.count))


def what_changed(asked: ApprovalRequested, edited: dict[str, Any] | None) -> list[str]:
    """The lines of a diff, empty if nothing was changed or it can't be seen here. Safe to show."""
    if edited is None or (asked.withheld and not asked.arguments):
        return []
    return changes(asked.arguments, edited)
