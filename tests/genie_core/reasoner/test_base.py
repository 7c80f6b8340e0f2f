"""What a reasoner must define."""

from typing import Any

import pytest

from genie_core.message import Message
from genie_core.reasoner import Decision, GroupReasoner, Response


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
def test_missing_method_is_refused(missing: str) -> None:
    members = {name: value for name, value in vars(Minimal).items() if name != missing}
    with pytest.raises(TypeError, match=missing):
        type("Partial", (GroupReasoner,), members)()


def test_new_messages_replace_whole_state() -> None:
    members = {name: value for name, value in vars(Minimal).items() if name != "get_serialized"}
    type("Newer", (GroupReasoner,), {**members, "get_new_messages": lambda _self: []})()
