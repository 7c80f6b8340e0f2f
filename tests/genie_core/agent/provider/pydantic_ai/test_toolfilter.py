from typing import Any, cast

import pytest
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.tools import ToolDefinition

from genie_core.agent.provider.pydantic_ai import ToolFilter

CONTEXT = cast("RunContext[Any]", None)  # the filter does not look at it


@pytest.mark.parametrize(
    ("included", "excluded", "passed"),
    [
        (None, None, ["a", "b", "c"]),
        (["a", "b"], None, ["a", "b"]),
        (None, ["b"], ["a", "c"]),
        (["a", "b"], ["b"], ["a"]),
        ([], None, []),
    ],
)
def test_tool_is_included_and_not_excluded(
    included: list[str] | None, excluded: list[str] | None, passed: list[str]
) -> None:
    chosen = ToolFilter(included=included, excluded=excluded)
    assert [name for name in "abc" if chosen(CONTEXT, ToolDefinition(name=name))] == passed


def test_a_toolset_takes_it_as_a_filter() -> None:
    assert FunctionToolset[Any]().filtered(ToolFilter(included=["a"])) is not None
