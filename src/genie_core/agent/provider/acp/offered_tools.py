"""Tools of ours for an agent program, as a tool server that speaks MCP over stdio.

The program starts `relay` as the server, which connects to a socket in a folder that only this
person can open. The calls are answered here, in the run that is in progress.
"""

import asyncio
import inspect
import json
import re
import shutil
import sys
import tempfile
from asyncio import StreamReader, StreamWriter, Task
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, get_type_hints

from acp.exceptions import RequestError
from acp.schema import McpServerStdio
from pydantic import BaseModel, ValidationError, create_model

from genie_core.agent.base import AsyncTool
from genie_core.agent.provider.acp import relay
from genie_core.agent.provider.acp.tool_calls import KnownCall
from genie_core.agent.provider.approval_answer import complaints
from genie_core.runtime.tasks import start_task

SERVER_NAME: Final = "genie"
"""The name of the tool server, which programs put before the names of its tools."""

MOST_CALLS_AT_ONCE: Final = 16

_LONGEST_LINE: Final = 4 * 1024 * 1024
_VERSION: Final = "2025-06-18"


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of ours; `schema` describes its arguments."""

    name: str
    description: str
    schema: dict[str, Any]
    function: AsyncTool
    _model: type[BaseModel]

    @classmethod
    def of(cls, function: AsyncTool) -> "OfferedTool":
        hints = get_type_hints(function)
        fields: dict[str, Any] = {
            name: (hints.get(name, Any), ... if each.default is each.empty else each.default)
            for name, each in inspect.signature(function).parameters.items()
        }
        model = create_model(function.__name__, **fields)
        description = inspect.getdoc(function) or ""
        return cls(function.__name__, description, model.model_json_schema(), function, model)

    def settled(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments as JSON values. Raises `ValueError` if they do not fit."""
        return self._parsed(arguments).model_dump(mode="json")

    async def __call__(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function.

        Raises `ValueError` if the arguments do not fit, and its exceptions.
        """
        values = self._parsed(arguments)
        named = {name: getattr(values, name) for name in type(values).model_fields}
        return await self.function(**named)

    def _parsed(self, arguments: Mapping[str, Any]) -> BaseModel:
        try:
            return self._model.model_validate_json(json.dumps(arguments))
        except ValidationError as error:
            raise ValueError(
                f"the arguments do not fit {self.name}: {complaints(error)}"
            ) from error


Serve: TypeAlias = Callable[[OfferedTool, dict[str, Any]], Awaitable[Any]]
"""Makes a call in the run that is in progress. Raises `RequestError`."""


_ACTS: Final = frozenset({"execute", "edit", "delete", "move", "switch_mode"})

_WORDS: Final = re.compile(r"[A-Za-z][A-Za-z_]*")


def tool_meant(call: KnownCall, tools: Collection[str]) -> str:
    """Return the name of the tool of ours that a call seems to be of, or an empty text.

    Programs put it into the title or the raw input, behind our name or a prefix of theirs.
    """
    raw = call.raw_input if isinstance(call.raw_input, dict) else {}
    told = " ".join(each for each in (call.title, raw.get("tool")) if isinstance(each, str))
    words = _WORDS.findall(told[:400])
    return next((name for name in tools for word in words if word.endswith(name)), "")


def is_offered(call: KnownCall, tools: Mapping[str, OfferedTool]) -> bool:
    """Whether a call can only be one of a tool of ours, which is asked about when it reaches us.

    A title alone is not enough, since a model may have written it: the raw input has to fit, too.
    """
    name, given = tool_meant(call, tools), call.raw_input
    if not name or call.kind in _ACTS or call.changes or call.paths or not isinstance(given, dict):
        return False
    if given.get("server") == SERVER_NAME and given.get("tool") == name:
        given = given.get("arguments") or {}
    elif not re.fullmatch(rf"(mcp__|mcp\.)?{SERVER_NAME}(__|[_/.:]){name}", call.title.strip()):
        return False
    known = tools[name].schema.get("properties", {})
    return isinstance(given, dict) and set(given) <= set(known)


class OfferedToolServer:
    """Answers the calls of one agent program, each through `serve`."""

    def __init__(self, tools: Sequence[AsyncTool], serve: Serve) -> None:
        self.tools = {each.__name__: OfferedTool.of(each) for each in tools}
        self._serve = serve
        self._folder = ""
        self._server: asyncio.Server | None = None
        self._connections: set[Task[None]] = set()

    @property
    def files(self) -> list[Path]:
        """The files of the relay and its socket; empty while the server is closed."""
        return [Path(self._folder), Path(relay.__file__)] if self._folder else []

    async def open(self) -> None:
        """Listen for the relay; does nothing without tools, or if it listens already."""
        if self._server is not None or not self.tools:
            return
        self._folder = tempfile.mkdtemp(prefix="genie-tools-")  # closed to other users
        self._server = await asyncio.start_unix_server(
            self._connected, self._socket, limit=_LONGEST_LINE
        )

    async def close(self) -> None:
        """End all calls and stop to listen. Safe to call again."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for each in [*self._connections]:
            each.cancel()
        if self._connections:
            await asyncio.wait(self._connections)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def described(self) -> list[Any]:
        """Return the description of the server for a session; nothing if it is closed."""
        if self._server is None:
            return []
        words = ["-I", "-S", str(Path(relay.__file__)), self._socket]
        return [McpServerStdio(name=SERVER_NAME, command=sys.executable, args=words, env=[])]

    @property
    def _socket(self) -> str:
        return str(Path(self._folder) / "socket")

    def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        connection = _Connection(self.tools, self._serve, reader, writer)
        task = start_task(connection.run(), name="tools for an agent program")
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)


class _Connection:
    def __init__(
        self,
        tools: Mapping[str, OfferedTool],
        serve: Serve,
        reader: StreamReader,
        writer: StreamWriter,
    ) -> None:
        self._tools = tools
        self._serve = serve
        self._reader = reader
        self._writer = writer
        self._calls: dict[Any, Task[None]] = {}

    async def run(self) -> None:
        try:
            with suppress(OSError, ValueError):  # ValueError: a line that is too long
                while line := await self._reader.readline():
                    await self._take(line)
        finally:
            for each in self._calls.values():
                each.cancel()
            self._writer.close()

    async def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict) or not isinstance(method := message.get("method"), str):
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        number = message.get("id")
        if number is None or not isinstance(number, int | str):
            if method == "notifications/cancelled" and (
                call := self._calls.get(str(params.get("requestId")))
            ):
                call.cancel()
        elif method == "tools/call":
            self._begin(number, params)
        else:
            await self._answer(number, method, params)

    def _begin(self, number: int | str, params: dict[str, Any]) -> None:
        call = start_task(self._call(number, params))
        self._calls[str(number)] = call
        call.add_done_callback(lambda _: self._calls.pop(str(number), None))

    async def _call(self, number: int | str, params: dict[str, Any]) -> None:
        tool, arguments = self._tools.get(str(params.get("name"))), params.get("arguments") or {}
        if tool is None or not isinstance(arguments, dict):
            await self._send(number, error={"code": -32602, "message": "there is no such tool"})
            return
        if len(self._calls) > MOST_CALLS_AT_ONCE:
            busy = {"code": -32000, "message": "too many calls at once: wait for their results"}
            await self._send(number, error=busy)
            return
        try:
            content, is_error = _content(await self._serve(tool, arguments)), False
        except RequestError as error:
            content, is_error = _content(str(error)), True
        await self._send(number, {"content": [content], "isError": is_error})

    async def _answer(self, number: int | str, method: str, params: dict[str, Any]) -> None:
        match method:
            case "initialize":
                version = params.get("protocolVersion")
                known = version if isinstance(version, str) else _VERSION
                about = {"name": "genie-tui", "title": "The room in Genie TUI", "version": "1"}
                can: dict[str, Any] = {"tools": {}}
                await self._send(
                    number, {"protocolVersion": known, "capabilities": can, "serverInfo": about}
                )
            case "ping":
                await self._send(number, {})
            case "tools/list":
                await self._send(
                    number, {"tools": [_listed(each) for each in self._tools.values()]}
                )
            case _:
                error = {"code": -32601, "message": f"{method[:80]} is not offered"}
                await self._send(number, error=error)

    async def _send(
        self, number: int | str, result: dict[str, Any] | None = None, error: Any = None
    ) -> None:
        answer = {"result": result} if error is None else {"error": error}
        line = json.dumps({"jsonrpc": "2.0", "id": number, **answer}, separators=(",", ":"))
        with suppress(OSError):
            self._writer.write(line.encode("utf-8", "replace") + b"\n")
            await self._writer.drain()


def _listed(tool: OfferedTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        "annotations": {"readOnlyHint": tool.name != "run_subagent", "openWorldHint": False},
    }


def _content(result: Any) -> dict[str, Any]:
    if isinstance(result, dict) and result.get("type") == "image":
        return result
    return {"type": "text", "text": result if isinstance(result, str) else json.dumps(result)}
