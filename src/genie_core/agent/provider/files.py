"""Read attached files for a model, whichever SDK sends them."""

import base64
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from genie_core.errors import AttachmentError, summary
from genie_core.message import Attachment
from genie_core.runtime.threads import in_thread

MAX_BYTES: Final = 20 * 1024 * 1024
"""The largest file to send; providers refuse larger ones, some without a reason."""

Family: TypeAlias = Literal["image", "audio", "video", "text", "pdf"]
"""The kinds of files that models read."""

_TEXTS: Final = frozenset(
    {
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/sql",
        "application/x-sh",
    }
)


@dataclass(frozen=True, slots=True)
class File:
    """An attached file's content. `media_type` has no parameters."""

    name: str
    media_type: str
    family: Family
    data: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The content of a text file; raises `AttachmentError` if it is not UTF-8."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise AttachmentError(self.name, "is not UTF-8 text") from error

    @property
    def data_url(self) -> str:
        """The content as a `data:` URL."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode('ascii')}"


def described(attachment: Attachment) -> str:
    """Return the line that describes the following file to the model."""
    return (
        f"Attached file: name={attachment.name!r} media_type={attachment.media_type!r} "
        f"path={attachment.path!r}"
    )


def family_of(media_type: str) -> Family | None:
    """Return the kind of file a media type stands for; None if no model reads it."""
    bare = _bare(media_type)
    if bare in _TEXTS or bare.endswith(("+json", "+xml")):  # a drawing in SVG is read as text
        return "text"
    match bare.partition("/")[0]:
        case "image" | "audio" | "video" | "text" as family:
            return family
    return "pdf" if bare == "application/pdf" else None


async def read_file(
    attachment: Attachment, families: Collection[Family], *, most: int = MAX_BYTES
) -> File:
    """Read an attached file of one of these families, in a thread.

    The type is checked first, without disk access.

    Raises:
        AttachmentError: the file is missing, not a regular file, longer than `most` bytes or of
            another type.
    """
    family = family_of(attachment.media_type)
    if family is None or family not in families:
        raise AttachmentError(
            attachment.name,
            f"this agent cannot read files of type {attachment.media_type!r}, "
            f"only {', '.join(sorted(families))}",
        )
    data = await in_thread(_content, attachment, most)
    return File(attachment.name, _bare(attachment.media_type), family, data)


def _content(attachment: Attachment, most: int) -> bytes:
    path = Path(attachment.path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe might never end
            raise AttachmentError(attachment.name, f"{attachment.path!r} is not a file")
        if status.st_size > most:
            raise AttachmentError(
                attachment.name, f"has {status.st_size:,} bytes, more than the {most:,} to be sent"
            )
        with path.open("rb") as file:
            data = file.read(most + 1)  # it may have grown, or not know its size, as in /proc
        if len(data) > most:
            raise AttachmentError(attachment.name, f"has more than the {most:,} bytes to be sent")
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        if isinstance(error, AttachmentError):
            raise
        raise AttachmentError(attachment.name, summary(error)) from error
    return data


def _bare(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
