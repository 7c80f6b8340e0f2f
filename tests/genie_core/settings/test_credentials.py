from pathlib import Path

import pytest

from genie_core.assistant.secrets import OwnSecrets
from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.settings.credentials import hide_own_secrets, names_at_hand
from genie_core.settings.locations import find_locations


def test_stored_secrets_show_only_names(tmp_path: Path) -> None:
    places = find_locations({"GENIE_HOME": str(tmp_path)})
    OwnSecrets("ann", places.secrets, keyring=lambda: None).set("MY_KEY", "the value")
    found = names_at_hand("ann", places, {"HOME": "/home/ann"})
    assert found.keys() == {"HOME", "MY_KEY"}
    assert "the value" not in found.values()
    assert names_at_hand("bob", places, {}).keys() == {"MY_KEY"}


def test_ambiguous_secret_does_not_count(tmp_path: Path) -> None:
    places = find_locations({"GENIE_HOME": str(tmp_path)})
    for name in ("ann", "ben"):
        (places.secrets / name).mkdir(parents=True)
        (places.secrets / name / "secrets.json").write_text(f'{{"MY_KEY": "of {name}"}}')
    assert names_at_hand("ann", places, {}).keys() == {"MY_KEY"}
    assert names_at_hand("zoe", places, {}) == {}


def test_stored_secrets_are_masked_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    places = find_locations({"GENIE_HOME": str(tmp_path)})
    secrets = OwnSecrets("ann", places.secrets, keyring=lambda: None)
    secrets.set("MY_KEY", "the value")
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    hide_own_secrets("ann", places)
    assert redaction.mask_known("is it the value?") == f"is it {HIDDEN}?"
    secrets.file.write_text("{")
    hide_own_secrets("ann", places)
    assert str(secrets.file) in caplog.text
