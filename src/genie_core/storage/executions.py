"""The journal of executions: lines among a session's messages that say how each went on.

A handled message names its execution, and an answer the one that it ends. The other lines have
`execution`, its id, and one of

- `query` with `decided`: it began with `delegate`, which adds no message;
- `decided`: the decision to delegate;
- `asked`: a tool call waits for approval;
- `resolved`, the id of a call, with `approved`: a person answered;
- `resumed`: it was taken up again; calls that waited don't any more;
- `ended`: how it ended without an answer.
"""

from asyncio import Future
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from secrets import token_hex
from typing import Any, Final, Literal, TypeAlias

from genie_core.agent.approval import Approval, ApprovalContext, Verdict, approval_id
from genie_core.errors import summary
from genie_core.execution import Decided, Execution
from genie_core.message import Attachment, Message
from genie_core.reasoner.decision import decision
from genie_core.storage.journal import encode_json

End: TypeAlias = Literal["ignored", "failed", "cancelled"]
Write: TypeAlias = "Callable[[dict[str, Any]], Future[None]]"

_EXECUTION: Final = "execution"
_ANSWERS: Final = "answers"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A tool call of an execution that a process left unfinished.

    `approved` is None if the call still waited for an answer. A call that was approved may have
    run.
    """

    id: str
    sender: str
    tool_name: str
    tool_args: tuple[Any, ...]
    tool_kwargs: dict[str, Any]
    requested_at: datetime
    approved: bool | None = None


@dataclass(slots=True)
class ExecutionRecord:
    """An execution as its journal tells it.

    `index` is its message's place in the chat, None for a query without message. `attachments` are
    those that the decision handed to the agent.
    """

    id: str
    message: Message
    index: int | None
    decided: Decided | None = None
    attachments: list[Attachment] = field(default_factory=list)
    calls: dict[str, RecordedCall] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Unfinished:
    """An execution without an outcome, left by a process that ended.

    Exactly one of `resume`, `answer` and `close` can be called, once; a further call raises
    `NotUnfinished`. `approvals` are the calls that waited for an answer; `allowed` are those that
    were approved, which may have run.
    """

    id: str
    message: Message
    decided: Decided | None
    approvals: list[RecordedCall]
    allowed: list[RecordedCall]
    _resume: Callable[[str], Execution]
    _answer: "Callable[[str, Message], Future[None]]"
    _close: "Callable[[str, str], Future[None]]"

    def resume(self) -> Execution:
        """Go on with the work: with the decision, or with the query if there is one already.

        The agent starts its run again and asks for approval again, of calls that ran before, too.
        """
        return self._resume(self.id)

    def answer(self, message: Message) -> "Future[None]":
        """Add an answer to the chat, which ends the execution.

        It gets the request id of the message if it has none. The future completes when it is on
        disk, and may be ignored.
        """
        return self._answer(self.id, message)

    def close(self, reason: str = "") -> "Future[None]":
        """End the execution without an answer; the future completes when that is on disk."""
        return self._close(self.id, reason)


class ExecutionJournal:
    """Writes down how executions go on; does nothing for an execution without id.

    The futures complete when the operating system has the line, which survives the death of this
    process. A line is written before its execution goes on.
    """

    def __init__(self, write: Write, *, active: bool) -> None:
        self._write = write
        self._active = active
        self._prefix = token_hex(4)
        self._count = 0
        self._open: set[str] = set()

    def new_id(self) -> str:
        """Return an id for an execution; empty if none are to be journalled."""
        if not self._active:
            return ""
        self._count += 1
        return f"{self._prefix}-{self._count}"

    def handled(self, execution: str) -> dict[str, str]:
        """Return the part of a message's line about its execution."""
        if not execution:
            return {}
        self._open.add(execution)
        return {_EXECUTION: execution}

    def answered(self, execution: str) -> dict[str, str]:
        """Return the part of an answer's line about the execution that it ends."""
        if not execution:
            return {}
        self._open.discard(execution)
        return {_ANSWERS: execution}

    def delegated(
        self, execution: str, query: Message, decided: Decided, attachments: Iterable[Attachment]
    ) -> "Future[None] | None":
        """Note an execution that begins with its query."""
        if not execution:
            return None
        self._open.add(execution)
        line = {_EXECUTION: execution, "query": query.serialize()}
        return self._write(line | {"decided": _decision(decided, attachments)})

    def decided(
        self, execution: str, decided: Decided, attachments: Iterable[Attachment]
    ) -> "Future[None] | None":
        """Note the decision to delegate."""
        return self._note(execution, "decided", lambda: _decision(decided, attachments))

    def asked(self, execution: str, approval: Approval) -> "Future[None] | None":
        """Note a call that waits for approval."""
        return self._note(execution, "asked", lambda: _call(approval))

    def resolved(self, execution: str, approval: str, *, approved: bool) -> "Future[None] | None":
        """Note a person's answer."""
        if execution not in self._open:
            return None
        return self._write({_EXECUTION: execution, "resolved": approval, "approved": approved})

    def resumed(self, execution: str) -> "Future[None] | None":
        """Note that an unfinished execution goes on."""
        self._open.add(execution)
        return self._note(execution, "resumed", lambda: True)

    def ended(self, execution: str, end: End) -> "Future[None] | None":
        """Note the outcome, unless there is one."""
        if execution not in self._open:
            return None
        self._open.discard(execution)
        return self._write({_EXECUTION: execution, "ended": end})

    def closed(self, execution: str, reason: str) -> "Future[None]":
        """Note that a program closes an unfinished execution."""
        self._open.discard(execution)
        return self._write({_EXECUTION: execution, "ended": "closed", "reason": reason})

    def _note(self, execution: str, name: str, value: Callable[[], Any]) -> "Future[None] | None":
        return (
            self._write({_EXECUTION: execution, name: value()}) if execution in self._open else None
        )


@dataclass
class JournalledApprovals(ApprovalContext):
    """Writes each request down before a person sees it, and their answer before the tool runs."""

    journal: ExecutionJournal = field(kw_only=True)
    id: str = field(kw_only=True)

    async def verdict(
        self,
        sender: str,
        tool_name: str,
        tool_args: dict[str, Any],
        schema: dict[str, Any] | None = None,
    ) -> Verdict:
        verdict = await super().verdict(sender, tool_name, tool_args, schema)
        if not verdict.automatic:
            noted = self.journal.resolved(self.id, approval_id.get(), approved=bool(verdict))
            await written(noted)
        return verdict


@dataclass(frozen=True, slots=True)
class JournalledQueue:
    """Writes requests for approval down before it passes them on."""

    execution: Execution
    journal: ExecutionJournal

    async def put(self, item: Approval, /) -> None:
        await written(self.journal.asked(self.execution.id, item))
        await self.execution.put(item)


def journalled_approvals(execution: Execution, journal: ExecutionJournal) -> ApprovalContext:
    """Return the approvals of an execution, written down if it has an id."""
    if not execution.id:
        return execution.approvals()
    queue = JournalledQueue(execution, journal)
    return JournalledApprovals(queue, journal=journal, id=execution.id)


class ExecutionRecords:
    """Follows a session's journal, line by line, and keeps executions without an outcome."""

    def __init__(self) -> None:
        self.unfinished: dict[str, ExecutionRecord] = {}

    def message(self, line: Any, message: Message, index: int) -> None:
        """Take a message's line."""
        if isinstance(id_ := line.get(_EXECUTION), str):
            self.unfinished[id_] = ExecutionRecord(id_, message, index)
        if isinstance(answered := line.get(_ANSWERS), str):
            self.unfinished.pop(answered, None)

    def note(self, line: dict[str, Any]) -> None:
        """Take another line; raises for one that can't be understood."""
        id_ = line[_EXECUTION]
        if "query" in line:
            message = Message.deserialize(line["query"])
            self.unfinished[id_] = ExecutionRecord(id_, message, None)
        record = self.unfinished.get(id_)
        if record is not None:
            self._follow(record, line)

    def _follow(self, record: ExecutionRecord, line: dict[str, Any]) -> None:
        match line:
            case {"ended": _}:
                del self.unfinished[record.id]
            case {"decided": dict(decided)}:
                record.decided, record.attachments = _read_decision(decided)
            case {"asked": dict(asked)}:
                call = _read_call(asked)
                record.calls[call.id] = call
            case {"resolved": str(resolved), "approved": bool(approved)}:
                if resolved in record.calls:
                    record.calls[resolved] = replace(record.calls[resolved], approved=approved)
            case {"resumed": _}:
                record.calls = {id_: call for id_, call in record.calls.items() if call.approved}


def is_note(line: Any) -> bool:
    """Whether a line of a session's journal is about an execution, not a message."""
    return isinstance(line, dict) and _EXECUTION in line and "content" not in line


async def written(noted: "Future[None] | None") -> None:
    """Wait until something is written, or has failed to be.

    Cancelling the wait cancels the future, but not the write.
    """
    if noted is not None and not noted.done():
        with suppress(Exception):  # a failure is among the store's problems
            await noted


def _decision(decided: Decided, attachments: Iterable[Attachment]) -> dict[str, Any]:
    return {
        "query": decided.query,
        "receiver": decided.receiver,
        "reason": decided.reason,
        "elapsed": decided.elapsed,
        "attachments": [each.serialize() for each in attachments],
    }


def _read_decision(fields: dict[str, Any]) -> tuple[Decided, list[Attachment]]:
    query, receiver, reason = fields["query"], fields["receiver"], fields["reason"]
    decided = Decided(decision("delegate"), query, receiver, reason, float(fields["elapsed"]))
    return decided, [Attachment.deserialize(each) for each in fields["attachments"]]


def _call(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "sender": approval.sender,
        "tool_name": approval.tool_name,
        "tool_args": [_json(value) for value in approval.tool_args],
        "tool_kwargs": {name: _json(value) for name, value in approval.tool_kwargs.items()},
        "requested_at": approval.requested_at.isoformat(),
    }


def _json(value: Any) -> Any:
    """Return an argument, or its text if JSON can't express it."""
    try:
        encode_json(value)
    except (TypeError, ValueError, RecursionError):
        return _text(value)
    return value


def _text(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - an argument's own code
        return f"<{type(value).__name__}: {summary(error)}>"


def _read_call(fields: dict[str, Any]) -> RecordedCall:
    return RecordedCall(
        id=fields["id"],
        sender=fields["sender"],
        tool_name=fields["tool_name"],
        tool_args=tuple(fields["tool_args"]),
        tool_kwargs=fields["tool_kwargs"],
        requested_at=datetime.fromisoformat(fields["requested_at"]),
    )
