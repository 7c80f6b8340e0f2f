"""Handing files to a model."""

import asyncio
from pathlib import Path
from typing import Final

from pydantic_ai.messages import BinaryContent, UserContent

from genie_core.errors import AttachmentError, summary
from genie_core.message import Attachment

MAX_BYTES: Final = 20 * 1024 * 1024
"""The largest file that is sent; providers refuse larger ones, some of them without a reason."""

_FAMILIES: Final = frozenset({"image", "audio", "video", "text"})
_TYPES: Final = frozenset({"application/pdf", "application/json", "application/xml"})


async def prompt_with(query: str, attachments: list[Attachment]) -> str | list[UserContent]:
    """Put the query and the files into one prompt, each file behind a line that describes it.

    `AttachmentError` names the file that is missing, too large or of a type no model reads.
    """
    if not attachments:
        return query
    prompt: list[UserContent] = [query]
    for attachment in attachments:
        prompt.append(
            f"Attached file: name={attachment.name!r} media_type={attachment.media_type!r} "
            f"path={attachment.path!r}"
        )
        prompt.append(await asyncio.to_thread(_content, attachment))
    return prompt


def _content(attachment: Attachment) -> BinaryContent:
    media_type = attachment.media_type.partition(";")[0].strip().lower()
    if media_type.partition("/")[0] not in _FAMILIES and media_type not in _TYPES:
        raise AttachmentError(attachment.name, f"cannot be read as {attachment.media_type!r}")
    try:
        size = Path(attachment.path).stat().st_size
        if size > MAX_BYTES:
            raise AttachmentError(
                attachment.name, f"has {size:,} bytes, more than the {MAX_BYTES:,} that can be sent"
            )
        data = attachment.bytes()
    except OSError as error:
        raise AttachmentError(attachment.name, summary(error)) from error
    return BinaryContent(data=data, media_type=media_type)
