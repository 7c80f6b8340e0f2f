"""The approval of tool calls: from the request to the resolution that the log records."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from genie_core.agent.approval import Approval
from genie_core.execution import ApprovalClosed, Execution
from genie_core.privacy.redaction import mask_value
from genie_core.room.client.model import Answer
from genie_core.room.engine.arguments import digest, shown, unmasked
from genie_core.room.engine.grants import Grants
from genie_core.room.engine.policy import EXCEED_BUDGET, ApprovalPolicy, PolicyResult, ToolCall
from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.room.engine.remote_control import RemoteControl
from genie_core.room.engine.reporter import EngineReporter
from genie_core.room.engine.verification import Verifier
from genie_core.room.protocol.codec import MAX_DEPTH, normal, size_of
from genie_core.room.protocol.errors import FrameError
from genie_core.room.protocol.events import ApprovalRequested, ApprovalResolved, How, Outcome
from genie_core.room.protocol.frames import ApprovalAnswered
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval

logger = logging.getLogger(__name__)

UNKNOWN_CALL: Final = "what this call would do is not known here any more; deny it"

UNSHOWABLE: Final = (
    "its arguments can't be shown to a person: they hold something that can't be written down, or "
    f"are nested more than {MAX_DEPTH} levels deep; make a simpler call"
)

UNRECORDED: Final = "it can't be recorded now, as too much waits for the connection to the room"

NO_POLICY_RESULT: Final = "the rules could not be applied to it"

_PREVIEW: Final = 200
"""Characters of each argument that are recorded of a call that is too large to be shown."""

_MOST_PREVIEWED: Final = 20


@dataclass(frozen=True, slots=True)
class _Engine:
    """What requests of the loaded engine are checked and continued with."""

    owner: str
    policy: ApprovalPolicy
    verifier: Verifier
    resume: Callable[[MessageThread], None]
    stop: Callable[[int, str], bool]


@dataclass(slots=True, eq=False)
class _Request:
    """A request of a running execution. `answer` is the one that counted, `how` what gave it."""

    exchange: MessageThread
    execution: Execution
    call: Approval
    answer: Answer | None = None
    how: How = ""
    parked: bool = False


class Approvals:
    """Answers requests by policy and grants, puts the others before a person, and records both.

    `begin` takes over the requests of a loaded engine; before that, and after `end`, only requests
    at the owner's other terminals can be answered. While `auto` is true, calls for the owner's own
    messages are allowed unless the policy denies them. What the policy denies, no answer, grant or
    edit allows. `where` is shown with each request.
    """

    def __init__(
        self,
        state: RoomState,
        reporter: EngineReporter,
        private: PrivateArguments,
        remote: RemoteControl,
        where: str = "",
    ) -> None:
        self._state = state
        self._reporter = reporter
        self._private = private
        self._remote = remote
        self._where = where
        self._reset()

    def _reset(self) -> None:
        self.auto = False
        self.grants = Grants()
        self._engine: _Engine | None = None
        self._open: dict[str, _Request] = {}
        self._answered: set[str] = set()
        self._closing = ""

    def begin(
        self,
        owner: str,
        policy: ApprovalPolicy,
        verifier: Verifier,
        *,
        resume: Callable[[MessageThread], None],
        stop: Callable[[int, str], bool],
    ) -> None:
        """Serve a newly loaded engine; nothing that was granted to an earlier one counts.

        `resume` runs the agent again for calls that are allowed after a pause, `stop` stops a run
        in a person's name.
        """
        self._reset()
        self._engine = _Engine(owner, policy, verifier, resume, stop)

    def end(self) -> None:
        self._reset()

    # -- requests of the engine

    def request(self, exchange: MessageThread, execution: Execution, call: Approval) -> None:
        """Ask whether a call may be made, unless the answer is known; record it in any case."""
        result = self._evaluate(exchange, call)
        known = None if self._closing else self._known_answer(exchange, call, result)
        asked = self._asked(exchange, call, result, unasked=known is not None)
        obstacle = UNSHOWABLE if asked is None else self._obstacle(asked)
        if asked is None or obstacle or not self._reporter.publish(asked):
            # A call that can't be seen can't be allowed.
            self._refuse(exchange, call, asked, obstacle or UNRECORDED)
            return
        request = self._open[call.id] = _Request(exchange, execution, call)
        if self._closing:
            self._park(execution)
        elif known is not None:
            self._resolve(request, *known)

    def record(self, resolved: ApprovalClosed) -> None:
        """Record the resolution of a request, unless it was parked or refused."""
        request = self._open.pop(resolved.approval.id, None)
        if request is None or request.parked:
            return
        answer, final = request.answer, resolved.verdict
        outcome: Outcome = "approved" if final else "denied" if answer else "expired"
        self._reporter.publish(
            ApprovalResolved(
                request.exchange.seq,
                request.call.id,
                outcome,
                final.reason or (answer.reason if answer else None),
                answer.scope if answer else "once",
                None if self._private.hides(request.call.id) else final.arguments,
                answer.count if answer else 0,
                "edit" if final.arguments is not None else request.how,
            )
        )

    def forget(self, execution: Execution) -> None:
        for each in self._of(execution):
            del self._open[each.call.id]

    def close(self, reason: str) -> None:
        """Park all open requests, and those that still come, and cancel their runs."""
        self._closing = reason
        for execution in dict.fromkeys(each.execution for each in self._open.values()):
            self._park(execution)

    def _evaluate(self, exchange: MessageThread, call: Approval) -> PolicyResult:
        try:
            arguments = shown(call)
        except Exception:  # an argument may do anything when it is looked at
            logger.exception("a call's arguments can't be looked at")
            return PolicyResult("ask", NO_POLICY_RESULT, must_ask=True)
        return self._apply_policy(exchange, call.sender, call.tool_name, arguments)

    def _apply_policy(
        self, exchange: MessageThread, agent: str, tool: str, arguments: dict[str, Any]
    ) -> PolicyResult:
        policy = self._served().policy
        try:
            return policy.evaluate(ToolCall(exchange.author, agent, tool, arguments))
        except Exception:  # whatever a rule or an argument does, a person can still be asked
            logger.exception("the policy failed")
            return PolicyResult("ask", NO_POLICY_RESULT, must_ask=True)

    def _known_answer(
        self, exchange: MessageThread, call: Approval, result: PolicyResult
    ) -> tuple[Answer, How] | None:
        """The answer that needs no person, and what gives it; uses up a grant."""
        if result.effect == "deny":
            return Answer(allow=False, reason=result.because), "rule"
        if result.must_ask:
            return None
        granted = self.grants.answer(exchange.author, exchange.seq, call)
        if granted is not None:
            edited = granted.arguments
            if self._denial(exchange, call.sender, call.tool_name, edited):
                return None  # the rules have changed since; the person sees the call as it is
            return granted, "grant"
        if call.tool_name == EXCEED_BUDGET:
            return None
        if result.effect == "allow":
            return Answer(allow=True, reason=result.because), "rule"
        if self.auto and exchange.author == self._served().owner:
            return Answer(allow=True, reason="auto mode"), "auto"
        return None

    def _asked(
        self, exchange: MessageThread, call: Approval, result: PolicyResult, *, unasked: bool
    ) -> ApprovalRequested | None:
        try:
            arguments, binding = shown(call), digest(call)
        except Exception:  # an argument may do anything when it is looked at
            logger.exception("a call's arguments can't be shown")
            return None
        withheld = self._is_withheld(exchange)
        asked = ApprovalRequested(
            exchange.seq,
            call.id,
            call.sender,
            call.tool_name,
            arguments,
            self._where,
            withheld,
            because=result.because,
            risk=result.risk,
            binding=binding,
            unasked=unasked,
        )
        self._private.add(asked)
        return msgspec.structs.replace(asked, arguments={}) if withheld else asked

    def _refuse(
        self, exchange: MessageThread, call: Approval, asked: ApprovalRequested | None, why: str
    ) -> None:
        """Deny a call that can't be shown, and tell the model, the owner and the log why."""
        tool = call.tool_name[:_PREVIEW]
        arguments = _preview(asked.arguments) if asked is not None and why != UNSHOWABLE else {}
        row = ApprovalRequested(
            exchange.seq,
            call.id,
            call.sender,
            tool,
            arguments,
            self._where,
            self._is_withheld(exchange),
            because=why,
            unasked=True,
        )
        self._private.add(row)
        if self._reporter.publish(row):
            self._reporter.publish(ApprovalResolved(exchange.seq, call.id, "expired", why))
        self._reporter.warn(f"{tool} was not run: {why}")
        call.deny(why, automatic=True)

    def _is_withheld(self, exchange: MessageThread) -> bool:
        return exchange.author != self._served().owner and not self._state.sharing

    def _obstacle(self, body: ApprovalRequested | ApprovalResolved) -> str:
        """Why the room can't hold a request or a resolution; empty if it can."""
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

    def _resolve(self, request: _Request, answer: Answer, how: How = "") -> bool:
        """Answer a request; False if something else has done so before."""
        call, owner = request.call, self._served().owner
        request.answer, request.how = answer, how
        if answer.allow:
            resolved = call.approve(arguments=unmasked(answer.arguments, call), by=owner)
        else:
            resolved = call.deny(answer.reason, by=owner, automatic=how != "")
        if not resolved:
            request.answer, request.how = None, ""
        return resolved

    def _park(self, execution: Execution) -> None:
        for each in self._of(execution):
            if not each.parked and each.answer is None:
                each.parked = True
                self._reporter.publish(ApprovalResolved(each.exchange.seq, each.call.id, "parked"))
        execution.cancel(self._closing)

    def _of(self, execution: Execution) -> list[_Request]:
        return [each for each in self._open.values() if each.execution is execution]

    # -- answers of a person

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer a request of one's own, open or parked, also one at another terminal.

        False if it does not wait any more, if there is no engine yet to act on the answer, if a
        rule denies the edited call, or if it would allow what can't be seen here.
        """
        return self._answer_here(approval, answer) or self._remote.answer(approval, answer)

    def on_answered_elsewhere(self, answered: ApprovalAnswered) -> None:
        """Answer a request that waits here as its owner did at another terminal."""
        answer = self._remote.verified(answered)
        if answer is not None:
            self._answer_here(answered.approval, answer)

    def schema(self, approval: str) -> dict[str, Any] | None:
        """The schema of the arguments of a call that waits here; None if it is not known."""
        request = self._open.get(approval)
        return request.call.schema if request is not None else None

    def _answer_here(self, approval: str, answer: Answer) -> bool:
        request = self._open.get(approval)
        if request is not None:
            return self._answer_open(request, answer)
        parked = self._state.parked.get(approval)
        if parked is None or self._engine is None or self._closing:
            return False
        return parked.owner == self._engine.owner and self._answer_parked(parked, answer)

    def _answer_open(self, request: _Request, answer: Answer) -> bool:
        exchange, call = request.exchange, request.call
        if request.parked or request.answer is not None:
            return False
        if answer.allow and not self._can_allow(
            exchange, call.id, call.sender, call.tool_name, answer.arguments
        ):
            return False
        if not self._resolve(request, answer):
            return False
        if answer.allow:
            self.grants.add(
                exchange.author,
                call.sender,
                call.tool_name,
                answer.scope,
                answer.count,
                request=call,
            )
        elif answer.stop:
            request.execution.cancel(f"stopped by {self._served().owner}")
        return True

    def _answer_parked(self, parked: ToolApproval, answer: Answer) -> bool:
        """Answer a request from before a pause.

        A call that is allowed gets a one-time grant for the next run for its message. A denial
        that stops takes back the other one-time grants for that message.
        """
        if self._is_answered(parked) or (
            answer.allow and not self._can_allow_parked(parked, answer)
        ):
            return False
        self._answered.add(parked.id)
        engine = self._served()
        edited = answer.arguments if answer.allow else None
        self._reporter.publish(
            ApprovalResolved(
                parked.message,
                parked.id,
                "approved" if answer.allow else "denied",
                answer.reason,
                answer.scope,
                None if self._private.hides(parked.id) else edited,
                answer.count,
                "edit" if edited is not None else "",
            )
        )
        if answer.allow:
            exchange = self._state.exchanges[parked.message]
            self.grants.add(exchange.author, parked.agent, parked.tool, answer.scope, answer.count)
            self.grants.add_once(parked, edited)
            engine.resume(exchange)
        elif answer.stop:
            self.grants.drop_once(parked.message, self.grants.once_for(parked.message))
            engine.stop(parked.message, engine.owner)
        return True

    def _is_answered(self, parked: ToolApproval) -> bool:
        return parked.id in self._answered or any(
            isinstance(body, ApprovalResolved)
            and body.approval == parked.id
            and body.outcome != "parked"
            for body in self._reporter.unrecorded
        )

    def _can_allow_parked(self, parked: ToolApproval, answer: Answer) -> bool:
        is_hidden = parked.withheld and not self._private.hides(parked.id)
        if is_hidden or not self._served().verifier.is_own_call(parked):
            self._reporter.warn(UNKNOWN_CALL)
            return False
        exchange = self._state.exchanges[parked.message]
        return self._can_allow(exchange, parked.id, parked.agent, parked.tool, answer.arguments)

    def _can_allow(
        self,
        exchange: MessageThread,
        approval: str,
        agent: str,
        tool: str,
        edited: dict[str, Any] | None,
    ) -> bool:
        """Whether no rule denies an edited call, and the room can hold it; the person is told."""
        why = self._denial(exchange, agent, tool, edited)
        if not why and edited is not None and not self._private.hides(approval):
            masked = mask_value(edited)
            why = self._obstacle(
                ApprovalResolved(exchange.seq, approval, "approved", arguments=masked)
            )
        if why:
            self._reporter.warn(f"it can't be allowed with these changes: {why}")
        return not why

    def _denial(
        self, exchange: MessageThread, agent: str, tool: str, edited: dict[str, Any] | None
    ) -> str:
        """Why a rule denies an edited call; empty if none does."""
        if edited is None:
            return ""
        result = self._apply_policy(exchange, agent, tool, edited)
        return result.because if result.effect == "deny" else ""

    def _served(self) -> _Engine:
        assert self._engine is not None, "an engine has begun"  # noqa: S101 - an invariant
        return self._engine


def _preview(arguments: dict[str, Any]) -> dict[str, Any]:
    """The beginnings of arguments that are too large to be shown as they are."""
    named = list(arguments.items())[:_MOST_PREVIEWED]
    return {name[:_PREVIEW]: _beginning(value) for name, value in named}


def _beginning(value: Any) -> Any:
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= _PREVIEW:
        return value
    return f"{text[:_PREVIEW]}… ({len(text):,} characters)"
