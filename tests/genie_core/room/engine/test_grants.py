from typing import Any

import pytest

from genie_core.agent.approval import Approval
from genie_core.room.client.model import Answer
from genie_core.room.engine.arguments import digest, shown
from genie_core.room.engine.grants import CHANGED, Grants
from genie_core.room.protocol.events import MOST_OF_SCOPE, Scope
from genie_core.room.state.thread import ToolApproval


def call(tool: str = "rm", agent: str = "system", **kwargs: Any) -> Approval:
    return Approval(agent, tool, (), kwargs)


def request(message: int = 7, **given: Any) -> ToolApproval:
    return ToolApproval("id", message, "ann", "system", "rm", given, "", seq=9, asked_at=0.0)


@pytest.fixture
def grants() -> Grants:
    return Grants()


async def test_nothing_is_granted_at_first(grants: Grants) -> None:
    assert grants.answer("ann", 7, call(path="x")) is None


async def test_a_grant_answers_one_tool_of_one_agent_for_one_person(grants: Grants) -> None:
    grants.add("ann", "system", "rm")
    assert grants.answer("ann", 7, call(path="anything"))
    assert grants.answer("ben", 7, call()) is None
    assert grants.answer("ann", 7, call(tool="mv")) is None
    assert grants.answer("ann", 7, call(agent="search:1a2b3c4d")) is None


async def test_a_grant_answers_no_tool_that_has_changed(grants: Grants) -> None:
    def of(schema: dict[str, Any]) -> Approval:
        return Approval("system", "rm", (), {}, schema=schema)

    grants.add("ann", "system", "rm", request=of({"required": ["path"]}))
    assert grants.answer("ann", 7, of({"required": ["path"]}))
    assert grants.answer("ann", 7, of({"required": ["whole_disk"]})) is None
    assert grants.answer("ann", 7, of({"required": ["path"]}))
    grants.revoke(1)
    grants.add("ann", "system", "rm")
    assert grants.answer("ann", 7, of({"required": ["path"]}))
    assert grants.answer("ann", 7, of({"required": ["whole_disk"]})) is None


async def test_a_grant_ends_when_the_person_is_gone(grants: Grants) -> None:
    grants.add("ann", "system", "rm")
    grants.add("ben", "system", "rm")
    grants.revoke_for("ben")
    assert grants.answer("ben", 7, call()) is None
    assert grants.answer("ann", 7, call())


async def test_a_one_time_grant_answers_one_call_with_its_arguments_only(
    grants: Grants,
) -> None:
    grants.add_once(request(path="x"))
    assert grants.answer("ann", 7, call(path="y")) is None
    assert grants.answer("ann", 8, call(path="x")) is None
    assert grants.answer("ann", 7, call(agent="search:1a2b", path="x")) is None
    assert grants.answer("ann", 7, call(path="x"))
    assert grants.answer("ann", 7, call(path="x")) is None


async def test_grants_that_a_run_was_offered_and_did_not_use_is_gone(grants: Grants) -> None:
    first, later = request(path="x"), request(path="y")
    grants.add_once(first)
    offered = grants.once_for(7)
    grants.add_once(later)
    grants.drop_once(7, offered)
    assert grants.once_for(7) == (later,)


async def test_arguments_look_as_they_do_in_the_log() -> None:
    approval = Approval("system", "rm", ("a",), {"deep": ({1, 2}, {3: b"x"}, object)})
    table = shown(approval)
    assert table["0"] == "a"
    assert table["deep"][1] == {"3": "eA=="}
    assert "object" in table["deep"][2]


# -- grants that end by themselves


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_grant_for_some_times_counts_the_call_it_was_given_for() -> None:
    clock = Clock()
    grants = Grants(clock)
    grants.add("ann", "system", "rm", "times", 3)
    clock.now += 5
    for left in (1, 0):
        answer = grants.answer("ann", 7, call())
        assert answer is not None
        assert answer.reason == f"allowed in advance, {left} more to come"
    assert grants.active == ()
    assert grants.answer("ann", 7, call()) is None


async def test_a_grant_for_some_minutes_ends_with_them() -> None:
    clock = Clock()
    grants = Grants(clock)
    grants.add("ann", "system", "rm", "minutes", 2)
    clock.now += 119
    assert grants.answer("ann", 7, call())
    (grant,) = grants.active
    assert (grant.used, grant.last_used, grant.until) == (1, 1119.0, 1120.0)
    clock.now += 1
    assert grants.answer("ann", 7, call()) is None
    assert grants.active == ()


@pytest.mark.parametrize(
    ("scope", "number"), [("once", 5), ("times", 1), ("times", 0), ("times", -3), ("minutes", 0)]
)
async def test_a_grant_for_nothing_is_none(scope: Scope, number: int) -> None:
    grants = Grants(Clock())
    grants.add("ann", "system", "rm", scope, number)
    assert grants.answer("ann", 7, call()) is None


async def test_no_grant_reaches_further_than_the_limit() -> None:
    clock = Clock()
    grants = Grants(clock)
    grants.add("ann", "system", "rm", "minutes", 10**9)
    (grant,) = grants.active
    assert grant.until == 1000.0 + MOST_OF_SCOPE * 60


async def test_what_is_revoked_is_gone() -> None:
    grants = Grants(Clock())
    grants.add("ann", "system", "rm")
    grants.add("ann", "system", "mv")
    first, second = grants.active
    assert grants.revoke(first.id)
    assert not grants.revoke(first.id)
    assert grants.active == (second,)
    assert grants.answer("ann", 7, call()) is None


# -- one-time grants and their tools


async def test_a_one_time_grant_is_bound_to_tool_schema_and_arguments() -> None:
    grants, schema = Grants(), {"type": "object"}
    asked = Approval("system", "rm", (), {"path": "x"}, schema=schema)
    again = Approval("system", "rm", (), {"path": "x"}, schema=dict(schema))
    changed = Approval("system", "rm", (), {"path": "x"}, schema={"type": "object", "x": 1})
    assert digest(asked) == digest(again) != digest(changed)
    bound = request(path="x")
    bound.binding = digest(asked)
    grants.add_once(bound)
    assert grants.answer("ann", 7, changed) == Answer(allow=False, reason=CHANGED)
    assert grants.answer("ann", 7, again) is None  # it was for one call
    grants.add_once(bound, {"path": "y"})
    answer = grants.answer("ann", 7, again)
    assert answer is not None
    assert (answer.allow, answer.arguments) == (True, {"path": "y"})
    grants.add_once(bound)
    answer = grants.answer("ann", 7, again)
    assert answer is not None
    assert answer.arguments is None


async def test_changes_are_forgotten_with_the_call() -> None:
    grants, bound = Grants(), request(path="x")
    grants.add_once(bound, {"path": "y"})
    grants.drop_once(7, (bound,))
    grants.add_once(bound)
    answer = grants.answer("ann", 7, call(path="x"))
    assert answer is not None
    assert answer.arguments is None
