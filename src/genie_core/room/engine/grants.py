"""What a person has allowed beyond the one call in front of them."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

import msgspec

from genie_core.agent.approval import Approval
from genie_core.privacy.redaction import mask_value, put_back
from genie_core.room.grants import Grant
from genie_core.room.protocol.events import MOST_OF_SCOPE, Scope
from genie_core.room.state.thread import ToolApproval

MINUTE: Final = 60.0

CHANGED: Final = "the tool is not the one any more that this call was allowed for; ask again"


@dataclass(frozen=True, slots=True)
class Cover:
    """An answer that was given before the question: whether the call may be made, and why.

    `arguments` are those to make it with, where a person has changed them.
    """

    allow: bool
    because: str
    arguments: dict[str, Any] | None = None


@dataclass(slots=True)
class Consent:
    """Allowances that answer later approvals on their owner's behalf.

    A grant covers one tool of one agent that works for one person: until the session ends, for so
    many calls, or for so many minutes. A tool whose schema has changed since then is another one. A revived call is one that was parked by a suspend and
    allowed afterwards: it covers exactly that call with exactly those arguments, once, in the next
    run for its message; if the tool has changed since then, it is refused.

    `clock` tells the time in seconds since the epoch.
    """

    clock: Callable[[], float] = time.time
    _grants: dict[int, Grant] = field(default_factory=dict)
    _schemas: dict[int, bytes] = field(default_factory=dict)
    _ids: "count[int]" = field(default_factory=lambda: count(1))
    _revived: dict[int, list[ToolApproval]] = field(default_factory=dict)
    _edited: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def grants(self) -> tuple[Grant, ...]:
        """The grants that still count, oldest first."""
        self._drop_ended()
        return tuple(self._grants.values())

    def grant(
        self,
        person: str,
        agent: str,
        tool: str,
        scope: Scope = "session",
        number: int = 0,
        *,
        call: Approval | None = None,
    ) -> None:
        """Let this agent call this tool for this person as far as the scope reaches.

        `call` is the one that was allowed, if it waits; else the first to use the grant stands for it.
        The call that is being answered is the first of `number` "times". "once" grants nothing.
        """
        number = min(max(number, 0), MOST_OF_SCOPE)
        now = self.clock()
        left = number - 1 if scope == "times" else None
        until = now + number * MINUTE if scope == "minutes" else None
        if scope == "once" or (scope != "session" and number < 1) or left == 0:
            return
        granted = Grant(next(self._ids), person, agent, tool, scope, now, left, until)
        self._grants[granted.id] = granted
        if call is not None:
            self._schemas[granted.id] = _schema(call)

    def revoke(self, grant: int) -> bool:
        """Take a grant back; False if there is none with this id any more."""
        self._drop_ended()
        return self._grants.pop(grant, None) is not None

    def withdraw(self, person: str) -> None:
        """Forget what was granted for a person: the name may be somebody else's next time."""
        self._grants = {id_: each for id_, each in self._grants.items() if each.person != person}

    def revive(self, proposal: ToolApproval, edited: dict[str, Any] | None = None) -> None:
        """Let the next run for the proposal's message make this very call, perhaps with changes."""
        self._revived.setdefault(proposal.message, []).append(proposal)
        if edited is not None:
            self._edited[proposal.id] = edited

    def revived(self, message: int) -> tuple[ToolApproval, ...]:
        """List the calls that a run for this message may make and has not made."""
        return tuple(self._revived.get(message, ()))

    def covers(self, person: str, message: int, approval: Approval) -> Cover | None:
        """The answer that a call has already, or None; uses up a revived call or one of a grant."""
        for proposal in self._revived.get(message, ()):
            if (proposal.tool, proposal.arguments) == (approval.tool_name, arguments(approval)):
                self._revived[message].remove(proposal)
                edited = self._edited.pop(proposal.id, None)
                if proposal.binding and proposal.binding != binding(approval):
                    return Cover(allow=False, because=CHANGED)
                return Cover(allow=True, because="allowed after the pause", arguments=edited)
        self._drop_ended()
        for grant in self._grants.values():
            if (grant.person, grant.agent, grant.tool) == (
                person,
                approval.sender,
                approval.tool_name,
            ) and self._schemas.setdefault(grant.id, _schema(approval)) == _schema(approval):
                return Cover(allow=True, because=self._use(grant))
        return None

    def forget(self, message: int, offered: tuple[ToolApproval, ...]) -> None:
        """Drop what a run was offered and did not use: consent does not wait for later."""
        calls = self._revived.pop(message, [])
        left = [call for call in calls if call not in offered]
        if left:
            self._revived[message] = left
        for call in calls:
            if call not in left:
                self._edited.pop(call.id, None)

    def _use(self, grant: Grant) -> str:
        left = None if grant.left is None else grant.left - 1
        used = replace(grant, left=left, used=grant.used + 1, last_used=self.clock())
        self._grants[grant.id] = used
        match used.scope:
            case "times":
                return f"allowed in advance, {left} more to come"
            case "minutes":
                return "allowed for some minutes"
            case _:
                return "allowed for this session"

    def _drop_ended(self) -> None:
        now = self.clock()
        for grant in list(self._grants.values()):
            if grant.left == 0 or (grant.until is not None and grant.until <= now):
                del self._grants[grant.id]


def arguments(approval: Approval) -> dict[str, Any]:
    """Put positional and keyword arguments into one table, as the room's log shows them.

    What JSON can't express is shown the way Python would, and known secrets are hidden. Raises
    what looking at a value raises.
    """
    shown: dict[str, Any] = mask_value(_table(approval))
    return shown


def unmasked(edited: dict[str, Any] | None, approval: Approval) -> dict[str, Any] | None:
    """What a person made of a call's `arguments`, with the secrets that were hidden from them."""
    if edited is None:
        return None
    whole: dict[str, Any] = put_back(edited, _table(approval))
    return whole


def _table(approval: Approval) -> dict[str, Any]:
    positional = {str(index): value for index, value in enumerate(approval.tool_args)}
    table = {**positional, **approval.tool_kwargs}
    plain: dict[str, Any] = msgspec.to_builtins(table, str_keys=True, enc_hook=repr)
    return plain


def _schema(approval: Approval) -> bytes:
    """What tells a tool from another one of its name; nothing if it can't be written down."""
    try:
        return msgspec.json.encode(approval.schema, order="deterministic", enc_hook=repr)
    except (TypeError, ValueError, RecursionError):  # such a call is not shown, and not made
        return b""


def binding(approval: Approval) -> str:
    """A digest of a call's tool, schema and arguments, in hex."""
    call = approval.tool_name, approval.schema, arguments(approval)
    plain = msgspec.json.encode(call, order="deterministic", enc_hook=repr)
    return hashlib.sha256(plain).hexdigest()
