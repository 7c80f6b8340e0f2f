from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import pytest

from genie_core.agent import Agent, AgentInfo, AgentInput, ApprovalCallback, ApprovalContext
from genie_core.message import Attachment


class Minimal(Agent):
    """What the contract asks of an agent, and no more."""

    def get_serialized(self) -> Any:
        return None

    def set_serialized(self, state: Any) -> None: ...

    def mcp(self) -> AbstractAsyncContextManager[Agent]:
        return nullcontext(self)

    async def run(self, input: AgentInput, callback: ApprovalCallback) -> str:  # noqa: A002 - the contract's name
        return f"{input.query} {bool(await callback('f', {}))}"


async def test_non_streaming_agent_emits_nothing() -> None:
    pieces: list[str] = []
    callback = ApprovalContext(queue=Nobody(), auto_approve=True).approval_callback("system")
    answer = await Minimal().run_streaming(AgentInput("q"), callback, pieces.append)
    assert (answer, pieces) == ("q True", [])


class Nobody:
    async def put(self, _item: Any, /) -> None:
        raise AssertionError("nothing is asked when everything is approved")


@pytest.mark.parametrize("missing", ["get_serialized", "set_serialized", "mcp", "run"])
def test_missing_method_is_refused(missing: str) -> None:
    members = {name: value for name, value in vars(Minimal).items() if name != missing}
    with pytest.raises(TypeError, match=missing):
        type("Partial", (Agent,), members)()


def test_input_defaults_to_query_alone() -> None:
    file = Attachment("/tmp/a.txt", "a.txt", "text/plain")
    assert AgentInput("q") == AgentInput("q", [], None)
    assert AgentInput("q", [file], "short").attachments == [file]
    assert AgentInput("q").attachments is not AgentInput("q").attachments


def test_an_info_needs_a_name_and_a_description() -> None:
    info = AgentInfo("search", "finds")
    assert (info.emoji, info.idle_timeout) == (None, None)
    assert AgentInfo("search", "finds", "mag", 300.0).idle_timeout == 300


def test_new_messages_replace_whole_state() -> None:
    members = {name: value for name, value in vars(Minimal).items() if name != "get_serialized"}
    type("Newer", (Agent,), {**members, "get_new_messages": lambda _self: []})()
