"""The tool calls of one person's agents, from the question to the answer that is recorded."""

import logging
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from genie_core.agent.approval import Approval
from genie_core.execution import ApprovalClosed
from genie_core.privacy.redaction import mask_value
from genie_core.room.court import Court, Ruling
from genie_core.room.engine.grants import Consent, arguments, binding, unmasked
from genie_core.room.engine.policy import Judge, Judgement
from genie_core.room.engine.private_arguments import Withheld
from genie_core.room.engine.verification import Trust
from genie_core.room.protocol.codec import MAX_DEPTH, normal, size_of
from genie_core.room.protocol.errors import FrameError
from genie_core.room.protocol.events import ApprovalRequested, ApprovalResolved, Outcome
from genie_core.room.reporter import Reporter
from genie_core.room.running import Running
from genie_core.room.seat import Answer
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval

logger = logging.getLogger(__name__)

UNKNOWN_CALL: Final = "what this call would do is not known here any more; deny it"

UNSHOWABLE: Final = (
    "its arguments can't be shown to a person: they hold something that can't be written down, or "
    f"are nested more than {MAX_DEPTH} levels deep; make a simpler call"
)

UNRECORDED: Final = "it can't be recorded now, as too much waits for the connection to the room"

_PREVIEW: Final = 200
"""Characters of each argument that are recorded of a call that is too large to be shown."""

_MOST_PREVIEWED: Final = 20


class Docket:
    """Puts calls to the court and then to a person, takes the answers, and reports both.

    `consent` is what was allowed beyond single calls; whoever goes on after a pause uses what is
    revived there. While `auto` is true, calls for the owner's own messages are allowed unless the
    judge denies them. What it denies, nobody can allow. `where` is shown with each call.
    """

    def __init__(
        self,
        state: RoomState,
        owner: str,
        reporter: Reporter,
        *,
        judge: Judge,
        consent: Consent,
        trust: Trust,
        withheld: Withheld,
        where: str,
    ) -> None:
        self.auto = False
        self._state = state
        self._owner = owner
        self._reporter = reporter
        self._consent = consent
        self._court = Court(judge, consent, owner)
        self._trust = trust
        self._withheld = withheld
        self._where = where
        self._revived: set[str] = set()
        self._closing = ""

    def ask(self, current: Running, approval: Approval) -> None:
        """Ask about a call of a run, unless the answer is known; it is recorded in any case."""
        exchange = current.exchange
        judgement = self._court.judgement(exchange, approval)
        ruling = None
        if not self._closing:
            ruling = self._court.ruling(exchange, approval, judgement, auto=self.auto)
        asked = self._asked(exchange, approval, judgement, unasked=ruling is not None)
        obstacle = UNSHOWABLE if asked is None else self._obstacle(asked)
        if asked is None or obstacle or not self._reporter.publish(asked):
            # Nobody may allow what nobody can see.
            self._refuse(current, approval, asked, obstacle or UNRECORDED)
            return
        current.pending[approval.id] = approval
        if self._closing:
            self._park(current)
        elif ruling is not None:
            self._give(current, approval, ruling)

    def _refuse(
        self, current: Running, approval: Approval, asked: ApprovalRequested | None, why: str
    ) -> None:
        """Deny a call that can't be shown, and tell the model, the owner and the log why."""
        current.parked.add(approval.id)
        seq, agent, tool = current.exchange.seq, approval.sender, approval.tool_name[:_PREVIEW]
        shown = _preview(asked.arguments) if asked is not None and why != UNSHOWABLE else {}
        withheld = current.exchange.author != self._owner and not self._state.sharing
        row = ApprovalRequested(
            seq, approval.id, agent, tool, shown, self._where, withheld, unasked=True
        )
        row = msgspec.structs.replace(row, because=why)
        self._withheld.note(row)
        if self._reporter.publish(row):
            self._reporter.publish(ApprovalResolved(seq, approval.id, "expired", why))
        self._reporter.warn(f"{tool} was not run: {why}")
        approval.deny(why, automatic=True)

    def _obstacle(self, body: ApprovalRequested | ApprovalResolved) -> str:
        """Why the room can't hold a call or a changed one; empty if it can."""
        most = self._reporter.largest
        try:
            normal(body, most)
        except FrameError as error:
            if error.code != "too_large":
                return UNSHOWABLE
        else:
            return ""
        return (
            f"its arguments are {size_of(body) // 1024:,} KB, more than the {most // 1024:,} KB "
            "that an approval can show; make smaller calls, as by writing a file in parts"
        )

    def settle(self, current: Running, resolved: ApprovalClosed) -> None:
        """Record how a call of a run was answered, unless it was parked."""
        approval = resolved.approval
        current.pending.pop(approval.id, None)
        if approval.id in current.parked:
            return
        ruling = current.answers.pop(approval.id, None)
        answer = ruling.answer if ruling else None
        verdict = resolved.verdict
        outcome: Outcome = "approved" if verdict else "denied" if answer else "expired"
        self._reporter.publish(
            ApprovalResolved(
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

    def answer(self, current: Running, approval_id: str, answer: Answer) -> bool:
        """Answer a call that waits in a run; False if it is answered, or may not be allowed."""
        approval = current.pending[approval_id]
        if approval_id in current.parked or approval_id in current.answers:
            return False
        if answer.allow and self._objects(current.exchange, approval, answer):
            return False
        if answer.allow and self._is_unrecordable(current.exchange.seq, approval_id, answer):
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

    def answer_parked(self, proposal: ToolApproval, answer: Answer) -> bool:
        """Answer a call from before a pause; False if it is answered, or may not be allowed.

        What is allowed is revived, for the next run for its message. A denial that stops takes
        along what else was revived for that.
        """
        if self._is_settled(proposal) or (answer.allow and not self._may_allow(proposal, answer)):
            return False
        self._revived.add(proposal.id)
        edited = answer.arguments if answer.allow else None
        self._reporter.publish(
            ApprovalResolved(
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
        if answer.allow:
            who = self._state.exchanges[proposal.message].author
            self._consent.grant(who, proposal.agent, proposal.tool, answer.scope, answer.count)
            self._consent.revive(proposal, edited)
        elif answer.stop:
            self._consent.forget(proposal.message, self._consent.revived(proposal.message))
        return True

    def _is_settled(self, proposal: ToolApproval) -> bool:
        """Whether it was answered, here or at an earlier visit, be it that the room has yet to hear."""
        return proposal.id in self._revived or any(
            isinstance(body, ApprovalResolved)
            and body.approval == proposal.id
            and body.outcome != "parked"
            for body in self._reporter.unrecorded
        )

    def close(self, runs: Iterable[Running], reason: str) -> None:
        """Park what waits in these runs, and from now on whatever is asked, and cancel the run."""
        self._closing = reason
        for current in runs:
            if current.pending:
                self._park(current)

    def _may_allow(self, proposal: ToolApproval, answer: Answer) -> bool:
        """Whether what a parked call would do is known, and no rule forbids it."""
        is_hidden = proposal.withheld and not self._withheld.hides(proposal.id)
        if is_hidden or not self._trust.is_own_call(proposal):
            self._reporter.warn(UNKNOWN_CALL)
            return False
        if self._is_unrecordable(proposal.message, proposal.id, answer):
            return False
        return not self._objects(self._state.exchanges[proposal.message], proposal, answer)

    def _is_unrecordable(self, message: int, approval: str, answer: Answer) -> bool:
        """Whether the room can't hold what a person made of a call, which they are told then."""
        if answer.arguments is None or self._withheld.hides(approval):
            return False
        edited = mask_value(answer.arguments)
        why = self._obstacle(ApprovalResolved(message, approval, "approved", arguments=edited))
        if why:
            self._reporter.warn(f"it can't be allowed with these changes: {why}")
        return bool(why)

    def _give(self, current: Running, approval: Approval, ruling: Ruling) -> bool:
        """Settle a call; False if something else has settled it before."""
        answer = ruling.answer
        current.answers[approval.id] = ruling
        if answer.allow:
            given = unmasked(answer.arguments, approval)
            settled = approval.approve(arguments=given, by=self._owner)
        else:
            automatic = ruling.how != ""
            settled = approval.deny(answer.reason, by=self._owner, automatic=automatic)
        if not settled:
            del current.answers[approval.id]
        return settled

    def _asked(
        self, exchange: MessageThread, approval: Approval, judgement: Judgement, *, unasked: bool
    ) -> ApprovalRequested | None:
        try:
            shown, digest = arguments(approval), binding(approval)
        except Exception:  # an argument may do anything when it is looked at
            logger.exception("a call's arguments can't be shown")
            return None
        withheld = exchange.author != self._owner and not self._state.sharing
        asked = ApprovalRequested(
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

    def _objects(
        self, exchange: MessageThread, call: Approval | ToolApproval, answer: Answer
    ) -> bool:
        """Whether a rule forbids what a person made of a call, which they are told then."""
        why = self._court.objection(exchange, call, answer.arguments)
        if why:
            self._reporter.warn(f"it can't be allowed with these changes: {why}")
        return bool(why)

    def _park(self, current: Running) -> None:
        for approval in list(current.pending.values()):
            if approval.id not in current.parked and approval.id not in current.answers:
                current.parked.add(approval.id)
                self._reporter.publish(
                    ApprovalResolved(current.exchange.seq, approval.id, "parked")
                )
        current.execution.cancel(self._closing)


def _preview(arguments: dict[str, Any]) -> dict[str, Any]:
    """The beginnings of arguments that are too large to be shown as they are."""
    named = list(arguments.items())[:_MOST_PREVIEWED]
    return {name[:_PREVIEW]: _beginning(value) for name, value in named}


def _beginning(value: Any) -> Any:
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= _PREVIEW:
        return value
    return f"{text[:_PREVIEW]}… ({len(text):,} characters)"
