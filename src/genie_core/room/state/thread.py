"""A message of a room and its work, as the events tell."""

from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Any, Final, TypeAlias

import msgspec

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ChangeBody,
    DecisionMade,
    How,
    MessageEdited,
    MessagePosted,
    Outcome,
    ReactionChanged,
    RunBody,
    RunCancelled,
    RunFailed,
    Scope,
    Spending,
)


class Phase(Enum):
    """The progress of the work on a message."""

    DECIDING = "deciding"
    WORKING = "working"
    WAITING = "waiting"
    IGNORED = "ignored"
    ANSWERED = "answered"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNHANDLED = "unhandled"


Reactions: TypeAlias = dict[str, list[str]]
"""The names of those who reacted, by reaction."""

RUNNING: Final = frozenset({Phase.DECIDING, Phase.WORKING, Phase.WAITING})


@dataclass(slots=True)
class ToolApproval:
    """A tool call that needs, or needed, an answer.

    `outcome` is None while it waits. A parked one can be answered again after a resume. `edited`
    are a person's replacements of `arguments`. `unasked` and `how` are as in the events.
    """

    id: str
    message: int
    owner: str
    agent: str
    tool: str
    arguments: dict[str, Any]
    where: str
    seq: int
    asked_at: float
    withheld: bool = False
    outcome: Outcome | None = None
    reason: str | None = None
    scope: Scope = "once"
    settled_at: float | None = None
    settled_by: str = ""
    signature: bytes = b""
    because: str = ""
    risk: str = ""
    binding: str = ""
    edited: dict[str, Any] | None = None
    count: int = 0
    unasked: bool = False
    how: How = ""
    previous: bytes = b""
    origins: tuple[str, ...] = ()
    reads: str = ""
    effects: tuple[str, ...] = ()
    source: str = ""
    covers: str = ""
    sealed: tuple[bytes, ...] = ()

    @property
    def digest(self) -> str:
        """A digest of the call as shown, so that an answer can't allow another call."""
        call = self.agent, self.tool, self.arguments
        with suppress(TypeError, ValueError, RecursionError):  # such a call was never sent
            return sha256(msgspec.json.encode(call, order="deterministic")).hexdigest()
        return ""

    @property
    def call(self) -> ApprovalRequested:
        """The event that requested it."""
        return ApprovalRequested(
            self.message,
            self.id,
            self.agent,
            self.tool,
            self.arguments,
            self.where,
            self.withheld,
            signature=self.signature,
            because=self.because,
            risk=self.risk,
            binding=self.binding,
            origins=self.origins,
            reads=self.reads,
            effects=self.effects,
            source=self.source,
            unasked=self.unasked,
            previous=self.previous,
            sealed=self.sealed,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """The original of a reply: its author, and the start of its text; empty if it was deleted."""

    author: str
    text: str
    is_deleted: bool = False


@dataclass(slots=True)
class MessageThread:
    """A message and everything that its handler's engine did about it.

    `waiting` are the ids of its open approvals, in order, `parked` those of the ones that were kept
    for an answer when the work on it was interrupted, which goes on then. `recovered_from` is the person
    from whose copy it was recovered, empty for a message of this log; `answer_recovered_from` likewise for
    the answer. `spent` is the cost of decision and agents so far. `by_agent`: its author is an
    agent that is a member, so no engine answers it. `edit` is the latest one; `reactions` have the
    names of those who reacted so, `answer_reactions` likewise for the answer; `reacted` has the
    signature of the latest reaction of each member to either. `reply` is the message that it
    replies to, or to whose answer; 0 if none is known.
    """

    seq: int
    at: float
    author: str
    said: MessagePosted
    phase: Phase
    decision: DecisionMade | None = None
    decided_at: float | None = None
    calls: list[str] = field(default_factory=list)
    waiting: dict[str, None] = field(default_factory=dict)
    parked: dict[str, None] = field(default_factory=dict)
    answer: AnswerPosted | None = None
    answered_seq: int | None = None
    error: RunFailed | None = None
    ended_at: float | None = None
    recovered_from: str = ""
    answer_recovered_from: str = ""
    spent: tuple[Spending, ...] = ()
    cancelled: RunCancelled | None = None
    by_agent: bool = False
    edit: MessageEdited | None = None
    is_deleted: bool = False
    reactions: Reactions = field(default_factory=dict)
    answer_reactions: Reactions = field(default_factory=dict)
    reply: int = 0
    reacted: dict[str, bytes] = field(default_factory=dict)

    def about(self, body: RunBody | ChangeBody, by: str) -> bytes:
        """Return the signature for which a member signs a step or a change of this message.

        An edit names the edit before it, and a reaction the one before of the same member, so that
        no earlier one can take effect again. A deletion is final.
        """
        if isinstance(body, MessageEdited) and self.edit is not None:
            return self.edit.signature
        before = self.reacted.get(by) if isinstance(body, ReactionChanged) else None
        return self.said.signature if before is None else before

    @property
    def text(self) -> str:
        """The text as its author last left it; empty if they deleted it."""
        if self.is_deleted:
            return ""
        return self.said.text if self.edit is None else self.edit.text

    @property
    def is_private(self) -> bool:
        """Whether only its author and one member, or only its author, can read it and its answer."""
        return bool(self.said.to and self.said.sealed)

    @property
    def is_hidden(self) -> bool:
        """Whether it is private and can't be read here."""
        return self.is_private and not self.said.text

    @property
    def partial(self) -> str:
        """The text of an incomplete answer that was shown; empty if none."""
        end = self.error or self.cancelled
        return end.text if end is not None else ""

    @property
    def handler(self) -> str:
        """The person whose engine is responsible; empty if none.

        None is for a private message to another member, and only the author's own for a request.
        """
        handler = self.said.handler
        return "" if self.said.to and not self.author == self.said.to == handler else handler

    @property
    def device(self) -> str:
        """The terminal of that engine."""
        return self.said.device
