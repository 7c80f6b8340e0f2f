"""Rules of the settings that allow what a grant allows."""

from typing import TYPE_CHECKING

from genie_core.room.client.model import ANY_CALL, SAME_CALL
from genie_core.room.state.costs import kind_of

if TYPE_CHECKING:
    from genie_core.room.engine.grants import Grant


def rule_of(grant: "Grant") -> dict[str, str] | None:
    """Return a grant as a rule, by the settings' names; None if no rule can say it."""
    rule = {"effect": "allow", "tool": grant.tool, "agent": kind_of(grant.agent)}
    if grant.covers == ANY_CALL:
        return rule
    kinds = {each.kind for each in grant.effects}
    if grant.covers == SAME_CALL or not kinds:
        return None
    if "run" in kinds:
        return {**rule, "command": grant.covers}
    return {**rule, ("host" if "connect" in kinds else "path"): grant.covers}
