"""The offline helper's tool calls: described, approved and checked as those of a model are."""

import inspect
import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, get_type_hints

import msgspec

from genie_core.agent.approval import ApprovalCallback, ask_about, described
from genie_core.agent.base import AsyncTool
from genie_core.agent.provider.approval_answer import InvalidArgumentsError, denial, failed
from genie_core.agent.provider.masking import masked
from genie_core.assistant.offline.requests import PlannedCall
from genie_core.runtime.progress import doing

_ARGUMENT: Final = re.compile(r"^    (\w+): (.*(?:\n        .*)*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of a call. `text` is the tool's result, or says why there is none."""

    tool: str
    text: str
    outcome: Literal["success", "denied", "failed"] = "success"


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
    except Exception as error:  # noqa: BLE001 - reported, and the result
        return CallResult(name, failed(name, error), "failed")


def schema_of(tool: AsyncTool) -> dict[str, Any]:
    """Return the schema that pydantic-ai gives to one of our tools.

    They have to be equal: a grant covers a tool with its schema, and outlives a change of model.
    """
    _, parts = msgspec.json.schema_components([_arguments_of(tool)])
    schema = parts[tool.__name__]
    needless = ("title",) if schema["required"] else ("title", "required")
    return {key: value for key, value in schema.items() if key not in needless}


def _parts(tool: AsyncTool) -> tuple[str, dict[str, str]]:
    """Return the description of a tool, and those of its arguments, from its docstring."""
    about, _, arguments = (inspect.getdoc(tool) or "").partition("\n\nArgs:\n")
    found = _ARGUMENT.findall(arguments)
    return about, {name: re.sub(r"\n\s+", "\n", text) for name, text in found}


def _checked(tool: AsyncTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return all arguments, converted to the types of the tool's parameters.

    Raises:
        InvalidArgumentsError: they do not fit.
    """
    try:
        values = msgspec.convert(arguments, _arguments_of(tool), strict=False)
    except msgspec.ValidationError as error:
        raise InvalidArgumentsError(tool.__name__, str(error)) from error
    return msgspec.structs.asdict(values)


def _arguments_of(tool: AsyncTool) -> type[msgspec.Struct]:
    """Return a struct with one field for each parameter of a tool."""
    hints, about = get_type_hints(tool), _parts(tool)[1]
    fields: list[Any] = []
    for name, each in inspect.signature(tool).parameters.items():
        kind: Any = Annotated[hints[name], msgspec.Meta(description=about.get(name))]
        fields.append((name, kind) if each.default is each.empty else (name, kind, each.default))
    return msgspec.defstruct(tool.__name__, fields, forbid_unknown_fields=True)
