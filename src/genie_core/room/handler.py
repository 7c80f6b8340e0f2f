"""One participant's engine at work in a room.

The room's log names a handler for every message. A `Handler` runs a `GroupSession` for the messages
that name its owner, keeps the session's context up to date with all others, and reports each step
back to the room.
"""

import asyncio
import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from genie_core import execution as run
from genie_core.agent.approval import Approval
from genie_core.errors import GenieError
from genie_core.execution import Execution
from genie_core.message import Message
from genie_core.room.authorship import Author
from genie_core.room.consent import Consent, arguments, binding, unmasked
from genie_core.room.context import Missing, Place, as_answer, as_message, late_file, missing
from genie_core.room.court import Court, Ruling
from genie_core.room.departure import Grace
from genie_core.room.discreet import Discreet
from genie_core.room.event import (
    Answered,
    Asked,
    Cancelled,
    Decided,
    Event,
    Failed,
    FileRef,
    Left,
    Outcome,
    Said,
    Settled,
)
from genie_core.room.exchange import Exchange, Proposal
from genie_core.room.fold import RoomState
from genie_core.room.grants import Grant
from genie_core.room.judge import AskAlways, Judge, Judgement
from genie_core.room.reporter import Reporter
from genie_core.room.running import Running
from genie_core.room.seat import Answer
from genie_core.room.trust import Trust
from genie_core.room.withheld import Withheld
from genie_core.session import GroupSession

logger = logging.getLogger(__name__)

END_TIMEOUT: Final = 5.0
"""Seconds that ending runs, and then saving, may take before the handler leaves them behind."""

UNKNOWN_CALL: Final = "what this call would do is not known here any more; deny it"
UNSHOWABLE_ANSWER: Final = "the answer is empty, too large for this room, or can't be sent"


class Handler:
    """Answers for one participant's share of a room.

    An async context: leaving it ends all watching. Call `begin` once, then `accept` for every
    event after those, in order. The `judge` decides which calls a person is asked about; while
    `auto` is true, those for the owner's own messages are allowed unless it denies them. What it
    denies, nobody can allow, whatever they make of the arguments. `close` parks what waits for a
    person and ends the session; it always returns within the grace plus a few seconds.
    """

    def __init__(
        self,
        session: GroupSession,
        state: RoomState,
        owner: str,
        reporter: Reporter,
        *,
        device: str = "",
        where: str = "",
        withheld: Withheld | None = None,
        place: Place | None = None,
        author: Author | None = None,
        serves: bool = True,
        judge: Judge | None = None,
    ) -> None:
        self.auto = False
        self._trust = Trust(state, owner, author, serves=serves)
        self._awaited: dict[str, tuple[str, FileRef]] = {}
        self._device = device
        self._withheld = withheld or Withheld()
        self._place = place
        self._session = session
        self._state = state
        self._owner = owner
        self._reporter: Reporter = Discreet(reporter)
        self._where = where
        self._tasks = asyncio.TaskGroup()
        self._runs: dict[int, Running] = {}
        self._consent = Consent()
        self._court = Court(judge or AskAlways(), self._consent, owner)
        self._revived: set[str] = set()
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
        """Bring the session's context up to the room's state.

        `remembered` is what the session has saved. Messages up to `live_after` are history: those
        that still count as running belonged to a process that is gone, and are reported as lost.
        """
        self._trust.begin(live_after)
        mine = [run for run in self._state.running.values() if self._is_here(run)]
        waiting = {exchange.seq: exchange for exchange in mine if exchange.seq > live_after}
        for item in missing(self._state, self._owner, remembered, place=self._place):
            if item.said and item.exchange.seq in waiting:
                # Those before it that context has no place for are handled all the same.
                while waiting and next(iter(waiting)) <= item.exchange.seq:
                    self._take(waiting.pop(next(iter(waiting))))
            elif not self._trust.doubts(item):
                self._tell(item.message)
                self._await_files(item.exchange)
        for exchange in waiting.values():
            self._take(exchange)
        for exchange in mine:
            if exchange.seq <= live_after:
                self._give_up(exchange)

    def accept(self, event: Event) -> None:
        """Act on an event that has just been applied to the state."""
        match event.body:
            case Said() if self._is_here(self._state.exchanges[event.seq]):
                self._take(self._state.exchanges[event.seq])
            case Said() if not self._closing:
                exchange = self._state.exchanges[event.seq]
                message = as_message(exchange, self._place)
                if not self._trust.doubts(Missing(exchange, message, said=True)):
                    self._tell(message)
                    self._await_files(exchange)
            case Answered(message=message) if not self._closing:
                self._hear(self._state.exchanges[message])
            case Left(name=name) if name != self._owner:
                self._consent.withdraw(name)
            case _:
                pass

    def _is_here(self, exchange: Exchange) -> bool:
        """Whether a run is the business of this terminal of the owner."""
        mine = exchange.handler == self._owner
        return mine and not self._state.is_elsewhere(exchange, self._device)

    def _take(self, exchange: Exchange) -> None:
        """Handle a message, if it is one that this engine may act on."""
        objection = self._trust.objection(exchange)
        if objection:
            self._reporter.warn(objection)
            self._reporter.publish(Failed(exchange.seq, "lost", objection))
        else:
            self._handle(exchange)

    def _hear(self, exchange: Exchange) -> None:
        """Take in an answer, unless it is the own session's, which has it."""
        if not self._is_here(exchange):
            answer = as_answer(exchange, self._owner)
            if answer is not None and not self._trust.doubts_answer(exchange):
                self._tell(answer)

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer a pending or parked approval; False if it is not open here."""
        for current in self._runs.values():
            if approval in current.pending:
                return self._answer_pending(current, approval, answer)
        proposal = self._state.parked.get(approval)
        if proposal is None or proposal.owner != self._owner:
            return False
        if self._closing or approval in self._revived:
            return False
        if answer.allow and proposal.withheld and not self._withheld.hides(approval):
            self._reporter.warn(UNKNOWN_CALL)
            return False
        if answer.allow and not self._trust.is_own_call(proposal):
            self._reporter.warn(UNKNOWN_CALL)
            return False
        exchange = self._state.exchanges[proposal.message]
        if answer.allow and self._objects(exchange, proposal, answer):
            return False
        self._answer_parked(proposal, answer)
        return True

    @property
    def grants(self) -> tuple[Grant, ...]:
        """What was allowed beyond single calls and still counts."""
        return self._consent.grants

    def revoke(self, grant: int) -> bool:
        """Take an allowance back; False if there is none with this id."""
        return self._consent.revoke(grant)

    def schema(self, approval: str) -> dict[str, Any] | None:
        """The schema of the arguments of a call that waits here; None if it is not known."""
        for current in self._runs.values():
            if approval in current.pending:
                return current.pending[approval].schema
        return None

    def stop(self, message: int, by: str) -> bool:
        """Stop a run on somebody's word; False if it is not running here."""
        current = self._runs.get(message)
        return current is not None and current.execution.cancel(f"stopped by {by}")

    async def close(self, grace: Grace, reason: str) -> set[int]:
        """Park approvals, let running work end while there is grace, cancel the rest, save.

        Returns the messages whose agents did not end though they were told to.
        """
        self._closing = reason
        for current in list(self._runs.values()):
            if current.pending:
                self._park(current)
        ran: dict[Execution, int] = {}
        if not await grace.wait_for(self._idle):
            for current in list(self._runs.values()):
                ran[current.execution] = current.exchange.seq
                current.execution.cancel(reason)
            await self._idle_within(END_TIMEOUT)
        await self._end_session()
        stuck = {run.exchange.seq for run in self._runs.values()}
        return stuck | {ran[each] for each in self._session.left_behind if each in ran}

    async def _end_session(self) -> None:
        self._session.stop()
        try:
            async with asyncio.timeout(END_TIMEOUT):
                await self._session.join()
        except TimeoutError:
            logger.warning("the engine did not end within %s s; leaving it behind", END_TIMEOUT)
            self._abandon()

    def _abandon(self) -> None:
        for task in self._watchers:
            task.cancel()

    async def _idle_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def _give_up(self, exchange: Exchange) -> None:
        for approval in sorted(exchange.waiting):
            self._reporter.publish(Settled(exchange.seq, approval, "parked"))
        self._reporter.publish(
            Failed(exchange.seq, "lost", f"{self._owner}'s program ended during this run")
        )

    def file_arrived(self, digest: str) -> None:
        """Give the engine a file that it has only heard of so far."""
        author, file = self._awaited.pop(digest, ("", None))
        if file is not None and self._place is not None and not self._closing:
            message = late_file(author, file, self._place)
            if message is not None:
                self._tell(message)

    def _await_files(self, exchange: Exchange) -> None:
        for file in exchange.said.files:
            if self._place is not None and self._place(file.digest) is None:
                self._awaited[file.digest] = exchange.author, file

    def _tell(self, message: Message) -> None:
        """Add context. What the session will not have is left out: the log is data, not a fault."""
        try:
            self._session.append(message)
        except GenieError as error:
            logger.warning("left out of the engine's context: %s", error)

    def _handle(self, exchange: Exchange) -> None:
        if self._closing:
            self._reporter.publish(Failed(exchange.seq, "lost", f"{self._owner} is leaving"))
            return
        try:
            execution = self._session.handle(as_message(exchange, self._place))
        except GenieError as error:
            self._reporter.publish(Failed(exchange.seq, "reasoner", str(error)))
        else:
            self._watch(exchange, execution)
            self._await_files(exchange)

    def _watch(self, exchange: Exchange, execution: Execution) -> None:
        current = Running(exchange, execution, offered=self._consent.revived(exchange.seq))
        self._runs[exchange.seq] = current
        self._idle.clear()
        watcher = self._tasks.create_task(self._follow(current))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)

    async def _follow(self, current: Running) -> None:
        seq = current.exchange.seq
        try:
            async for event in current.execution.events():
                self._report(current, event)
        except Exception as error:  # the run's watcher is a worker that must survive
            logger.exception("reporting the run for message %s failed", seq)
            current.execution.cancel("it could not be reported")
            self._reporter.publish(Failed(seq, "agent", str(error) or type(error).__name__))
        finally:
            del self._runs[seq]
            if not self._runs:
                self._idle.set()
        self._consent.forget(seq, current.offered)
        self._go_on(current.exchange)

    def _report(self, current: Running, event: run.ExecutionEvent) -> None:
        seq = current.exchange.seq
        match event:
            case run.Decided() as decided:
                self._reporter.publish(
                    Decided(
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
                self._reporter.progress(seq, agent, what, detail)
            case run.Spent(agent=agent, usage=usage):
                current.charge(agent, usage)
            case run.ApprovalRequested(approval=approval):
                self._ask(current, approval)
            case run.ApprovalResolved() as resolved:
                self._settle(current, resolved)
            case run.Unsaved(error=error):
                self._reporter.warn(error)
            case run.Answered(message=message, elapsed=elapsed):
                spent = current.settle_bill()
                answer = Answered(seq, message.content, message.receiver, elapsed, spent=spent)
                if not message.content.strip() or not self._reporter.publish(answer):
                    self._reporter.publish(Failed(seq, "agent", UNSHOWABLE_ANSWER, spent))
            case run.Failed(stage=stage, error=error):
                self._reporter.publish(Failed(seq, stage, error, current.settle_bill()))
            case run.Cancelled(reason=reason):
                self._reporter.publish(Cancelled(seq, reason, current.settle_bill()))

    def _ask(self, current: Running, approval: Approval) -> None:
        exchange = current.exchange
        judgement = self._court.judgement(exchange, approval)
        ruling = None
        if not self._closing:
            ruling = self._court.ruling(exchange, approval, judgement, auto=self.auto)
        asked = self._asked(exchange, approval, judgement, unasked=ruling is not None)
        if asked is None or not self._reporter.publish(asked):
            # Nobody may allow what nobody can see.
            current.parked.add(approval.id)
            approval.deny("the arguments of this call can't be shown to a person")
            return
        current.pending[approval.id] = approval
        if self._closing:
            self._park(current)
        elif ruling is not None:
            self._give(current, approval, ruling)

    def _give(self, current: Running, approval: Approval, ruling: Ruling) -> bool:
        """Settle a call; False if something else has settled it before."""
        answer = ruling.answer
        current.answers[approval.id] = ruling
        if answer.allow:
            given = unmasked(answer.arguments, approval)
            settled = approval.approve(arguments=given, by=self._owner)
        else:
            settled = approval.deny(answer.reason, by=self._owner)
        if not settled:
            del current.answers[approval.id]
        return settled

    def _asked(
        self, exchange: Exchange, approval: Approval, judgement: Judgement, *, unasked: bool
    ) -> Asked | None:
        try:
            shown, digest = arguments(approval), binding(approval)
        except Exception:  # an argument may do anything when it is looked at
            logger.exception("a call's arguments can't be shown")
            return None
        withheld = exchange.author != self._owner and not self._state.sharing
        asked = Asked(
            exchange.seq,
            approval.id,
            approval.sender,
            approval.tool_name,
            shown,
            self._where,
            withheld,
            because=judgement.because,
            risk=judgement.risk,
            binding=digest,
            unasked=unasked,
        )
        self._withheld.note(asked)
        return msgspec.structs.replace(asked, arguments={}) if withheld else asked

    def _settle(self, current: Running, resolved: run.ApprovalResolved) -> None:
        approval = resolved.approval
        current.pending.pop(approval.id, None)
        if approval.id in current.parked:
            return
        ruling = current.answers.pop(approval.id, None)
        answer = ruling.answer if ruling else None
        verdict = resolved.verdict
        outcome: Outcome = "approved" if verdict else "denied" if answer else "expired"
        self._reporter.publish(
            Settled(
                current.exchange.seq,
                approval.id,
                outcome,
                verdict.reason or (answer.reason if answer else None),
                answer.scope if answer else "once",
                None if self._withheld.hides(approval.id) else verdict.arguments,
                answer.count if answer else 0,
                "edit" if verdict.arguments is not None else ruling.how if ruling else "",
            )
        )

    def _answer_pending(self, current: Running, approval_id: str, answer: Answer) -> bool:
        approval = current.pending[approval_id]
        if approval_id in current.parked or approval_id in current.answers:
            return False
        if answer.allow and self._objects(current.exchange, approval, answer):
            return False
        settled = self._give(current, approval, Ruling(answer))
        if not settled:
            return False
        if answer.allow:
            who, agent, tool = current.exchange.author, approval.sender, approval.tool_name
            self._consent.grant(who, agent, tool, answer.scope, answer.count, call=approval)
        elif answer.stop:
            current.execution.cancel(f"stopped by {self._owner}")
        return True

    def _objects(self, exchange: Exchange, call: Approval | Proposal, answer: Answer) -> bool:
        """Whether a rule forbids what a person made of a call, which they are told then."""
        why = self._court.objection(exchange, call, answer.arguments)
        if why:
            self._reporter.warn(f"it can't be allowed with these changes: {why}")
        return bool(why)

    def _answer_parked(self, proposal: Proposal, answer: Answer) -> None:
        self._revived.add(proposal.id)
        edited = answer.arguments if answer.allow else None
        self._reporter.publish(
            Settled(
                proposal.message,
                proposal.id,
                "approved" if answer.allow else "denied",
                answer.reason,
                answer.scope,
                None if self._withheld.hides(proposal.id) else edited,
                answer.count,
                "edit" if edited is not None else "",
            )
        )
        exchange = self._state.exchanges[proposal.message]
        if not answer.allow and answer.stop:
            self._consent.forget(proposal.message, self._consent.revived(proposal.message))
            self.stop(proposal.message, self._owner)
        if answer.allow:
            self._consent.grant(
                exchange.author, proposal.agent, proposal.tool, answer.scope, answer.count
            )
            self._consent.revive(proposal, edited)
            if proposal.message not in self._runs:
                self._go_on(exchange)

    def _go_on(self, exchange: Exchange) -> None:
        """Run the agent again for calls that were allowed after a pause and not offered yet."""
        if self._closing or not self._consent.revived(exchange.seq):
            return
        decision = exchange.decision if self._trust.is_own_decision(exchange) else None
        if decision is None or decision.query is None:
            self._consent.forget(exchange.seq, self._consent.revived(exchange.seq))
            return
        try:
            execution = self._session.delegate(
                decision.query,
                sender=exchange.author,
                receiver=decision.receiver,
                request_id=str(exchange.seq),
                reason="goes on where the pause interrupted it",
            )
        except GenieError as error:
            self._consent.forget(exchange.seq, self._consent.revived(exchange.seq))
            self._reporter.warn(f"the allowed call can't be made: {error}")
        else:
            self._watch(exchange, execution)

    def _park(self, current: Running) -> None:
        for approval in list(current.pending.values()):
            if approval.id not in current.parked and approval.id not in current.answers:
                current.parked.add(approval.id)
                self._reporter.publish(Settled(current.exchange.seq, approval.id, "parked"))
        current.execution.cancel(self._closing)
