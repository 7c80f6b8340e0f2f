"""What a person has granted beyond the call in front of them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import msgspec

from genie_core.agent.approval import Approval
from genie_core.room.client.model import Answer
from genie_core.room.engine.arguments import digest, shown
from genie_core.room.protocol.events import MOST_OF_SCOPE, Scope
from genie_core.room.state.thread import ToolApproval

MINUTE: Final = 60.0

CHANGED: Final = "the tool is not the one any more that this call was allowed for; ask again"


@dataclass(frozen=True, slots=True)
class Grant:
    """Lets one agent that works for one person call one tool without asking.

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


class Grants:
    """Answers requests on their owner's behalf, as far as the owner has granted it.

    A `Grant` holds until the session ends, for so many calls, or for so many minutes. It does not
    cover a tool whose schema has changed since.

    A parked call that is allowed after a pause gets a one-time grant: for exactly this call with
    exactly these arguments, in the next run for its message. If the tool has changed since, the
    call is denied.

    `clock` returns the time in seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._grants: dict[int, Grant] = {}
        self._schemas: dict[int, bytes] = {}
        self._ids = count(1)
        self._once: dict[int, list[ToolApproval]] = {}
        self._edited: dict[str, dict[str, Any]] = {}

    @property
    def active(self) -> tuple[Grant, ...]:
        self._drop_ended()
        return tuple(self._grants.values())

    def add(
        self,
        person: str,
        agent: str,
        tool: str,
        scope: Scope = "session",
        number: int = 0,
        *,
        request: Approval | None = None,
    ) -> None:
        """Let this agent call this tool for this person as far as the scope reaches.

        The schema of `request` is the one that the grant covers; without it, the first call that
        uses the grant decides. The call that is being answered is the first of `number` "times".
        "once" grants nothing.
        """
        number = min(max(number, 0), MOST_OF_SCOPE)
        now = self._clock()
        left = number - 1 if scope == "times" else None
        until = now + number * MINUTE if scope == "minutes" else None
        if scope == "once" or (scope != "session" and number < 1) or left == 0:
            return
        grant = Grant(next(self._ids), person, agent, tool, scope, now, left, until)
        self._grants[grant.id] = grant
        if request is not None:
            self._schemas[grant.id] = _schema(request)

    def add_once(self, parked: ToolApproval, edited: dict[str, Any] | None = None) -> None:
        """Let the next run for the parked call's message make this call, perhaps with changes."""
        self._once.setdefault(parked.message, []).append(parked)
        if edited is not None:
            self._edited[parked.id] = edited

    def once_for(self, message: int) -> tuple[ToolApproval, ...]:
        """List the parked calls that a run for this message may make and has not made."""
        return tuple(self._once.get(message, ()))

    def drop_once(self, message: int, offered: tuple[ToolApproval, ...]) -> None:
        """Drop the one-time grants that a run was offered and did not use."""
        calls = self._once.pop(message, [])
        left = [call for call in calls if call not in offered]
        if left:
            self._once[message] = left
        for call in calls:
            if call not in left:
                self._edited.pop(call.id, None)

    def revoke(self, grant: int) -> bool:
        """Take a grant back; False if there is none with this id any more."""
        self._drop_ended()
        return self._grants.pop(grant, None) is not None

    def revoke_for(self, person: str) -> None:
        """Take back all grants for a person who left: another may have the name next time."""
        self._grants = {id_: each for id_, each in self._grants.items() if each.person != person}

    def answer(self, person: str, message: int, request: Approval) -> Answer | None:
        """Answer a request by a grant, or return None; uses up a one-time grant, or one call."""
        for parked in self._once.get(message, ()):
            if (parked.tool, parked.arguments) == (request.tool_name, shown(request)):
                self._once[message].remove(parked)
                edited = self._edited.pop(parked.id, None)
                if parked.binding and parked.binding != digest(request):
                    return Answer(allow=False, reason=CHANGED)
                return Answer(allow=True, reason="allowed after the pause", arguments=edited)
        self._drop_ended()
        for grant in self._grants.values():
            if (grant.person, grant.agent, grant.tool) == (
                person,
                request.sender,
                request.tool_name,
            ) and self._schemas.setdefault(grant.id, _schema(request)) == _schema(request):
                return Answer(allow=True, reason=self._use(grant))
        return None

    def _use(self, grant: Grant) -> str:
        left = None if grant.left is None else grant.left - 1
        used = replace(grant, left=left, used=grant.used + 1, last_used=self._clock())
        self._grants[grant.id] = used
        match used.scope:
            case "times":
                return f"allowed in advance, {left} more to come"
            case "minutes":
                return "allowed for some minutes"
            case _:
                return "allowed for this session"

    def _drop_ended(self) -> None:
        now = self._clock()
        for grant in list(self._grants.values()):
            if grant.left == 0 or (grant.until is not None and grant.until <= now):
                del self._grants[grant.id]


def _schema(request: Approval) -> bytes:
    """What tells a tool from another one of its name; nothing if it can't be encoded."""
    try:
        return msgspec.json.encode(request.schema, order="deterministic", enc_hook=repr)
    except (TypeError, ValueError, RecursionError):  # such a call is not shown, and not made
        return b""
