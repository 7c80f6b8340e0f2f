from pathlib import Path

import pytest

from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import KnownSecrets
from genie_core.room.protocol.events import PREFERENCE_CHARS
from genie_core.settings.preferences import (
    PreferencesError,
    keep_preferences,
    objection,
    preferences_file,
    read_preferences,
)


def test_similar_names_share_file(tmp_path: Path) -> None:
    file = preferences_file(tmp_path, "Ann")
    keep_preferences(file, "briefly")
    assert read_preferences(preferences_file(tmp_path, "ann")) == "briefly"
    assert read_preferences(preferences_file(tmp_path, "ben")) == ""
    assert preferences_file(tmp_path, "../../ann").parent == tmp_path
    keep_preferences(file, "")
    assert read_preferences(file) == ""
    keep_preferences(preferences_file(tmp_path / "none", "ben"), "")
    assert not (tmp_path / "none").exists()


def test_handmade_file_is_cut_to_limit(tmp_path: Path) -> None:
    file = tmp_path / "ann.txt"
    file.write_text("\n" + "x" * 3 * PREFERENCE_CHARS)
    assert read_preferences(file) == "x" * PREFERENCE_CHARS


def test_unusable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\0")
    (tmp_path / "folder.txt").mkdir()
    for name in ("binary.txt", "folder.txt"):
        with pytest.raises(PreferencesError, match=name):
            read_preferences(tmp_path / name)
    with pytest.raises(PreferencesError, match=r"folder\.txt can't be written"):
        keep_preferences(tmp_path / "folder.txt", "briefly")


def test_secret_or_overlong_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())
    redaction.know({"A_KEY": "correct-horse"})
    for text in ("x" * (PREFERENCE_CHARS + 1), "use correct-horse", "half \ud83d"):
        assert "correct-horse" not in objection(text)
        with pytest.raises(PreferencesError):
            keep_preferences(tmp_path / "ann.txt", text)
    assert not list(tmp_path.iterdir())
