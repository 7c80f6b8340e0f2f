import inspect
from pathlib import Path
from typing import Any

import pytest
from agents import function_tool
from pydantic_ai import Tool

from genie_core.agent.provider.openai.tools import tools_from
from genie_core.assistant.config import ToolLimits
from genie_core.assistant.instructions.texts import TextFolder
from genie_core.assistant.tools.catalog import (
    COMMAND_TOOLS,
    FILE_TOOLS,
    PROGRAM_TOOLS,
    RISKS,
    ROOM_TOOLS,
    TOOL_NAMES,
    available,
    build_tools,
)
from genie_core.assistant.tools.files.workspace import Workspace


async def no_messages() -> str:
    return "[]"


def test_the_tools_are_the_ones_named(tmp_path: Path) -> None:
    tools = build_tools(
        no_messages, Workspace.at(tmp_path), rooms=tmp_path, texts=[TextFolder(tmp_path)]
    )
    names = available(tmp_path, tmp_path, skills=True)
    assert tuple(tool.__name__ for tool in tools) == TOOL_NAMES == names


def test_tools_that_could_not_work_are_not_there(tmp_path: Path) -> None:
    names = [tool.__name__ for tool in build_tools(no_messages, None)]
    assert tuple(names) == available(None)
    assert not set(names) & {*FILE_TOOLS, *COMMAND_TOOLS, *ROOM_TOOLS}
    assert "search_chat" not in [tool.__name__ for tool in build_tools(None, None)]


def test_agent_has_only_wanted_tools(tmp_path: Path) -> None:
    wanted = ("run_command", "calculate", "no_such_tool")
    tools = build_tools(no_messages, Workspace.at(tmp_path), limits=ToolLimits(), names=wanted)
    assert [tool.__name__ for tool in tools] == ["calculate", "run_command"]
    assert available(tmp_path, None, wanted) == ("calculate", "run_command")
    assert available(None, None, wanted) == ("calculate",)
    assert build_tools(no_messages, None, names=()) == []


def test_the_risk_of_every_tool_is_known() -> None:
    assert set(RISKS) == {*TOOL_NAMES, *PROGRAM_TOOLS, "run_subagent"}
    harmful = {name: risk for name, risk in RISKS.items() if risk != "read"}
    assert harmful == {
        "write_file": "write",
        "edit_file": "write",
        "edit_files": "write",
        "move_file": "write",
        "delete_file": "write",
        "run_command": "execute",
        "stop_job": "execute",
        "fetch_url": "network",
    }


@pytest.mark.parametrize("position", range(len(TOOL_NAMES)), ids=TOOL_NAMES)
def test_tools_and_parameters_are_described(tmp_path: Path, position: int) -> None:
    function = build_tools(
        no_messages, Workspace.at(tmp_path), rooms=tmp_path, texts=[TextFolder(tmp_path)]
    )[position]
    parameters = inspect.signature(function).parameters
    required = {n for n, each in parameters.items() if each.default is inspect.Parameter.empty}
    ours = Tool(function).tool_def
    [theirs] = tools_from([function])
    strict = function_tool(function)
    assert ours.description
    assert theirs.name == strict.name == ours.name == TOOL_NAMES[position]
    schemas: list[dict[str, Any]] = [
        ours.parameters_json_schema,
        getattr(theirs, "params_json_schema"),  # noqa: B009 — the tools there are have it, not all
        strict.params_json_schema,
    ]
    for schema in schemas:
        assert set(schema["properties"]) == set(parameters)
        assert all(each.get("description") for each in schema["properties"].values()), schema
    assert set(schemas[0].get("required", ())) == required == set(schemas[1].get("required", ()))
