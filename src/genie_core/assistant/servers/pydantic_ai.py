"""A tool server for agents on pydantic-ai."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TextIO

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_json

from genie_core.agent.provider.pydantic_ai.servers import ToleratedServer
from genie_core.agent.provider.server_outages import START_TIMEOUT
from genie_core.assistant.servers import launch
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.long_results import LONGEST_MESSAGE, limit_stdio, limited_http
from genie_core.assistant.servers.offered_tools import (
    LARGEST_FILE,
    LONGEST_DESCRIPTION,
    LONGEST_TEXT,
    RESERVED,
    cut,
    offered,
    public_names,
    too_large,
)
from genie_core.assistant.servers.registry import ServerConnection
from genie_core.assistant.servers.stderr import ErrorLog

_UNKNOWN_YET = "http://unknown.invalid/"

limit_stdio()


def server_toolset(
    spec: ServerSpec, keys: Mapping[str, str], connection: ServerConnection
) -> AbstractToolset[Any]:
    """Return the toolset of one server for one agent. `keys` are secrets for its placeholders."""
    _silence_fastmcp()
    transport: _QuietTransport | StreamableHttpTransport
    if spec.url:
        transport = StreamableHttpTransport(
            _UNKNOWN_YET,
            httpx_client_factory=limited_http(LONGEST_MESSAGE),
            max_sse_event_size=2 * LONGEST_MESSAGE,
        )
    else:
        transport = _QuietTransport(spec.name)
        connection.hint = transport.last_line
    inner = MCPToolset[Any](
        transport,
        id=spec.name,
        tool_error_behavior="failed",
        init_timeout=START_TIMEOUT,
        read_timeout=launch.CALL_TIMEOUT,
    )
    return ToleratedServer(_ConfiguredServer(inner, spec, keys, transport), watch=connection)


class _QuietTransport(StdioTransport):
    """Starts a program whose standard error goes to the log."""

    def __init__(self, server: str) -> None:
        self._errors = ErrorLog(server)
        super().__init__("", [])

    @property
    def log_file(self) -> TextIO:
        """The file for standard error, read at each start."""
        return self._errors.open()

    @log_file.setter
    def log_file(self, _value: object) -> None:
        """Ignore the library's default."""

    async def disconnect(self) -> None:
        try:
            await super().disconnect()  # type: ignore[no-untyped-call]  # fastmcp gives no types
        finally:
            self._errors.close()

    def last_line(self) -> str:
        return self._errors.last_line


@dataclass
class _ConfiguredServer(WrapperToolset[Any]):
    """Fills in placeholders at the start and gives tools their public names.

    Returns errors that a model could correct as ordinary results: a model that keeps making them
    must not end the run.
    """

    spec: ServerSpec
    keys: Mapping[str, str] = field(repr=False)
    transport: _QuietTransport | StreamableHttpTransport = field(repr=False)
    names: dict[str, str] = field(default_factory=dict)
    reported_run: str | None = None  # the run in which omitted tools were reported

    async def __aenter__(self) -> Self:
        self._prepare(launch.ready_to_start(self.spec, self.keys))
        return await super().__aenter__()

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        schemas = {name: tool.tool_def.parameters_json_schema for name, tool in tools.items()}
        quietly = self.reported_run == ctx.run_id
        self.reported_run = ctx.run_id
        fit = offered(self.spec.name, schemas, quietly=quietly)
        names = public_names(self.spec.name, fit, RESERVED)
        self.names |= names
        return {name: self._renamed(tools[its_name], name) for name, its_name in names.items()}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        its_name = self.names[name]
        its_tool = replace(tool, tool_def=replace(tool.tool_def, name=its_name))
        try:
            result = await super().call_tool(
                its_name, tool_args, replace(ctx, tool_name=its_name), its_tool
            )
        except ModelRetry as error:
            raise ToolFailed(cut(str(error))) from error.__cause__
        except ToolFailed as error:
            raise ToolFailed(cut(error.message)) from error.__cause__
        return _bounded(result)

    def _prepare(self, spec: ServerSpec) -> None:
        if isinstance(self.transport, StreamableHttpTransport):
            self.transport.url, self.transport.headers = spec.url, dict(spec.headers)
        else:
            self.transport.command, self.transport.args = spec.command, list(spec.args)
            self.transport.env, self.transport.cwd = dict(spec.env), spec.cwd or None

    def _renamed(self, tool: ToolsetTool[Any], name: str) -> ToolsetTool[Any]:
        about = cut(tool.tool_def.description or "", LONGEST_DESCRIPTION)
        definition = replace(tool.tool_def, name=name, description=about or None)
        return replace(tool, toolset=self, tool_def=definition)


def _bounded(result: Any) -> Any:
    """Cut a result. A structured result that is too long becomes text."""
    match result:
        case str():
            return cut(result)
        case BinaryContent():
            size = len(result.data)
            return result if size <= LARGEST_FILE else too_large(size)
        case list() if any(isinstance(each, BinaryContent) for each in result):
            return [_bounded(each) for each in result]
        case _:
            text = to_json(result, fallback=repr)
            return result if len(text) <= LONGEST_TEXT else cut(text.decode())


def _silence_fastmcp() -> None:
    """Remove fastmcp's handler, which writes to the terminal."""
    logger = logging.getLogger("fastmcp")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
    logger.propagate = True
