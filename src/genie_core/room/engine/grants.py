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
from genie_core.room.engine.tool_effects import ToolEffect, ToolEffects
from genie_core.room.protocol.events import MOST_OF_SCOPE, Scope
from genie_core.room.state.costs import kind_of
from genie_core.room.state.thread import ToolApproval

MINUTE: Final = 60.0

CHANGED_SINCE: Final = "the tool has changed since you allowed it, which ended your grant"
CHANGED: Final = "the tool has changed since this call was allowed; ask again"
FILE_CHANGED: Final = "the file has changed since this call was allowed; read it and ask again"


@dataclass(frozen=True, slots=True)
class Grant:
    """Lets one agent that works for one person call one tool without asking.

    `covers` is as in `Answer`; a grant that covers the same call has its `arguments` and `effects`.
    `message` is the one that led to it, `parked` the parked call that was answered. `left` counts the remaining calls, None for no limit.
    `granted_at`, `until` and `last_used` are in seconds since the epoch; `until` is None for a
    grant that ends with the session, `last_used` for one that was never used.
    """

    id: int
    person: str
    agent: str
    tool: str
    scope: Scope
    granted_at: float
    covers: str
    left: int | None = None
    until: float | None = None
    used: int = 0
    last_used: float | None = None
    arguments: dict[str, Any] | None = None
    effects: tuple[ToolEffect, ...] = ()
    message: int = 0
    parked: ToolApproval | None = None

    def as_rule(self) -> dict[str, str] | None:
        """Return it as a rule, by the settings' names; None if no rule can say it.

        The rule is wider: it holds for all people and rooms.
        """
        rule = {"effect": "allow", "tool": self.tool, "agent": kind_of(self.agent)}
        if self.covers == ANY_CALL:
            return rule
        kinds = {each.kind for each in self.effects}
        if self.covers == SAME_CALL or not kinds:
            return None
        if "run" in kinds:
            return {**rule, "command": self.covers}
        return {**rule, ("host" if "connect" in kinds else "path"): self.covers}


@dataclass(frozen=True, slots=True)
class OneTimeGrant:
    """Lets the next run for a message make a call that was parked, with `edited` arguments if given.

    `original` is a digest of the file that the call changes, as the person saw it.
    """

    call: ToolApproval
    edited: dict[str, Any] | None = None
    original: str = ""


@dataclass(frozen=True, slots=True)
class Granted:
    """An answer by a grant; `original` is as in `OneTimeGrant`."""

    answer: Answer
    original: str = ""


class Grants:
    """Answers requests that a person has granted in advance.

    A `Grant` lasts for the session, a number of calls, or a number of minutes, and ends when the
    tool's schema or description changes: `drop_changed`.

    Allowing a parked call adds a one-time grant, for exactly this call with exactly these
    arguments, in the next run for its message. If the tool or the file to change has changed since,
    the call is denied.

    `clock` returns the time in seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._grants: dict[int, Grant] = {}
        self._schemas: dict[int, bytes] = {}
        self._ids = count(1)
        self._once: dict[int, list[OneTimeGrant]] = {}

    @property
    def active(self) -> tuple[Grant, ...]:
        self._drop_ended()
        return tuple(self._grants.values())

    def add(
        self,
        person: str,
        agent: str,
        tool: str,
        answer: Answer,
        effects: ToolEffects,
        *,
        arguments: dict[str, Any] | None = None,
        request: Approval | None = None,
        parked: ToolApproval | None = None,
        message: int = 0,
    ) -> None:
        """Let this agent call this tool for this person, as far as the answer says.

        `arguments` and `effects` are those of the answered call, for a grant that covers the same
        call. The grant covers the schema of `request`, or of the `parked` call as far as its digest
        tells, or without both the schema of the first call that uses the grant. With scope "times",
        the answered call is the first of them. Scope "once" adds no grant.
        """
        number = min(max(answer.count, 0), MOST_OF_SCOPE)
        now = self._clock()
        left = number - 1 if answer.scope == "times" else None
        until = now + number * MINUTE if answer.scope == "minutes" else None
        is_counted = answer.scope not in ("once", "session")
        if answer.scope == "once" or (is_counted and number < 1) or left == 0:
            return
        grant = Grant(
            next(self._ids),
            person,
            agent,
            tool,
            answer.scope,
            now,
            answer.covers,
            left,
            until,
            arguments=arguments,
            effects=effects.known,
            message=message,
            parked=parked,
        )
        for old in list(self._grants.values()):
            if _reach(old) == _reach(grant):
                del self._grants[old.id]
        self._grants[grant.id] = grant
        if request is not None:
            self._schemas[grant.id] = _schema(request)

    def add_once(self, grant: OneTimeGrant) -> None:
        self._once.setdefault(grant.call.message, []).append(grant)

    def once_for(self, message: int) -> tuple[ToolApproval, ...]:
        """Return the parked calls that a run for this message may still make."""
        return tuple(each.call for each in self._once.get(message, ()))

    def drop_once(self, message: int, offered: tuple[ToolApproval, ...]) -> None:
        """Revoke the one-time grants that a run was `offered` and did not use."""
        left = [each for each in self._once.pop(message, []) if each.call not in offered]
        if left:
            self._once[message] = left

    def revoke(self, grant: int) -> bool:
        """Revoke a grant; False if it has ended."""
        self._drop_ended()
        return self._grants.pop(grant, None) is not None

    def revoke_for(self, person: str) -> None:
        """Revoke all grants for a person who left; another may take the name next."""
        self._grants = {id_: each for id_, each in self._grants.items() if each.person != person}

    def drop_changed(self, person: str, request: Approval) -> bool:
        """End the grants for a tool that has changed since; True if there were any."""
        caller = person, request.sender, request.tool_name
        changed = [
            grant.id
            for grant in self._grants.values()
            if _caller(grant) == caller and not self._is_same_tool(grant, request)
        ]
        for id_ in changed:
            del self._grants[id_]
        return bool(changed)

    def answer(
        self,
        person: str,
        request: Approval,
        effects: ToolEffects,
        is_covered: Callable[[str], bool],
    ) -> Granted | None:
        """Answer a request by a grant, which uses up one call; None if no grant covers it.

        `is_covered` returns whether a pattern covers all that the call would do.
        """
        grant = self.find(person, request, effects, is_covered)
        if grant is None:
            return None
        return Granted(Answer(allow=True, reason=self._use(grant)))

    def find(
        self,
        person: str,
        request: Approval,
        effects: ToolEffects,
        is_covered: Callable[[str], bool],
    ) -> Grant | None:
        """Return a grant that covers a request; None if there is none."""
        self._drop_ended()
        self.drop_changed(person, request)
        caller = person, request.sender, request.tool_name
        for grant in self._grants.values():
            if _caller(grant) == caller and _covers(grant, request, effects, is_covered):
                return grant
        return None

    def answer_once(self, message: int, request: Approval, effects: ToolEffects) -> Granted | None:
        """Answer a request by a one-time grant; None if there is none for it."""
        for grant in self._once.get(message, ()):
            parked = grant.call
            call = kind_of(parked.agent), parked.tool, parked.arguments
            if call != (kind_of(request.sender), request.tool_name, shown(request)):
                continue
            self._once[message].remove(grant)
            if parked.binding and parked.binding != digest(request):
                return Granted(Answer(allow=False, reason=CHANGED))
            if grant.edited is None and grant.original not in ("", effects.original):
                return Granted(Answer(allow=False, reason=FILE_CHANGED))
            answer = Answer(allow=True, reason="allowed after the pause", arguments=grant.edited)
            return Granted(answer, grant.original)
        return None

    def _is_same_tool(self, grant: Grant, request: Approval) -> bool:
        """Whether schema and description are those of the call that led to a grant."""
        known, parked = self._schemas.get(grant.id), grant.parked
        if known is None and parked is not None and parked.binding:
            tool, schema = request.tool_name, request.schema
            if digest_of(tool, schema, parked.arguments) != parked.binding:
                return False
        return self._schemas.setdefault(grant.id, _schema(request)) == _schema(request)

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


def _caller(grant: Grant) -> tuple[str, str, str]:
    return grant.person, grant.agent, grant.tool


def _reach(grant: Grant) -> tuple[Any, ...]:
    """The scope and person of a grant without a limit; itself if it has one."""
    if grant.scope != "session":
        return (grant.id,)
    exact = (grant.arguments, grant.effects) if grant.covers == SAME_CALL else None
    return grant.person, grant.agent, grant.tool, grant.covers, exact


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
