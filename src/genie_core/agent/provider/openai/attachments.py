"""Attach files to a model's message."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from genie_core.agent.provider.files import Family, File, described, read_file
from genie_core.message import Attachment

Item: TypeAlias = dict[str, Any]
"""An input item of the SDK, or a part of one: a JSON object."""

_FAMILIES: Final[frozenset[Family]] = frozenset({"image", "pdf", "text"})


async def message_with(query: str, attachments: Sequence[Attachment]) -> Item:
    """Build one message from the query and the files, each after a line that describes it.

    Raises:
        AttachmentError: a file is missing, too large, or no image, PDF or text.
    """
    if not attachments:
        return {"role": "user", "content": query}
    content = [_text(query)]
    for attachment in attachments:
        file = await read_file(attachment, _FAMILIES)
        content += [_text(described(attachment)), _part(file)]
    return {"role": "user", "content": content}


def _part(file: File) -> Item:
    match file.family:
        case "image":
            return {"type": "input_image", "image_url": file.data_url, "detail": "auto"}
        case "pdf":
            return {"type": "input_file", "filename": file.name, "file_data": file.data_url}
        case _:
            return _text(file.text)


def _text(text: str) -> Item:
    return {"type": "input_text", "text": text}
