import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Tool

from genie_core.agent import Verdict
from genie_core.agent.approval import described
from genie_core.agent.base import AsyncTool
from genie_core.assistant.instructions.texts import TextFolder
from genie_core.assistant.offline.calls import CallResult, call_tool, schema_of
from genie_core.assistant.offline.requests import PlannedCall
from genie_core.assistant.tools.catalog import TOOL_NAMES, build_tools
from genie_core.assistant.tools.files.workspace import Workspace
from genie_core.errors import GenieError
from genie_core.runtime.progress import reporting_to


async def said() -> str:
    return "[]"


def tools(folder: Path) -> dict[str, AsyncTool]:
    built = build_tools(said, Workspace.at(folder), rooms=folder, texts=[TextFolder(folder)])
    return {each.__name__: each for each in built}


async def shift(start: str, days: int = 1) -> str:
    """Shift a date."""
    return f"{start} + {days!r}"


class Asked:
    """An approval callback that gives one answer to all and remembers what it was asked."""

    def __init__(self, answer: Verdict | None = None) -> None:
        self.answer = Verdict(approved=True) if answer is None else answer
        self.calls: list[tuple[str, dict[str, Any], dict[str, Any] | None]] = []

    async def __call__(self, name: str, arguments: dict[str, Any]) -> bool:
        return (await self.verdict(name, arguments)).approved

    async def verdict(
        self, name: str, arguments: dict[str, Any], schema: dict[str, Any] | None = None
    ) -> Verdict:
        self.calls.append((name, arguments, schema))
        return self.answer


@pytest.mark.parametrize("name", sorted({*TOOL_NAMES} - {"edit_files"}))  # which it never calls
async def test_a_tool_is_described_as_pydantic_ai_does(name: str, tmp_path: Path) -> None:
    """A grant holds for the description that was shown, and outlives a change of model."""
    tool = tools(tmp_path)[name]
    theirs = Tool(tool).tool_def
    assert schema_of(tool) == theirs.parameters_json_schema
    ask = Asked(Verdict(approved=False))
    await call_tool(tool, PlannedCall(name), ask)
    ((_, _, schema),) = ask.calls
    assert schema == described(theirs.parameters_json_schema, theirs.description)


async def test_approved_call_gets_arguments() -> None:
    ask = Asked()
    result = await call_tool(shift, PlannedCall("shift", {"start": "today"}), ask)
    assert result == CallResult("shift", "today + 1")
    assert ask.calls[0][:2] == ("shift", {"start": "today"})


async def test_a_denied_call_does_not_run() -> None:
    ask = Asked(Verdict(approved=False, reason="not on a Sunday"))
    result = await call_tool(shift, PlannedCall("shift", {}), ask)
    assert result.outcome == "denied"
    assert "not on a Sunday" in result.text


async def test_edited_arguments_are_what_the_tool_gets() -> None:
    ask = Asked(Verdict(approved=True, arguments={"start": "now", "days": "3"}))
    result = await call_tool(shift, PlannedCall("shift", {"start": "today"}), ask)
    assert result == CallResult("shift", "now + 3")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({}, "start"), ({"start": "now", "days": "few"}, "days"), ({"start": "", "hour": 1}, "hour")],
)
async def test_unfit_edit_fails_and_is_named(arguments: dict[str, Any], named: str) -> None:
    ask = Asked(Verdict(approved=True, arguments=arguments))
    result = await call_tool(shift, PlannedCall("shift", {"start": "today"}), ask)
    assert result.outcome == "failed"
    assert result.text.startswith("the arguments entered by the user do not fit shift: ")
    assert named in result.text


class Notes:
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def spent(self, _usage: object) -> None:
        raise AssertionError("nothing was spent")

    def doing(self, what: str, detail: str) -> None:
        self.told.append((what, detail))


@pytest.mark.parametrize(
    ("error", "text", "notes"),
    [
        (
            RuntimeError("disk on fire"),
            "RuntimeError: disk on fire",
            [("note", "burn: RuntimeError"), ("detail", "burn: RuntimeError: disk on fire")],
        ),
        (GenieError("it is closed"), "it is closed", [("note", "burn: it is closed")]),
    ],
)
async def test_tool_exception_is_noted_failure(
    error: Exception, text: str, notes: list[tuple[str, str]]
) -> None:
    async def burn() -> str:
        raise error

    notes_of = Notes()
    with reporting_to(notes_of):
        result = await call_tool(burn, PlannedCall("burn"), Asked())
    assert result == CallResult("burn", text, "failed")
    assert notes_of.told == [("calling", "burn"), *notes]


def test_all_tools_have_typed_signatures(tmp_path: Path) -> None:
    made: list[Callable[..., Any]] = list(tools(tmp_path).values())
    assert all(inspect.signature(each).return_annotation is str for each in made)
