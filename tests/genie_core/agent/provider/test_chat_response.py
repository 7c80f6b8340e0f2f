"""Chat completions as servers other than OpenAI's give them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from tests.genie_core.agent.provider.both import bench

from genie_core.agent import AgentInput
from genie_core.agent.base import CutAnswer
from genie_core.agent.provider import chat_response
from genie_core.agent.provider.chat_response import ToolCalls
from genie_core.agent.provider.pydantic_ai import DefaultGroupReasoner
from genie_core.errors import ModelFailed
from genie_core.message import Message
from genie_testing.openai import FakeOpenAI
from genie_testing.turns import Raw, Refuse, Say

RUNTIMES = ("pydantic-ai", "openai-agents chat")
both = pytest.mark.parametrize("runtime", RUNTIMES)
END = "data: [DONE]"


@pytest.fixture(autouse=True)
def _no_known_models() -> Iterator[None]:
    yield
    chat_response._unopened.clear()


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "choices": [choice]}


def says(*texts: str, finish: str | None = "stop") -> list[dict[str, Any] | str]:
    end = [chunk(finish)] if finish else []
    return [*(chunk(content=text) for text in texts), *end]


def call(number: int, index: int | None, call_id: str | None, **more: Any) -> dict[str, Any]:
    arguments = json.dumps({"value": number})
    part = {"type": "function", "function": {"name": "note", "arguments": arguments} | more}
    return part | ({} if index is None else {"index": index}) | ({"id": call_id} if call_id else {})


class Notes:
    """A tool that keeps its calls, and the text that an agent emits."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.text = ""

    async def allow(self, _name: str, _arguments: dict[str, Any]) -> bool:
        return True

    def emit(self, text: str) -> None:
        self.text += text

    async def ask(self, runtime: str, *turns: Raw | Say | Refuse) -> str:
        async def note(value: int = 0) -> str:
            """Note a value."""
            self.calls.append(value)
            return "noted"

        async with bench(runtime, *turns, tools=[note]) as desk:
            return await desk.agent().run_streaming(AgentInput("q"), self.allow, self.emit)


@both
@pytest.mark.parametrize("end", [[], [END]])
async def test_stream_without_finish_is_incomplete(runtime: str, end: list[str]) -> None:
    notes = Notes()
    with pytest.raises(ModelFailed, match="did not say that the answer is complete") as failed:
        await notes.ask(runtime, Raw(*says("Half ", "an `ans", finish=None), *end))
    assert (failed.value.kind, notes.text) == ("cut", "Half an `ans")


@both
async def test_finish_without_done_is_complete(runtime: str) -> None:
    assert await Notes().ask(runtime, Raw(*says("Tea."))) == "Tea."


@both
async def test_unfinished_tool_call_is_not_run(runtime: str) -> None:
    notes = Notes()
    for events in (
        [chunk(tool_calls=[call(1, 0, "a")])],
        [chunk(tool_calls=[call(1, 0, "a", arguments="")])],
        [chunk(tool_calls=[call(1, 0, "a", arguments='{"va')])],
        [chunk(tool_calls=[call(1, 0, "a", arguments="")]), chunk("length")],
    ):
        with pytest.raises(ModelFailed) as failed:
            await notes.ask(runtime, Raw(*events))
        assert failed.value.kind in ("cut", "output")
    assert notes.calls == []


@both
@pytest.mark.parametrize(
    ("events", "kind", "text"),
    [
        (says("Half ", finish="content_filter"), "filter", "Half "),
        (says(finish="length"), "output", ""),
        (says("<think>pl", finish="length"), "output", ""),
        (says("<think>plan</think>"), "thoughts", ""),
        (says('Hm. <tool_call>{"name": "note"}</tool_call>'), "call", "Hm. "),
        ([chunk(content="Half "), {"error": {"message": "overloaded"}}], "server", "Half "),
        (says("Half ", finish="error"), "server", "Half "),
    ],
)
async def test_answer_that_is_none_says_why(
    runtime: str, events: list[dict[str, Any] | str], kind: str, text: str
) -> None:
    notes = Notes()
    with pytest.raises(ModelFailed) as failed:
        await notes.ask(runtime, Raw(*events, END))
    assert (failed.value.kind, notes.text, notes.calls) == (kind, text, [])


@both
async def test_length_limit_marks_the_answer(runtime: str) -> None:
    answer = await Notes().ask(runtime, Raw(*says("Half", finish="length"), END))
    assert (answer, type(answer)) == ("Half", CutAnswer)


@both
async def test_thoughts_never_reach_the_answer(runtime: str) -> None:
    notes = Notes()
    turn = Raw(*says("\n<th", "ink>\nplan\n</thi", "nk>\n\nUse `<think>`", "."), END)
    assert await notes.ask(runtime, turn) == notes.text == "Use `<think>`."


@both
async def test_unopened_marker_is_remembered(runtime: str) -> None:
    turn = Raw(*says("plan", "\n</think>\n\n", "Tea."), END)
    first, second, plain = Notes(), Notes(), Notes()
    async with bench(runtime, turn, turn, Raw(*says("Tea", "."), END)) as desk:
        agent = desk.agent()
        for notes in (first, second, plain):
            await agent.run_streaming(AgentInput("q"), notes.allow, notes.emit)
    assert (first.text, second.text) == ("plan</think>Tea.", "Tea.")
    assert plain.text == "Tea."
    assert not chat_response._unopened


@both
@pytest.mark.parametrize(
    "events",
    [
        [chunk(tool_calls=[call(1, 0, "a")]), chunk(tool_calls=[call(2, 0, "b")])],
        [chunk(tool_calls=[call(1, 0, None)]), chunk(tool_calls=[call(2, 0, None)])],
        [chunk(tool_calls=[call(1, 0, "a"), call(2, 0, "a")])],
        [chunk(tool_calls=[call(1, 0, "a"), call(2, 1, "a")])],
        [chunk(tool_calls=[call(1, None, None), call(2, None, None)])],
        [
            chunk(tool_calls=[call(1, 0, "a", arguments="")]),
            chunk(tool_calls=[call(1, 0, "a")]),
            chunk(tool_calls=[call(2, 1, "b", arguments={"value": 2})]),
        ],
    ],
)
async def test_parallel_calls_are_told_apart(
    runtime: str, events: list[dict[str, Any] | str]
) -> None:
    notes = Notes()
    assert await notes.ask(runtime, Raw(*events, chunk("tool_calls"), END), Say("ok")) == "ok"
    assert sorted(notes.calls) == [1, 2]


@both
async def test_call_without_arguments_is_made(runtime: str) -> None:
    notes = Notes()
    parts = [call(1, 0, "a", arguments="")]
    assert await notes.ask(runtime, Raw(chunk("stop", tool_calls=parts), END), Say("ok")) == "ok"
    assert notes.calls == [0]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.booleans(), st.data())
def test_calls_in_pieces_keep_their_arguments(
    numbers: list[int], has_ids: bool, data: st.DataObject
) -> None:
    calls, seen = ToolCalls(), dict[int, str]()
    for place, number in enumerate(numbers):
        text = json.dumps({"value": number})
        cut = data.draw(st.integers(0, len(text)))
        first = call(number, 0, f"id{place}" if has_ids else None, arguments=text[:cut])
        rest = {"index": 0, "function": {"arguments": text[cut:]}}
        for part in calls.take([first]) + calls.take([rest]):
            seen[part["index"]] = seen.get(part["index"], "") + part["function"]["arguments"]
    assert [json.loads(text)["value"] for text in seen.values()] == numbers


@both
@pytest.mark.parametrize("streamed", [True, False])
async def test_whole_response_is_read(runtime: str, streamed: bool) -> None:
    message = {"content": "<think>plan</think>Tea."}
    body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    if streamed:
        assert await Notes().ask(runtime, Raw(body, streamed=False)) == "Tea."
    else:
        assert await _without_streaming(runtime, body) == "Tea."


async def _without_streaming(runtime: str, body: dict[str, Any]) -> str:
    notes = Notes()
    async with bench(runtime, Raw(body)) as desk:
        return await desk.agent().run(AgentInput("q"), notes.allow)


@both
async def test_unfinished_whole_is_incomplete(runtime: str) -> None:
    body = {"id": "c", "created": 1, "choices": [{"message": {"content": "Half an"}}]}
    with pytest.raises(ModelFailed) as failed:
        await _without_streaming(runtime, body)
    assert failed.value.kind == "cut"


@both
async def test_error_in_a_successful_response_is_told(runtime: str) -> None:
    with pytest.raises(ModelFailed, match="overloaded") as failed:
        await _without_streaming(runtime, {"error": {"message": "overloaded"}})
    assert failed.value.kind == "server"


@both
async def test_long_wait_is_told_instead_of_waited_for(runtime: str) -> None:
    with pytest.raises(ModelFailed, match="try again in 5 min") as failed:
        await Notes().ask(runtime, Refuse(429, retry_after=300.0))
    assert failed.value.kind == "limit"


@pytest.mark.parametrize("able", [True, False])
@pytest.mark.parametrize("finish", [None, "length"])
async def test_unfinished_decision_is_a_failure(finish: str | None, able: bool) -> None:
    drafts = '{"decision": "ignore"} or rather {"decision": "delegate", "query": "do'
    choice = {"index": 0, "message": {"content": drafts}, "finish_reason": finish}
    body = {"id": "c", "created": 1, "model": "m", "object": "chat.completion", "choices": [choice]}
    async with FakeOpenAI(*[Raw(body)] * 4) as server:
        provider = OpenAIProvider(base_url=server.base_url, api_key=server.api_key)
        profile = ModelProfile(supports_json_schema_output=able)
        model = OpenAIChatModel("m", provider=provider, profile=profile)
        reasoner = DefaultGroupReasoner("", model)
        with pytest.raises(ModelFailed):
            await reasoner.run([Message("hello", "ann")])
        assert reasoner.processed == 0


def response(status: str, *output: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a response of the Responses API."""
    required = {"object": "response", "created_at": 1, "model": "m", "tools": []}
    return {"id": "r", "status": status, "output": list(output), **required, **more}


def begun(*texts: str) -> list[dict[str, Any] | str]:
    """Return the events of the Responses API up to the end of the text."""
    item = {"type": "message", "id": "i", "role": "assistant", "status": "in_progress"}
    place = {"item_id": "i", "output_index": 0, "content_index": 0, "logprobs": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response("in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}},
        *({"type": "response.output_text.delta", "delta": text, **place} for text in texts),
    ]
    return [{"sequence_number": number, **event} for number, event in enumerate(events)]


def incomplete(reason: str, *output: dict[str, Any]) -> dict[str, Any]:
    ended = response("incomplete", *output, incomplete_details={"reason": reason})
    return {"type": "response.incomplete", "response": ended, "sequence_number": 9}


CUT_CALL = {
    "type": "function_call",
    "id": "f",
    "call_id": "f",
    "name": "note",
    "arguments": "{}",
    "status": "incomplete",
}


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ([], "cut"),
        ([incomplete("content_filter")], "filter"),
        ([incomplete("max_output_tokens", CUT_CALL)], "output"),
    ],
)
@pytest.mark.parametrize("runtime", ["pydantic-ai responses", "openai-agents responses"])
async def test_unfinished_response_is_incomplete(
    runtime: str, end: list[dict[str, Any] | str], kind: str
) -> None:
    notes = Notes()
    with pytest.raises(ModelFailed) as failed:
        await notes.ask(runtime, Raw(*begun("Half ", "an"), *end))
    assert (failed.value.kind, notes.text, notes.calls) == (kind, "Half an", [])
