from pathlib import Path

import pytest
from pydantic_ai import Tool

from genie_core.assistant.tools.catalogue import (
    FILE_TOOLS,
    TOOL_NAMES,
    available,
    build_tools,
)
from genie_core.assistant.tools.workspace import Workspace


async def no_messages() -> str:
    return "[]"


def test_the_tools_are_the_ones_named(tmp_path: Path) -> None:
    tools = build_tools(no_messages, Workspace.at(tmp_path))
    assert tuple(tool.__name__ for tool in tools) == TOOL_NAMES == available(tmp_path)


def test_without_a_workspace_there_are_no_file_tools() -> None:
    names = [tool.__name__ for tool in build_tools(no_messages, None)]
    assert tuple(names) == available(None)
    assert not set(names) & set(FILE_TOOLS)


@pytest.mark.parametrize("position", range(len(TOOL_NAMES)))
def test_a_model_is_told_what_each_tool_and_parameter_means(tmp_path: Path, position: int) -> None:
    tool = Tool(build_tools(no_messages, Workspace.at(tmp_path))[position])
    definition = tool.tool_def
    assert definition.description
    parameters = definition.parameters_json_schema["properties"]
    assert all("description" in schema for schema in parameters.values()), parameters
