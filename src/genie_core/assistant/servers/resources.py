"""A server's resources as two tools of its own: one lists them, the other reads one."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp.types import (
    BlobResourceContents,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from genie_core.assistant.servers.offered_tools import cut

LIST: Final = "list_resources"
READ: Final = "read_resource"
MOST_RESOURCES: Final = 500
"""Resources in a list, and templates."""

_LONGEST_ABOUT: Final = 300
_MOST_PAGES: Final = 20

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


@dataclass(frozen=True, slots=True)
class ResourceTools:
    """Makes the calls of the two tools by a client's requests, which take a cursor or a URI."""

    resources: Callable[[str | None], Awaitable[ListResourcesResult]]
    templates: Callable[[str | None], Awaitable[ListResourceTemplatesResult]]
    contents: Callable[[str], Awaitable[ReadResourceResult]]

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Return the text of a result. Raises the client's errors."""
        if tool == READ:
            result = await self.contents(str(arguments.get("uri", "")))
            return cut("\n\n".join(map(_content, result.contents))) or "The resource is empty."
        listed: list[Resource | ResourceTemplate] = []
        await _all_pages(self.resources, lambda page: listed.extend(page.resources))
        await _all_pages(self.templates, lambda page: listed.extend(page.resource_templates))
        lines = list(_lines(listed[:MOST_RESOURCES]))
        if len(listed) > MOST_RESOURCES:
            lines.append(f"… and {len(listed) - MOST_RESOURCES:,} more")
        return cut("\n".join(lines)) or "The server has no resources at the moment."


async def _all_pages(
    request: Callable[[str | None], Awaitable[Any]], take: Callable[[Any], None]
) -> None:
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await request(cursor)
        take(page)
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
