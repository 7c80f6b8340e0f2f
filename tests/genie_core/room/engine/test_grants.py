from typing import Any

import pytest

from genie_core.agent.approval import Approval
from genie_core.room.engine.grants import CHANGED, Consent, Cover, arguments, binding
from genie_core.room.protocol.events import MOST_OF_SCOPE, Scope
from genie_core.room.state.thread import ToolApproval


def call(tool: str = "rm", agent: str = "system", **kwargs: Any) -> Approval:
    return Approval(agent, tool, (), kwargs)


def proposal(message: int = 7, **given: Any) -> ToolApproval:
    return ToolApproval("id", message, "ann", "system", "rm", given, "", seq=9, asked_at=0.0)


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


async def test_a_grant_covers_no_tool_that_has_changed(consent: Consent) -> None:
    def of(schema: dict[str, Any]) -> Approval:
        return Approval("system", "rm", (), {}, schema=schema)

    consent.grant("ann", "system", "rm", call=of({"required": ["path"]}))
    assert consent.covers("ann", 7, of({"required": ["path"]}))
    assert consent.covers("ann", 7, of({"required": ["whole_disk"]})) is None
    assert consent.covers("ann", 7, of({"required": ["path"]}))
    consent.revoke(1)
    consent.grant("ann", "system", "rm")
    assert consent.covers("ann", 7, of({"required": ["path"]}))
    assert consent.covers("ann", 7, of({"required": ["whole_disk"]})) is None


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


# -- grants that end by themselves


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_grant_for_some_times_counts_the_call_it_was_given_for() -> None:
    clock = Clock()
    consent = Consent(clock)
    consent.grant("ann", "system", "rm", "times", 3)
    clock.now += 5
    for left in (1, 0):
        cover = consent.covers("ann", 7, call())
        assert cover is not None
        assert cover.because == f"allowed in advance, {left} more to come"
    assert consent.grants == ()
    assert consent.covers("ann", 7, call()) is None


async def test_a_grant_for_some_minutes_ends_with_them() -> None:
    clock = Clock()
    consent = Consent(clock)
    consent.grant("ann", "system", "rm", "minutes", 2)
    clock.now += 119
    assert consent.covers("ann", 7, call())
    (grant,) = consent.grants
    assert (grant.used, grant.last_used, grant.until) == (1, 1119.0, 1120.0)
    clock.now += 1
    assert consent.covers("ann", 7, call()) is None
    assert consent.grants == ()


@pytest.mark.parametrize(
    ("scope", "number"), [("once", 5), ("times", 1), ("times", 0), ("times", -3), ("minutes", 0)]
)
async def test_a_grant_for_nothing_is_none(scope: Scope, number: int) -> None:
    consent = Consent(Clock())
    consent.grant("ann", "system", "rm", scope, number)
    assert consent.covers("ann", 7, call()) is None


async def test_no_grant_reaches_further_than_the_limit() -> None:
    clock = Clock()
    consent = Consent(clock)
    consent.grant("ann", "system", "rm", "minutes", 10**9)
    (grant,) = consent.grants
    assert grant.until == 1000.0 + MOST_OF_SCOPE * 60


async def test_what_is_revoked_is_gone() -> None:
    consent = Consent(Clock())
    consent.grant("ann", "system", "rm")
    consent.grant("ann", "system", "mv")
    first, second = consent.grants
    assert consent.revoke(first.id)
    assert not consent.revoke(first.id)
    assert consent.grants == (second,)
    assert consent.covers("ann", 7, call()) is None


# -- revived calls and their tools


async def test_a_revived_call_is_bound_to_tool_schema_and_arguments() -> None:
    consent, schema = Consent(), {"type": "object"}
    asked = Approval("system", "rm", (), {"path": "x"}, schema=schema)
    again = Approval("system", "rm", (), {"path": "x"}, schema=dict(schema))
    changed = Approval("system", "rm", (), {"path": "x"}, schema={"type": "object", "x": 1})
    assert binding(asked) == binding(again) != binding(changed)
    bound = proposal(path="x")
    bound.binding = binding(asked)
    consent.revive(bound)
    assert consent.covers("ann", 7, changed) == Cover(allow=False, because=CHANGED)
    assert consent.covers("ann", 7, again) is None  # it was for one call
    consent.revive(bound, {"path": "y"})
    cover = consent.covers("ann", 7, again)
    assert cover is not None
    assert (cover.allow, cover.arguments) == (True, {"path": "y"})
    consent.revive(bound)
    cover = consent.covers("ann", 7, again)
    assert cover is not None
    assert cover.arguments is None


async def test_changes_are_forgotten_with_the_call() -> None:
    consent, bound = Consent(), proposal(path="x")
    consent.revive(bound, {"path": "y"})
    consent.forget(7, (bound,))
    consent.revive(bound)
    cover = consent.covers("ann", 7, call(path="x"))
    assert cover is not None
    assert cover.arguments is None
