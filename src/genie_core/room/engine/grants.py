"""Grants: permissions that cover more than one tool call."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import msgspec

from genie_core.agent.approval import Approval
from genie_core.room.client.model import ANY_CALL, SAME_CALL, Answer
from genie_core.room.engine.arguments import digest, digest_of, given, shown
from genie_core.room.engine.effects import UNKNOWN_EFFECTS, ToolEffect, ToolEffects
from genie_core.room.protocol.events import MOST_OF_SCOPE, Scope
from genie_core.room.state.thread import ToolApproval

MINUTE: Final = 60.0

CHANGED: Final = "the tool has changed since this call was allowed; ask again"


@dataclass(frozen=True, slots=True)
class Grant:
    """Lets one agent that works for one person call one tool without asking.

    `covers` is as in `Answer`; a grant that covers the same call has its `arguments` and `effects`.
    `asked` is the message that led to it. `left` counts the remaining calls, None for no limit. `given`, `until` and `last_used` are in
    seconds since the epoch; `until` is None for a grant that ends with the session, `last_used`
    for one that was never used.
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
    covers: str = ""
    arguments: dict[str, Any] | None = None
    effects: tuple[ToolEffect, ...] = ()
    asked: int = 0


class Grants:
    """Answers requests that a person has granted in advance.

    A `Grant` lasts for the session, a number of calls, or a number of minutes. It does not cover a
    tool whose schema or description has changed since.

    Allowing a parked call adds a one-time grant, for exactly this call with exactly these
    arguments, in the next run for its message. If the tool has changed since, the call is denied.

    `clock` returns the time in seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._grants: dict[int, Grant] = {}
        self._schemas: dict[int, bytes] = {}
        self._ids = count(1)
        self._parked: dict[int, ToolApproval] = {}
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
        covers: str = ANY_CALL,
        arguments: dict[str, Any] | None = None,
        effects: ToolEffects = UNKNOWN_EFFECTS,
        asked: int = 0,
        parked: ToolApproval | None = None,
    ) -> None:
        """Let this agent call this tool for this person, within the scope.

        `arguments` and `effects` are those of the call that is answered, for a grant that covers
        the same call. The grant covers the schema of `request`, or that of the `parked` call that is
        answered, or without both the schema of the first call that uses the grant. With scope "times", the call being answered is the first of `number`. Scope
        "once" adds no grant.
        """
        number = min(max(number, 0), MOST_OF_SCOPE)
        now = self._clock()
        left = number - 1 if scope == "times" else None
        until = now + number * MINUTE if scope == "minutes" else None
        if scope == "once" or (scope != "session" and number < 1) or left == 0:
            return
        grant = Grant(
            next(self._ids),
            person,
            agent,
            tool,
            scope,
            now,
            left,
            until,
            covers=covers,
            arguments=arguments,
            effects=effects.known,
            asked=asked,
        )
        self._grants[grant.id] = grant
        if request is not None:
            self._schemas[grant.id] = _schema(request)
        elif parked is not None and parked.binding:
            self._parked[grant.id] = parked

    def add_once(self, parked: ToolApproval, edited: dict[str, Any] | None = None) -> None:
        """Let the next run for the message make a parked call, with `edited` arguments if given."""
        self._once.setdefault(parked.message, []).append(parked)
        if edited is not None:
            self._edited[parked.id] = edited

    def once_for(self, message: int) -> tuple[ToolApproval, ...]:
        """Return the parked calls that a run for this message may still make."""
        return tuple(self._once.get(message, ()))

    def drop_once(self, message: int, offered: tuple[ToolApproval, ...]) -> None:
        """Revoke the one-time grants that a run was `offered` and did not use."""
        calls = self._once.pop(message, [])
        left = [call for call in calls if call not in offered]
        if left:
            self._once[message] = left
        for call in calls:
            if call not in left:
                self._edited.pop(call.id, None)

    def revoke(self, grant: int) -> bool:
        """Revoke a grant; False if it has ended."""
        self._drop_ended()
        return self._grants.pop(grant, None) is not None

    def revoke_for(self, person: str) -> None:
        """Revoke all grants for a person who left; another may take the name next."""
        self._grants = {id_: each for id_, each in self._grants.items() if each.person != person}

    def answer(
        self,
        person: str,
        message: int,
        request: Approval,
        effects: ToolEffects = UNKNOWN_EFFECTS,
        is_covered: Callable[[str], bool] = lambda pattern: False,
    ) -> Answer | None:
        """Answer a request by a grant, which uses up one call; None if no grant covers it.

        `is_covered` returns whether a pattern covers all that the call would do.
        """
        return self.answer_once(message, request, effects) or self._answer_granted(
            person, request, effects, is_covered
        )

    def answer_once(
        self, message: int, request: Approval, effects: ToolEffects = UNKNOWN_EFFECTS
    ) -> Answer | None:
        """Answer a request by a one-time grant; None if there is none for it."""
        for parked in self._once.get(message, ()):
            if (parked.tool, parked.arguments) == (request.tool_name, shown(request)):
                self._once[message].remove(parked)
                edited = self._edited.pop(parked.id, None)
                if parked.binding and parked.binding != digest(request, effects.diff):
                    return Answer(allow=False, reason=CHANGED)
                self._bind(parked, request)
                return Answer(allow=True, reason="allowed after the pause", arguments=edited)
        return None

    def _answer_granted(
        self,
        person: str,
        request: Approval,
        effects: ToolEffects,
        is_covered: Callable[[str], bool],
    ) -> Answer | None:
        self._drop_ended()
        caller = person, request.sender, request.tool_name
        for grant in self._grants.values():
            if (grant.person, grant.agent, grant.tool) != caller:
                continue
            parked = self._parked.get(grant.id)
            if parked is not None and not self._is_unchanged(parked, request):
                continue
            if self._schemas.setdefault(grant.id, _schema(request)) != _schema(request):
                continue
            if _covers(grant, request, effects, is_covered):
                return Answer(allow=True, reason=self._use(grant))
        return None

    def _bind(self, parked: ToolApproval, request: Approval) -> None:
        """Let the grants that a parked call led to cover the tool as it is now."""
        for id_ in [id_ for id_, each in self._parked.items() if each.id == parked.id]:
            self._schemas[id_] = _schema(request)
            del self._parked[id_]

    def _is_unchanged(self, parked: ToolApproval, request: Approval) -> bool:
        """Whether the tool is the one that a parked call was about, as far as its digest tells."""
        same = digest_of(request.tool_name, request.schema, parked.arguments) == parked.binding
        if same:
            self._bind(parked, request)
        return same

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


def _covers(
    grant: Grant, request: Approval, effects: ToolEffects, is_covered: Callable[[str], bool]
) -> bool:
    if grant.covers == SAME_CALL:
        return (grant.arguments, grant.effects) == (given(request), effects.known)
    return grant.covers == ANY_CALL or is_covered(grant.covers)


def _schema(request: Approval) -> bytes:
    try:
        return msgspec.json.encode(request.schema, order="deterministic", enc_hook=repr)
    except (TypeError, ValueError, RecursionError):  # `Approvals` refuses such a call
        return b""
