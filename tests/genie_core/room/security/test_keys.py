import subprocess
import sys
from base64 import urlsafe_b64encode

import pytest

from genie_core.room.security.identity import Identity
from genie_core.room.security.keys import is_key, key_text, raw_key, verify

ME = Identity.generate()


def test_signature_binds_key_and_data() -> None:
    signature = ME.sign(b"data")
    for _ in ("verified", "remembered"):
        assert verify(ME.key, signature, b"data")
        assert not verify(ME.key, signature, b"other data")
        assert not verify(Identity.generate().key, signature, b"data")
    assert not verify(ME.key, b"", b"data")
    assert not verify("no key", signature, b"data")


def test_a_key_has_one_text() -> None:
    assert is_key(ME.key)
    assert key_text(raw_key(ME.key)) == ME.key
    assert not is_key(ME.key + "=")
    assert not is_key(ME.key[:-1])
    last = ME.key[-1]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = ME.key[:-1] + alphabet[alphabet.index(last) ^ 1]  # differs in a bit that is spare
    assert raw_key(twin) == raw_key(ME.key)
    assert not is_key(twin)
    assert raw_key("ä") == b""


@pytest.mark.parametrize("y", [0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18])
def test_a_point_of_small_order_is_no_key(y: int) -> None:
    weak = urlsafe_b64encode(y.to_bytes(32, "little")).rstrip(b"=").decode()
    assert not is_key(weak)
    assert not verify(weak, weak.encode(), b"data")


def test_unsigned_fold_loads_no_crypto() -> None:
    code = "import sys; import genie_core.room.state.room_state; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
