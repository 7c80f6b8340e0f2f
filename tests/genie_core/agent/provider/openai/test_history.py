"""The items of a conversation, and how they are kept."""

from typing import Any

import pytest
from agents.models.fake_id import FAKE_RESPONSES_ID
from hypothesis import given
from hypothesis import strategies as st

from genie_core.agent.provider.openai.history import (
    INTERRUPTED,
    OpenAIHistory,
    closed,
    says_nothing,
)

USER = {"role": "user", "content": "hello"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "r", "summary": []}


def call(number: int) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"c{number}", "name": "add", "arguments": "{}"}


def result(number: int, output: str = "3") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": output}


def test_lines_and_state_restore_alike() -> None:
    history = OpenAIHistory()
    history.add([USER, call(1), result(1), SAID])
    lines = history.take_unsaved()
    assert history.take_unsaved() == []
    history.add([USER, SAID])
    lines += history.take_unsaved()
    assert lines == history.to_state()
    restored = OpenAIHistory()
    restored.restore(lines)
    assert restored.to_state() == history.to_state()
    assert restored.take_unsaved() == []


def test_bytes_are_kept_as_text() -> None:
    history = OpenAIHistory()
    history.add([{"role": "user", "content": [{"type": "input_file", "file_data": b"\xff"}]}])
    assert history.to_state()[0]["content"][0]["file_data"] == "_w=="


@pytest.mark.parametrize("state", [{"messages": []}, "items", [3], [{"keep": 1}], None])
def test_a_state_of_another_kind_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match="history"):
        OpenAIHistory().restore(state)


def test_unfinished_call_gets_result() -> None:
    items = closed([USER, call(1), call(2), result(2), USER, SAID])
    assert items == [USER, call(1), call(2), result(2), result(1, INTERRUPTED), USER, SAID]


def test_result_without_call_is_dropped() -> None:
    assert closed([result(1), USER, SAID]) == [USER, SAID]


def test_call_without_result_is_dropped() -> None:
    shell = {"type": "shell_call", "call_id": "s", "action": {}}
    assert closed([USER, shell]) == [USER]


def test_reasoning_for_dropped_is_dropped() -> None:
    shell = {"type": "shell_call", "call_id": "s", "action": {}}
    assert closed([USER, THOUGHT, shell]) == [USER]
    assert closed([USER, THOUGHT, shell, USER, THOUGHT, SAID]) == [USER, USER, THOUGHT, SAID]
    both: list[dict[str, Any]] = [USER, THOUGHT, call(1), THOUGHT, shell]
    assert closed(both) == [USER, THOUGHT, call(1), result(1, INTERRUPTED)]
    assert closed([THOUGHT, THOUGHT]) == []


def test_kept_items_drop_stored_references() -> None:
    sealed = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gAAA"}
    of_another_provider = {"type": "reasoning", "id": FAKE_RESPONSES_ID, "summary": []}
    items: list[dict[str, Any]] = [
        USER,
        {**THOUGHT, "encrypted_content": None},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        sealed,
        {**call(1), "id": "fc_1"},
        result(1),
        of_another_provider,
        {**SAID, "id": "msg_1"},
    ]
    kept: list[dict[str, Any]] = [
        USER,
        {**sealed, "id": FAKE_RESPONSES_ID},
        {**call(1), "id": FAKE_RESPONSES_ID},
        result(1),
        of_another_provider,
        {**SAID, "id": FAKE_RESPONSES_ID},
    ]
    history = OpenAIHistory()
    history.add(items)
    assert history.to_state() == history.take_unsaved() == kept
    restored = OpenAIHistory()
    restored.restore(items)
    assert restored.to_state() == kept
    restored.restore(kept)
    assert restored.to_state() == kept


@pytest.mark.parametrize(
    ("item", "silent"),
    [
        ({"role": "assistant", "content": ""}, True),
        ({**SAID, "content": []}, True),
        ({**SAID, "content": [{"type": "output_text", "text": ""}]}, True),
        ({**SAID, "content": [{"type": "refusal", "refusal": "no"}]}, False),
        (SAID, False),
        ({"role": "user", "content": ""}, False),
        (call(1), False),
    ],
)
def test_only_empty_answer_says_nothing(item: dict[str, Any], silent: bool) -> None:
    assert says_nothing(item) is silent


ITEMS: list[dict[str, Any]] = [USER, SAID, THOUGHT, *map(call, range(3)), *map(result, range(3))]


@given(st.lists(st.sampled_from(ITEMS)))
def test_calls_and_results_always_pair(items: list[dict[str, Any]]) -> None:
    once = closed(items)
    waiting: list[str] = []
    for item in once:
        kind = item.get("type")
        if kind == "function_call":
            waiting.append(item["call_id"])
        elif kind == "function_call_output":
            assert item["call_id"] in waiting
            waiting = [each for each in waiting if each != item["call_id"]]
        elif item.get("role") == "user":
            assert waiting == []
    assert waiting == []
    assert closed(once) == once
