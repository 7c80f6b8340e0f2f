"""Attach files to a model's prompt."""

from typing import Final

from pydantic_ai.messages import BinaryContent, UserContent

from genie_core.agent.provider.files import Family, File, described, read_file
from genie_core.message import Attachment

READABLE: Final[tuple[Family, ...]] = ("image", "audio", "video", "text", "pdf")
"""The files that pydantic-ai can send; the provider decides whether the model reads it."""


async def prompt_with(query: str, attachments: list[Attachment]) -> str | list[UserContent]:
    """Build one prompt from the query and the files, each after a line that describes it.

    Raises:
        AttachmentError: a file is missing, too large or of a type that no model reads.
    """
    if not attachments:
        return query
    prompt: list[UserContent] = [query]
    for attachment in attachments:
        file = await read_file(attachment, READABLE)
        prompt.append(described(attachment))
        prompt.append(_content(file))
    return prompt


def _content(file: File) -> BinaryContent:
    if file.family != "text":
        return BinaryContent(data=file.data, media_type=file.media_type)
    # Each SDK has its own list of further types that it takes for text.
    media_type = file.media_type if file.media_type.startswith("text/") else "text/plain"
    return BinaryContent(data=file.text.encode(), media_type=media_type)
