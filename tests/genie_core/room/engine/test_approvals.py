"""Calls that are put to rules and to a person, and what is recorded of it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from genie_core.agent.approval import Approval, Verdict
from genie_core.agent.provider.approval_answer import denial
from genie_core.execution import ApprovalClosed, Execution
from genie_core.room.engine.approvals import UNKNOWN_CALL, UNRECORDED, UNSHOWABLE, Docket
from genie_core.room.engine.grants import Consent
from genie_core.room.engine.policy import Call, Judgement
from genie_core.room.engine.private_arguments import Withheld
from genie_core.room.engine.verification import Trust
from genie_core.room.protocol.events import (
    AnyBody,
    ApprovalResolved,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
    RunBody,
    RunFailed,
)
from genie_core.room.running import Running
from genie_core.room.seat import Answer
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.progress import What


class Ann:
    """Hosts a room with an engine, in which bob is a guest; what is reported comes back at once."""

    largest = 100_000

    def __init__(self, state: RoomState | None = None, withheld: Withheld | None = None) -> None:
        self.effect: Literal["allow", "ask", "deny"] = "ask"
        self.warnings: list[str] = []
        self.unrecorded: Sequence[RunBody] = ()
        self.state = state or RoomState()
        self.consent = Consent()
        self.docket = Docket(
            self.state,
            "ann",
            self,
            judge=self,
            consent=self.consent,
            trust=Trust(self.state, "ann", None, serves=True),
            withheld=withheld or Withheld(),
            where="ann's machine",
        )
        if state is None:
            self.add("", RoomCreated("r", "Room"))
            self.add("", HostStarted("ann"))
            self.add("ann", MemberJoined("host", engine=True))

    def add(self, by: str, body: AnyBody) -> int:
        seq = self.state.head + 1
        self.state.apply(Event(seq, float(seq), by, body))
        return seq

    def run(self, by: str = "ann") -> Running:
        """Begin a run for a message that somebody says."""
        seq = self.add(by, MessagePosted(f"id{self.state.head}", "do it", "ann"))
        self.add("ann", DecisionMade(seq, "delegate", "", "do it", "system"))
        return Running(self.state.exchanges[seq], Execution())

    def ask(self, current: Running, path: str = "x") -> Approval:
        approval = Approval("system", "edit", (), {"path": path})
        self.docket.ask(current, approval)
        return approval

    def settled(self, current: Running, approval: Approval) -> ApprovalResolved:
        """Let the run go on with the answer; returns what is recorded then."""
        assert approval.verdict is not None
        at = datetime.now(UTC)
        self.docket.settle(current, ApprovalClosed(approval, approval.verdict, "ann", at))
        proposal = self.state.proposals[approval.id]
        assert proposal.outcome is not None
        return ApprovalResolved(
            proposal.message,
            proposal.id,
            proposal.outcome,
            proposal.reason,
            proposal.scope,
            proposal.edited,
            proposal.count,
            proposal.how,
        )

    def judge(self, call: Call) -> Judgement:
        if call.arguments["path"] == "secret":
            return Judgement("deny", "secrets stay")
        return Judgement(self.effect, "so it is ruled", "write")

    def publish(self, body: RunBody) -> bool:
        self.add("ann", body)
        return True

    def delta(self, message: int, text: str) -> None: ...
    def progress(self, message: int, agent: str, what: What, detail: str) -> None: ...
    def warn(self, text: str) -> None:
        self.warnings.append(text)


async def test_a_call_waits_for_the_person_and_the_first_answer_counts() -> None:
    ann = Ann()
    current = ann.run()
    approval = ann.ask(current)
    (proposal,) = ann.state.pending_for("ann")
    assert (proposal.where, proposal.because) == ("ann's machine", "so it is ruled")
    assert ann.docket.answer(current, approval.id, Answer(allow=False, reason="not now"))
    assert not ann.docket.answer(current, approval.id, Answer(allow=True))
    settled = ann.settled(current, approval)
    assert (settled.outcome, settled.reason) == ("denied", "not now")
    assert current.pending == {}


@pytest.mark.parametrize(
    ("effect", "auto", "how", "allowed"),
    [("allow", False, "rule", True), ("deny", True, "rule", False), ("ask", True, "auto", True)],
)
async def test_what_is_ruled_waits_for_nobody(
    effect: Literal["allow", "ask", "deny"], auto: bool, how: str, allowed: bool
) -> None:
    ann = Ann()
    ann.effect, ann.docket.auto = effect, auto
    current = ann.run()
    approval = ann.ask(current)
    assert ann.state.pending_for("ann") == []
    assert bool(approval.verdict) is allowed
    settled = ann.settled(current, approval)
    assert (settled.outcome == "approved", settled.how) == (allowed, how)


async def test_nobody_allows_by_an_edit_what_a_rule_denies() -> None:
    ann = Ann()
    current = ann.run()
    approval = ann.ask(current)
    assert not ann.docket.answer(
        current, approval.id, Answer(allow=True, arguments={"path": "secret"})
    )
    assert "secrets stay" in ann.warnings[-1]
    assert ann.docket.answer(current, approval.id, Answer(allow=True, arguments={"path": "y"}))
    settled = ann.settled(current, approval)
    assert (settled.arguments, settled.how) == ({"path": "y"}, "edit")


async def test_what_is_asked_while_leaving_is_parked_and_ends_the_run() -> None:
    ann = Ann()
    first, second = ann.run(), ann.run()
    waiting = ann.ask(first)
    ann.docket.close([first, second], "the room was suspended")
    late = ann.ask(second)
    assert [proposal.id for proposal in ann.state.parked_for("ann")] == [waiting.id, late.id]
    assert not ann.docket.answer(first, waiting.id, Answer(allow=True))


async def test_a_parked_call_is_answered_once_and_revived_if_it_is_allowed() -> None:
    ann = Ann()
    current = ann.run()
    ann.ask(current)
    ann.docket.close([current], "the room was suspended")
    ann.add("ann", RunFailed(current.exchange.seq, "lost", "over"))
    again = Ann(ann.state)
    (proposal,) = again.state.parked_for("ann")
    answer = Answer(allow=True, arguments={"path": "y"})
    assert again.docket.answer_parked(proposal, answer)
    assert not again.docket.answer_parked(proposal, answer)
    assert again.consent.revived(proposal.message) == (proposal,)
    assert (proposal.outcome, proposal.edited) == ("approved", {"path": "y"})


async def test_a_parked_call_that_was_answered_is_not_answered_again_before_the_room_knows() -> (
    None
):
    """Who answered at an earlier visit, of which the room has yet to hear, has answered."""
    ann = Ann()
    current = ann.run()
    ann.ask(current)
    ann.docket.close([current], "the room was suspended")
    (proposal,) = ann.state.parked_for("ann")
    again = Ann(ann.state)
    again.unrecorded = [ApprovalResolved(proposal.message, proposal.id, "approved")]
    assert not again.docket.answer_parked(proposal, Answer(allow=True))
    assert again.consent.revived(proposal.message) == ()
    again.unrecorded = [ApprovalResolved(proposal.message, proposal.id, "parked")]
    assert again.docket.answer_parked(proposal, Answer(allow=True))


async def test_a_denial_that_stops_takes_along_what_was_revived_for_the_message() -> None:
    ann = Ann()
    current = ann.run()
    for path in ("x", "y"):
        ann.ask(current, path)
    ann.docket.close([current], "the room was suspended")
    first, second = ann.state.parked_for("ann")
    assert ann.docket.answer_parked(first, Answer(allow=True))
    assert ann.docket.answer_parked(second, Answer(allow=False, stop=True))
    assert ann.consent.revived(first.message) == ()


async def test_a_guests_call_is_hidden_in_the_log_and_not_allowed_once_it_is_forgotten() -> None:
    ann = Ann()
    ann.add("bob", MemberJoined("guest"))
    current = ann.run("bob")
    ann.ask(current)
    ann.docket.close([current], "the room was suspended")
    (proposal,) = ann.state.parked_for("ann")
    assert (proposal.arguments, proposal.withheld) == ({}, True)
    forgetful = Ann(ann.state, Withheld())
    assert not forgetful.docket.answer_parked(proposal, Answer(allow=True))
    assert forgetful.warnings == [UNKNOWN_CALL]
    assert forgetful.docket.answer_parked(proposal, Answer(allow=False))


async def test_what_can_not_be_shown_is_denied() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    ann = Ann()
    current = ann.run()
    odd: dict[str, Any] = {"path": Odd()}
    approval = Approval("system", "edit", (), odd)
    ann.docket.ask(current, approval)
    assert approval.verdict is not None
    assert approval.verdict == Verdict(approved=False, reason=UNSHOWABLE, automatic=True)
    (proposal,) = ann.state.proposals.values()
    assert (proposal.arguments, proposal.unasked) == ({}, True)
    assert (proposal.outcome, proposal.reason) == ("expired", UNSHOWABLE)
    assert ann.warnings == [f"edit was not run: {UNSHOWABLE}"]
    assert current.pending == {}


async def test_a_call_too_large_to_be_shown_is_not_run_and_everybody_knows_why() -> None:
    ann = Ann()
    current = ann.run()
    approval = ann.ask(current, "x" * 300_000)
    why = "its arguments are 293 KB, more than the 97 KB that an approval can show"
    assert approval.verdict is not None
    assert approval.verdict.automatic
    told = approval.verdict.reason or ""
    assert told.startswith(why)
    assert "in parts" in told
    assert denial(approval.verdict) == f"This tool call was not run: {told}"
    (proposal,) = ann.state.proposals.values()
    assert (proposal.outcome, proposal.reason, proposal.unasked) == ("expired", told, True)
    assert proposal.arguments == {"path": f"{'x' * 200}… (300,000 characters)"}
    assert ann.warnings == [f"edit was not run: {told}"]
    assert ann.state.pending_for("ann") == []
    assert current.pending == {}


async def test_a_call_that_the_room_does_not_take_now_is_not_run_and_the_owner_knows_why() -> None:
    class Full(Ann):
        def publish(self, body: RunBody) -> bool:
            return False

    ann = Full()
    approval = ann.ask(ann.run())
    assert approval.verdict == Verdict(approved=False, reason=UNRECORDED, automatic=True)
    assert ann.warnings == [f"edit was not run: {UNRECORDED}"]


async def test_changes_too_large_to_be_recorded_allow_nothing() -> None:
    ann = Ann()
    current = ann.run()
    approval = ann.ask(current)
    large = Answer(allow=True, arguments={"path": "x" * 300_000})
    assert not ann.docket.answer(current, approval.id, large)
    assert approval.verdict is None
    assert "more than the 97 KB" in ann.warnings[-1]
    assert ann.docket.answer(current, approval.id, Answer(allow=True))


async def test_a_rule_that_denies_is_not_put_down_to_the_user() -> None:
    ann = Ann()
    approval = ann.ask(ann.run(), "secret")
    assert approval.verdict is not None
    assert denial(approval.verdict) == "This tool call was not run: secrets stay"
