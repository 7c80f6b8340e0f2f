"""One message's way through reasoner and agent, as a record that can be read repeatedly."""

import logging
from asyncio import Future, Task
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from genie_core.agent.approval import Approval, ApprovalContext, Verdict
from genie_core.errors import (
    ExecutionFailed,
    InvalidSetting,
    Stage,
    StageFailed,
    public_summary,
    summary,
)
from genie_core.message import SYSTEM, Message
from genie_core.preferences import PreferencesSource
from genie_core.reasoner.decision import AnyDecision, decision
from genie_core.runtime.progress import Usage, What
from genie_core.runtime.replay_buffer import ReplayableStream
from genie_core.runtime.tasks import check_loop, running_loop

log = logging.getLogger(__name__)

_NOT_WAITED_FOR: Final = "the run has already ended"


@dataclass(frozen=True, slots=True)
class Decided:
    """The reasoner decided, `elapsed` seconds after it started."""

    decision: AnyDecision
    query: str | None
    receiver: str | None
    reason: str | None
    elapsed: float

    @property
    def ignores(self) -> bool:
        """Whether the message is left to the people, which is the last event then."""
        return self.decision._value_ == "ignore"  # a property like `value` takes ten times as long


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next part of an answer that is being written; a preview of it."""

    text: str


@dataclass(frozen=True, slots=True)
class Doing:
    """An agent's current activity: "thinking", "calling" a tool, and so on; a preview.

    `agent` is its path, as in approval requests.
    """

    agent: str
    what: What
    detail: str


@dataclass(frozen=True, slots=True)
class Spent:
    """The usage of finished requests to a model.

    `agent` is the agent's path, or "reasoner" for a decision.
    """

    agent: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class ApprovalPending:
    """A tool call waits for an answer."""

    approval: Approval


@dataclass(frozen=True, slots=True)
class ApprovalClosed:
    """A waiting tool call was answered."""

    approval: Approval
    verdict: Verdict
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Something could not be written to disk; the work goes on in memory."""

    error: str
    exception: BaseException


@dataclass(frozen=True, slots=True)
class Answered:
    """The agent's answer, `elapsed` seconds after the query. The last event.

    `cut`: the model's length limit ended the answer early.
    """

    message: Message
    elapsed: float
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """An exception ended the work. The last event.

    `error` is for the engine's owner, `public` for everyone else, without the provider's words.
    `text` is as in `Cancelled`.
    """

    stage: Stage
    error: str
    exception: BaseException
    public: str = "the run failed"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The work was stopped. The last event.

    `text` is the incomplete answer: all text deltas together.
    """

    reason: str
    text: str = ""


ExecutionEvent: TypeAlias = (
    Decided
    | TextDelta
    | Doing
    | Spent
    | ApprovalPending
    | ApprovalClosed
    | Unsaved
    | Answered
    | Failed
    | Cancelled
)


_ENDS: Final = (Answered, Failed, Cancelled)


class Execution:
    """Follows one message from the reasoner's decision to the agent's answer.

    The work does not depend on readers. Any number of readers can read everything from the start at
    any time; leaving early changes nothing. Reading and cancelling belong to the session's event
    loop and raise `NotOnEventLoop` elsewhere.

    `id` is its name in the session's journal, which a resumed execution keeps; empty if the session
    keeps none.
    """

    def __init__(
        self,
        preferences_source: PreferencesSource | None = None,
        observe: "Callable[[Execution, ExecutionEvent], object] | None" = None,
    ) -> None:
        self.id = ""
        self.preferences_source = preferences_source
        self._observe = observe
        self.origin: Message | None = None
        """The message that is handled; None for an execution without a session."""
        self._record: ReplayableStream[ExecutionEvent] = ReplayableStream()
        self._text: list[str] = []
        self._open: dict[str, Approval] = {}
        self._refusal: tuple[str, str] | None = None
        self._work: tuple[Future[Any], ...] = ()  # the task that `cancel` cancels
        self._sealed = False
        self._note_cancellation: Callable[[], object] = _nothing
        self._loop = running_loop()

    @property
    def done(self) -> bool:
        """Whether the last event was recorded."""
        return self._record.closed

    @property
    def pending_approvals(self) -> list[Approval]:
        """The tool calls that wait for an answer now, oldest first."""
        waiting = self._open.values()
        return [each for each in waiting if each.answer is None and not each.ftr.done()]

    async def events(self) -> AsyncIterator[ExecutionEvent]:
        """Yield all events so far, then further ones as they happen.

        The last event is exactly one of: a decision to ignore, an answer, a failure, a
        cancellation. After an answer, text deltas and activities are dropped from the record.
        """
        check_loop(self._loop, "Execution.events")
        async for event in self._record.read():
            yield event

    async def stream(
        self, *, errors: Literal["raise", "message"] = "raise"
    ) -> AsyncIterator[AnyDecision | Approval | Message]:
        """Yield one decision, then approvals as they are requested, then the answer.

        An approval delays the agent until it is answered. An end before the decision counts as a
        decision to ignore; later, a failure raises `ExecutionFailed` and a cancellation ends the
        stream.

        With `errors="message"`, such a failure is yielded as a message from "system" to the sender,
        with its `public` text. It is for this reader alone and no part of the chat.
        """
        check_loop(self._loop, "Execution.stream")
        if errors not in ("raise", "message"):
            raise InvalidSetting("errors", errors, '"raise" or "message"')
        decided = False
        async for event in self._record.read():
            match event:
                case Decided():
                    decided = True
                    yield decision(event.decision.value)
                case ApprovalPending(approval=approval):
                    yield approval
                case Answered(message=message):
                    yield message
                case Failed(public=public) if decided and errors == "message":
                    yield self._message(public)
                case Failed(stage=stage, error=error, exception=exception) if decided:
                    raise ExecutionFailed(stage, error) from exception
                case Failed() | Cancelled() if not decided:
                    yield decision("ignore")
                case _:
                    pass

    async def result(self) -> Message | None:
        """Approve every tool call and return the answer, or None if there is none."""
        answer = None
        async for element in self.stream():
            if isinstance(element, Approval):
                element.approve(by="auto")
            elif isinstance(element, Message):
                answer = element
        return answer

    def cancel(self, reason: str = "") -> bool:
        """Stop the work immediately, even while an approval is pending.

        Returns False and changes nothing if the work has ended or its answer is being saved.
        """
        check_loop(self._loop, "Execution.cancel")
        if self.done or self._sealed:
            return False
        self._note_cancellation()
        work = self._work
        self.record(Cancelled(reason))
        for each in work:
            each.cancel()
        return True

    # The methods below are for the session that does the work.

    def run_in(self, task: "Task[None]", request: "Future[Any] | None" = None) -> None:
        """Set the task that `cancel` cancels; `cancel` may have been called already.

        `request` is the future that the task will wait for: a task that is cancelled before its
        first step can't cancel it.
        """
        work = (task,) if request is None else (request, task)
        if not self.done:
            self._work = work
            return
        for each in work:
            each.cancel()

    def before_cancelling(self, note: Callable[[], object]) -> None:
        """Call a function before a cancellation is recorded."""
        self._note_cancellation = note

    def seal(self) -> None:
        """Mark the answer as final; cancelling has no effect from now on."""
        self._sealed = True

    def approvals(self) -> ApprovalContext:
        """Return the context that records an agent's requests as events here."""
        return ApprovalContext(queue=self)

    def emit(self, text: str) -> None:
        """Record a part of the answer."""
        if text and not self.done:
            self._text.append(text)
            self.record(TextDelta(text))

    def spent(self, agent: str, usage: Usage) -> None:
        """Record the usage of requests."""
        self.record(Spent(agent, usage))

    def doing(self, agent: str, what: What, detail: str) -> None:
        """Record an agent's activity."""
        self.record(Doing(agent, what, detail))

    def note_save(self, saved: "Future[None]") -> None:
        """Record that something could not be written, for a future that is done."""
        if not saved.cancelled() and (error := saved.exception()) is not None:
            self.record(Unsaved(summary(error), error))

    def record(self, event: ExecutionEvent) -> None:
        """Record an event, unless the last one is recorded already."""
        if self.done:
            return
        if not is_last(event):
            self._add(event)
            return
        self.refuse_approvals(_why_refused(event))
        if isinstance(event, Answered):
            self._record.forget(is_preview)
        elif isinstance(event, Failed | Cancelled):
            event = replace(event, text="".join(self._text))
        self._text.clear()
        self._work = ()  # an ended execution is kept for readers, without its tasks
        self._add(event)
        self._record.close()

    def fail(self, error: BaseException, stage: Stage) -> None:
        """Record an exception as the last event.

        It is logged here once, since there may be no reader.
        """
        if self.done:
            return
        cause: BaseException = error
        if isinstance(error, StageFailed):
            stage = error.stage
            cause = error.cause if isinstance(error.cause, BaseException) else error
        failed = Failed(stage, summary(error), cause, public_summary(error))
        log.warning("a message could not be dealt with: %s", failed.error)
        log.debug("%s failed", stage, exc_info=cause)
        self.record(failed)

    async def put(self, item: Approval) -> None:
        """Record an agent's request for approval."""
        if self.done:
            item.deny(_NOT_WAITED_FOR, automatic=True)
            return
        self._open[item.id] = item
        self._add(ApprovalPending(item))
        item.ftr.add_done_callback(lambda _: self._resolved(item))
        if self._refusal is not None:
            self._refuse(item, *self._refusal)

    def refuse_approvals(self, reason: str, by: str = "session") -> None:
        """Deny all pending and future approval requests."""
        self._refusal = (reason, by)
        for approval in list(self._open.values()):  # also those answered but not yet recorded
            self._refuse(approval, reason, by)

    def _message(self, text: str) -> Message:
        if self.origin is None:
            return Message(text, SYSTEM)
        return Message(text, SYSTEM, self.origin.sender, request_id=self.origin.request_id)

    def _refuse(self, approval: Approval, reason: str, by: str) -> None:
        approval.deny(reason, by=by, automatic=True)
        self._resolved(approval)

    def _resolved(self, approval: Approval) -> None:
        if self._open.pop(approval.id, None) is None:
            return
        verdict = Verdict(approved=False) if approval.answer is None else approval.answer
        at = verdict.at or datetime.now(UTC)
        self._add(ApprovalClosed(approval, verdict, verdict.by, at))

    def _add(self, event: ExecutionEvent) -> None:
        self._record.add(event)
        if self._observe is not None:
            self._observe(self, event)


def _nothing() -> None:
    """Note no cancellation."""


def is_preview(event: ExecutionEvent) -> bool:
    """Return whether an event only shows an answer in progress."""
    return isinstance(event, TextDelta | Doing)


def is_last(event: ExecutionEvent) -> bool:
    """Return whether an event ends its execution."""
    if isinstance(event, Decided):
        return event.ignores
    return isinstance(event, _ENDS)


def _why_refused(event: ExecutionEvent) -> str:
    if isinstance(event, Cancelled):
        return f"cancelled: {event.reason}" if event.reason else "cancelled"
    return _NOT_WAITED_FOR
