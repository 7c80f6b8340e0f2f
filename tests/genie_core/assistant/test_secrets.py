import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from keyring.backend import KeyringBackend

from genie_core.assistant.errors import BadSecret, KeyringFailed, SecretsUnreadable
from genie_core.assistant.keyring import service_of
from genie_core.assistant.secrets import ENVIRONMENT, KEYRING, LONGEST, OwnSecrets, StoredSecret
from genie_core.datastore import path_name
from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import HIDDEN, KnownSecrets
from genie_core.privacy.redaction import mask_known, secrets_in

VALUE = "correct-horse-battery"


@pytest.fixture(autouse=True)
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())


class Memory:
    """A keyring that lives as long as a test. While it is `locked`, it refuses everything."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self.locked = False

    def _check(self) -> None:
        if self.locked:
            raise RuntimeError(f"prompt dismissed, nothing about {VALUE} here")

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        del self.held[service, username]


def own(
    folder: Path,
    keyring: Memory | None = None,
    person: str = "Ann",
    env: Mapping[str, str] | None = None,
) -> OwnSecrets:
    return OwnSecrets(
        person, folder, env=env or {}, keyring=lambda: cast("KeyringBackend | None", keyring)
    )


def test_keyring_leaves_only_names_on_disk(tmp_path: Path) -> None:
    memory = Memory()
    assert own(tmp_path, memory).set("A_KEY", VALUE) == KEYRING
    assert own(tmp_path, memory).get_secrets("anybody") == {"A_KEY": VALUE}
    assert own(tmp_path, memory, "ann").entries() == [StoredSecret("A_KEY", KEYRING)]
    assert all(VALUE not in file.read_text() for file in tmp_path.rglob("*.json"))
    assert own(tmp_path, memory, "ben").get_secrets("ann") == {"A_KEY": VALUE}
    assert own(tmp_path, memory).delete("A_KEY") == KEYRING
    assert memory.held == {}
    assert own(tmp_path, memory).entries() == []


def test_homes_share_keyring_not_secrets(tmp_path: Path) -> None:
    memory = Memory()
    own(tmp_path / "one", memory).set("A_KEY", VALUE)
    own(tmp_path / "two", memory).set("A_KEY", "something else")
    assert own(tmp_path / "one", memory).get_secrets("") == {"A_KEY": VALUE}
    assert all(service.startswith("genie-tui ") for service, _ in memory.held)
    assert all(username == "A_KEY" for _, username in memory.held)


def test_no_keyring_means_private_file(tmp_path: Path) -> None:
    secrets = own(tmp_path)
    assert secrets.set("A_KEY", VALUE) == str(secrets.file)
    assert json.loads(secrets.file.read_text()) == {"A_KEY": VALUE}
    assert stat.S_IMODE(secrets.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(secrets.file.parent.stat().st_mode) == 0o700
    secrets.file.chmod(0o644)
    assert own(tmp_path).get_secrets("") == {"A_KEY": VALUE}
    assert stat.S_IMODE(secrets.file.stat().st_mode) == 0o600
    assert secrets.delete("A_KEY") == str(secrets.file)
    assert own(tmp_path).get_secrets("") == {}


def test_secret_moves_only_to_keyring(tmp_path: Path) -> None:
    own(tmp_path).set("A_KEY", VALUE)
    memory = Memory()
    assert own(tmp_path, memory).set("A_KEY", "a newer value") == KEYRING
    assert VALUE not in own(tmp_path).file.read_text()
    with pytest.raises(KeyringFailed, match="could not store A_KEY: this session has none"):
        own(tmp_path).set("A_KEY", VALUE)
    with pytest.raises(KeyringFailed, match="could not read A_KEY"):
        own(tmp_path).get_secrets("")
    assert VALUE not in own(tmp_path).file.read_text()
    own(tmp_path).delete("A_KEY")  # the way out, where the keyring is gone for good
    assert own(tmp_path).set("A_KEY", VALUE) == str(own(tmp_path).file)


def test_locked_keyring_changes_nothing(
    tmp_path: Path,
) -> None:
    memory = Memory()
    own(tmp_path, memory).set("OLD", VALUE)
    memory.locked = True
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.json")}
    for act in (
        lambda: own(tmp_path, memory).set("NEW", "something new"),
        lambda: own(tmp_path, memory).get_secrets(""),
        lambda: own(tmp_path, memory).delete("OLD"),
    ):
        with pytest.raises(KeyringFailed, match="prompt dismissed") as caught:
            act()
        assert VALUE not in str(caught.value)
        assert "\n" not in str(caught.value)
    assert own(tmp_path, memory).entries() == [StoredSecret("OLD", KEYRING)]
    assert {file: file.read_bytes() for file in before} == before
    memory.locked = False
    assert own(tmp_path, memory).get_secrets("") == {"OLD": VALUE}


def test_value_gone_from_keyring_is_absent(tmp_path: Path) -> None:
    memory = Memory()
    own(tmp_path, memory).set("A_KEY", VALUE)
    memory.held.clear()
    assert own(tmp_path, memory).get_secrets("") == {}
    assert own(tmp_path, memory).delete("A_KEY") == KEYRING


def test_environment_is_last_for_providers(tmp_path: Path) -> None:
    env = {
        "OPENAI_API_KEY": "from-the-environment",
        "GROQ_API_KEY": "groq-environment",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "HOME": "/home/ann",
        "HF_TOKEN": "",
    }
    own(tmp_path).set("OPENAI_API_KEY", VALUE)
    secrets = own(tmp_path, env=env)
    assert secrets.get_secrets("") == {
        "OPENAI_API_KEY": VALUE,
        "GROQ_API_KEY": "groq-environment",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }
    assert [(entry.name, entry.where == ENVIRONMENT) for entry in secrets.entries()] == [
        ("GROQ_API_KEY", True),
        ("OPENAI_API_KEY", False),
        ("OPENAI_BASE_URL", True),
    ]
    assert mask_known("groq-environment http://127.0.0.1:9/v1") == f"{HIDDEN} http://127.0.0.1:9/v1"
    with pytest.raises(BadSecret, match="unset the variable"):
        secrets.delete("GROQ_API_KEY")


def test_read_or_set_value_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own(tmp_path).set("A_URL", VALUE)
    assert secrets_in(f"see {VALUE}") == ("A_URL",)
    monkeypatch.setattr(redaction, "_KNOWN", KnownSecrets())  # a process that starts anew
    own(tmp_path).get_secrets("")
    assert mask_known(f"see {VALUE}") == f"see {HIDDEN}"


@pytest.mark.parametrize(
    "content", [b'{"A_KEY": "correct-horse-ba', b'{"A_KEY": 3}', b"\xff", b"[]"]
)
def test_a_damaged_file_is_named_and_stays(tmp_path: Path, content: bytes) -> None:
    own(tmp_path).set("A_KEY", VALUE)
    file = own(tmp_path).file
    file.write_bytes(content)
    for act in (
        lambda: own(tmp_path).get_secrets(""),
        lambda: own(tmp_path).set("B_KEY", VALUE),
        lambda: own(tmp_path, Memory()).set("B_KEY", VALUE),
        lambda: own(tmp_path).delete("A_KEY"),
    ):
        with pytest.raises(SecretsUnreadable) as caught:
            act()
        assert str(file) in str(caught.value)
        assert "correct" not in str(caught.value)
    assert file.read_bytes() == content


@pytest.mark.parametrize("name", ["", "1A", "A-B", "sk-123=x", "ä", "A" * 101, "A B"])
def test_bad_name_is_not_repeated(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadSecret) as caught:
        own(tmp_path).set(name, VALUE)
    assert not name or name not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["", "  ", "two\nlines", "bell\a", "x" * (LONGEST + 1), "\ud800"])
def test_bad_value_is_not_repeated(tmp_path: Path, value: str) -> None:
    with pytest.raises(BadSecret) as caught:
        own(tmp_path).set("A_KEY", value)
    assert not value.strip() or value not in str(caught.value)


def test_mistyped_name_gets_hint(tmp_path: Path) -> None:
    own(tmp_path).set("OPENAI_API_KEY", VALUE)
    with pytest.raises(BadSecret, match="did you mean OPENAI_API_KEY"):
        own(tmp_path).delete("OPENAI_KEY")


def kept_for(
    folder: Path, person: str, values: Mapping[str, str], memory: Memory | None = None
) -> Path:
    """Keep secrets as earlier versions did, for one name; returns the file where they are."""
    place = folder / path_name(person)
    place.mkdir(parents=True, exist_ok=True)
    if memory is None:
        (place / "secrets.json").write_text(json.dumps(values))
        return place / "secrets.json"
    (place / "in-keyring.json").write_text(json.dumps(sorted(values)))
    for name, value in values.items():
        memory.set_password(service_of(folder), f"{person}/{name}", value)
    return place / "in-keyring.json"


@pytest.mark.parametrize("person", ["ann", "zoe", "x" * 60])
def test_kept_value_serves_every_name(tmp_path: Path, person: str) -> None:
    memory = Memory()
    file = kept_for(tmp_path, "ann", {"A_KEY": VALUE})
    kept_for(tmp_path, "gr\u00fc\u00dfe", {"B_KEY": "in the keyring"}, memory)
    secrets = own(tmp_path, memory, person)
    assert secrets.get_secrets("") == {"A_KEY": VALUE, "B_KEY": "in the keyring"}
    assert secrets.entries() == [StoredSecret("A_KEY", str(file)), StoredSecret("B_KEY", KEYRING)]
    assert own(tmp_path / "none", memory, person).get_secrets("") == {}


def test_conflicting_values_stay_separate(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = [kept_for(tmp_path, name, {"A_KEY": f"the one of {name}"}) for name in ("ann", "ben")]
    kept_for(tmp_path, "ann", {"A_KEY": "the one of ann", "SAME": VALUE})
    kept_for(tmp_path, "ben", {"A_KEY": "the one of ben", "SAME": VALUE})
    before = [file.read_bytes() for file in files]
    assert own(tmp_path).get_secrets("") == {"A_KEY": "the one of ann", "SAME": VALUE}
    assert own(tmp_path).entries()[0] == StoredSecret("A_KEY", str(files[0]), ("ben",))
    assert own(tmp_path, person="ben").get_secrets("")["A_KEY"] == "the one of ben"
    assert own(tmp_path, person="zoe").get_secrets("") == {"SAME": VALUE}
    assert "A_KEY is not used: several names have different values of it" in caplog.text
    unclear, same = own(tmp_path, person="zoe").entries()
    assert unclear == StoredSecret("A_KEY", "not used", ("ann", "ben"), usable=False)
    assert (same.usable, same.others) == (True, ())
    assert secrets_in("the one of ann, the one of ben") == ("A_KEY",)
    assert [file.read_bytes() for file in files] == before


def test_ambiguous_keyring_is_not_asked(tmp_path: Path) -> None:
    memory = Memory()
    for name in ("ann", "ben"):
        kept_for(tmp_path, name, {"A_KEY": f"the one of {name}"}, memory)
    assert own(tmp_path, memory, "ben").get_secrets("") == {"A_KEY": "the one of ben"}
    memory.locked = True
    assert own(tmp_path, memory, "zoe").entries()[0].others == ("ann", "ben")
    assert own(tmp_path, memory, "zoe").get_secrets("") == {}


@pytest.mark.parametrize("person", ["ann", "zoe"])
def test_set_replaces_value_of_each_name(tmp_path: Path, person: str) -> None:
    memory = Memory()
    file = kept_for(tmp_path, "ann", {"A_KEY": "old", "OTHER": VALUE})
    kept_for(tmp_path, "ben", {"A_KEY": "older"}, memory)
    assert own(tmp_path, memory, person).set("A_KEY", "for all") == KEYRING
    for name in ("ann", "ben", "zoe"):
        assert own(tmp_path, memory, name).get_secrets("")["A_KEY"] == "for all"
    assert json.loads(file.read_text()) == {"OTHER": VALUE}
    assert list(memory.held.values()) == ["for all"]
    assert own(tmp_path, memory, person).delete("A_KEY") == KEYRING
    assert memory.held == {}


def test_delete_removes_every_name(tmp_path: Path) -> None:
    memory = Memory()
    file = kept_for(tmp_path, "ann", {"A_KEY": "old"})
    kept_for(tmp_path, "ben", {"A_KEY": "older"}, memory)
    assert own(tmp_path, memory, "zoe").delete("A_KEY") == f"{file} and {KEYRING}"
    assert memory.held == {}
    assert [own(tmp_path, memory, name).entries() for name in ("ann", "ben")] == [[], []]


def test_failed_set_keeps_old_value(tmp_path: Path) -> None:
    memory = Memory()
    kept_for(tmp_path, "ann", {"A_KEY": "old"})
    memory.locked = True
    with pytest.raises(KeyringFailed):
        own(tmp_path, memory, "ann").set("A_KEY", "new")
    assert own(tmp_path, memory, "ann").get_secrets("") == {"A_KEY": "old"}


def test_a_damaged_file_of_another_name_is_named(tmp_path: Path) -> None:
    file = kept_for(tmp_path, "ben", {"A_KEY": "old"})
    file.write_text("{")
    with pytest.raises(SecretsUnreadable, match=str(file)):
        own(tmp_path).get_secrets("")
