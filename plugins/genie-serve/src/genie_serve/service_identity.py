"""The name and key under which a service hosts its rooms, kept with them.

Rooms know their host by both. A service with another name or key would leave all of them closed, so
it does not start.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from genie_core.room.protocol.names import fold_name
from genie_core.storage.atomic import read_file, replace_file
from genie_core.storage.errors import disk_access
from genie_serve.errors import CannotServe

FILE_NAME: Final = "service.json"
"""Beside the folders of the rooms."""

DOCUMENT: Final = "service"
"""The key of the same in a store."""


class ServiceRecord(msgspec.Struct, frozen=True):
    """Who hosts the rooms here."""

    name: str
    key: str = ""

    def check_name(self, name: str, where: str) -> None:
        """Raise `CannotServe` if the rooms there belong to a service of another name."""
        if fold_name(self.name) != fold_name(name):
            raise CannotServe(
                f"the rooms in {where} are hosted by {self.name!r}, and `name` in serve.toml is "
                f'{name!r}: say name = "{self.name}"'
            )

    def check_key(self, key: str, where: str, given: Path) -> None:
        """Raise `CannotServe` if the rooms there belong to another key than that of the file."""
        if self.key and self.key != key:
            raise CannotServe(
                f"the rooms in {where} were hosted with another key than {given}: give the service "
                "that key back, as `key` in serve.toml or from a backup"
            )


def encode_record(record: ServiceRecord) -> bytes:
    return msgspec.json.encode(record)


def decode_record(data: bytes | None) -> ServiceRecord | None:
    """Return a record; None for none, and for one that is damaged: it is written again."""
    try:
        return msgspec.json.decode(data, type=ServiceRecord) if data else None
    except msgspec.MsgspecError:
        return None


def read_record(base: Path, owners: Iterable[str]) -> ServiceRecord | None:
    """Read the record in a folder if one of the rooms there is of its service. Blocks.

    `owners` are the names of their hosts.
    """
    try:
        record = decode_record(read_file(base / FILE_NAME))
    except FileNotFoundError:
        return None
    if record is None or fold_name(record.name) not in {fold_name(each) for each in owners}:
        return None
    return record


def write_record(base: Path, record: ServiceRecord) -> None:
    """Write the record into a folder. Blocks; raises `StorageError`."""
    path = base / FILE_NAME
    with disk_access("write", path):
        replace_file(path, encode_record(record))
