"""Answering a tool call before its owner is asked: by rules, by what they allowed, by auto mode."""

import logging
from dataclasses import dataclass
from typing import Any, Final

from genie_core.agent.approval import Approval
from genie_core.room.engine.grants import Consent, arguments
from genie_core.room.engine.policy import EXCEED_BUDGET, Call, Judge, Judgement
from genie_core.room.protocol.events import How
from genie_core.room.seat import Answer
from genie_core.room.state.thread import MessageThread, ToolApproval

logger = logging.getLogger(__name__)

UNJUDGED: Final = "the rules could not be applied to it"


@dataclass(frozen=True, slots=True)
class Ruling:
    """An answer to a call, and by what it was given."""

    answer: Answer
    how: How = ""


class Court:
    """Rules on the calls of one person's agents.

    What the `judge` denies, nobody can allow. What it does not decide, the owner's `consent` from
    earlier may; a judge that fails leaves the call to a person.
    """

    def __init__(self, judge: Judge, consent: Consent, owner: str) -> None:
        self._judge = judge
        self._consent = consent
        self._owner = owner

    def judgement(self, exchange: MessageThread, approval: Approval) -> Judgement:
        """What the judge says of a call."""
        try:
            given = arguments(approval)
        except Exception:  # an argument may do anything when it is looked at
            logger.exception("a call's arguments can't be looked at")
            return Judgement("ask", UNJUDGED, firm=True)
        return self._judged(exchange, approval.sender, approval.tool_name, given)

    def ruling(
        self, exchange: MessageThread, approval: Approval, judgement: Judgement, *, auto: bool
    ) -> Ruling | None:
        """The answer that a call has already, or None if a person is asked; uses up their consent.

        With `auto`, what is neither denied nor to be asked firmly is allowed for the owner.
        """
        if judgement.effect == "deny":
            return Ruling(Answer(allow=False, reason=judgement.because), "rule")
        if judgement.firm:
            return None
        cover = self._consent.covers(exchange.author, exchange.seq, approval)
        if cover is not None:
            given = cover.arguments
            if given is not None and self.objection(exchange, approval, given):
                return None  # the rules have changed since; the person sees the call as it is
            return Ruling(Answer(cover.allow, cover.because, arguments=given), "grant")
        if approval.tool_name == EXCEED_BUDGET:
            return None
        if judgement.effect == "allow":
            return Ruling(Answer(allow=True, reason=judgement.because), "rule")
        if auto and exchange.author == self._owner:
            return Ruling(Answer(allow=True, reason="auto mode"), "auto")
        return None

    def objection(
        self, exchange: MessageThread, call: Approval | ToolApproval, edited: dict[str, Any] | None
    ) -> str:
        """Why a rule denies what a person made of a call; empty if none does."""
        if edited is None:
            return ""
        agent, tool = (
            (call.sender, call.tool_name) if isinstance(call, Approval) else (call.agent, call.tool)
        )
        judgement = self._judged(exchange, agent, tool, edited)
        return judgement.because if judgement.effect == "deny" else ""

    def _judged(
        self, exchange: MessageThread, agent: str, tool: str, given: dict[str, Any]
    ) -> Judgement:
        try:
            return self._judge.judge(Call(exchange.author, agent, tool, given))
        except Exception:  # whatever a rule or an argument does, a person can still be asked
            logger.exception("a call can't be judged")
            return Judgement("ask", UNJUDGED, firm=True)
