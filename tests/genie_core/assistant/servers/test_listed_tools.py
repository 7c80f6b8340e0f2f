"""Lists of tools as servers really send them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import ListToolsResult

from genie_core.assistant.servers.listed_tools import UNUSABLE, arguments_schema, repaired

EMPTY = {"type": "object", "properties": {}}
WORD = {"a": {"type": "string"}}


def listed(*tools: Any, **more: Any) -> ListToolsResult:
    """Return a repaired list as the SDK reads it."""
    message = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools, **more}}
    result = json.loads(repaired(json.dumps(message).encode()))["result"]
    return ListToolsResult.model_validate(result)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (None, EMPTY),
        ({}, EMPTY),
        (True, EMPTY),
        ({"properties": WORD}, {"type": "object", "properties": WORD}),
        ({"type": ["object", "null"], "properties": WORD}, {"type": "object", "properties": WORD}),
        ({"type": "dict", "properties": WORD}, {"type": "object", "properties": WORD}),
        ({"type": "object", "properties": None}, EMPTY),
        (
            {"type": "object", "required": ["a"]},
            {**EMPTY, "properties": {"a": {}}, "required": ["a"]},
        ),
        (
            {"type": "object", "properties": WORD, "required": True},
            {"type": "object", "properties": WORD},
        ),
        (
            {"type": "object", "properties": {"a": "string", "b": {"type": "int"}, "c": None}},
            {"type": "object", "properties": {**WORD, "b": {"type": "integer"}, "c": {}}},
        ),
        (
            {"type": "object", "properties": {"type": {"type": ["str", "null"]}}},
            {"type": "object", "properties": {"type": {"type": ["string", "null"]}}},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "array"}, "b": {"$ref": "http://x"}}},
            {"type": "object", "properties": {"a": {"type": "array", "items": {}}, "b": {}}},
        ),
        (
            {"$ref": "#/$defs/Q", "$defs": {"Q": {"type": "object", "properties": WORD}}},
            {
                "type": "object",
                "properties": WORD,
                "$defs": {"Q": {"type": "object", "properties": WORD}},
            },
        ),
        (
            {"type": "object", "properties": WORD, "anyOf": [{"required": ["a"]}]},
            {"type": "object", "properties": WORD},
        ),
        (
            {"oneOf": [{"properties": WORD}, {"properties": {"b": {"type": "string"}}}]},
            {"type": "object", "properties": {**WORD, "b": {"type": "string"}}},
        ),
        (
            {"allOf": [{"type": "object", "properties": WORD, "required": ["a"]}]},
            {"type": "object", "properties": WORD, "required": ["a"]},
        ),
    ],
)
def test_schema_with_a_clear_meaning_is_repaired(schema: Any, expected: dict[str, Any]) -> None:
    assert arguments_schema(schema) == expected


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("broken", "name", "why"),
    [
        ({"name": "odd", "inputSchema": {"type": "string"}}, "odd", "no object"),
        ({"name": "odd", "inputSchema": "x"}, "odd", "no JSON schema"),
        ({"name": "odd", "inputSchema": [EMPTY]}, "odd", "no JSON schema"),
        ({"inputSchema": EMPTY}, "tool ", "no name"),
        ({"name": 3}, "tool ", "no name"),
        ("odd", "tool ", "no name"),
        (None, "tool ", "no name"),
    ],
)
def test_unclear_tool_is_marked_alone(broken: Any, name: str, why: str, place: int) -> None:
    tools = [{"name": "one", "inputSchema": EMPTY}, {"name": "two"}]
    tools.insert(place, broken)
    found = listed(*tools).tools
    (marked,) = [each for each in found if (each.meta or {}).get(UNUSABLE)]
    assert marked.name.startswith(name)
    assert why in (marked.meta or {})[UNUSABLE]
    assert [each.name for each in found if each is not marked] == ["one", "two"]


def test_second_tool_of_one_name_is_marked() -> None:
    one, two = listed(
        {"name": "a", "description": "first"}, {"name": "a", "inputSchema": EMPTY}
    ).tools
    assert (one.name, one.description, one.meta) == ("a", "first", None)
    assert (two.name, (two.meta or {})[UNUSABLE]) == ("a (2)", "its name occurs twice")


def test_fields_of_another_type_are_left_out() -> None:
    tool = {
        "name": "a",
        "title": 3,
        "description": ["x"],
        "inputSchema": EMPTY,
        "outputSchema": {"type": "string"},
        "annotations": {"readOnlyHint": True, "destructiveHint": "no", "title": None},
        "icons": "x",
        "execution": 3,
        "_meta": {"k": 1, UNUSABLE: "as the server says"},
    }
    found = listed(tool, nextCursor=None)
    assert found.next_cursor is None
    (only,) = found.tools
    assert (only.description, only.meta) == (None, {"k": 1})
    assert only.annotations is not None
    assert (only.annotations.read_only_hint, only.annotations.destructive_hint) == (True, None)


def test_deep_schema_leaves_out_one_tool() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100):
        deep = {"items": deep, "type": "array"}
    schema = {"type": "object", "properties": {"a": deep}}
    one, two = listed({"name": "a", "inputSchema": schema}, {"name": "b"}).tools
    assert "nested too deeply" in (one.meta or {})[UNUSABLE]
    assert two.meta is None


@pytest.mark.parametrize(
    "message",
    [
        b'{"tools": [',
        b'{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}}}}',
        b'{"id":1,"result":{"content":[{"type":"text","text":"\\"tools\\""}]}}',
        b"",
    ],
)
def test_other_messages_stay_as_they_are(message: bytes) -> None:
    assert repaired(message) == message


KEYWORDS = ["type", "properties", "required", "items", "$ref", "anyOf", "enum", "$defs", "not", "a"]
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["object", "#", "#/$defs/a", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ODD, ODD)
def test_no_schema_takes_others_down(schema: Any, tool: Any) -> None:
    names = [
        each.name
        for each in listed({"name": "odd", "inputSchema": schema}, tool, {"name": "b"}).tools
    ]
    assert len(names) == 3
    assert names[-1] == "b"
