from typing import Any

import pytest
from openai import AsyncOpenAI

from genie_testing.openai import FakeOpenAI, ModelRequest
from genie_testing.openai.request import HistoryEntry, unmatched
from genie_testing.shown import ShownExchange

CALL = HistoryEntry("call", call_id="1", name="a")
RESULT = HistoryEntry("tool", ("done",), call_id="1")
USER = HistoryEntry("user", ("hello",))
PNG = "data:image/png;base64,AAAA"
PDF = "data:application/pdf;base64,AAAA"


@pytest.mark.parametrize(
    ("entries", "adjacent", "expected"),
    [
        ([USER, CALL, RESULT, USER], True, []),
        ([USER, CALL, USER, RESULT], False, []),
        ([USER, CALL, USER, RESULT], True, ["1"]),
        ([USER, CALL], True, ["1"]),
        ([USER, CALL], False, ["1"]),
        ([RESULT, CALL], False, ["1", "1"]),
        ([CALL, RESULT, RESULT], False, ["1"]),
    ],
)
def test_calls_and_results_come_in_pairs(
    entries: list[HistoryEntry], adjacent: bool, expected: list[str]
) -> None:
    assert sorted(unmatched(entries, adjacent=adjacent)) == expected


async def test_a_chat_is_read(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    function = {"name": "look", "arguments": '{"at": "it"}'}
    parts = [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ]
    messages: Any = [
        {"role": "system", "content": "be kind"},
        {"role": "developer", "content": [{"type": "text", "text": "be brief"}]},
        {"role": "user", "content": parts},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a dot"},
    ]
    tools: Any = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    await client.chat.completions.create(model="m", messages=messages, tools=tools)
    _check(
        server.requests[0],
        files=["image/png", "https://example.org/a.png", "application/pdf", "audio/wav"],
    )


async def test_a_response_request_is_read(server: FakeOpenAI, client: AsyncOpenAI) -> None:
    parts = [
        {"type": "input_text", "text": "what is it?"},
        {"type": "input_image", "image_url": PNG},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
        {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
    ]
    items: Any = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": parts},
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
        {
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "it"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a dot"},
    ]
    tools: Any = [
        {"type": "function", "name": "look", "parameters": {}, "strict": False},
        {"type": "web_search"},
    ]
    await client.responses.create(model="m", instructions="be kind", input=items, tools=tools)
    _check(server.requests[0], files=["image/png", "https://example.org/a.pdf", "application/pdf"])


def _check(request: ModelRequest, *, files: list[str]) -> None:
    assert request.instructions == "be kind\n\nbe brief"
    assert request.texts == ["be kind", "be brief", "what is it?", "I look.", "a dot"]
    assert request.query == "what is it?"
    assert request.tool_results == ["a dot"]
    assert request.exchanges == [ShownExchange("look", '{"at": "it"}', "a dot")]
    assert request.tools == ["look"]
    assert request.files == files
