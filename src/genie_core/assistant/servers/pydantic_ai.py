"""A tool server for agents on pydantic-ai."""

from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from mcp import MCPError
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import RunContext, Tool
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_json

from genie_core.agent.provider.pydantic_ai.clients import has_gone
from genie_core.agent.provider.pydantic_ai.servers import ToleratedServer
from genie_core.agent.provider.tool_server_outages import START_TIMEOUT
from genie_core.assistant.servers.calls import CallTimeout
from genie_core.assistant.servers.offered_prompts import learn_offers
from genie_core.assistant.servers.offered_tools import (
    LARGEST_FILE,
    LONGEST_DESCRIPTION,
    LONGEST_TEXT,
    ListedTool,
    cut,
    too_large,
)
from genie_core.assistant.servers.resources import ABOUT
from genie_core.assistant.servers.tool_server import ToolServer


def server_toolset(server: ToolServer) -> AbstractToolset[Any]:
    """Return the toolset of a server for one agent."""
    spec = server.spec
    inner = MCPToolset[Any](
        server.transport,
        id=spec.name,
        tool_error_behavior="failed",
        init_timeout=START_TIMEOUT,
        read_timeout=None,  # calls have a limit of their own
    )
    if spec.legacy:
        inner.client.mode = "legacy"
    # MCPToolset's own handlers would warn that servers of the protocol of 2026 never ask, which they do.
    server.use(inner.client)
    return ToleratedServer(_ConfiguredServer(inner, server), watch=server.connection)


async def _never() -> None:
    """Stand in for the tools for resources, which `ToolServer` calls itself."""


_RESOURCE_TOOLS: Final = FunctionToolset[Any](
    [Tool.from_schema(_never, name, about, schema) for name, (about, schema) in ABOUT.items()]
)


@dataclass
class _ConfiguredServer(WrapperToolset[Any]):
    """Gives tools their public names, and makes their calls.

    Returns errors that a model could correct as ordinary results: a model that keeps making them
    must not end the run.
    """

    server: ToolServer = field(repr=False)
    reported_run: str | None = None  # the run in which omitted tools were reported

    async def __aenter__(self) -> Self:
        self.server.prepare()
        entered = await super().__aenter__()
        await learn_offers(self.server.connection, self.server.client)
        return entered

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        quietly = self.reported_run == ctx.run_id
        self.reported_run = ctx.run_id
        listed = {name: _listed(tool) for name, tool in tools.items()}
        names = self.server.offer(listed, quietly=quietly)
        ours = await _RESOURCE_TOOLS.get_tools(ctx)
        return {
            **{name: self._renamed(tools[own], name) for name, own in names.items()},
            **{name: self._renamed(ours[own], name) for name, own in self.server.resources.items()},
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        if name in self.server.resources:
            return await self._use_resources(self.server.resources[name], tool_args)
        its_name = self.server.names[name]
        its_tool = replace(tool, tool_def=replace(tool.tool_def, name=its_name))
        try:
            async with self.server.calls.call():
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

    async def _use_resources(self, tool: str, tool_args: dict[str, Any]) -> str:
        try:
            return await self.server.use_resources(tool, tool_args)
        except (MCPError, CallTimeout) as error:
            if has_gone(error):
                raise
            raise ToolFailed(cut(str(error))) from error

    def _renamed(self, tool: ToolsetTool[Any], name: str) -> ToolsetTool[Any]:
        about = cut(tool.tool_def.description or "", LONGEST_DESCRIPTION)
        definition = replace(tool.tool_def, name=name, description=about or None)
        return replace(tool, toolset=self, tool_def=definition)


def _listed(tool: ToolsetTool[Any]) -> ListedTool:
    more = tool.tool_def.metadata or {}
    return ListedTool(
        tool.tool_def.parameters_json_schema, more.get("meta"), more.get("annotations")
    )


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
