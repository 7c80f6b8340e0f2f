"""The first line of an exported session, which describes it."""

import re
from typing import Any, Final

import msgspec

from genie_core.room.protocol.events import is_moment
from genie_core.sessions.errors import NotImportable
from genie_core.sessions.metadata import (
    FORMAT,
    MOST_TAGS,
    SessionMetadata,
    check_tag,
    migrate,
    one_line,
)
from genie_core.storage.errors import StorageError

VERSION: Final = 1
"""Version of the export format; the session's own format is in its metadata."""

MARK: Final = b'{"genie-session":'
"""How an export begins."""

HEADER_BYTES: Final = 1024 * 1024
"""The longest first line that is read."""

SHARED: Final = (
    "version",
    "id",
    "title",
    "kind",
    "created",
    "host",
    "name",
    "model",
    "template",
    "tags",
    "alias",
    "last_activity",
)
"""The fields of `room.json` in an export.

Addresses, the tools' folder and the last seen entry belong to this machine. Everything else in the
metadata summarizes the log.
"""

_ID_CHARS: Final = 128
_NAME_CHARS: Final = 64
_TEMPLATE: Final = re.compile(r"[A-Za-z0-9_-]{0,64}")
"""A built-in template; a path would name another file elsewhere."""


class ExportPart(msgspec.Struct, frozen=True):
    """A number of whole lines, with their `size` in bytes."""

    lines: int
    size: int
    sha256: str


class Header(msgspec.Struct, frozen=True):
    """The first line. The log's lines follow, then those of the labels."""

    version: int = msgspec.field(name="genie-session")
    record: dict[str, Any]
    log: ExportPart
    labels: ExportPart


class _Versioned(msgspec.Struct):
    version: int = msgspec.field(name="genie-session")


def encode_header(record: SessionMetadata, log: ExportPart, labels: ExportPart) -> bytes:
    """Return the first line, with its newline."""
    fields = msgspec.to_builtins(record)
    told = {name: fields[name] for name in SHARED}
    told["template"] = _plain_template(record.template)
    return msgspec.json.encode(Header(VERSION, told, log, labels)) + b"\n"


def decode_header(line: bytes, name: str) -> Header:
    """Parse a first line; `name` is the file's name in errors.

    Raises:
        NotImportable: it is no such line, or one of a newer version.
    """
    try:
        version = msgspec.json.decode(line, type=_Versioned).version
    except (ValueError, RecursionError) as error:
        raise NotImportable(name, "it is no session that was exported as jsonl or zip") from error
    if version > VERSION:
        raise NotImportable(name, "a newer version of the program wrote it; update the program")
    try:
        header = msgspec.json.decode(line, type=Header)
    except (ValueError, RecursionError) as error:
        raise NotImportable(name, f"its first line can't be understood: {error}") from error
    if any(part.size < 0 or part.lines < 0 for part in (header.log, header.labels)):
        raise NotImportable(name, "its first line tells impossible sizes")
    return header


def record_of(header: Header, name: str) -> SessionMetadata:
    """Return a header's metadata, migrated to this version, without invalid values.

    Raises:
        NotImportable: there is none, or one of a newer version.
    """
    try:
        version = msgspec.convert(header.record.get("version"), int)
        if version > FORMAT:
            raise NotImportable(name, "its room is of a newer version; update the program")
        fields = migrate(header.record, version)
        record = msgspec.convert(
            {key: fields[key] for key in SHARED if key in fields}, SessionMetadata
        )
        return _sane(record)
    except (ValueError, StorageError) as error:
        if isinstance(error, NotImportable):
            raise
        raise NotImportable(name, f"what it says of the room can't be: {error}") from error


def _sane(record: SessionMetadata) -> SessionMetadata:
    if not (is_moment(record.created) and is_moment(record.last_activity)):
        raise ValueError("its times are none")
    if not 0 < len(record.id) <= _ID_CHARS or record.id.startswith("-"):
        raise ValueError("its id is none")
    if len(record.name) > _NAME_CHARS:
        raise ValueError("its name is none")
    if len(record.tags) > MOST_TAGS:
        raise ValueError("it has too many tags")
    return msgspec.structs.replace(
        record,
        title=one_line(record.title),
        alias=one_line(record.alias),
        host=one_line(record.host),
        model=one_line(record.model),
        template=_plain_template(record.template),
        tags=tuple(map(check_tag, record.tags)),
    )


def _plain_template(template: str) -> str:
    return template if _TEMPLATE.fullmatch(template) else ""
