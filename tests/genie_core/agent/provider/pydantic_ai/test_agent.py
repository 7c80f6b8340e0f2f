import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai import Agent as LibraryAgent
from pydantic_ai import ApprovalRequired, FunctionToolset, ModelRetry
from pydantic_ai.capabilities import Toolset
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import (
    AgentInfo as ModelInfo,
)
from pydantic_ai.models.function import (
    DeltaToolCall,
    FunctionModel,
)
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.toolsets import WrapperToolset
from tests.genie_core.agent.provider.pydantic_ai.clients import responses_model

from genie_core.agent import AgentInput, Verdict
from genie_core.agent.provider.pydantic_ai import DefaultAgent
from genie_core.errors import (
    AttachmentError,
    GenieError,
    InvalidSetting,
    StageFailed,
    UnknownAgent,
)
from genie_core.message import Attachment
from genie_testing.openai import FakeOpenAI

pytestmark = pytest.mark.timeout(100)

Call = tuple[str, dict[str, Any]]


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def allow(_name: str, _arguments: dict[str, Any]) -> bool:
    return True


def results(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]


def calling(*calls: Call) -> FunctionModel:
    """Make a model that makes these calls at once and then repeats their results."""

    def respond(messages: list[ModelMessage], _info: ModelInfo) -> ModelResponse:
        if returned := results(messages):
            return ModelResponse([TextPart("; ".join(str(each.content) for each in returned))])
        return ModelResponse([ToolCallPart(name, arguments) for name, arguments in calls])

    async def stream(messages: list[ModelMessage], info: ModelInfo) -> AsyncIterator[Any]:
        for index, part in enumerate(respond(messages, info).parts):
            if isinstance(part, ToolCallPart):
                yield {
                    index: DeltaToolCall(
                        name=part.tool_name,
                        json_args=part.args_as_json_str(),
                        tool_call_id=f"c{index}",
                    )
                }
            elif isinstance(part, TextPart):
                for word in part.content.split(" "):
                    yield f"{word} "

    return FunctionModel(respond, stream_function=stream)


class Deaf(WrapperModel):
    """A model that can't stream, as pydantic-ai's own say it."""

    request_stream: Any = Model.request_stream


@pytest.mark.parametrize("wrapped", [False, True])
async def test_unsupported_stream_falls_back(wrapped: bool) -> None:
    deaf: Model = Deaf(calling(("add", {"a": 1, "b": 2})))
    agent = DefaultAgent("", WrapperModel(deaf) if wrapped else deaf, tools=[add])
    heard: list[str] = []
    assert await agent.run_streaming(AgentInput("q"), allow, heard.append) == "3"
    assert "".join(heard) == "3"


async def test_program_instrumentation_is_kept() -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    LibraryAgent.instrument_all(InstrumentationSettings(tracer_provider=provider))
    try:
        agent = DefaultAgent("", calling(("add", {"a": 1, "b": 2})), tools=[add])
        assert await agent.run(AgentInput("q"), allow) == "3"
    finally:
        LibraryAgent.instrument_all(False)
    names = {span.name.split()[0] for span in spans.get_finished_spans()}
    assert {"invoke_agent", "chat", "execute_tool"} <= names


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_tool_runs_after_approval(streaming: bool) -> None:
    asked: list[Call] = []

    async def approve(name: str, arguments: dict[str, Any]) -> bool:
        asked.append((name, arguments))
        return True

    agent = DefaultAgent("be nice", calling(("add", {"a": 1, "b": 2})), tools=[add])
    query = AgentInput("q")
    answer = await (
        agent.run_streaming(query, approve, lambda _: None)
        if streaming
        else agent.run(query, approve)
    )
    assert answer.strip() == "3"
    assert asked == [("add", {"a": 1, "b": 2})]


async def test_a_denial_and_its_reason_reach_the_model() -> None:
    async def deny(_name: str, _arguments: dict[str, Any]) -> Any:
        return Verdict(approved=False, reason="not today")

    ran = []

    async def tool() -> None:
        ran.append(1)

    answer = await DefaultAgent("", calling(("tool", {})), tools=[tool]).run(AgentInput("q"), deny)
    assert "not today" in answer
    assert ran == []


async def test_callback_can_return_bool() -> None:
    async def deny(_name: str, _arguments: dict[str, Any]) -> bool:
        return False

    callback: Any = deny
    agent = DefaultAgent("", calling(("add", {"a": 1, "b": 2})), tools=[add])
    assert "not allow" in await agent.run(AgentInput("q"), callback)


async def test_edited_arguments_are_the_ones_that_run() -> None:
    async def edit(_name: str, _arguments: dict[str, Any]) -> Any:
        return Verdict(approved=True, arguments={"a": "40", "b": 2})

    agent = DefaultAgent("", calling(("add", {"a": 1, "b": 2})), tools=[add])
    assert await agent.run(AgentInput("q"), edit) == "42"


async def test_unfit_edit_runs_nothing() -> None:
    async def edit(_name: str, _arguments: dict[str, Any]) -> Any:
        return Verdict(approved=True, arguments={"a": "many"})

    agent = DefaultAgent("", calling(("add", {"a": 1, "b": 2})), tools=[add])
    answer = await agent.run(AgentInput("q"), edit)
    assert "do not fit add" in answer
    assert "b: " in answer


@pytest.mark.parametrize("waits", [True, False])
async def test_edit_passes_tools_own_check(waits: bool) -> None:
    checked: list[int] = []

    async def check_later(_ctx: Any, a: int, b: int) -> None:
        check(_ctx, a, b)

    def check(_ctx: Any, a: int, b: int) -> None:
        checked.append(a)
        if a < 0:
            raise ModelRetry("a must not be negative")
        if len(checked) > 1:
            raise ApprovalRequired

    async def edit(_name: str, arguments: dict[str, Any]) -> Any:
        return Verdict(approved=True, arguments={**arguments, "a": -arguments["a"]})

    toolset = FunctionToolset[Any]()
    toolset.add_function(add, args_validator=check_later if waits else check)
    agent = DefaultAgent("", calling(("add", {"a": 1, "b": 2})), toolsets=[toolset])
    told = await agent.run(AgentInput("q"), edit)
    assert told == "the arguments entered by the user do not fit add: a must not be negative"
    assert checked == [1, -1]


async def test_edit_satisfies_required_approval() -> None:
    def check(_ctx: Any, a: int, b: int) -> None:
        if a + b > 5:
            raise ApprovalRequired

    asked: list[dict[str, Any]] = []

    async def edit(_name: str, arguments: dict[str, Any]) -> Any:
        asked.append(arguments)
        return Verdict(approved=True, arguments={"a": 40, "b": 2})

    toolset = FunctionToolset[Any]()
    toolset.add_function(add, args_validator=check)
    agent = DefaultAgent("", calling(("add", {"a": 1, "b": 2})), toolsets=[toolset])
    assert await agent.run(AgentInput("q"), edit) == "42"
    assert asked == [{"a": 1, "b": 2}]


async def test_parallel_calls_take_any_order() -> None:
    pending: dict[int, asyncio.Future[Verdict]] = {}
    all_there = asyncio.Event()

    async def ask(_name: str, arguments: dict[str, Any]) -> Any:
        future: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        pending[arguments["a"]] = future
        if len(pending) == 3:
            all_there.set()
        return await future

    calls = [("add", {"a": number, "b": 0}) for number in range(3)]
    agent = DefaultAgent("", calling(*calls), tools=[add])
    run = asyncio.create_task(agent.run(AgentInput("q"), ask))
    await all_there.wait()
    for number in (2, 0, 1):
        pending[number].set_result(Verdict(approved=number != 0, reason="no zeros"))
    answer = await run
    assert answer.endswith("; 1; 2")
    assert "no zeros" in answer


async def test_marked_tools_ask_once() -> None:
    asked: list[str] = []

    async def approve(name: str, _arguments: dict[str, Any]) -> bool:
        asked.append(name)
        return True

    toolset = FunctionToolset[Any]()
    toolset.add_function(add, name="sum", requires_approval=True)
    agent = DefaultAgent("", calling(("sum", {"a": 1, "b": 2})), toolsets=[toolset])
    assert await agent.run(AgentInput("q"), approve) == "3"
    assert asked == ["sum"]


@pytest.mark.parametrize("made_when_run", [False, True])
async def test_capability_tools_pass_gate(made_when_run: bool) -> None:
    async def deny(name: str, _arguments: dict[str, Any]) -> bool:
        asked.append(name)
        return False

    asked: list[str] = []
    toolset = FunctionToolset[Any]([add])
    capability = Toolset[Any]((lambda _ctx: toolset) if made_when_run else toolset)
    agent = DefaultAgent("", calling(("add", {"a": 1, "b": 2})), capabilities=[capability])
    assert await agent.run(AgentInput("q"), deny) == "The user did not allow this tool call."
    assert asked == ["add"]


async def test_own_error_in_tool_reaches_model() -> None:
    async def ask_nobody() -> None:
        raise UnknownAgent("nobody", ["search"])

    agent = DefaultAgent("", calling(("ask_nobody", {})), tools=[ask_nobody])
    assert "available: search" in await agent.run(AgentInput("q"), allow)


@pytest.mark.parametrize(
    "error",
    [
        ModelHTTPError(500, "another", {"message": "it broke"}),
        UnexpectedModelBehavior("it broke"),
        UsageLimitExceeded("it broke"),
    ],
)
async def test_agent_error_in_tool_reaches_model(error: AgentRunError) -> None:
    async def delegate() -> None:
        raise error

    agent = DefaultAgent("", calling(("delegate", {})), tools=[delegate])
    told = await agent.run(AgentInput("q"), allow)
    assert told.startswith(type(error).__name__)
    assert "it broke" in told


def restless(messages: list[ModelMessage], _info: ModelInfo) -> ModelResponse:
    """Call a tool whenever it is asked to begin, or has seen a result."""
    if str(getattr(messages[-1].parts[-1], "content", "")) == "stop":
        return ModelResponse([TextPart("stopped")])
    return ModelResponse([ToolCallPart("add", {"a": 1, "b": 2})])


async def test_endless_tool_calls_are_stopped() -> None:
    agent = DefaultAgent("", FunctionModel(restless), tools=[add], max_turns=3)
    with pytest.raises(GenieError, match=r"restless.*max_turns"):
        await agent.run(AgentInput("go"), allow)
    lines = agent.get_new_messages()
    assert str(lines).count("tool-return") == 3
    assert await agent.run(AgentInput("stop"), allow) == "stopped"


def test_a_run_without_turns_is_refused_at_once() -> None:
    with pytest.raises(InvalidSetting, match="max_turns"):
        DefaultAgent("", TestModel(), max_turns=0)


async def test_failing_callback_fails_only_run() -> None:
    async def ask_once(_name: str, _arguments: dict[str, Any]) -> bool:
        if asked:
            raise LookupError("nobody is there")
        asked.append(1)
        return True

    asked: list[int] = []
    agent = DefaultAgent("", FunctionModel(restless), tools=[add])
    with pytest.raises(LookupError, match="nobody is there"):
        await agent.run(AgentInput("go"), ask_once)
    assert "'content': 3" in str(agent.get_serialized())
    assert await agent.run(AgentInput("stop"), allow) == "stopped"


async def test_text_is_streamed_piece_by_piece() -> None:
    pieces: list[str] = []
    agent = DefaultAgent("", TestModel(custom_output_text="one two three"))
    answer = await agent.run_streaming(AgentInput("q"), allow, pieces.append)
    assert "".join(pieces) == answer == "one two three"
    assert len(pieces) > 1


async def test_texts_around_calls_are_separated() -> None:
    async def stream(messages: list[ModelMessage], _info: ModelInfo) -> AsyncIterator[Any]:
        if results(messages):
            yield "It is 3."
        else:
            yield "Let me see."
            yield {1: DeltaToolCall(name="add", json_args='{"a": 1, "b": 2}', tool_call_id="c")}

    pieces: list[str] = []
    agent = DefaultAgent("", FunctionModel(stream_function=stream), tools=[add])
    answer = await agent.run_streaming(AgentInput("q"), allow, pieces.append)
    assert "".join(pieces) == "Let me see.\n\nIt is 3."
    assert answer == "It is 3."


async def test_non_streaming_model_runs_whole() -> None:
    model = FunctionModel(lambda _messages, _info: ModelResponse([TextPart("whole")]))
    assert await DefaultAgent("", model).run_streaming(AgentInput("q"), allow, print) == "whole"


def recording(seen: list[tuple[int, str | None]]) -> FunctionModel:
    def respond(messages: list[ModelMessage], info: ModelInfo) -> ModelResponse:
        seen.append((len(messages), info.instructions))
        return ModelResponse([TextPart("ok")])

    return FunctionModel(respond)


async def test_preferences_last_for_one_run() -> None:
    seen: list[tuple[int, str | None]] = []
    agent = DefaultAgent("be nice", recording(seen))
    await agent.run(AgentInput("q", preferences="in rhymes"), allow)
    await agent.run(AgentInput("q"), allow)
    (first, with_wishes), (second, without) = seen
    assert (first, second) == (1, 3)
    assert "be nice" in (with_wishes or "")
    assert "in rhymes" in (with_wishes or "")
    assert without == "be nice"
    assert "in rhymes" not in str(agent.get_serialized())


@pytest.mark.parametrize("journalled", [True, False])
async def test_restored_agent_uses_new_prompt(
    journalled: bool,
) -> None:
    agent = DefaultAgent("old prompt", recording([]))
    lines: list[Any] = []
    for _ in range(2):
        await agent.run(AgentInput("q"), allow)
        lines += agent.get_new_messages()
    seen: list[tuple[int, str | None]] = []
    fresh = DefaultAgent("new prompt", recording(seen))
    fresh.set_serialized(lines if journalled else agent.get_serialized())
    await fresh.run(AgentInput("q"), allow)
    assert seen == [(5, "new prompt")]


@pytest.mark.parametrize("state", [{"history": []}, [{"keep": 1}], [3]])
def test_a_state_of_another_kind_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match="history"):
        DefaultAgent("", TestModel()).set_serialized(state)


async def test_after_a_cancel_the_next_run_continues() -> None:
    asked = asyncio.Event()

    async def ask(_name: str, arguments: dict[str, Any]) -> bool:
        if arguments["a"] == 1:
            return True
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    agent = DefaultAgent(
        "", calling(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})), tools=[add]
    )
    run = asyncio.create_task(agent.run_streaming(AgentInput("first"), ask, lambda _: None))
    await asked.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    lines = agent.get_new_messages()
    assert "first" in str(lines)
    assert (await agent.run_streaming(AgentInput("second"), allow, lambda _: None)).strip()
    prompts = [
        part.content
        for message in agent._history.messages
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    assert prompts == ["first", "second"]
    fresh = DefaultAgent("", TestModel())
    fresh.set_serialized([*lines, *agent.get_new_messages()])
    assert fresh.get_serialized() == agent.get_serialized()


async def test_attachments_reach_the_model(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_text("remember the milk")
    seen: list[Any] = []

    def respond(messages: list[ModelMessage], _info: ModelInfo) -> ModelResponse:
        seen.extend(part.content for part in messages[-1].parts if isinstance(part, UserPromptPart))
        return ModelResponse([TextPart("ok")])

    agent = DefaultAgent("", FunctionModel(respond))
    await agent.run(AgentInput("q", [Attachment(str(path), "note", "text/plain")]), allow)
    assert b"remember the milk" in [getattr(each, "data", None) for each in seen[0]]
    fresh = DefaultAgent("", TestModel())
    fresh.set_serialized(agent.get_serialized())
    assert fresh.get_serialized() == agent.get_serialized()
    with pytest.raises(AttachmentError, match="gone"):
        await agent.run(AgentInput("q", [Attachment("/gone", "gone", "text/plain")]), allow)


class Server(WrapperToolset[Any]):
    """A toolset that is opened like a tool server."""

    def __init__(self) -> None:
        super().__init__(FunctionToolset[Any]())
        self.opened = 0
        self.fails = False
        self.client = self
        self.closed = False

    async def __aenter__(self) -> Self:
        if self.fails:
            raise ConnectionError("no such server")
        self.opened += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self.opened -= 1

    async def close(self) -> None:
        self.closed = True

    def apply(self, visitor: Any) -> None:
        visitor(self)


async def test_tool_servers_close_with_agent() -> None:
    server = Server()
    counts = []

    def respond(_messages: list[ModelMessage], _info: ModelInfo) -> ModelResponse:
        counts.append(server.opened)
        return ModelResponse([TextPart("ok")])

    agent = DefaultAgent("", FunctionModel(respond), toolsets=[server])
    async with agent.mcp():
        await agent.run(AgentInput("q"), allow)
        assert server.opened == 0
        assert not server.closed
    assert counts[0] >= 1
    assert server.closed


async def test_failed_tool_server_can_come_back() -> None:
    server = Server()
    server.fails = True
    agent = DefaultAgent("", TestModel(custom_output_text="ok"), toolsets=[server])
    with pytest.raises(StageFailed, match="no such server") as caught:
        await agent.run(AgentInput("q"), allow)
    assert caught.value.stage == "tools"
    server.fails = False
    assert await agent.run(AgentInput("q"), allow) == "ok"


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize("parameter", ["builtin_tools", "native_tools"])
async def test_provider_tool_is_offered_unasked(parameter: str) -> None:
    tools: dict[str, Any] = {parameter: [WebSearchTool()]}
    async with FakeOpenAI() as server:
        agent = DefaultAgent("", responses_model(server), tools=[add], **tools)
        assert await agent.run(AgentInput("q"), allow) == "echo: q"
        offered = [tool["type"] for tool in server.requests[0].body["tools"]]
    assert sorted(offered) == ["function", "web_search"]
