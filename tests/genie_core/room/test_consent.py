from typing import Any

import pytest

from genie_core.agent.approval import Approval
from genie_core.room.consent import Consent, arguments
from genie_core.room.exchange import Proposal


def call(tool: str = "rm", agent: str = "system", **kwargs: Any) -> Approval:
    return Approval(agent, tool, (), kwargs)


def proposal(message: int = 7, **given: Any) -> Proposal:
    return Proposal("id", message, "ann", "system", "rm", given, "", seq=9, asked_at=0.0)


@pytest.fixture
def consent() -> Consent:
    return Consent()


async def test_nothing_is_covered_at_first(consent: Consent) -> None:
    assert consent.covers("ann", 7, call(path="x")) is None


async def test_a_grant_covers_one_tool_of_one_agent_for_one_person(consent: Consent) -> None:
    consent.grant("ann", "system", "rm")
    assert consent.covers("ann", 7, call(path="anything"))
    assert consent.covers("ben", 7, call()) is None
    assert consent.covers("ann", 7, call(tool="mv")) is None
    assert consent.covers("ann", 7, call(agent="search:1a2b3c4d")) is None


async def test_a_grant_ends_when_the_person_is_gone(consent: Consent) -> None:
    consent.grant("ann", "system", "rm")
    consent.grant("ben", "system", "rm")
    consent.withdraw("ben")
    assert consent.covers("ben", 7, call()) is None
    assert consent.covers("ann", 7, call())


async def test_a_revived_call_is_covered_once_and_with_its_arguments_only(
    consent: Consent,
) -> None:
    consent.revive(proposal(path="x"))
    assert consent.covers("ann", 7, call(path="y")) is None
    assert consent.covers("ann", 8, call(path="x")) is None
    assert consent.covers("ann", 7, call(path="x"))
    assert consent.covers("ann", 7, call(path="x")) is None


async def test_consent_that_a_run_was_offered_and_did_not_use_is_gone(consent: Consent) -> None:
    first, later = proposal(path="x"), proposal(path="y")
    consent.revive(first)
    offered = consent.revived(7)
    consent.revive(later)
    consent.forget(7, offered)
    assert consent.revived(7) == (later,)


async def test_arguments_look_as_they_do_in_the_log() -> None:
    approval = Approval("system", "rm", ("a",), {"deep": ({1, 2}, {3: b"x"}, object)})
    shown = arguments(approval)
    assert shown["0"] == "a"
    assert shown["deep"][1] == {"3": "eA=="}
    assert "object" in shown["deep"][2]
