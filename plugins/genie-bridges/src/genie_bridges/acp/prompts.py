"""Prompts of an editor as messages: their text, and the files that go with them."""

import base64
import binascii
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from genie_bridges.acp.updates import fenced
from genie_core.errors import GenieError
from genie_core.storage.filenames import safe_name

Block: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)

QUOTED: Final = 4_000
"""Characters of a text that a message quotes; a longer one is attached as a file."""


class UnusablePrompt(GenieError):
    """A prompt can't become a message."""


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A file of a prompt; its `name` is safe."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to post."""

    text: str
    files: tuple[PromptFile, ...] = ()


def read_prompt(blocks: Sequence[Block], folder: str) -> Draft:
    """Return the message that a prompt becomes.

    A link is named where it stands, by its place in `folder` if it is there; nothing is read. The
    text of a resource is quoted at the end, or attached if it is long.

    Raises:
        UnusablePrompt: there is nothing in it, or something that is no text, file or image.
    """
    words: list[str] = []
    quoted: list[str] = []
    files: list[PromptFile] = []
    for block in blocks:
        match block:
            case TextContentBlock(text=text):
                words.append(text)
            case ResourceContentBlock(uri=uri, name=name):
                words.append(_place(uri, folder) or name)
            case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource):
                place = _place(resource.uri, folder) or "text"
                words.append(place)
                if len(resource.text) <= QUOTED:
                    quoted.append(f"{place}:\n{fenced(resource.text)}")
                else:
                    files.append(PromptFile(safe_name(place), resource.text.encode()))
            case EmbeddedResourceContentBlock(resource=resource):
                place = _place(resource.uri, folder) or "file"
                words.append(place)
                files.append(PromptFile(safe_name(place), _decoded(resource.blob)))
            case ImageContentBlock(data=data, mime_type=media, uri=uri):
                ending = mimetypes.guess_extension(media) or ""
                name = _place(uri or "", folder) or f"image{ending}"
                files.append(PromptFile(safe_name(name), _decoded(data)))
            case _:
                raise UnusablePrompt("a room takes text, images and files, and no sound")
    text = "\n\n".join(filter(None, ["".join(words).strip(), *quoted]))
    if not (text or files):
        raise UnusablePrompt("a message needs a text")
    return Draft(text, tuple(files))


def _place(uri: str, folder: str) -> str:
    """Return a file's path in the folder, else its name; other addresses as they are."""
    parts = urlsplit(uri)
    if parts.scheme not in ("file", ""):
        return uri
    path = Path(unquote(parts.path))
    lines = f"#{parts.fragment}" if parts.fragment else ""
    if folder and path.is_relative_to(folder):
        return f"{path.relative_to(folder)}{lines}"
    return f"{path.name}{lines}" if path.name else ""


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise UnusablePrompt("a file of the prompt is not valid base64") from None
