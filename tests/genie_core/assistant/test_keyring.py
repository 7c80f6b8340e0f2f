from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.backends.chainer import ChainerBackend

from genie_core.assistant.errors import KeyringFailed
from genie_core.assistant.keyring import service_of, system_keyring


def _made(*kinds: type[KeyringBackend]) -> list[KeyringBackend]:
    return [kind() for kind in kinds]


@pytest.mark.parametrize("kind", [fail.Keyring, null.Keyring])
def test_what_keeps_nothing_is_no_keyring(
    monkeypatch: pytest.MonkeyPatch, kind: type[KeyringBackend]
) -> None:
    monkeypatch.setattr(keyring, "get_keyring", kind)
    assert system_keyring() is None


def test_chain_of_empty_backends_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChainerBackend, "backends", _made(fail.Keyring))
    monkeypatch.setattr(keyring, "get_keyring", ChainerBackend)
    assert system_keyring() is None


def test_any_other_backend_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = object()
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)
    assert system_keyring() is backend


def test_failing_keyring_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> object:
        raise ImportError("no dbus")

    monkeypatch.setattr(keyring, "get_keyring", broken)
    with pytest.raises(KeyringFailed, match="could not be opened: ImportError: no dbus"):
        system_keyring()


def test_every_folder_has_a_service_of_its_own(tmp_path: Path) -> None:
    assert service_of(tmp_path) == service_of(tmp_path)
    assert service_of(tmp_path) != service_of(tmp_path / "other")
