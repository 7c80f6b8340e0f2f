"""Approval of tool calls, from the agent's request to the resolution in the log."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import msgspec

from genie_core.agent.approval import Approval
from genie_core.execution import ApprovalClosed, Execution
from genie_core.privacy.redaction import mask_known, mask_value
from genie_core.room.client.model import Answer
from genie_core.room.engine.approval_policy import (
    EXCEED_BUDGET,
    SERVER_REQUESTS,
    ApprovalPolicy,
    PolicyResult,
    ToolCall,
)
from genie_core.room.engine.arguments import digest, given, shown, unmasked
from genie_core.room.engine.grants import CHANGED_SINCE, Granted, Grants, OneTimeGrant
from genie_core.room.engine.private_arguments import PrivateArguments
from genie_core.room.engine.provenance import mixture, origins_of, source_of
from genie_core.room.engine.remote_control import RemoteControl
from genie_core.room.engine.reporter import EngineReporter
from genie_core.room.engine.tool_effects import ToolEffects
from genie_core.room.engine.verification import Verifier
from genie_core.room.protocol.codec import MAX_DEPTH, normal, size_of
from genie_core.room.protocol.errors import FrameError
from genie_core.room.protocol.events import (
    STOPPED_BY,
    SUMMARISE,
    ApprovalRequested,
    ApprovalResolved,
    How,
    Outcome,
)
from genie_core.room.protocol.frames import ApprovalAnswered
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread, ToolApproval

logger = logging.getLogger(__name__)

UNKNOWN_CALL: Final = "the arguments of this call are not known here any more; deny it"

ACTS_ALONE: Final = "the agent acts on its own: it made the call without asking"

SUMMARISED: Final = "the conversation became too long for the model, or its owner asked for it"

_MOST_OWN_BYTES: Final = 32_768
"""Size of such a call, above which its arguments are shortened: there is nothing to answer."""

UNSHOWABLE: Final = (
    "its arguments can't be shown: they contain a value that can't be written as JSON, or "
    f"are nested more than {MAX_DEPTH} levels deep; make a simpler call"
)

UNRECORDED: Final = (
    "it can't be recorded now, because too many messages wait for the connection to the room"
)

NO_POLICY_RESULT: Final = "the rules could not be applied to it"

MOST_SHOWN_LINES: Final = 5_000
MOST_SHOWN_CHARS: Final = 400_000
TOO_LONG: Final = (
    f"its change has more than {MOST_SHOWN_LINES:,} lines or {MOST_SHOWN_CHARS:,} characters, more "
    "than a person can review; make smaller changes"
)

_PREVIEW_CHARS: Final = 200
"""Characters of each argument that the log shows of a call that is too large."""

_PREVIEW_ARGUMENTS: Final = 20

_EFFECT_LINES: Final = 8
"""Effects of a call that the log names."""


@dataclass(frozen=True, slots=True)
class _Engine:
    """The loaded engine: its policy, its verifier, and the functions that control its runs."""

    owner: str
    policy: ApprovalPolicy
    verifier: Verifier
    resume: Callable[[MessageThread], None]
    stop: Callable[[int, str], bool]


@dataclass(slots=True, eq=False)
class _Request:
    """An open request of a running execution. `how` is the source of the `answer`.

    `result` is that of the call as it was asked about, or as a person edited it. `preview` are the
    edited arguments whose effects were shown last, and their result.
    """

    thread: MessageThread
    execution: Execution
    call: Approval
    result: PolicyResult
    preview: tuple[dict[str, Any], PolicyResult] | None = None
    answer: Answer | None = None
    how: How = ""
    parked: bool = False


class Approvals:
    """Answers tool calls by policy and grants, asks a person about the others, and records all.

    Call `begin` when an engine is loaded. Before that, and after `end`, only requests at the
    owner's other terminals can be answered. While `auto` is true, calls for the owner's own
    messages run unless the policy denies them. No answer, grant or edit overrides a denial by the
    policy. Each request shows `where` it would run.
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
        """Serve a newly loaded engine, and drop all earlier grants.

        `resume` runs the agent again for calls that are allowed after a pause; `stop` stops a run
        on behalf of a person.
        """
        self._reset()
        self._engine = _Engine(owner, policy, verifier, resume, stop)

    def end(self) -> None:
        self._reset()

    # -- requests of the engine

    def request(self, thread: MessageThread, execution: Execution, call: Approval) -> None:
        """Record a tool call; answer it by policy, grant or auto mode, or leave it to a person."""
        result = self._noting_grants(thread, call, self._evaluate(thread, call))
        automatic = None if self._closing else self._automatic_answer(thread, call, result)
        body = self._request_body(thread, call, result, unasked=automatic is not None)
        obstacle = UNSHOWABLE if body is None else self._obstacle(body)
        if not obstacle and automatic is None and _is_too_long(result.effects.diff):
            obstacle = TOO_LONG
        if body is None or obstacle or not self._reporter.publish(body):
            # A person must not allow a call that they can't see.
            self._refuse(thread, call, body, obstacle or UNRECORDED)
            return
        request = self._open[call.id] = _Request(thread, execution, call, result)
        if self._closing:
            self._park(execution)
        elif automatic is not None:
            granted, how = automatic
            self._resolve(request, granted.answer, how, granted.original)

    def record_own(
        self, thread: MessageThread, agent: str, tool: str, arguments: dict[str, Any]
    ) -> None:
        """Record a call that an agent has made without asking, with the question for it."""
        call = Approval(agent, tool, (), arguments)
        result = replace(self._evaluate(thread, call), because=ACTS_ALONE)
        body = self._request_body(thread, call, result, unasked=True)
        if body is not None and (self._obstacle(body) or size_of(body) > _MOST_OWN_BYTES):
            body = msgspec.structs.replace(body, arguments=_preview(body.arguments), effects=())
            self._private.add(body)
        if body is not None and self._reporter.publish(body):
            made = ApprovalResolved(thread.seq, call.id, "approved", how="own")
            self._reporter.publish(made)

    def record_summary(self, thread: MessageThread, agent: str, text: str) -> None:
        """Record the summary with which an agent has replaced the beginning of its conversation."""
        call = Approval(agent, SUMMARISE, (), {"summary": text})
        result = PolicyResult("allow", SUMMARISED, "read", effects=ToolEffects())
        body = self._request_body(thread, call, result, unasked=True)
        if body is not None and self._reporter.publish(body):
            made = ApprovalResolved(thread.seq, call.id, "approved", how="own")
            self._reporter.publish(made)

    def record(self, closed: ApprovalClosed) -> None:
        """Record the resolution of a request, unless it was parked or refused."""
        request = self._open.pop(closed.approval.id, None)
        if request is None or request.parked:
            return
        answer, final = request.answer, closed.verdict
        outcome: Outcome = "approved" if final else "denied" if answer else "expired"
        self._reporter.publish(
            ApprovalResolved(
                request.thread.seq,
                request.call.id,
                outcome,
                final.reason or (answer.reason if answer else None),
                answer.scope if answer else "once",
                None if self._private.hides(request.call.id) else final.arguments,
                answer.count if answer else 0,
                "edit" if final.arguments is not None else request.how,
                covers=answer.covers if answer and answer.scope != "once" else "",
            )
        )

    def forget(self, execution: Execution) -> None:
        for request in self._requests_of(execution):
            del self._open[request.call.id]

    def close(self, reason: str) -> None:
        """Park all open and all later requests, and cancel their runs."""
        self._closing = reason
        for execution in dict.fromkeys(request.execution for request in self._open.values()):
            self._park(execution)

    def _evaluate(self, thread: MessageThread, call: Approval) -> PolicyResult:
        try:
            arguments = given(call)
        except Exception:  # reading an argument may run code of the tool
            logger.exception("can't read the arguments of a call")
            return PolicyResult("ask", NO_POLICY_RESULT, must_ask=True)
        result = self._apply_policy(thread, call.sender, call.tool_name, arguments)
        if result.mixed or result.effect == "deny" or call.tool_name == EXCEED_BUDGET:
            return result
        if call.tool_name in SERVER_REQUESTS:
            return replace(result, effect="ask", must_ask=True)
        owner, reading = self._loaded().owner, self._state.reading
        has_others = any(name != owner for name in (*self._state.people, *reading.authors))
        what = mixture(reading, owner, has_others, result)
        return replace(result, effect="ask", because=what, must_ask=True) if what else result

    def _apply_policy(
        self, thread: MessageThread, agent: str, tool: str, arguments: dict[str, Any]
    ) -> PolicyResult:
        policy = self._loaded().policy
        try:
            return policy.evaluate(ToolCall(thread.author, agent, tool, arguments))
        except Exception:  # if a rule fails, ask a person
            logger.exception("the policy failed")
            return PolicyResult("ask", NO_POLICY_RESULT, must_ask=True)

    def _noting_grants(
        self, thread: MessageThread, call: Approval, result: PolicyResult
    ) -> PolicyResult:
        """Say of a call that is asked about which grant ended, or does not count for it."""
        if self.grants.drop_changed(thread.author, call) and result.effect == "ask":
            known = f"; {result.because}" if result.because else ""
            return replace(result, because=f"{CHANGED_SINCE}{known}")
        if not result.must_ask:
            return result
        is_covered = partial(self._is_covered, thread, call, result.effects)
        if self.grants.find(thread.author, call, result.effects, is_covered) is None:
            return result
        return replace(result, because=f"{result.because}; your grant does not count for that")

    def _is_covered(
        self, thread: MessageThread, call: Approval, effects: ToolEffects, pattern: str
    ) -> bool:
        made = ToolCall(thread.author, call.sender, call.tool_name, given(call))
        return self._loaded().policy.is_covered(made, effects, pattern)

    def _automatic_answer(
        self, thread: MessageThread, call: Approval, result: PolicyResult
    ) -> tuple[Granted, How] | None:
        """Return an answer by rule, grant or auto mode, and its source; uses up a grant."""
        if result.effect == "deny":
            return Granted(Answer(allow=False, reason=result.because)), "rule"
        granted = self.grants.answer_once(thread.seq, call, result.effects)
        if granted is None and not result.must_ask:
            is_covered = partial(self._is_covered, thread, call, result.effects)
            granted = self.grants.answer(thread.author, call, result.effects, is_covered)
        if granted is not None:
            edited = unmasked(granted.answer.arguments, call)
            if edited is not None and self._denial(thread, call.sender, call.tool_name, edited):
                return None  # the rules have changed since; ask about the original call
            return granted, "grant"
        if result.must_ask or call.tool_name == EXCEED_BUDGET:
            return None
        if result.effect == "allow":
            return Granted(Answer(allow=True, reason=result.because)), "rule"
        if self.auto and thread.author == self._loaded().owner:
            return Granted(Answer(allow=True, reason="auto mode")), "auto"
        return None

    def _request_body(
        self, thread: MessageThread, call: Approval, result: PolicyResult, *, unasked: bool
    ) -> ApprovalRequested | None:
        try:
            arguments, binding = shown(call), digest(call)
        except Exception:  # reading an argument may run code of the tool
            logger.exception("can't show the arguments of a call")
            return None
        withheld, effects = self._is_withheld(thread, call), _masked(result.effects)
        source = source_of(call.tool_name, result.risk, effects)
        if source and thread.is_private:
            source = "a private request"  # the log says no more of its reads
        body = ApprovalRequested(
            thread.seq,
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
            origins=origins_of(self._state.reading, self._loaded().owner, result.sources),
            reads=effects.reads,
            effects=_effect_lines(effects),
            source=source,
        )
        self._private.add(body)
        if not withheld:
            return body
        named = "a page" if result.risk == "network" else source
        return msgspec.structs.replace(body, arguments={}, effects=(), source=named)

    def _refuse(
        self, thread: MessageThread, call: Approval, body: ApprovalRequested | None, why: str
    ) -> None:
        """Deny a call that can't be shown; the model, the owner and the log get the reason."""
        tool = call.tool_name[:_PREVIEW_CHARS]
        arguments = _preview(body.arguments) if body is not None and why != UNSHOWABLE else {}
        refused = ApprovalRequested(
            thread.seq,
            call.id,
            call.sender,
            tool,
            arguments,
            self._where,
            self._is_withheld(thread, call),
            because=why,
            unasked=True,
        )
        self._private.add(refused)
        if self._reporter.publish(refused):
            self._reporter.publish(ApprovalResolved(thread.seq, call.id, "expired", why))
        self._reporter.warn(f"{tool} was not run: {why}")
        call.deny(why, automatic=True)

    def _is_withheld(self, thread: MessageThread, call: Approval) -> bool:
        """Whether the log has the call without its arguments."""
        if call.tool_name in SERVER_REQUESTS:
            return True
        return thread.author != self._loaded().owner and not self._state.sharing

    def _obstacle(self, body: ApprovalRequested | ApprovalResolved) -> str:
        """Return why the log can't record a request or a resolution; empty if it can."""
        limit = self._reporter.max_bytes(body.message)
        try:
            normal(body, limit)
        except FrameError as error:
            if error.code != "too_large":
                return UNSHOWABLE
        else:
            return ""
        return (
            f"its arguments are {size_of(body) // 1024:,} KB, more than the {limit // 1024:,} KB "
            "that an approval can show; make smaller calls, for example write a file in parts"
        )

    def _resolve(
        self, request: _Request, answer: Answer, how: How = "", original: str = ""
    ) -> bool:
        """Answer a request; False if it has been answered before.

        `original` is a digest of the file that the call changes, as a person saw it.
        """
        call, owner = request.call, self._loaded().owner
        request.answer, request.how = answer, how
        if answer.allow:
            edited = unmasked(answer.arguments, call)
            resolved = call.approve(arguments=edited, by=owner, original=original)
        else:
            resolved = call.deny(answer.reason, by=owner, automatic=how != "")
        if not resolved:
            request.answer, request.how = None, ""
        return resolved

    def _park(self, execution: Execution) -> None:
        for request in self._requests_of(execution):
            is_asked_again = (
                request.call.tool_name in SERVER_REQUESTS
            )  # by the call that is repeated
            if not request.parked and request.answer is None and not is_asked_again:
                request.parked = True
                self._reporter.publish(
                    ApprovalResolved(request.thread.seq, request.call.id, "parked")
                )
        execution.cancel(self._closing)

    def _requests_of(self, execution: Execution) -> list[_Request]:
        return [each for each in self._open.values() if each.execution is execution]

    # -- answers of a person

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an open or parked request of this person, here or at another terminal.

        Returns False if the request no longer waits, no engine is loaded, a rule denies the edited
        call, or the answer would allow a call whose arguments this terminal can't show.
        """
        return self._answer_here(approval, answer) or self._remote.answer(approval, answer)

    def on_answered_elsewhere(self, answered: ApprovalAnswered) -> None:
        """Answer a request here with an answer that its owner gave at another terminal."""
        answer = self._remote.verified(answered)
        if answer is not None:
            self._answer_here(answered.approval, answer)

    def effects(self, approval: str) -> ToolEffects | None:
        """Return the effects of an open or parked call, without secrets.

        None if it is not known here.
        """
        request = self._open.get(approval)
        if request is not None:
            grantable = not request.result.must_ask and not request.result.effects.refusal
            return replace(_masked(request.result.effects), is_grantable=grantable)
        parked = self._own_parked(approval)
        return _masked(self._effects_of_parked(parked)) if parked is not None else None

    def is_covered(self, approval: str, pattern: str) -> bool:
        """Whether a pattern covers all that an open or parked call would do; False in doubt."""
        request, parked = self._open.get(approval), self._own_parked(approval)
        if request is not None:
            return self._is_covered(request.thread, request.call, request.result.effects, pattern)
        if parked is None:
            return False
        author = self._state.threads[parked.message].author
        call = ToolCall(author, parked.agent, parked.tool, parked.arguments)
        return self._loaded().policy.is_covered(call, self._effects_of_parked(parked), pattern)

    def preview(self, approval: str, edited: dict[str, Any]) -> ToolEffects | None:
        """Return the effects of an open call with edited arguments.

        None if it is not known here.
        """
        request = self._open.get(approval)
        if request is not None:
            request.preview = edited, self._evaluate_edited(request, edited)
            return _masked(request.preview[1].effects)
        parked = self._own_parked(approval)
        return _masked(self._effects_of_parked(parked, edited)) if parked is not None else None

    def _evaluate_edited(self, request: _Request, edited: dict[str, Any]) -> PolicyResult:
        call, arguments = request.call, unmasked(edited, request.call) or {}
        return self._apply_policy(request.thread, call.sender, call.tool_name, arguments)

    def _own_parked(self, approval: str) -> ToolApproval | None:
        parked = self._state.parked.get(approval)
        if parked is None or self._engine is None or parked.owner != self._engine.owner:
            return None
        return parked

    def _effects_of_parked(
        self, parked: ToolApproval, edited: dict[str, Any] | None = None
    ) -> ToolEffects:
        thread = self._state.threads[parked.message]
        arguments = parked.arguments if edited is None else edited
        return self._apply_policy(thread, parked.agent, parked.tool, arguments).effects

    def schema(self, approval: str) -> dict[str, Any] | None:
        """Return the schema of an open call's arguments; None if it is not known here."""
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
        thread, call = request.thread, request.call
        if request.parked or request.answer is not None:
            return False
        edited = answer.arguments if answer.allow else None
        if edited is not None:
            shown_for, result = request.preview or (None, request.result)
            if shown_for != edited:
                result = self._evaluate_edited(request, edited)
            if not self._can_record(thread, call.id, edited, result):
                return False
            request.result = result
        effects = request.result.effects
        if not self._resolve(request, answer, original=effects.original):
            return False
        if answer.allow:
            self.grants.add(
                thread.author,
                call.sender,
                call.tool_name,
                answer,
                effects,
                arguments=unmasked(edited, call) or given(call),
                request=call,
                message=thread.seq,
            )
        elif answer.stop:
            request.execution.cancel(f"{STOPPED_BY}{self._loaded().owner}")
        return True

    def _answer_parked(self, parked: ToolApproval, answer: Answer) -> bool:
        """Answer a request that was parked by a pause.

        Allowing adds a one-time grant for the next run of the message. A denial that also stops
        the run revokes the other one-time grants for the message.
        """
        if self._is_answered(parked) or (
            answer.allow and not self._can_allow_parked(parked, answer)
        ):
            return False
        self._answered.add(parked.id)
        engine = self._loaded()
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
                covers=answer.covers if answer.scope != "once" else "",
            )
        )
        if answer.allow:
            thread = self._state.threads[parked.message]
            effects = self._effects_of_parked(parked, edited)
            self.grants.add(
                thread.author,
                parked.agent,
                parked.tool,
                answer,
                effects,
                arguments=edited or parked.arguments,
                parked=parked,
                message=thread.seq,
            )
            self.grants.add_once(OneTimeGrant(parked, edited, effects.original))
            engine.resume(thread)
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
        if is_hidden or not self._loaded().verifier.is_own_call(parked):
            self._reporter.warn(UNKNOWN_CALL)
            return False
        if answer.arguments is None:
            return True
        thread = self._state.threads[parked.message]
        result = self._apply_policy(thread, parked.agent, parked.tool, answer.arguments)
        return self._can_record(thread, parked.id, answer.arguments, result)

    def _can_record(
        self,
        thread: MessageThread,
        approval: str,
        edited: dict[str, Any],
        result: PolicyResult,
    ) -> bool:
        """Check that no rule denies an edited call and the log can record it; warn otherwise."""
        why = result.because if result.effect == "deny" else ""
        if not why and not self._private.hides(approval):
            masked = mask_value(edited)
            why = self._obstacle(
                ApprovalResolved(thread.seq, approval, "approved", arguments=masked)
            )
        if why:
            self._reporter.warn(f"the call can't be allowed with these changes: {why}")
        return not why

    def _denial(self, thread: MessageThread, agent: str, tool: str, edited: dict[str, Any]) -> str:
        """Return why a rule denies an edited call; empty if none does."""
        result = self._apply_policy(thread, agent, tool, edited)
        return result.because if result.effect == "deny" else ""

    def _loaded(self) -> _Engine:
        assert self._engine is not None, "no engine is loaded"  # noqa: S101 - an invariant
        return self._engine


def _masked(effects: ToolEffects) -> ToolEffects:
    """Return effects without known secrets, for the screen."""
    known = tuple(replace(each, target=mask_known(each.target)) for each in effects.known)
    source, diff = mask_known(effects.source), mask_known(effects.diff)
    return replace(effects, known=known, source=source, diff=diff)


def _effect_lines(effects: ToolEffects) -> tuple[str, ...]:
    """Word the effects of a call, for the log: the first effects, each shortened."""
    lines = [_shortened(str(each)) for each in effects.known[:_EFFECT_LINES]]
    if len(effects.known) > _EFFECT_LINES:
        lines.append(f"{len(effects.known) - _EFFECT_LINES:,} more")
    if effects.anything:
        lines.append(f"may run anything: {_shortened(effects.why)}")
    if effects.unheld:
        lines.append(_shortened(effects.unheld))
    return tuple(lines)


def _is_too_long(diff: str) -> bool:
    return len(diff) > MOST_SHOWN_CHARS or diff.count("\n") > MOST_SHOWN_LINES


def _preview(arguments: dict[str, Any]) -> dict[str, Any]:
    first = list(arguments.items())[:_PREVIEW_ARGUMENTS]
    return {name[:_PREVIEW_CHARS]: _shortened(value) for name, value in first}


def _shortened(value: Any) -> Any:
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= _PREVIEW_CHARS:
        return value
    return f"{text[:_PREVIEW_CHARS]}… ({len(text):,} characters)"
