"""A person's key: made once, kept privately, and never confused with another."""

import logging
import stat
import tracemalloc
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.room.security.together import run_together

from genie_core.room.protocol.errors import IdentityError, InvalidKey
from genie_core.room.security.identity import Identity, load_identity, words
from genie_core.room.security.keys import is_key, verify

ALICE = Identity.generate()
RFC_8032_TEST_2 = "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw"


def test_signature_binds_signer_and_data() -> None:
    signature = ALICE.sign(b"hello")
    assert len(signature) == 64
    assert verify(ALICE.key, signature, b"hello")
    assert not verify(ALICE.key, signature, b"hellO")
    assert not verify(Identity.generate().key, signature, b"hello")


def test_a_signature_of_the_standard_is_verified() -> None:
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert verify(RFC_8032_TEST_2, signature, b"\x72")


def test_verifying_keeps_no_large_data() -> None:
    tracemalloc.start()
    try:
        for number in range(40):
            data = b"x" * 100_000 + str(number).encode()
            assert verify(ALICE.key, ALICE.sign(data), data)
            assert not verify(ALICE.key, data, b"hello")
        assert tracemalloc.get_traced_memory()[0] < 500_000
    finally:
        tracemalloc.stop()


@given(st.text(), st.binary(max_size=80), st.binary())
def test_nothing_malformed_is_verified(key: str, signature: bytes, data: bytes) -> None:
    assert not verify(key, signature, data)
    assert not verify(ALICE.key, signature, data)


def test_a_key_has_one_text_only() -> None:
    last = ALICE.key[-1]
    spare_bits = ALICE.key[:-1] + chr(ord(last) + 1)
    assert is_key(ALICE.key)
    for other in (
        spare_bits,
        ALICE.key + "=",
        ALICE.key[:20] + "\n" + ALICE.key[20:],
        ALICE.key[1:],
    ):
        assert not is_key(other)
        assert not verify(other, ALICE.sign(b"hello"), b"hello")


@pytest.mark.parametrize("y", [0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18])
@pytest.mark.parametrize("sign", [0, 1 << 255])
def test_weak_point_is_no_key(y: int, sign: int) -> None:
    raw = (y | sign).to_bytes(32, "little")
    assert not is_key(urlsafe_b64encode(raw).rstrip(b"=").decode())


@pytest.mark.parametrize(
    "weak",
    [
        "xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o",
        "JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU",
    ],
)
def test_forgery_for_order_8_point_fails(weak: str) -> None:
    """One in eight would: S = 0 and R = the neutral point satisfy the equation without a secret."""
    forged = (1).to_bytes(32, "little") + bytes(32)
    assert not any(verify(weak, forged, str(each).encode()) for each in range(100))


def test_the_words_belong_to_the_key() -> None:
    assert words(RFC_8032_TEST_2) == "delay-review-vintage-erode-drastic-panel"
    assert words(ALICE.key) != words(Identity.generate().key)
    assert len(words(ALICE.key).split("-")) == 6


def test_what_is_no_key_has_no_words() -> None:
    with pytest.raises(InvalidKey, match="is no public key"):
        words("alice")


def test_repr_shows_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "alice.key"
    identity = load_identity(path)
    secret = path.read_text().splitlines()[2]
    assert repr(identity) == f"Identity(key={identity.key!r})"
    assert secret not in repr(identity)


def test_a_key_is_made_once_and_privately(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "alice.key"
    first = load_identity(path)
    again = load_identity(path)
    assert first.key == again.key
    assert verify(first.key, again.sign(b"hello"), b"hello")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_two_paths_are_two_persons(tmp_path: Path) -> None:
    assert load_identity(tmp_path / "alice.key").key != load_identity(tmp_path / "bob.key").key


def test_concurrent_starts_share_one_key(tmp_path: Path) -> None:
    keys = run_together(
        "from pathlib import Path;from genie_core.room.security.identity import load_identity",
        "print(load_identity(Path(sys.argv[1])).key)",
        tmp_path / "keys" / "alice.key",
        6,
    )
    assert len(keys) == 1
    assert is_key(keys.pop().strip())


def test_readable_key_is_closed_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "alice.key"
    key = load_identity(path).key
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        assert load_identity(path).key == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"{path} was open to others (644); it is private now" in caplog.text


def test_every_damage_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "alice.key"
    load_identity(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:60], whole[44:], whole.replace(b"PRIVATE", b"PUBLIC"), b"\0" * 9):
        path.write_bytes(damaged)
        with pytest.raises(IdentityError, match="damaged") as caught:
            load_identity(path)
        assert caught.value.path == path
        assert path.read_bytes() == damaged


def test_mismatched_key_halves_are_refused(tmp_path: Path) -> None:
    path, other = tmp_path / "alice.key", tmp_path / "bob.key"
    load_identity(path)
    load_identity(other)
    path.write_bytes(path.read_bytes()[:44] + other.read_bytes()[44:])
    with pytest.raises(IdentityError, match="two halves"):
        load_identity(path)


def test_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a file")
    with pytest.raises(IdentityError, match="Not a directory"):
        load_identity(tmp_path / "keys" / "alice.key")


def test_folder_as_key_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(IdentityError, match="Not a regular file"):
        load_identity(tmp_path)
