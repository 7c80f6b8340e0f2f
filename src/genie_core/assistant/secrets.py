"""Storing an installation's secrets in the system keyring, or in a private file without one."""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import msgspec

from genie_core.assistant.config import VARIABLE
from genie_core.assistant.errors import BadSecret, SecretsUnreadable
from genie_core.assistant.keyring import Ring, service_of, system_keyring
from genie_core.assistant.models.providers import PROVIDERS
from genie_core.datastore import path_name
from genie_core.privacy.known_secrets import SHORTEST
from genie_core.privacy.redaction import know
from genie_core.room.protocol.names import fold_name
from genie_core.secrets import SecretsProvider
from genie_core.storage.atomic import reason, replace_file
from genie_core.storage.private_files import holding, read_private

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

logger = logging.getLogger(__name__)

SHARED: Final = "+all"
"""The folder of secrets for all names; no encoded name of a person equals it."""

KEYRING: Final = "the system keyring"
ENVIRONMENT: Final = "the environment"

LONGEST: Final = 16_384
"""Characters that a secret may have."""

_NO_SECRETS: Final = ("_URL", "_ENDPOINT", "_REGION", "_ACCOUNT")
"""Suffixes of variables that hold a provider's location, which is not secret."""


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The name of a secret and the place of its value.

    `others` are names for which an earlier version stored values that are not used and may differ.
    A secret that is not `usable` has only such values.
    """

    name: str
    where: str
    others: tuple[str, ...] = ()
    usable: bool = True


class OwnSecrets(SecretsProvider):
    """The secrets of one installation. Every name that a person uses here gets them.

    Secrets are stored in the keyring or, if this session has none, in a private file in `folder`;
    the environment is used last, for the variables of known model providers. A secret in the
    keyring is never moved to a file: if the keyring can't be reached, `KeyringFailed` is raised.
    Since a keyring can't be listed, a file holds the names of its secrets.

    Earlier versions stored secrets per name. These are used where they are, those of `person`
    first, until the secret is set again or deleted. If several other names have different values,
    or values in a keyring (which is not asked for the comparison), none is used and `entries`
    reports it.

    Every value is redacted in this process (see `genie_core.privacy.redaction`) before it is
    returned. All methods block, may be called by several processes together, and raise
    `SecretsError`.
    """

    def __init__(
        self,
        person: str,
        folder: Path,
        *,
        env: Mapping[str, str] | None = None,
        keyring: "Callable[[], KeyringBackend | None]" = system_keyring,
    ) -> None:
        self._folder = folder
        folded = fold_name(person)
        self._shared = _Store(folder / SHARED, "", first=True)
        self._own = _Store(folder / path_name(folded), folded, first=True)
        self._env = os.environ if env is None else env
        self._open_keyring = keyring
        self._service = service_of(folder)

    @property
    def file(self) -> Path:
        """The file that holds secrets without a keyring."""
        return self._shared.file.path

    def get_secrets(self, username: str) -> dict[str, str]:
        """Return all secrets, the same for every name."""
        found = self._from_environment()
        know({name: value for name, value in found.items() if not name.endswith(_NO_SECRETS)})
        return found | self.kept()

    def kept(self) -> dict[str, str]:
        """Return the secrets that are stored here, without those of the environment."""
        kept: dict[str, str] = {}
        for name, held in self._stored_values().items():
            for each in held:
                know({name: each.value or ""})
            if not _is_clear(held):
                logger.warning("%s is not used: several names have different values of it", name)
                continue
            first = held[0]
            value = self._ring(first.store).get(name) if first.in_keyring else None
            if (value := value or first.value) is not None:
                kept[name] = value
        know(kept)
        return kept

    def entries(self) -> list[StoredSecret]:
        """List the names and the place used for each. Does not ask the keyring."""
        entries = {name: StoredSecret(name, ENVIRONMENT) for name in self._from_environment()}
        for name, held in self._stored_values().items():
            others = tuple(each.store.person for each in held[1:] if each.differs_from(held[0]))
            if _is_clear(held):
                entries[name] = StoredSecret(name, held[0].where, others)
            else:
                persons = (held[0].store.person, *others)
                entries[name] = StoredSecret(name, "not used", persons, usable=False)
        return [entries[name] for name in sorted(entries)]

    def set(self, name: str, value: str) -> str:
        """Store a secret for all names and delete older values; returns where it is stored."""
        check_name(name)
        check_value(value)
        know({name: value})
        older = [
            each for each in self._stored_values().get(name, ()) if each.store is not self._shared
        ]
        ring, known = self._ring(self._shared), self._shared.index.read()
        if not ring and name not in known and not any(each.in_keyring for each in older):
            self._shared.file.change(lambda values: {**values, name: value})
            where = str(self.file)
        else:
            self._shared.file.read()  # fail before anything is changed
            self._shared.index.change(lambda names: sorted({*names, name}))
            try:
                ring.set(name, value)
            except BaseException:
                if name not in known:
                    self._shared.index.change(
                        lambda names: [each for each in names if each != name]
                    )
                raise
            self._shared.file.change(lambda values: _without(name, values))
            where = KEYRING
        for each in older:
            self._forget(name, each)
        return where

    def delete(self, name: str) -> str:
        """Delete a secret; returns where it was. Raises `BadSecret` if it is not stored here.

        Without a keyring in this session, only the name of a secret in it can be deleted; the value
        stays there unused.
        """
        held = self._stored_values()
        if name not in held:
            if name in self._from_environment():
                raise BadSecret(f"{name} comes from the environment; unset the variable there")
            near = get_close_matches(name, [*held, *self._from_environment()], n=1)
            raise BadSecret(f"there is no secret with that name{_did_you_mean(near)}")
        for each in held[name]:
            self._forget(name, each)
        return " and ".join(dict.fromkeys(each.where for each in held[name]))

    def _stored_values(self) -> dict[str, list["_StoredValue"]]:
        """Return stored values by name: those for all names, for this name, for others."""
        found: dict[str, list[_StoredValue]] = {}
        for store in self._stores():
            values, in_keyring = store.file.read(), store.index.read()
            for name in {*values, *in_keyring}:
                held = _StoredValue(store, values.get(name), in_keyring=name in in_keyring)
                found.setdefault(name, []).append(held)
        return found

    def _stores(self) -> Iterator["_Store"]:
        yield self._shared
        yield self._own
        own = {self._shared.folder, self._own.folder}
        folders = sorted(self._folder.iterdir()) if self._folder.is_dir() else []
        for folder in folders:
            if folder not in own and folder.is_dir():
                yield _Store(folder, _person_of(folder.name))

    def _forget(self, name: str, held: "_StoredValue") -> None:
        if held.in_keyring:
            if ring := self._ring(held.store):
                ring.delete(name)
            held.store.index.change(lambda names: [each for each in names if each != name])
        if held.value is not None:
            held.store.file.change(lambda values: _without(name, values))

    def _from_environment(self) -> dict[str, str]:
        groups = (group for needs in PROVIDERS.values() for group in needs.variables)
        names = {name for group in groups for name in group}
        return {name: self._env[name] for name in names if self._env.get(name)}

    def _ring(self, store: "_Store") -> Ring:
        return Ring(self._open_keyring(), self._service, store.person)


def check_name(name: str) -> None:
    """Raise `BadSecret` if a secret can't have this name."""
    if not VARIABLE.fullmatch(name):
        raise BadSecret(
            "a secret's name has up to 100 letters, digits and _, and does not begin with a digit"
        )


def check_value(value: str) -> None:
    """Raise `BadSecret` if a secret can't have this value."""
    if not value.strip():
        raise BadSecret("the value is empty")
    if len(value) > LONGEST:
        raise BadSecret(f"the value is too long: a secret has at most {LONGEST:,} characters")
    if not value.isprintable():
        raise BadSecret("the value must be one line, without control characters")


def is_hidden(value: str) -> bool:
    """Return whether a value is long enough to be redacted wherever it appears."""
    return len(value) >= SHORTEST


def _person_of(folder: str) -> str:
    """Undo `path_name`; a shortened name can't be restored, but none is in a keyring."""
    if "%%" in folder:
        return folder
    raw = re.sub(r"%([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), folder)
    return raw.encode("latin-1", "replace").decode("utf-8", "replace")


def _without(name: str, values: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if key != name}


def _did_you_mean(near: list[str]) -> str:
    return f"; did you mean {near[0]}?" if near else ""


class _Store:
    """The secrets in one folder: for all names, or for the `person` of an earlier version.

    A secret in a `first` store takes precedence over those of other names.
    """

    def __init__(self, folder: Path, person: str, *, first: bool = False) -> None:
        self.folder = folder
        self.person = person
        self.first = first
        self.file = _PrivateFile(folder / "secrets.json", dict[str, str])
        self.index = _PrivateFile(folder / "in-keyring.json", list[str])


@dataclass(frozen=True, slots=True)
class _StoredValue:
    """A secret in one store; the value is None if only the keyring has it."""

    store: _Store
    value: str | None = field(repr=False)
    in_keyring: bool

    @property
    def where(self) -> str:
        return KEYRING if self.in_keyring else str(self.store.file.path)

    def differs_from(self, other: "_StoredValue") -> bool:
        """Return whether the values may differ; those in a keyring are unknown."""
        return self.in_keyring or other.in_keyring or self.value != other.value


def _is_clear(held: Sequence[_StoredValue]) -> bool:
    """Return whether the first value may be used."""
    first, *others = held
    return first.store.first or not any(each.differs_from(first) for each in others)


class _PrivateFile(Generic[T]):
    """A JSON file that only its owner can read. Unreadable content is never overwritten."""

    def __init__(self, path: Path, kind: type[T]) -> None:
        self.path = path
        self._kind = kind

    def read(self) -> T:
        """Return the content, empty if there is no file."""
        try:
            return msgspec.json.decode(read_private(self.path), type=self._kind)
        except FileNotFoundError:
            return self._kind()
        except OSError as error:
            raise SecretsUnreadable(self.path, reason(error)) from error
        except (ValueError, RecursionError) as error:
            # not chained: the original error may quote the file
            raise SecretsUnreadable(self.path, _place_of(error)) from None

    def change(self, change: Callable[[T], T]) -> None:
        """Replace the content, one process at a time."""
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
    return f"it is not the expected JSON{f' ({found[1]})' if found else ''}"
