"""A tool server for agents on the OpenAI Agents SDK."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

import httpx2
from agents import AgentBase, RunContextWrapper
from mcp import Client, MCPError
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
from genie_core.assistant.servers.calls import CallsInProgress
from genie_core.assistant.servers.client import client_of
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.elicitation import elicit
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
from genie_core.runtime.progress import note

_MOST_PAGES: Final = 100


class ConfiguredServer(WatchedServer):
    """Fills in placeholders at the start and gives tools their public names.

    Connects by the MCP SDK's client: the SDK's own servers can't answer what a server asks for.
    """

    def __init__(
        self,
        spec: ServerSpec,
        keys: Mapping[str, str],
        connection: ServerConnection,
        model: ModelSource | None = None,
        auth: httpx2.Auth | None = None,
    ) -> None:
        super().__init__()
        self.watch = self._connection = connection
        self._spec = spec
        self._keys = keys
        self._model = model
        self._auth = auth
        self._errors = ErrorLog(spec.name)
        self._client: Client | None = None
        self._calls = CallsInProgress()
        self._names: dict[str, str] = {}
        self._resources: dict[str, str] = {}
        if not spec.url:
            connection.hint = lambda: self._errors.last_line

    @property
    def name(self) -> str:
        return self._spec.name

    async def connect(self) -> None:
        spec = launch.ready_to_start(self._spec, self._keys)
        name, calls, model = self.name, self._calls, self._model
        client = client_of(
            spec,
            self._errors,
            elicit=partial(elicit, name, calls),
            sample=partial(sample, name, calls, model) if model is not None else None,
            auth=self._auth,
        )
        self._client = await client.__aenter__()
        has = client.server_capabilities
        await learn_offers(
            self._connection,
            client.list_prompts if has.prompts else None,
            client.list_resources if has.resources else None,
        )

    async def cleanup(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.__aexit__(None, None, None)

    async def list_tools(
        self,
        run_context: RunContextWrapper[Any] | None = None,
        agent: AgentBase | None = None,
    ) -> list[Tool]:
        tools = {each.name: each for each in await self._listed()}
        listed_tools = {
            name: ListedTool(each.input_schema, each.meta) for name, each in tools.items()
        }
        fit = offered(self._spec, listed_tools, self._connection)
        names = public_names(self.name, fit, RESERVED)
        self._names |= names
        self._connection.claims({name: _claim(tools[own]) for name, own in names.items()})
        listed = [_renamed(tools[its_name], name) for name, its_name in names.items()]
        return [*listed, *self._resource_tools(names)]

    def _resource_tools(self, taken: Collection[str]) -> list[Tool]:
        """Return the tools for resources, if the server has any and no tools of these names."""
        self._resources = {}
        if self._running.server_capabilities.resources is None:
            return []
        named = public_names(self.name, ABOUT, RESERVED)
        self._resources = {name: tool for name, tool in named.items() if name not in taken}
        return [
            Tool(name=name, description=ABOUT[tool][0], input_schema=ABOUT[tool][1])
            for name, tool in self._resources.items()
        ]

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any] | None, _meta: dict[str, Any] | None = None
    ) -> CallToolResult:
        if tool_name in self._resources:
            return await self._use_resources(self._resources[tool_name], arguments or {})
        async with self._calls.call():
            result = await self._running.call_tool(self._names[tool_name], arguments)
        if result.is_error:
            texts = [each.text for each in result.content if isinstance(each, TextContent)]
            note(f"{tool_name} failed", f"{tool_name}: {' '.join(texts) or 'failed'}")
        return result.model_copy(update={"content": _bounded(result.content)})

    async def _use_resources(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        client = self._running
        tools = ResourceTools(
            lambda cursor: client.list_resources(cursor=cursor),
            lambda cursor: client.list_resource_templates(cursor=cursor),
            client.read_resource,
        )
        async with self._calls.call():
            text = await tools.call(tool, arguments)
        return CallToolResult(content=[TextContent(type="text", text=text)])

    async def list_prompts(self) -> ListPromptsResult:
        return await self._running.list_prompts()

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None
    ) -> GetPromptResult:
        return await self._running.get_prompt(name, arguments)

    async def _listed(self) -> list[Tool]:
        """List the tools of all pages, up to a limit."""
        tools: list[Tool] = []
        cursor = None
        for _ in range(_MOST_PAGES):
            page = await self._running.list_tools(cursor=cursor)
            tools += page.tools
            if (cursor := page.next_cursor) is None:
                break
        return tools

    @property
    def _running(self) -> Client:
        if self._client is None:  # a call in progress while the server closes
            raise MCPError(CONNECTION_CLOSED, "Connection closed")
        return self._client


def _renamed(tool: Tool, name: str) -> Tool:
    about = cut(tool.description or "", LONGEST_DESCRIPTION)
    return tool.model_copy(update={"name": name, "description": about or None})


def _claim(tool: Tool) -> str:
    return claim_of(tool.annotations.model_dump(by_alias=True)) if tool.annotations else ""


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
