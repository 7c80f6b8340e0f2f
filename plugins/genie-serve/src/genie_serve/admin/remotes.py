"""The services elsewhere that a person administers: by name, where each is and its certificate's pin."""

import re
from typing import Final

import msgspec

from genie_core.room.protocol.address import parse_address
from genie_core.settings.locations import Locations
from genie_core.storage.atomic import make_private_folder
from genie_core.storage.errors import disk_access
from genie_core.storage.private_files import read_or_make, rewrite
from genie_serve.admin.errors import InvalidRemote, UnknownRemote

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PIN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_FILE: Final = "remotes.json"


class Remote(msgspec.Struct, frozen=True):
    """Where a service is, and the fingerprint of its certificate, by which it is recognised."""

    address: str
    pin: str


class Remotes:
    """The file with the services elsewhere. All methods block; a damaged file is `InvalidRemote`."""

    def __init__(self, locations: Locations) -> None:
        self._path = locations.config / _FILE

    def all(self) -> dict[str, Remote]:
        """Return them by name."""
        with disk_access("read", self._path):
            if not self._path.exists():
                return {}
            return self._decoded(self._path.read_bytes())

    def find(self, name: str) -> Remote:
        """Return one; raises `UnknownRemote`."""
        known = self.all()
        if name not in known:
            raise UnknownRemote(name, sorted(known))
        return known[name]

    def add(self, name: str, address: str, pin: str) -> None:
        """Add one, or replace the one of that name.

        Raises:
            InvalidAddress: the address is none.
            InvalidRemote: the name or the pin is none.
        """
        parse_address(address)
        if not _NAME.fullmatch(name):
            raise InvalidRemote(f"{name!r} is no name for a service: letters, digits, - . and _")
        if not _PIN.fullmatch(pin):
            raise InvalidRemote(
                f"{pin!r} is no fingerprint of a certificate; on the service's machine, "
                "'genie-tui admin status' prints it as its pin"
            )
        with disk_access("write", self._path):
            make_private_folder(self._path.parent)
            read_or_make(self._path, lambda: b"{}")
            rewrite(self._path, lambda old: self._with(old, name, Remote(address, pin)))

    def remove(self, name: str) -> None:
        """Remove one; raises `UnknownRemote`."""
        self.find(name)
        with disk_access("write", self._path):
            rewrite(self._path, lambda old: self._with(old, name, None))

    def _with(self, old: bytes, name: str, remote: Remote | None) -> bytes:
        known = self._decoded(old)
        known.pop(name, None)
        if remote is not None:
            known[name] = remote
        return msgspec.json.format(msgspec.json.encode(known)) + b"\n"

    def _decoded(self, content: bytes) -> dict[str, Remote]:
        try:
            return msgspec.json.decode(content, type=dict[str, Remote])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InvalidRemote(
                f"{self._path} is damaged ({error}); remove it, and add the services again"
            ) from error
