from typing import Any

import pytest
from tests.genie_core.agent.provider.both import RUNTIMES, bench

from genie_core.agent.provider.tool_definitions import concise, one_line
from genie_core.message import Attachment
from genie_testing.turns import Call, Say


async def look(
    title: str,
    last: int | None = None,
    much: bool = False,
    files: list[Attachment] = [],  # noqa: B006 - only read
) -> str:
    """Look at something,
    and say what it is.

    Args:
        title: What to look at,
            in words.
        last: The last line.
        much: Look longer.
        files: More to look at.
    """
    return f"{title} {last} {much} {len(files)}"


def test_needless_parts_go_and_names_stay() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "title": "look_args",
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "title": "Title", "description": "a\n  b"},
            "default": {"type": "integer", "default": 3},
            "empty": {"type": "string", "default": ""},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "several": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
            "table": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["title"],
    }
    assert concise(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "a b"},
            "default": {"type": "integer", "default": 3},
            "empty": {"type": "string"},
            "maybe": {"type": "integer"},
            "several": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "table": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["title"],
    }
    assert schema["title"] == "look_args"
    assert one_line("a\n\n b") == "a b"


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_short_definitions_accept_null(runtime: str) -> None:
    turns = Call("look", {"title": "x", "last": None}), Say("done")
    async with bench(runtime, *turns, tools=[look]) as desk:
        assert await desk.ask(desk.agent(), "q") == "done"
        first, second = desk.server.requests
    (tool,) = first.body["tools"]
    tool = tool.get("function", tool)
    assert tool["description"] == "Look at something, and say what it is."
    parameters = tool["parameters"]
    assert parameters["properties"]["last"] == {"type": "integer", "description": "The last line."}
    assert "local file" not in str(parameters)
    assert parameters["required"] == ["title"]
    assert second.tool_results == ["x None False 0"]
