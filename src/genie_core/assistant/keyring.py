"""Access to the system keyring."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from genie_core.assistant.errors import KeyringFailed
from genie_core.errors import summary

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

T = TypeVar("T")

_NO_KEYRINGS: Final = ("keyring.backends.fail", "keyring.backends.null")


def system_keyring() -> "KeyringBackend | None":
    """Return the usable keyring of this session, or None."""
    import keyring

    try:
        backend = keyring.get_keyring()
        parts = getattr(backend, "backends", (backend,))  # a chain of backends
        usable = any(type(part).__module__ not in _NO_KEYRINGS for part in parts)
    except Exception as error:  # backends are third-party plugins
        raise KeyringFailed("be opened", summary(error)) from error
    return backend if usable else None


class Ring:
    """An installation's entries in a keyring. Backend errors become `KeyringFailed`.

    `backend` None raises on every access. Earlier versions stored secrets per name, under `person`;
    an empty one is for all names.
    """

    def __init__(self, backend: "KeyringBackend | None", service: str, person: str) -> None:
        self._backend = backend
        self._service = service
        self._person = person

    def get(self, name: str) -> str | None:
        """Return a secret, None if it was deleted in the keyring."""
        entry = self._entry(name)
        return self._call(f"read {name}", lambda it: it.get_password(self._service, entry))

    def set(self, name: str, value: str) -> None:
        entry = self._entry(name)
        self._call(f"store {name}", lambda it: it.set_password(self._service, entry, value))

    def delete(self, name: str) -> None:
        """Delete a secret if it exists."""
        entry = self._entry(name)

        def delete(backend: "KeyringBackend") -> None:
            if backend.get_password(self._service, entry) is not None:
                backend.delete_password(self._service, entry)

        self._call(f"delete {name}", delete)

    def __bool__(self) -> bool:
        return self._backend is not None

    def _call(self, action: str, call: "Callable[[KeyringBackend], T]") -> T:
        if self._backend is None:
            raise KeyringFailed(action, "this session has none")
        try:
            return call(self._backend)
        except Exception as error:
            raise KeyringFailed(action, summary(error)) from error

    def _entry(self, name: str) -> str:
        return f"{self._person}/{name}" if self._person else name


def service_of(folder: Path) -> str:
    """Return the service name that separates this installation from others in the keyring."""
    from hashlib import sha256

    return f"genie-tui {sha256(str(folder.absolute()).encode()).hexdigest()[:8]}"
