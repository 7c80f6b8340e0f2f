"""The runs of one participant's engine.

The room's log names a handler for every message. A `RunManager` runs a `GroupSession` for the
messages that name its owner, keeps the session's context up to date with all others, and reports
each step to the room.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

import msgspec

from genie_core import execution as run
from genie_core.errors import GenieError, public_summary, summary
from genie_core.execution import Execution
from genie_core.message import Message
from genie_core.privacy.redaction import mask_known
from genie_core.room.engine.approval_policy import ApprovalPolicy
from genie_core.room.engine.approvals import Approvals
from genie_core.room.engine.config import EngineSite
from genie_core.room.engine.context import ContextSync, MissingMessage, missing
from genie_core.room.engine.pending_reports import unfinished
from genie_core.room.engine.private_arguments import DETAILS_WITH, PrivateArguments
from genie_core.room.engine.reporter import EngineReporter
from genie_core.room.engine.restart_backlog import (
    AT_ONCE,
    IN_FLIGHT,
    MIN_BACKLOG,
    REPORTED_AT_CLOSE,
    TAKEN_BACK,
    Backlog,
    BacklogChoice,
)
from genie_core.room.engine.verification import Verifier
from genie_core.room.protocol.events import (
    STOPPED_BY,
    AnswerPosted,
    ApprovalResolved,
    DecisionMade,
    Event,
    MemberLeft,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
    Spending,
)
from genie_core.room.protocol.names import is_blank
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, Phase, ToolApproval
from genie_core.runtime.agent_options import owner_command
from genie_core.runtime.grace import Grace
from genie_core.runtime.progress import Usage, acted_call
from genie_core.session import GroupSession

logger = logging.getLogger(__name__)

END_TIMEOUT: Final = 5.0
"""Seconds to wait for cancelled runs, and again for the session to save."""

ENDS: Final = (ApprovalResolved, RunFailed, RunCancelled)

_COMMAND: Final = re.compile(
    r"\s*@?(?:genie|system)[,:]?\s+(?P<command>/\S.*)", re.IGNORECASE | re.DOTALL
)

UNSHOWABLE_ANSWER: Final = "the answer is empty, too large for this room, or can't be sent"


@dataclass(slots=True, eq=False)
class MessageRun:
    """The running execution of one message.

    `offered` are the parked calls that it may make, by one-time grants. `bill` sums up the usage of
    agents since the last recorded step.
    """

    thread: MessageThread
    execution: Execution
    offered: tuple[ToolApproval, ...] = ()
    bill: dict[tuple[str, str, bool], Usage] = field(default_factory=dict)

    def charge(self, agent: str, usage: Usage) -> None:
        key = agent, usage.model, usage.cost is None
        known = self.bill.get(key)
        self.bill[key] = usage if known is None else known + usage

    def settle_bill(self) -> tuple[Spending, ...]:
        """Return and reset the usage since the last recorded step."""
        spent = tuple(Spending.of(agent, usage) for (agent, *_), usage in self.bill.items())
        self.bill.clear()
        return spent


class RunManager:
    """Runs the agent for those messages of a room that name its owner as their handler.

    Use it as an async context manager, which ends the watchers of all runs. Call `begin` once, then
    `accept` for every later event, in order. `approvals` handles tool calls by the `policy`.
    `on_own` is called when an agent has made a call without asking.
    `close` parks open requests and ends the session, within the grace plus a few seconds.
    """

    def __init__(
        self,
        session: GroupSession,
        state: RoomState,
        owner: str,
        reporter: EngineReporter,
        approvals: Approvals,
        private: PrivateArguments,
        policy: ApprovalPolicy,
        site: EngineSite,
        on_own: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = session
        self._on_own = on_own
        self._state = state
        self._owner = owner
        self._reporter = reporter
        self._approvals = approvals
        self._private = private
        self._policy = policy
        self._site = site
        self._verifier = Verifier(state, owner, site.author, serves=site.serves)
        self._context = ContextSync(session, owner, self._verifier, site.place)
        self._backlog = Backlog(owner)
        self._held_context: dict[int, MissingMessage] = {}
        self._tasks = asyncio.TaskGroup()
        self._runs: dict[int, MessageRun] = {}
        self._watchers: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = ""

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._tasks.__aexit__(kind, error, trace)

    def begin(self, remembered: Sequence[Message], live_after: int) -> None:
        """Add missing messages to the session's context, and handle those that wait.

        `remembered` are the messages that the session has saved. Runs for messages up to
        `live_after` belonged to a process that has ended. They are reported as lost, unless a
        pending report has their end. If many messages are undecided, they wait for `choose`.
        """
        self._verifier.begin(live_after)
        self._approvals.begin(
            self._owner, self._policy, self._verifier, resume=self.resume, stop=self.stop
        )
        lost = {
            seq: approvals
            for seq, approvals in unfinished(self._state, self._reporter.unrecorded).items()
            if seq <= live_after and self._is_here(self._state.threads[seq])
        }
        self._hold_back(lost)
        running = self._state.running.items()
        waiting = {seq: run for seq, run in running if seq > live_after and self._is_here(run)}
        reply_of = self._verifier.reply_of
        lacking = missing(
            self._state, self._owner, remembered, place=self._site.place, reply_of=reply_of
        )
        for item in lacking:
            if item.said and item.thread.seq in waiting:
                # Also handle those before it that are not in the context.
                while waiting and next(iter(waiting)) <= item.thread.seq:
                    self._take(waiting.pop(next(iter(waiting))))
            elif item.said and item.thread.seq in self._backlog.waiting:
                self._held_context[item.thread.seq] = item
            else:
                self._context.catch_up(item)
        for thread in waiting.values():
            self._take(thread)
        for seq, approvals in lost.items():
            if seq not in self._backlog.waiting:
                self._give_up(self._state.threads[seq], approvals)
        self._report_backlog(IN_FLIGHT)
        if self._backlog.question:
            self._reporter.warn(self._backlog.question)

    def _hold_back(self, lost: Iterable[int]) -> None:
        begun = {body.message for body in self._reporter.unrecorded}
        runs = [self._state.threads[seq] for seq in lost if seq not in begun]
        undecided = [
            each
            for each in runs
            if each.phase is Phase.DECIDING and each.author != self._owner and self._site.serves
        ]
        if len(undecided) >= MIN_BACKLOG:
            self._backlog.hold(undecided)

    @property
    def waiting(self) -> Collection[int]:
        """The messages from before the restart without a run yet."""
        return {*self._backlog.waiting, *(each.seq for each in self._backlog.due)}

    def choose(self, choice: BacklogChoice) -> int | None:
        """Choose which messages of the backlog to answer; returns how many, None without a backlog."""
        if not self._backlog.waiting or self._closing:
            return None
        for thread in self._backlog.choose(choice):
            held = self._held_context.get(thread.seq)
            if held is not None and held.message.request_id == str(thread.seq):
                self._context.on_said(thread)  # as it is now
            elif held is not None:
                self._context.catch_up(held)
        self._held_context.clear()
        answered = len(self._backlog.due)
        self._report_backlog(IN_FLIGHT)
        self._take_due()
        return answered

    def _take_due(self) -> None:
        """Handle the next messages of the backlog, up to `AT_ONCE` runs."""
        due = self._backlog.due
        while due and len(self._runs) < AT_ONCE and not self._closing:
            self._take(due.popleft())

    def _report_backlog(self, limit: int) -> None:
        """Report the next steps about the backlog.

        The room limits how many it records in one go.
        """
        unreported = self._backlog.unreported
        for _ in range(min(limit, len(unreported))):
            self._reporter.publish(unreported.popleft())

    def accept(self, event: Event) -> None:
        """Act on an event that has just been applied to the state."""
        if self._backlog.unreported and event.by == self._owner and isinstance(event.body, ENDS):
            self._report_backlog(1)
        match event.body:
            case MessagePosted() if self._is_here(self._state.threads[event.seq]):
                self._take(self._state.threads[event.seq])
            case MessagePosted() if not self._closing:
                self._context.on_said(self._state.threads[event.seq])
            case MessageEdited() | MessageDeleted() | RecoveredEvent() if not self._closing:
                thread = self._state.changed_by(event)
                if thread is not None and self._state.amended.get(thread.seq) == event.seq:
                    self._context.on_changed(thread, event.seq)
            case AnswerPosted(message=message) if not self._closing:
                answered = self._state.threads[message]
                if not self._is_here(answered):  # the session has its own answers
                    self._context.on_answered(answered)
            case MemberLeft(name=name) if name != self._owner:
                self._approvals.grants.revoke_for(name)
            case _:
                pass

    def _is_here(self, thread: MessageThread) -> bool:
        mine = thread.handler == self._owner
        return mine and not self._state.is_elsewhere(thread, self._site.device)

    def _take(self, thread: MessageThread) -> None:
        objection = self._verifier.objection(thread)
        if thread.is_deleted:
            self._reporter.publish(RunCancelled(thread.seq, TAKEN_BACK))
        elif objection:
            self._reporter.warn(objection)
            self._reporter.publish(RunFailed(thread.seq, "lost", objection))
        else:
            self._handle(thread)

    def stop(self, message: int, by: str) -> bool:
        """Stop a run on behalf of a person; False if it is not running here."""
        current = self._runs.get(message)
        return current is not None and current.execution.cancel(f"{STOPPED_BY}{by}")

    async def close(self, grace: Grace, reason: str) -> set[int]:
        """Park open requests, wait for runs during the grace, cancel the rest, and save.

        Returns the messages whose agents ignored the cancellation.
        """
        self._closing = reason
        self._report_backlog(REPORTED_AT_CLOSE)
        self._approvals.close(reason)
        ran: dict[Execution, int] = {}
        if not await grace.wait_for(self._idle):
            for current in list(self._runs.values()):
                ran[current.execution] = current.thread.seq
                current.execution.cancel(reason)
            with suppress(TimeoutError):
                async with asyncio.timeout(END_TIMEOUT):
                    await self._idle.wait()
        await self._end_session()
        stuck = {run.thread.seq for run in self._runs.values()}
        return stuck | {ran[each] for each in self._session.left_behind if each in ran}

    async def _end_session(self) -> None:
        self._session.stop()
        try:
            async with asyncio.timeout(END_TIMEOUT):
                await self._session.join()
        except TimeoutError:
            logger.warning("the engine did not end within %s s; leaving it behind", END_TIMEOUT)
            for task in self._watchers:
                task.cancel()

    def _give_up(self, thread: MessageThread, waiting: Iterable[str]) -> None:
        seq, reason = thread.seq, f"{self._owner}'s program ended during this run"
        parked = (ApprovalResolved(seq, approval, "parked") for approval in waiting)
        self._backlog.unreported.extend((*parked, RunFailed(seq, "lost", reason)))

    def file_arrived(self, digest: str) -> None:
        if not self._closing:
            self._context.on_file(digest)

    def _handle(self, thread: MessageThread) -> None:
        if self._closing:
            self._reporter.publish(RunFailed(thread.seq, "lost", f"{self._owner} is leaving"))
            return
        command = owner_command.set(self._command_in(thread))  # for the run's own task
        try:
            execution = self._begin_run(thread)
        except GenieError as error:
            self._fail(RunFailed(thread.seq, "reasoner", public_summary(error)), summary(error))
        else:
            self._watch(thread, execution)
            self._context.await_files(thread)
        finally:
            owner_command.reset(command)

    def _begin_run(self, thread: MessageThread) -> Execution:
        if not thread.is_private:
            return self._session.handle(self._context.message(thread))
        return self._session.delegate(
            thread.text,
            sender=thread.author,
            receiver=thread.author,
            request_id=str(thread.seq),
            reason="asked privately",
            private=True,
        )

    def _command_in(self, thread: MessageThread) -> str:
        """Return the owner's last words behind the agent's name if it begins with `/`.

        A message with quotes has none: its text may be that of a file or a tool server.
        """
        is_own = thread.author == self._owner and not thread.said.quotes
        if not is_own or self._verifier.doubts_message(thread):
            return ""
        found = _COMMAND.match(thread.text)
        return found["command"].strip() if found else ""

    def _watch(self, thread: MessageThread, execution: Execution) -> None:
        offered = self._approvals.grants.once_for(thread.seq)
        current = MessageRun(thread, execution, offered)
        self._runs[thread.seq] = current
        self._idle.clear()
        watcher = self._tasks.create_task(self._follow(current))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    async def _follow(self, current: MessageRun) -> None:
        seq = current.thread.seq
        try:
            async for event in current.execution.events():
                self._report(current, event)
        except Exception as error:  # one failed run must not end the task group
            logger.exception("reporting the run for message %s failed", seq)
            current.execution.cancel("it could not be reported")
            self._fail(RunFailed(seq, "agent", public_summary(error)), summary(error))
        finally:
            del self._runs[seq]
            self._approvals.forget(current.execution)
            self._take_due()
            if not self._runs:
                self._idle.set()
        self._approvals.grants.drop_once(seq, current.offered)
        self.resume(current.thread)

    def _report(self, current: MessageRun, event: run.ExecutionEvent) -> None:
        seq = current.thread.seq
        match event:
            case run.Decided() as decided:
                self._reporter.publish(
                    DecisionMade(
                        seq,
                        decided.decision.value,
                        decided.reason,
                        decided.query,
                        decided.receiver,
                        decided.elapsed,
                        spent=current.settle_bill(),
                    )
                )
            case run.TextDelta(text=text):
                self._reporter.delta(seq, text)
            case run.Doing(agent=agent, what=what, detail=detail):
                if what == "acted":
                    self._approvals.record_own(current.thread, agent, *acted_call(detail))
                    self._on_own()
                elif what == "summarised":
                    self._approvals.record_summary(current.thread, agent, detail)
                else:
                    self._reporter.progress(seq, agent, what, detail)
            case run.Spent(agent=agent, usage=usage):
                current.charge(agent, usage)
            case run.ApprovalPending(approval=approval):
                self._approvals.request(current.thread, current.execution, approval)
            case run.ApprovalClosed() as resolved:
                self._approvals.record(resolved)
            case run.Unsaved(error=error):
                self._reporter.warn(error)
            case run.Answered(message=message, elapsed=elapsed, cut=cut):
                spent = current.settle_bill()
                answer = AnswerPosted(
                    seq, message.content, message.receiver, elapsed, spent=spent, cut=cut
                )
                if is_blank(message.content) or not self._reporter.publish(answer):
                    self._reporter.publish(RunFailed(seq, "agent", UNSHOWABLE_ANSWER, spent))
            case run.Failed(stage=stage, error=error, public=public, text=text):
                failed = RunFailed(seq, stage, public, current.settle_bill(), text)
                self._fail(failed, error)
            case run.Cancelled(reason=reason, text=text):
                self._end(RunCancelled(seq, reason, current.settle_bill(), text))

    def _fail(self, failed: RunFailed, details: str) -> None:
        """Record a failure with a public message; only the owner sees the details."""
        if details != failed.error:
            public = f"{failed.error}{DETAILS_WITH.format(self._owner)}"
            failed = msgspec.structs.replace(failed, error=public)
            self._private.add_failure(failed, mask_known(details))
        self._end(failed)

    def _end(self, end: RunFailed | RunCancelled) -> None:
        """Record the end of a run with its incomplete text, or without it if it can't be recorded."""
        complete = msgspec.structs.replace(end, text=end.text if end.text.strip() else "")
        if not self._reporter.publish(complete) and complete.text:
            self._reporter.publish(msgspec.structs.replace(end, text=""))

    def resume(self, thread: MessageThread) -> None:
        """Run the agent again for calls allowed after a pause, unless a run is active."""
        grants, seq = self._approvals.grants, thread.seq
        if self._closing or seq in self._runs or not grants.once_for(seq):
            return
        decision = thread.decision if self._verifier.is_own_decision(thread) else None
        if decision is None or decision.query is None:
            grants.drop_once(seq, grants.once_for(seq))
            return
        try:
            execution = self._session.delegate(
                decision.query,
                sender=thread.author,
                receiver=decision.receiver,
                request_id=str(seq),
                reason="continues after the pause",
                private=thread.is_private,
            )
        except GenieError as error:
            grants.drop_once(seq, grants.once_for(seq))
            self._reporter.warn(f"the allowed call can't be made: {error}")
        else:
            self._watch(thread, execution)
