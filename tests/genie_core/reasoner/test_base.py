"""A decision, and what a reasoner must define."""

import pickle
import subprocess
import sys
from typing import Any

import group_sense  # type: ignore[import-untyped]  # it ships no type information
import pytest

from genie_core.message import Message
from genie_core.reasoner import Decision, GroupReasoner, Response

BOTH = [
    (Decision.IGNORE, group_sense.Decision.IGNORE),
    (Decision.DELEGATE, group_sense.Decision.DELEGATE),
]


@pytest.mark.parametrize(("ours", "theirs"), BOTH)
def test_a_decision_equals_group_senses_from_either_side(ours: Decision, theirs: Any) -> None:
    assert ours == theirs
    assert theirs == ours
    assert {ours, theirs} == {ours}
    assert pickle.loads(pickle.dumps(ours)) is ours  # noqa: S301 - written right here


def test_different_decisions_are_different() -> None:
    assert Decision.IGNORE != group_sense.Decision.DELEGATE
    assert Decision.IGNORE != Decision.DELEGATE
    assert Decision.IGNORE != "ignore"


def test_a_value_pattern_of_group_senses_matches_ours_and_a_class_pattern_does_not() -> None:
    def matched(decision: Decision) -> list[str]:
        found = []
        match decision:
            case group_sense.Decision.DELEGATE:
                found.append("value")
        match decision:
            case group_sense.Decision():
                found.append("class")
        return found

    assert matched(Decision.DELEGATE) == ["value"]
    assert matched(Decision.IGNORE) == []


def test_comparing_decisions_imports_nothing() -> None:
    code = (
        "import sys; from genie_core.reasoner import Decision; Decision.IGNORE == 'ignore'; "
        "sys.exit('group_sense' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


class Minimal(GroupReasoner):
    """What the contract asks of a reasoner, and no more."""

    @property
    def processed(self) -> int:
        return 0

    def get_serialized(self) -> Any:
        return None

    def set_serialized(self, serialized: Any) -> None: ...

    async def run(self, updates: list[Message]) -> Response:
        return Response(Decision.IGNORE)


@pytest.mark.parametrize("missing", ["processed", "get_serialized", "set_serialized", "run"])
def test_a_reasoner_must_say_how_it_runs_and_how_it_is_kept(missing: str) -> None:
    members = {name: value for name, value in vars(Minimal).items() if name != missing}
    with pytest.raises(TypeError, match=missing):
        type("Partial", (GroupReasoner,), members)()


def test_a_reasoner_that_tells_what_is_new_need_not_tell_its_whole_state() -> None:
    members = {name: value for name, value in vars(Minimal).items() if name != "get_serialized"}
    type("Newer", (GroupReasoner,), {**members, "get_new_messages": lambda _self: []})()
