from typing import Any

import pytest

from genie_core.agent.approval import Approval
from genie_core.room.client.model import ANY_CALL, Answer
from genie_core.room.engine.arguments import digest, shown
from genie_core.room.engine.grants import CHANGED, FILE_CHANGED, Granted, Grants, OneTimeGrant
from genie_core.room.engine.tool_effects import UNKNOWN_EFFECTS, ToolEffects
from genie_core.room.protocol.events import MOST_OF_SCOPE, Scope
from genie_core.room.state.thread import ToolApproval


def call(tool: str = "rm", agent: str = "system", **kwargs: Any) -> Approval:
    return Approval(agent, tool, (), kwargs)


def request(message: int = 7, **given: Any) -> ToolApproval:
    return ToolApproval("id", message, "ann", "system", "rm", given, "", seq=9, asked_at=0.0)


def allow(
    grants: Grants,
    person: str,
    tool: str,
    scope: Scope = "session",
    number: int = 0,
    request: Approval | None = None,
) -> None:
    """Allow any call of a tool."""
    answer = Answer(allow=True, scope=scope, count=number, covers=ANY_CALL)
    grants.add(person, "system", tool, answer, UNKNOWN_EFFECTS, request=request)


def answered(
    grants: Grants,
    person: str,
    message: int,
    request: Approval,
    effects: ToolEffects = UNKNOWN_EFFECTS,
) -> Answer | None:
    """Return the answer by a one-time grant, or else by another one."""
    granted = grants.answer_once(message, request, effects) or grants.answer(
        person, request, effects, lambda pattern: False
    )
    return granted.answer if granted is not None else None


@pytest.fixture
def grants() -> Grants:
    return Grants()


async def test_nothing_is_granted_at_first(grants: Grants) -> None:
    assert answered(grants, "ann", 7, call(path="x")) is None


async def test_grant_covers_one_tool_and_person(grants: Grants) -> None:
    allow(grants, "ann", "rm")
    assert answered(grants, "ann", 7, call(path="anything"))
    assert answered(grants, "ben", 7, call()) is None
    assert answered(grants, "ann", 7, call(tool="mv")) is None
    assert answered(grants, "ann", 7, call(agent="search:1a2b3c4d")) is None


async def test_changed_tool_ends_grant(grants: Grants) -> None:
    def of(schema: dict[str, Any]) -> Approval:
        return Approval("system", "rm", (), {}, schema=schema)

    allow(grants, "ann", "rm", request=of({"required": ["path"]}))
    assert answered(grants, "ann", 7, of({"required": ["path"]}))
    assert answered(grants, "ann", 7, of({"required": ["whole_disk"]})) is None
    assert grants.active == ()  # for good: what changed once may change again
    assert answered(grants, "ann", 7, of({"required": ["path"]})) is None
    allow(grants, "ann", "rm")
    assert answered(grants, "ann", 7, of({"required": ["path"]}))
    assert answered(grants, "ann", 7, of({"required": ["whole_disk"]})) is None


async def test_a_grant_ends_when_the_person_is_gone(grants: Grants) -> None:
    allow(grants, "ann", "rm")
    allow(grants, "ben", "rm")
    grants.revoke_for("ben")
    assert answered(grants, "ben", 7, call()) is None
    assert answered(grants, "ann", 7, call())


async def test_one_time_grant_needs_arguments(
    grants: Grants,
) -> None:
    grants.add_once(OneTimeGrant(request(path="x")))
    assert answered(grants, "ann", 7, call(path="y")) is None
    assert answered(grants, "ann", 8, call(path="x")) is None
    assert answered(grants, "ann", 7, call(agent="search:1a2b", path="x")) is None
    assert answered(grants, "ann", 7, call(path="x"))
    assert answered(grants, "ann", 7, call(path="x")) is None


async def test_offered_unused_grant_is_dropped(grants: Grants) -> None:
    first, later = request(path="x"), request(path="y")
    grants.add_once(OneTimeGrant(first))
    offered = grants.once_for(7)
    grants.add_once(OneTimeGrant(later))
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


async def test_counted_grant_counts_first_call() -> None:
    clock = Clock()
    grants = Grants(clock)
    allow(grants, "ann", "rm", "times", 3)
    clock.now += 5
    for left in (1, 0):
        answer = answered(grants, "ann", 7, call())
        assert answer is not None
        assert answer.reason == f"allowed in advance, {left} more to come"
    assert grants.active == ()
    assert answered(grants, "ann", 7, call()) is None


async def test_a_grant_for_some_minutes_ends_with_them() -> None:
    clock = Clock()
    grants = Grants(clock)
    allow(grants, "ann", "rm", "minutes", 2)
    clock.now += 119
    assert answered(grants, "ann", 7, call())
    (grant,) = grants.active
    assert (grant.used, grant.last_used, grant.until) == (1, 1119.0, 1120.0)
    clock.now += 1
    assert answered(grants, "ann", 7, call()) is None
    assert grants.active == ()


@pytest.mark.parametrize(
    ("scope", "number"), [("once", 5), ("times", 1), ("times", 0), ("times", -3), ("minutes", 0)]
)
async def test_a_grant_for_nothing_is_none(scope: Scope, number: int) -> None:
    grants = Grants(Clock())
    allow(grants, "ann", "rm", scope, number)
    assert answered(grants, "ann", 7, call()) is None


async def test_no_grant_reaches_further_than_the_limit() -> None:
    clock = Clock()
    grants = Grants(clock)
    allow(grants, "ann", "rm", "minutes", 10**9)
    (grant,) = grants.active
    assert grant.until == 1000.0 + MOST_OF_SCOPE * 60


async def test_what_is_revoked_is_gone() -> None:
    grants = Grants(Clock())
    allow(grants, "ann", "rm")
    allow(grants, "ann", "mv")
    first, second = grants.active
    assert grants.revoke(first.id)
    assert not grants.revoke(first.id)
    assert grants.active == (second,)
    assert answered(grants, "ann", 7, call()) is None


# -- one-time grants and their tools


async def test_one_time_grant_binds_schema() -> None:
    grants, schema = Grants(), {"type": "object"}
    asked = Approval("system", "rm", (), {"path": "x"}, schema=schema)
    again = Approval("system", "rm", (), {"path": "x"}, schema=dict(schema))
    changed = Approval("system", "rm", (), {"path": "x"}, schema={"type": "object", "x": 1})
    assert digest(asked) == digest(again) != digest(changed)
    bound = request(path="x")
    bound.binding = digest(asked)
    grants.add_once(OneTimeGrant(bound))
    assert answered(grants, "ann", 7, changed) == Answer(allow=False, reason=CHANGED)
    assert answered(grants, "ann", 7, again) is None  # it was for one call
    grants.add_once(OneTimeGrant(bound, {"path": "y"}))
    answer = answered(grants, "ann", 7, again)
    assert answer is not None
    assert (answer.allow, answer.arguments) == (True, {"path": "y"})
    grants.add_once(OneTimeGrant(bound))
    answer = answered(grants, "ann", 7, again)
    assert answer is not None
    assert answer.arguments is None


async def test_changes_are_forgotten_with_the_call() -> None:
    grants, bound = Grants(), request(path="x")
    grants.add_once(OneTimeGrant(bound, {"path": "y"}))
    grants.drop_once(7, (bound,))
    grants.add_once(OneTimeGrant(bound))
    answer = answered(grants, "ann", 7, call(path="x"))
    assert answer is not None
    assert answer.arguments is None


async def test_one_time_grant_needs_shown_file(grants: Grants) -> None:
    shown, changed = ToolEffects(original="one"), ToolEffects(original="two")
    grants.add_once(OneTimeGrant(request(path="x"), original="one"))
    denied = answered(grants, "ann", 7, call(path="x"), changed)
    assert denied == Answer(allow=False, reason=FILE_CHANGED)
    grants.add_once(OneTimeGrant(request(path="x"), original="one"))
    assert grants.answer_once(7, call(path="x"), shown) == Granted(
        Answer(allow=True, reason="allowed after the pause"), "one"
    )


async def test_parked_grant_needs_same_tool(grants: Grants) -> None:
    asked = Approval("system", "mail", (), {"to": "a"}, schema={"description": "Sends."})
    changed = Approval("system", "mail", (), {"to": "a"}, schema={"description": "Reads, too."})
    parked = ToolApproval("id", 7, "ann", "system", "mail", {"to": "a"}, "", 9, 0.0)
    parked.binding = digest(asked)
    answer = Answer(allow=True, scope="session", covers=ANY_CALL)
    grants.add("ann", "system", "mail", answer, UNKNOWN_EFFECTS, parked=parked)
    assert answered(grants, "ann", 7, asked)
    assert answered(grants, "ann", 7, changed) is None
    assert answered(grants, "ann", 7, asked) is None
