"""A tool server for agents on the OpenAI Agents SDK."""

from collections.abc import Sequence
from typing import Any

from agents import AgentBase, RunContextWrapper
from fastmcp import Client
from mcp import MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolResult,
    ContentBlock,
    GetPromptResult,
    ImageContent,
    ListPromptsResult,
    TextContent,
    Tool,
)

from genie_core.agent.provider.openai.servers import WatchedServer
from genie_core.assistant.servers.client import client_over, enter, leave
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
from genie_core.runtime.progress import note


class ConfiguredServer(WatchedServer):
    """Gives tools their public names, and makes their calls; see `ToolServer`.

    Connects by fastmcp's client: the SDK's own servers can't answer a server's requests.
    """

    def __init__(self, server: ToolServer) -> None:
        super().__init__()
        self.watch = server.connection
        self._server = server
        server.use(client_over(server.transport, server.spec))

    @property
    def name(self) -> str:
        return self._server.spec.name

    async def connect(self) -> None:
        self._server.prepare()
        await enter(self._server.client)
        await learn_offers(self._server.connection, self._server.client)

    async def cleanup(self) -> None:
        await leave(self._server.client)

    async def list_tools(
        self,
        run_context: RunContextWrapper[Any] | None = None,
        agent: AgentBase | None = None,
    ) -> list[Tool]:
        tools = {each.name: each for each in await self._running.list_tools()}
        names = self._server.offer({name: _listed(tool) for name, tool in tools.items()})
        resources = self._server.resources.items()
        return [
            *(_renamed(tools[own], name) for name, own in names.items()),
            *(
                Tool(name=name, description=ABOUT[own][0], input_schema=ABOUT[own][1])
                for name, own in resources
            ),
        ]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, _meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        client, server = self._running, self._server
        if own := server.resources.get(tool_name):
            text = await server.use_resources(own, arguments or {})
            return CallToolResult(content=[TextContent(type="text", text=text)])
        async with server.calls.call():
            result = await client.call_tool_mcp(server.names[tool_name], arguments or {})
        if result.is_error:
            texts = [each.text for each in result.content if isinstance(each, TextContent)]
            note(f"{tool_name} failed", f"{tool_name}: {' '.join(texts) or 'failed'}")
        return result.model_copy(update={"content": _bounded(result.content)})

    async def list_prompts(self) -> ListPromptsResult:
        return await self._running.list_prompts_mcp()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None
    ) -> GetPromptResult:
        return await self._running.get_prompt_mcp(name, arguments)

    @property
    def _running(self) -> Client[Any]:
        if not self._server.client.is_connected():  # a call in progress while the server closes
            raise MCPError(CONNECTION_CLOSED, "Connection closed")
        return self._server.client


def _listed(tool: Tool) -> ListedTool:
    hints = tool.annotations.model_dump(by_alias=True) if tool.annotations else None
    return ListedTool(tool.input_schema, tool.meta, hints)


def _renamed(tool: Tool, name: str) -> Tool:
    about = cut(tool.description or "", LONGEST_DESCRIPTION)
    return tool.model_copy(update={"name": name, "description": about or None})


def _bounded(content: Sequence[ContentBlock]) -> list[ContentBlock]:
    """Cut a result, which may have many parts."""
    parts = [_cut(part) for part in content]
    texts = sum(len(part.text) for part in parts if isinstance(part, TextContent))
    files = sum(len(part.data) for part in parts if isinstance(part, ImageContent))
    if texts > LONGEST_TEXT:
        whole = "\n".join(part.text for part in parts if isinstance(part, TextContent))
        others = [part for part in parts if not isinstance(part, TextContent)]
        parts = [TextContent(type="text", text=cut(whole)), *others]
    if files > LARGEST_FILE * 4 // 3:
        size = TextContent(type="text", text=too_large(files * 3 // 4))
        parts = [*(part for part in parts if not isinstance(part, ImageContent)), size]
    return parts


def _cut(part: ContentBlock) -> ContentBlock:
    match part:
        case TextContent():
            return part.model_copy(update={"text": cut(part.text)})
        case ImageContent() if len(part.data) <= LARGEST_FILE * 4 // 3:  # base64
            return part
        case ImageContent():
            return TextContent(type="text", text=too_large(len(part.data) * 3 // 4))
        case _:  # the SDK passes it on as JSON text
            return TextContent(type="text", text=cut(part.model_dump_json()))
