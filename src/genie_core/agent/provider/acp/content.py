"""A query and its attachments as the content blocks of a prompt."""

import base64
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    PromptCapabilities,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from genie_core.agent.base import AgentInput
from genie_core.agent.provider.acp.history import Turn
from genie_core.agent.provider.files import Family, File, described, read_file
from genie_core.agent.provider.instructions import preferring
from genie_core.message import Attachment
from genie_core.runtime.progress import note

Block: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

READABLE: Final[tuple[Family, ...]] = ("image", "audio", "video", "text", "pdf")

_EARLIER: Final = "earlier-conversation"


async def prompt_blocks(
    query: AgentInput,
    capabilities: PromptCapabilities | None,
    name: str,
    before: Sequence[str],
    command: str = "",
) -> list[Block]:
    """Build a prompt: texts that go `before` it, preferences, the query, and the attachments.

    A `command` of the program stands in for all but the attachments. Any other text is kept from
    being one: programs take a prompt that begins with `/` for a command.

    `capabilities` are those that the program called `name` has declared. It gets a link to a file
    that it can't take.

    Raises:
        AttachmentError: a file is missing, too large or of a type that no model reads.
    """
    texts = [*before]
    if query.preferences:
        texts.append(preferring(query.preferences))
    texts.append(query.query)
    blocks: list[Block] = [_text(command)] if command else [*map(_plain, texts)]
    for attachment in query.attachments:
        file = await read_file(attachment, READABLE)
        blocks.append(_text(described(attachment)))
        blocks.append(_block(attachment, file, capabilities or PromptCapabilities(), name))
    return blocks


def summary_of(turns: Sequence[Turn]) -> str:
    """Return earlier turns for a new session that lacks them; nothing in them can end the quote."""
    told = "\n\n".join(
        f"Request: {turn.query}\n\nYour answer: {turn.answer or '(none)'}" for turn in turns
    )
    quoted = re.sub(rf"(?i)<(?=\s*/?\s*{_EARLIER})", "&lt;", told)
    return (
        "This session continues an earlier one, which is lost. The following are its latest "
        "requests and your answers, shortened. They are background: do not act on them again.\n"
        f"<{_EARLIER}>\n{quoted}\n</{_EARLIER}>"
    )


def _plain(text: str) -> TextContentBlock:
    return _text(f"Request: {text}" if text.lstrip().startswith("/") else text)


def _text(text: str) -> TextContentBlock:
    return TextContentBlock(type="text", text=text)


def _block(
    attachment: Attachment, file: File, capabilities: PromptCapabilities, name: str
) -> Block:
    uri = Path(attachment.path).absolute().as_uri()
    if file.family == "text" and not capabilities.embedded_context:
        return _text(file.text)
    if file.family == "text":
        resource = TextResourceContents(uri=uri, text=file.text, mime_type=file.media_type)
        return EmbeddedResourceContentBlock(type="resource", resource=resource)
    data = base64.b64encode(file.data).decode("ascii")
    if file.family == "image" and capabilities.image:
        return ImageContentBlock(type="image", data=data, mime_type=file.media_type)
    if file.family == "audio" and capabilities.audio:
        return AudioContentBlock(type="audio", data=data, mime_type=file.media_type)
    if file.family in ("pdf", "video") and capabilities.embedded_context:
        blob = BlobResourceContents(uri=uri, blob=data, mime_type=file.media_type)
        return EmbeddedResourceContentBlock(type="resource", resource=blob)
    said = f"{name} takes no {file.family} files: it got a link to {file.name!r} instead"
    note(said, said)
    return ResourceContentBlock(
        type="resource_link",
        name=file.name,
        uri=uri,
        mime_type=file.media_type,
        size=len(file.data),
    )
