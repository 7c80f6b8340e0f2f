"""Secrets of an installation: kept in the system keyring, or in a private file if there is none."""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from genie_core.assistant.errors import BadSecret, SecretsUnreadable
from genie_core.assistant.keyring import Keyring, Ring, service_of, system_keyring
from genie_core.assistant.models.providers import PROVIDERS
from genie_core.datastore import path_name
from genie_core.privacy.known_secrets import SHORTEST
from genie_core.privacy.redaction import know
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.identity import holding, read_private
from genie_core.secrets import SecretsProvider
from genie_core.storage.atomic import reason, replace_file

T = TypeVar("T")

logger = logging.getLogger(__name__)

SHARED: Final = "+all"
"""The folder of what is kept for all names; no name of a person is written so."""

KEYRING: Final = "the system keyring"
ENVIRONMENT: Final = "the environment"

LONGEST: Final = 4_096
"""Characters that a secret may have."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_NO_SECRETS: Final = ("_URL", "_ENDPOINT", "_REGION", "_ACCOUNT")
"""How variables end that say where a provider is, which everybody may know."""


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """The name of a secret, and where its value is.

    `others` are the names for which an earlier version kept a value that is not used and may be
    another one. A secret that is not `usable` has nothing but such values.
    """

    name: str
    where: str
    others: tuple[str, ...] = ()
    usable: bool = True


class OwnSecrets(SecretsProvider):
    """The secrets of one installation, which its engines use for everybody they work for.

    They are offered to every name that a person has here. They are in the keyring; where this
    session has none, in a private file in `folder`; and last, as far as a model's provider is known
    to look for them there, in the environment. What a keyring has is never moved to a file: if it
    can't be reached, `KeyringFailed` says so. Beside it there is a file with the names that it has,
    since a keyring can't be listed.

    Earlier versions kept secrets for each name apart. Those are used where they are, `person`'s
    before others', until one is set anew or deleted. Where several others have different values, or
    such in a keyring, which is not asked for that, none is used: `entries` tells so.

    Every value is hidden in this process (see `genie_core.privacy.redaction`) before it is returned. All
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
        self._folder = folder
        folded = fold_name(person)
        self._shared = _Store(folder / SHARED, "", first=True)
        self._own = _Store(folder / path_name(folded), folded, first=True)
        self._env = os.environ if env is None else env
        self._open_keyring = keyring
        self._service = service_of(folder)

    @property
    def file(self) -> Path:
        """Where secrets are where there is no keyring."""
        return self._shared.file.path

    def get_secrets(self, username: str) -> dict[str, str]:
        """Return all secrets, whoever is served with them."""
        found = self._from_environment()
        know({name: value for name, value in found.items() if not name.endswith(_NO_SECRETS)})
        kept: dict[str, str] = {}
        for name, held in self._held().items():
            for each in held:
                know({name: each.value or ""})
            if not _is_clear(held):
                logger.warning("%s is not used: other values of it are kept for other names", name)
                continue
            first = held[0]
            value = self._ring(first.store).get(name) if first.in_keyring else None
            if (value := value or first.value) is not None:
                kept[name] = value
        know(kept)
        return found | kept

    def entries(self) -> list[StoredSecret]:
        """List the names, and for each the place that is used. The keyring is not asked."""
        entries = {name: StoredSecret(name, ENVIRONMENT) for name in self._from_environment()}
        for name, held in self._held().items():
            others = tuple(each.store.person for each in held[1:] if each.differs_from(held[0]))
            if _is_clear(held):
                entries[name] = StoredSecret(name, held[0].where, others)
            else:
                persons = (held[0].store.person, *others)
                entries[name] = StoredSecret(name, "not used", persons, usable=False)
        return [entries[name] for name in sorted(entries)]

    def set(self, name: str, value: str) -> str:
        """Keep a secret for all names, in place of older values; returns where it is now."""
        check_name(name)
        check_value(value)
        know({name: value})
        older = [each for each in self._held().get(name, ()) if each.store is not self._shared]
        ring, known = self._ring(self._shared), self._shared.index.read()
        if not ring and name not in known and not any(each.in_keyring for each in older):
            self._shared.file.change(lambda values: {**values, name: value})
            where = str(self.file)
        else:
            self._shared.file.read()  # what can't be read is better found now than half-way
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
        """Forget a secret; returns where it was, or raises `BadSecret` if it is not kept here.

        Without a keyring in this session the name of a secret that is in one is forgotten, too;
        its value can't be deleted from here, and is not used any more.
        """
        held = self._held()
        if name not in held:
            if name in self._from_environment():
                raise BadSecret(f"{name} comes from the environment; unset the variable there")
            near = get_close_matches(name, [*held, *self._from_environment()], n=1)
            raise BadSecret(f"there is no secret of that name{_did_you_mean(near)}")
        for each in held[name]:
            self._forget(name, each)
        return " and ".join(dict.fromkeys(each.where for each in held[name]))

    def _held(self) -> dict[str, list["_Held"]]:
        """Return stored secrets by name: for all names first, then for this one, then others."""
        found: dict[str, list[_Held]] = {}
        for store in self._stores():
            values, in_keyring = store.file.read(), store.index.read()
            for name in {*values, *in_keyring}:
                held = _Held(store, values.get(name), in_keyring=name in in_keyring)
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

    def _forget(self, name: str, held: "_Held") -> None:
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


def _person_of(folder: str) -> str:
    """Undo `path_name`; a name that was cut for its length stays cut, and is in no keyring."""
    if "%%" in folder:
        return folder
    raw = re.sub(r"%([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), folder)
    return raw.encode("latin-1", "replace").decode("utf-8", "replace")


def _without(name: str, values: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if key != name}


def _did_you_mean(near: list[str]) -> str:
    return f"; did you mean {near[0]}?" if near else ""


class _Store:
    """The secrets in one folder: for all names, or what an earlier version kept for a `person`.

    `first` is one that counts before those of other names, whatever they have.
    """

    def __init__(self, folder: Path, person: str, *, first: bool = False) -> None:
        self.folder = folder
        self.person = person
        self.first = first
        self.file = _PrivateFile(folder / "secrets.json", dict[str, str])
        self.index = _PrivateFile(folder / "in-keyring.json", list[str])


@dataclass(frozen=True, slots=True)
class _Held:
    """A secret in one store; the value is None where only the keyring has it."""

    store: _Store
    value: str | None = field(repr=False)
    in_keyring: bool

    @property
    def where(self) -> str:
        return KEYRING if self.in_keyring else str(self.store.file.path)

    def differs_from(self, other: "_Held") -> bool:
        """Whether the values may be different: what is in a keyring is not known."""
        return self.in_keyring or other.in_keyring or self.value != other.value


def _is_clear(held: Sequence[_Held]) -> bool:
    """Whether it is clear which value is meant, the first one then."""
    first, *others = held
    return first.store.first or not any(each.differs_from(first) for each in others)


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
