"""Which things a call would bring together that must not meet without a question."""

from collections.abc import Sequence
from typing import Final

from genie_core.room.engine.approval_policy import ONLY_PEOPLE_ALLOW, PolicyResult
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.state.reading import Reading

MOST_ORIGINS: Final = 8
"""Origins that a request names."""

ORIGIN_CHARS: Final = 120


def origins_of(reading: Reading, owner: str, given: Sequence[str] = ()) -> tuple[str, ...]:
    """Say whose words the agents have read, beside those of their owner.

    `given` are texts that no message has.
    """
    people = [
        f"messages of {'the agent ' if by_agent else ''}{name}"
        for name, by_agent in reading.authors.items()
        if name != owner
    ]
    origins = [origin[:ORIGIN_CHARS] for origin in (*people, *given, *reading.sources)]
    more = len(origins) - MOST_ORIGINS
    return (*origins[:MOST_ORIGINS], *([f"{more:,} more"] if more > 0 else []))


def mixture(reading: Reading, owner: str, others: bool, result: PolicyResult) -> str:  # noqa: FBT001 - one of the three things that meet
    """Say which things a call would bring together that must not meet; empty if none.

    These are private data, words that are not the owner's, and a way out: the answer if `others`
    see it, or a tool that can send the read data out.
    """
    origins = origins_of(reading, owner, result.sources)
    if not origins:
        return ""
    words = origins[0] if len(origins) == 1 else f"{origins[0]} and others"
    effects = result.effects
    reads_all = result.risk == "execute" and effects.anything
    if (effects.private or reads_all) and others:
        return f"the answer could show private data to everyone here, and {words} may have prompted the call"
    if _leads_out(result) and (effects.reads or owner in reading.owners):
        return (
            f"it could send data from your files elsewhere, and {words} may have prompted the call"
        )
    return ""


def source_of(tool: str, risk: str, effects: ToolEffects) -> str:
    """Name the texts of others that a call reads: a page, a server, other rooms."""
    if tool in ONLY_PEOPLE_ALLOW:
        return ""
    if risk == "unknown":
        return f"results of {tool}"[:ORIGIN_CHARS]
    return effects.source[:ORIGIN_CHARS]


def _leads_out(result: PolicyResult) -> bool:
    """Whether a call can send something elsewhere than into the answer."""
    if result.risk == "execute":
        return not result.effects.isolated
    return result.risk in ("network", "unknown")
