"""The system keyring, if there is one that can be used."""

from pathlib import Path
from typing import Final, Protocol, cast

from genie_core.assistant.errors import KeyringFailed
from genie_core.errors import summary

_NO_KEYRINGS: Final = ("keyring.backends.fail", "keyring.backends.null")


class Keyring(Protocol):
    """What is needed of a backend of the package `keyring`. May block until a person unlocks it."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return a value; None if there is none."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a value."""

    def delete_password(self, service: str, username: str) -> None:
        """Forget a value."""


def system_keyring() -> Keyring | None:
    """Find the keyring that this machine and session have; None if there is none."""
    import keyring

    try:
        backend = keyring.get_keyring()
        parts = getattr(backend, "backends", (backend,))  # one that asks several
        usable = any(type(part).__module__ not in _NO_KEYRINGS for part in parts)
    except Exception as error:  # backends are plugins, of anybody's
        raise KeyringFailed("be opened", summary(error)) from error
    return cast("Keyring", backend) if usable else None


class Ring:
    """An installation's part of a keyring, or of none. Errors of a backend become `KeyringFailed`.

    Earlier versions kept what is for one name only under `person`; without one it is for all.
    """

    def __init__(self, backend: Keyring | None, service: str, person: str) -> None:
        self._backend = backend
        self._service = service
        self._person = person

    def get(self, name: str) -> str | None:
        """Return a secret, None if somebody has deleted it there."""
        backend = self._needed(f"give {name}")
        try:
            return backend.get_password(self._service, self._entry(name))
        except Exception as error:
            raise KeyringFailed(f"give {name}", summary(error)) from error

    def set(self, name: str, value: str) -> None:
        """Keep a secret."""
        backend = self._needed(f"keep {name}")
        try:
            backend.set_password(self._service, self._entry(name), value)
        except Exception as error:
            raise KeyringFailed(f"keep {name}", summary(error)) from error

    def delete(self, name: str) -> None:
        """Forget a secret, if it is still there."""
        backend = self._needed(f"delete {name}")
        try:
            if backend.get_password(self._service, self._entry(name)) is not None:
                backend.delete_password(self._service, self._entry(name))
        except Exception as error:
            raise KeyringFailed(f"delete {name}", summary(error)) from error

    def __bool__(self) -> bool:
        return self._backend is not None

    def _needed(self, action: str) -> Keyring:
        if self._backend is None:
            raise KeyringFailed(action, "there is none in this session")
        return self._backend

    def _entry(self, name: str) -> str:
        return f"{self._person}/{name}" if self._person else name


def service_of(folder: Path) -> str:
    """How an installation's secrets are called in the keyring, which all installations share."""
    from hashlib import sha256

    return f"genie-tui {sha256(str(folder.absolute()).encode()).hexdigest()[:8]}"
