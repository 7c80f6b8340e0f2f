"""A tool server for agents on the OpenAI Agents SDK."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from agents import AgentBase, RunContextWrapper
from agents.mcp import MCPServer, MCPServerStdio, MCPServerStreamableHttp
from mcp import MCPError
from mcp.client.stdio import stdio_client
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
from genie_core.assistant.servers import launch
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.long_results import LONGEST_EVENT, limit_stdio, limited_http
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
from genie_core.runtime.progress import note

limit_stdio()


class ConfiguredServer(WatchedServer):
    """Fills in placeholders at the start and gives tools their public names."""

    def __init__(
        self, spec: ServerSpec, keys: Mapping[str, str], connection: ServerConnection
    ) -> None:
        super().__init__()
        self.watch = connection
        self._spec = spec
        self._keys = keys
        self._errors = ErrorLog(spec.name)
        self._server: MCPServer | None = None
        self._names: dict[str, str] = {}
        if not spec.url:
            connection.hint = lambda: self._errors.last_line

    @property
    def name(self) -> str:
        return self._spec.name

    async def connect(self) -> None:
        self._server = self._made(launch.ready_to_start(self._spec, self._keys))
        await self._server.connect()  # type: ignore[no-untyped-call]  # the SDK gives no types

    async def cleanup(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.cleanup()  # type: ignore[no-untyped-call]  # the SDK gives no types

    async def list_tools(
        self,
        run_context: RunContextWrapper[Any] | None = None,
        agent: AgentBase | None = None,
    ) -> list[Tool]:
        tools = {each.name: each for each in await self._running.list_tools(run_context, agent)}
        fit = offered(self.name, {name: each.input_schema for name, each in tools.items()})
        names = public_names(self.name, fit, RESERVED)
        self._names |= names
        return [_renamed(tools[its_name], name) for name, its_name in names.items()]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        result = await self._running.call_tool(self._names[tool_name], arguments, meta)
        if result.is_error:
            texts = [each.text for each in result.content if isinstance(each, TextContent)]
            note(f"{tool_name} failed", f"{tool_name}: {' '.join(texts) or 'failed'}")
        return result.model_copy(update={"content": _bounded(result.content)})

    async def list_prompts(self) -> ListPromptsResult:
        return await self._running.list_prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None
    ) -> GetPromptResult:
        return await self._running.get_prompt(name, arguments)

    @property
    def _running(self) -> MCPServer:
        if self._server is None:  # a call in progress while the server closes
            raise MCPError(CONNECTION_CLOSED, "Connection closed")
        return self._server

    def _made(self, spec: ServerSpec) -> MCPServer:
        if spec.url:
            return MCPServerStreamableHttp(
                {
                    "url": spec.url,
                    "headers": dict(spec.headers),
                    "httpx_client_factory": limited_http(LONGEST_EVENT),
                },
                name=spec.name,
                client_session_timeout_seconds=launch.CALL_TIMEOUT,
            )
        return _QuietServer(spec, self._errors)


class _QuietServer(MCPServerStdio):
    """Starts a program whose standard error goes to the log."""

    def __init__(self, spec: ServerSpec, errors: ErrorLog) -> None:
        super().__init__(
            {"command": spec.command, "args": list(spec.args), "env": dict(spec.env)},
            name=spec.name,
            client_session_timeout_seconds=launch.CALL_TIMEOUT,
        )
        self.params.cwd = spec.cwd or None
        self._errors = errors

    def create_streams(self) -> AbstractAsyncContextManager[Any]:
        return self._streams()

    @asynccontextmanager
    async def _streams(self) -> AsyncGenerator[Any]:
        try:
            async with stdio_client(self.params, errlog=self._errors.open()) as streams:
                yield streams
        finally:
            self._errors.close()


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
