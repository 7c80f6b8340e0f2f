"""The offline helper's tool calls: described, approved and checked as those of a model are."""

import inspect
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeAlias, get_args, get_type_hints

import msgspec

from genie_core.agent.approval import ApprovalCallback, ask_about, described
from genie_core.agent.base import AsyncTool
from genie_core.agent.provider.approval_answer import InvalidArgumentsError, denial
from genie_core.agent.provider.masking import masked
from genie_core.assistant.offline.ask import PlannedCall
from genie_core.errors import GenieError, public_summary, summary, tool_failure
from genie_core.runtime.progress import doing, note

log = logging.getLogger(__name__)

Outcome: TypeAlias = Literal["success", "denied", "failed"]

_TYPES: Final = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_ARGUMENT: Final = re.compile(r"^    (\w+): (.*(?:\n        .*)*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a call. `text` is the tool's result, or says why there is none."""

    tool: str
    text: str
    outcome: Outcome = "success"


async def call_tool(tool: AsyncTool, call: PlannedCall, ask: ApprovalCallback) -> CallResult:
    """Ask whether a tool may run, and run it; an exception of the tool is a result."""
    name = call.tool
    schema = described(schema_of(tool), _parts(tool)[0])
    verdict = await ask_about(ask, name, dict(call.args), schema)
    if not verdict:
        return CallResult(name, denial(verdict), "denied")
    try:
        arguments = _checked(tool, call.args if verdict.arguments is None else verdict.arguments)
        doing("calling", name)
        return CallResult(name, masked(await tool(**arguments)))
    except GenieError as error:
        note(f"{name}: {tool_failure(error)}", f"{name}: {summary(error)}")
        return CallResult(name, tool_failure(error), "failed")
    except Exception as error:
        log.warning("tool %s raised", name, exc_info=True)
        note(f"{name}: {public_summary(error)}", f"{name}: {summary(error)}")
        return CallResult(name, summary(error), "failed")


def schema_of(tool: AsyncTool) -> dict[str, Any]:
    """Return the schema that pydantic-ai gives to one of our tools.

    They have to be equal: a grant covers a tool with its schema, and outlives a change of model.
    """
    hints, about = get_type_hints(tool), _parts(tool)[1]
    properties, required = {}, []
    for name, each in inspect.signature(tool).parameters.items():
        properties[name] = _type_schema(hints[name])
        if name in about:
            properties[name]["description"] = about[name]
        if each.default is each.empty:
            required.append(name)
        else:
            properties[name]["default"] = each.default
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _type_schema(hint: Any) -> dict[str, Any]:
    if isinstance(hint, UnionType):
        return {"anyOf": [_type_schema(each) for each in get_args(hint)]}
    return {"type": _TYPES[hint]}


def _parts(tool: AsyncTool) -> tuple[str, dict[str, str]]:
    """Return what a docstring says of a tool, and of its arguments."""
    about, _, arguments = (inspect.getdoc(tool) or "").partition("\n\nArgs:\n")
    return about, dict(_arguments(arguments))


def _arguments(text: str) -> Iterator[tuple[str, str]]:
    for name, about in _ARGUMENT.findall(text):
        yield name, "\n".join(line.strip() for line in about.split("\n"))


def _checked(tool: AsyncTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments, converted to the types of the tool's parameters.

    Raises:
        InvalidArgumentsError: they do not fit.
    """
    hints = get_type_hints(tool)
    fields = [
        (name, hints[name]) if each.default is each.empty else (name, hints[name], each.default)
        for name, each in inspect.signature(tool).parameters.items()
    ]
    model = msgspec.defstruct(tool.__name__, fields, forbid_unknown_fields=True)
    try:
        values = msgspec.convert(arguments, model, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidArgumentsError(tool.__name__, str(error)) from error
    return msgspec.structs.asdict(values)
