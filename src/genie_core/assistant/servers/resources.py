"""A server's resources as two tools of its own: one lists them, the other reads one."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from fastmcp import Client
from mcp.types import (
    BlobResourceContents,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from genie_core.assistant.servers.offered_tools import cut

LIST: Final = "list_resources"
READ: Final = "read_resource"
MOST_RESOURCES: Final = 500
"""Resources in a list, and templates."""

MOST_PAGES: Final = 20
"""Pages of a list that are requested; a server may have more of them without end."""

_LONGEST_ABOUT: Final = 300

ABOUT: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    LIST: (
        "List the server's resources, one per line. Replace the parts of a template in braces.",
        {"type": "object", "properties": {}, "additionalProperties": False},
    ),
    READ: (
        "Read one of the server's resources by its URI: one of the list, or what a user names as @server:URI.",
        {
            "type": "object",
            "properties": {"uri": {"type": "string", "description": "The resource's URI."}},
            "required": ["uri"],
            "additionalProperties": False,
        },
    ),
}
"""The description and the schema of each tool, by its name."""


async def use_resources(client: Client[Any], tool: str, arguments: Mapping[str, Any]) -> str:
    """Make a call of one of the two tools; returns the text. Raises the client's errors."""
    if tool == READ:
        result = await client.read_resource_mcp(str(arguments.get("uri", "")))
        return cut("\n\n".join(map(_content, result.contents))) or "The resource is empty."
    listed: list[Resource | ResourceTemplate] = []
    async for page in _pages(client.list_resources_mcp):
        listed += page.resources
    async for page in _pages(client.list_resource_templates_mcp):
        listed += page.resource_templates
    lines = list(_lines(listed[:MOST_RESOURCES]))
    if len(listed) > MOST_RESOURCES:
        lines.append(f"… and {len(listed) - MOST_RESOURCES:,} more")
    return cut("\n".join(lines)) or "The server has no resources at the moment."


async def _pages(request: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    """Request the pages of a list up to a limit, at which fastmcp's own lists only fail."""
    cursor = None
    for _ in range(MOST_PAGES):
        page = await request(cursor=cursor)
        yield page
        if (cursor := page.next_cursor) is None:
            return


def _lines(listed: Sequence[Resource | ResourceTemplate]) -> Iterator[str]:
    for each in listed:
        uri = f"template {each.uri_template}" if isinstance(each, ResourceTemplate) else each.uri
        about = " ".join((each.description or "").split())[:_LONGEST_ABOUT]
        yield " · ".join(filter(None, (uri, each.title or each.name, about)))


def _content(part: TextResourceContents | BlobResourceContents) -> str:
    if isinstance(part, TextResourceContents):
        return part.text
    size = len(part.blob) * 3 // 4  # base64
    return f"[{part.mime_type or 'a file'} of {size:,} bytes, which can't be shown as text]"
