"""Allowances that a person gave from the keyboard, as they are listed."""

from dataclasses import dataclass

from genie_core.room.protocol.events import Scope


@dataclass(frozen=True, slots=True)
class Grant:
    """One tool of one agent that works for one person may be called without a question.

    `left` is how many calls remain, None if they are not counted; `until` is when it ends, in
    seconds since the epoch, None if with the session. `last_used` is None if it never was.
    """

    id: int
    person: str
    agent: str
    tool: str
    scope: Scope
    given: float
    left: int | None = None
    until: float | None = None
    used: int = 0
    last_used: float | None = None
