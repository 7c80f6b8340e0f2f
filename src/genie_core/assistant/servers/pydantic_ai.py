"""A tool server for agents on pydantic-ai."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Self, TextIO, TypeAlias

import httpx2
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from mcp import MCPError
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_json

from genie_core.agent.provider.pydantic_ai.clients import has_gone
from genie_core.agent.provider.pydantic_ai.servers import ToleratedServer
from genie_core.agent.provider.server_outages import START_TIMEOUT
from genie_core.assistant.servers import launch
from genie_core.assistant.servers.calls import CallsInProgress, CallTimeout
from genie_core.assistant.servers.client import SSE_SILENCE, callback
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.elicitation import elicit
from genie_core.assistant.servers.long_results import LONGEST_MESSAGE, limited_http
from genie_core.assistant.servers.offered_tools import (
    LARGEST_FILE,
    LONGEST_DESCRIPTION,
    LONGEST_TEXT,
    RESERVED,
    ListedTool,
    claim_of,
    cut,
    offered,
    public_names,
    too_large,
)
from genie_core.assistant.servers.offers import learn_offers
from genie_core.assistant.servers.registry import ServerConnection
from genie_core.assistant.servers.resources import ABOUT, ResourceTools
from genie_core.assistant.servers.sampling import ModelSource, sample
from genie_core.assistant.servers.stderr import ErrorLog

_UNKNOWN_YET = "http://unknown.invalid/"


def server_toolset(
    spec: ServerSpec,
    keys: Mapping[str, str],
    connection: ServerConnection,
    model: ModelSource | None = None,
    auth: httpx2.Auth | None = None,
) -> AbstractToolset[Any]:
    """Return the toolset of one server for one agent.

    `keys` are secrets for its placeholders; `model` is the one that the server may ask, `auth` sends the
    login of one on HTTP.
    """
    _silence_fastmcp()
    transport: _Transport
    if spec.sse:
        transport = SSETransport(
            _UNKNOWN_YET,
            auth=auth,
            sse_read_timeout=SSE_SILENCE,
            httpx_client_factory=limited_http(LONGEST_MESSAGE),
        )
    elif spec.url:
        transport = StreamableHttpTransport(
            _UNKNOWN_YET,
            auth=auth,
            httpx_client_factory=limited_http(LONGEST_MESSAGE),
            max_sse_event_size=2 * LONGEST_MESSAGE,
        )
    else:
        transport = _QuietTransport(spec.name)
        connection.hint = transport.last_line
    calls = CallsInProgress()
    inner = MCPToolset[Any](
        transport,
        id=spec.name,
        tool_error_behavior="failed",
        init_timeout=START_TIMEOUT,
        read_timeout=None,  # calls have a limit of their own
    )
    if spec.legacy:
        inner.client.mode = "legacy"
    _answer_requests(inner, spec.name, calls, model)
    configured = _ConfiguredServer(inner, spec, keys, transport, connection, calls)
    return ToleratedServer(configured, watch=connection)


async def _never() -> None:
    """Stand in for the tools for resources, which the server's toolset calls itself."""


_RESOURCE_TOOLS: Final = FunctionToolset[Any](
    [Tool.from_schema(_never, name, about, schema) for name, (about, schema) in ABOUT.items()]
)


def _answer_requests(
    toolset: MCPToolset[Any], server: str, calls: CallsInProgress, model: ModelSource | None
) -> None:
    """Answer what the server asks for during calls.

    MCPToolset would warn that servers of the protocol of 2026 never ask, which they do. The client's
    own handlers make types of the server's schemas and apply their regular expressions.
    """
    callbacks: Any = toolset.client._session_kwargs  # noqa: SLF001 - see above
    callbacks["elicitation_callback"] = callback(partial(elicit, server, calls))
    if model is not None:
        callbacks["sampling_callback"] = callback(partial(sample, server, calls, model))


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


_Transport: TypeAlias = _QuietTransport | StreamableHttpTransport | SSETransport


@dataclass
class _ConfiguredServer(WrapperToolset[Any]):
    """Fills in placeholders at the start and gives tools their public names.

    Returns errors that a model could correct as ordinary results: a model that keeps making them
    must not end the run.
    """

    spec: ServerSpec
    keys: Mapping[str, str] = field(repr=False)
    transport: _Transport = field(repr=False)
    connection: ServerConnection = field(repr=False)
    calls: CallsInProgress = field(repr=False)
    names: dict[str, str] = field(default_factory=dict)
    resources: dict[str, str] = field(default_factory=dict)  # tools for them, by public name
    reported_run: str | None = None  # the run in which omitted tools were reported

    async def __aenter__(self) -> Self:
        self._prepare(launch.ready_to_start(self.spec, self.keys))
        entered = await super().__aenter__()
        has, client = self.server.capabilities, self.server.client
        await learn_offers(
            self.connection,
            client.list_prompts_mcp if has.prompts else None,
            client.list_resources_mcp if has.resources else None,
        )
        return entered

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        listed = {name: _listed(tool) for name, tool in tools.items()}
        quietly = self.reported_run == ctx.run_id
        self.reported_run = ctx.run_id
        fit = offered(self.spec, listed, self.connection, quietly=quietly)
        names = public_names(self.spec.name, fit, RESERVED)
        self.names |= names
        self.connection.claims({name: _claim(tools[its_name]) for name, its_name in names.items()})
        public = {name: self._renamed(tools[its_name], name) for name, its_name in names.items()}
        if self.server.capabilities.resources:
            ours = await _RESOURCE_TOOLS.get_tools(ctx)
            named = public_names(self.spec.name, ours, RESERVED)
            self.resources = {name: tool for name, tool in named.items() if name not in public}
            public |= {
                name: self._renamed(ours[tool], name) for name, tool in self.resources.items()
            }
        return public

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if name in self.resources:
            return await self._use_resources(self.resources[name], tool_args)
        its_name = self.names[name]
        its_tool = replace(tool, tool_def=replace(tool.tool_def, name=its_name))
        try:
            async with self.calls.call():
                result = await super().call_tool(
                    its_name, tool_args, replace(ctx, tool_name=its_name), its_tool
                )
        except ModelRetry as error:
            raise ToolFailed(cut(str(error))) from error.__cause__
        except ToolFailed as error:
            raise ToolFailed(cut(error.message)) from error.__cause__
        except CallTimeout as error:
            raise ToolFailed(str(error)) from error
        return _bounded(result)

    @property
    def server(self) -> MCPToolset[Any]:
        """The library's toolset."""
        assert isinstance(self.wrapped, MCPToolset), "made so"  # noqa: S101 - for the types
        return self.wrapped

    async def _use_resources(self, tool: str, tool_args: dict[str, Any]) -> str:
        client = self.server.client
        tools = ResourceTools(
            lambda cursor: client.list_resources_mcp(cursor=cursor),
            lambda cursor: client.list_resource_templates_mcp(cursor=cursor),
            client.read_resource_mcp,
        )
        try:
            async with self.calls.call():
                return await tools.call(tool, tool_args)
        except (MCPError, CallTimeout) as error:
            if has_gone(error):
                raise
            raise ToolFailed(cut(str(error))) from error

    def _prepare(self, spec: ServerSpec) -> None:
        if not isinstance(self.transport, _QuietTransport):
            self.transport.url, self.transport.headers = spec.url, dict(spec.headers)
        else:
            self.transport.command, self.transport.args = launch.supervised(spec)
            self.transport.env, self.transport.cwd = dict(spec.env), spec.cwd or None

    def _renamed(self, tool: ToolsetTool[Any], name: str) -> ToolsetTool[Any]:
        about = cut(tool.tool_def.description or "", LONGEST_DESCRIPTION)
        definition = replace(tool.tool_def, name=name, description=about or None)
        return replace(tool, toolset=self, tool_def=definition)


def _listed(tool: ToolsetTool[Any]) -> ListedTool:
    return ListedTool(
        tool.tool_def.parameters_json_schema, (tool.tool_def.metadata or {}).get("meta")
    )


def _claim(tool: ToolsetTool[Any]) -> str:
    return claim_of((tool.tool_def.metadata or {}).get("annotations"))


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
