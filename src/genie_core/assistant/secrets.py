"""A person's own secrets: kept in the system keyring, or in a private file where there is none."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from genie_core.assistant.errors import BadSecret, SecretsUnreadable
from genie_core.assistant.keyring import Keyring, Ring, service_of, system_keyring
from genie_core.assistant.provider import PROVIDERS
from genie_core.datastore import path_name
from genie_core.durable import reason, replace_file
from genie_core.known_values import SHORTEST
from genie_core.redaction import know
from genie_core.room.key_file import holding, read_private
from genie_core.room.names import fold_name
from genie_core.secrets import SecretsProvider

T = TypeVar("T")

KEYRING: Final = "the system keyring"
ENVIRONMENT: Final = "the environment"

LONGEST: Final = 4_096
"""Characters that a secret may have."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_NO_SECRETS: Final = ("_URL", "_ENDPOINT", "_REGION", "_ACCOUNT")
"""How variables end that say where a provider is, which everybody may know."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The name of a secret, and where its value is."""

    name: str
    where: str


class OwnSecrets(SecretsProvider):
    """One person's secrets, which their engine uses for everybody it works for.

    They are in the keyring; where this session has none, in a private file in the person's part of
    `folder`; and last, as far as a model's provider is known to look for them there, in the
    environment. What a keyring has is never moved to a file: if it can't be reached, `KeyringFailed`
    says so. Beside it there is a file with the names that it has, since a keyring can't be listed.

    Every value is hidden in this process (see `genie_core.redaction`) before it is returned. All
    methods block; several processes may call them at once. They raise `SecretsError`.
    """

    def __init__(
        self,
        person: str,
        folder: Path,
        *,
        env: Mapping[str, str] | None = None,
        keyring: Callable[[], Keyring | None] = system_keyring,
    ) -> None:
        folded = fold_name(person)
        own = folder / path_name(folded)
        self._file = _PrivateFile(own / "secrets.json", dict[str, str])
        self._index = _PrivateFile(own / "in-keyring.json", list[str])
        self._env = os.environ if env is None else env
        self._open_keyring = keyring
        self._service, self._person = service_of(folder), folded

    @property
    def file(self) -> Path:
        """Where secrets are where there is no keyring."""
        return self._file.path

    def get_secrets(self, username: str) -> dict[str, str]:
        """Return all secrets, whoever is served with them."""
        found = self._from_environment()
        kept = self._file.read()
        if names := self._index.read():
            ring = self._ring()
            given = {name: ring.get(name) for name in names}
            kept |= {name: value for name, value in given.items() if value is not None}
        know({name: value for name, value in found.items() if not name.endswith(_NO_SECRETS)})
        know(kept)
        return found | kept

    def entries(self) -> list[Entry]:
        """List the names, and for each the place that is used. The keyring is not asked."""
        places = dict.fromkeys(self._from_environment(), ENVIRONMENT)
        places |= dict.fromkeys(self._file.read(), str(self.file))
        places |= dict.fromkeys(self._index.read(), KEYRING)
        return [Entry(*place) for place in sorted(places.items())]

    def set(self, name: str, value: str) -> str:
        """Keep a secret, in place of an older value; returns where it is now."""
        check_name(name)
        check_value(value)
        know({name: value})
        ring, known = self._ring(), self._index.read()
        if not ring and name not in known:
            self._file.change(lambda values: {**values, name: value})
            return str(self.file)
        self._file.read()  # what can't be read is better found now than half-way
        self._index.change(lambda names: sorted({*names, name}))
        try:
            ring.set(name, value)
        except BaseException:
            if name not in known:
                self._index.change(lambda names: [each for each in names if each != name])
            raise
        self._file.change(lambda values: _without(name, values))
        return KEYRING

    def delete(self, name: str) -> str:
        """Forget a secret; returns where it was, or raises `BadSecret` if it is not kept here.

        Without a keyring in this session the name of a secret that is in one is forgotten, too;
        its value can't be deleted from here, and is not used any more.
        """
        places = {entry.name: entry.where for entry in self.entries()}
        if places.get(name) == ENVIRONMENT:
            raise BadSecret(f"{name} comes from the environment; unset the variable there")
        if name not in places:
            near = get_close_matches(name, places, n=1)
            raise BadSecret(f"there is no secret of that name{_did_you_mean(near)}")
        if name in self._index.read():
            if ring := self._ring():
                ring.delete(name)
            self._index.change(lambda names: [each for each in names if each != name])
        self._file.change(lambda values: _without(name, values))
        return places[name]

    def _from_environment(self) -> dict[str, str]:
        groups = (group for needs in PROVIDERS.values() for group in needs.variables)
        names = {name for group in groups for name in group}
        return {name: self._env[name] for name in names if self._env.get(name)}

    def _ring(self) -> Ring:
        return Ring(self._open_keyring(), self._service, self._person)


def check_name(name: str) -> None:
    """Raise `BadSecret` if a secret can't be called that."""
    if not _NAME.fullmatch(name):
        raise BadSecret("a secret's name has up to 100 letters, digits and _, no digit first")


def check_value(value: str) -> None:
    """Raise `BadSecret` if this can't be kept as a secret."""
    if not value.strip():
        raise BadSecret("there is nothing to keep: the value is empty")
    if len(value) > LONGEST:
        raise BadSecret(f"the value is too long: a secret has at most {LONGEST:,} characters")
    if not value.isprintable():
        raise BadSecret("the value must be one line, without control characters")


def is_hidden(value: str) -> bool:
    """Whether a value is long enough to be hidden wherever it appears."""
    return len(value) >= SHORTEST


def _without(name: str, values: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if key != name}


def _did_you_mean(near: list[str]) -> str:
    return f"; did you mean {near[0]}?" if near else ""


class _PrivateFile(Generic[T]):
    """A JSON file for its owner's eyes only. What can't be understood is never overwritten."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self.path = path
        self._kind = kind

    def read(self) -> T:
        """Return what it holds, nothing if there is no file."""
        try:
            return msgspec.json.decode(read_private(self.path), type=self._kind)
        except FileNotFoundError:
            return self._kind()
        except OSError as error:
            raise SecretsUnreadable(self.path, reason(error)) from error
        except (ValueError, RecursionError) as error:
            # Not from the error: it, or what it came from, may quote the file.
            raise SecretsUnreadable(self.path, _place_of(error)) from None

    def change(self, change: Callable[[T], T]) -> None:
        """Put what `change` makes of it in its place, one process at a time."""
        try:
            with holding(self.path):
                old = self.read()
                new = change(old)
                if new != old:
                    replace_file(self.path, msgspec.json.format(msgspec.json.encode(new)) + b"\n")
        except OSError as error:
            raise SecretsUnreadable(self.path, reason(error)) from error


def _place_of(error: Exception) -> str:
    found = re.search(r"\((byte \d+)\)", str(error))
    return f"it is not the JSON that belongs there{f' ({found[1]})' if found else ''}"
