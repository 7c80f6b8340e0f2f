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


async def test_an_agent_that_cannot_stream_need_not_know_of_streaming() -> None:
    pieces: list[str] = []
    callback = ApprovalContext(queue=Nobody(), auto_approve=True).approval_callback("system")
    answer = await Minimal().run_streaming(AgentInput("q"), callback, pieces.append)
    assert (answer, pieces) == ("q True", [])


class Nobody:
    async def put(self, _item: Any, /) -> None:
        raise AssertionError("nothing is asked when everything is approved")


@pytest.mark.parametrize("missing", ["get_serialized", "set_serialized", "mcp", "run"])
def test_an_agent_must_say_how_it_runs_and_how_it_is_kept(missing: str) -> None:
    members = {name: value for name, value in vars(Minimal).items() if name != missing}
    with pytest.raises(TypeError, match=missing):
        type("Partial", (Agent,), members)()


def test_an_input_is_a_query_with_nothing_else_unless_given() -> None:
    file = Attachment("/tmp/a.txt", "a.txt", "text/plain")
    assert AgentInput("q") == AgentInput("q", [], None)
    assert AgentInput("q", [file], "short").attachments == [file]
    assert AgentInput("q").attachments is not AgentInput("q").attachments


def test_an_info_needs_a_name_and_a_description() -> None:
    info = AgentInfo("search", "finds")
    assert (info.emoji, info.idle_timeout) == (None, None)
    assert AgentInfo("search", "finds", "mag", 300.0).idle_timeout == 300


def test_an_agent_that_tells_what_is_new_need_not_tell_its_whole_state() -> None:
    members = {name: value for name, value in vars(Minimal).items() if name != "get_serialized"}
    type("Newer", (Agent,), {**members, "get_new_messages": lambda _self: []})()
