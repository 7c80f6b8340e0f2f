import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.protocol.codec import normal
from genie_core.room.protocol.errors import InvalidKey
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    MessageEdited,
    MessagePosted,
    RunCancelled,
    RunFailed,
    SealedBody,
)
from genie_core.room.security.identity import Identity
from genie_core.room.security.keys import encrypt, raw_key, suite
from genie_core.room.security.sealing import OVERHEAD, PADDING, seal, unseal, without_content

ANN, BOB, EVE = Identity.generate(), Identity.generate(), Identity.generate()
BOTH = [ANN.key, BOB.key]

BODIES: list[SealedBody] = [
    MessagePosted("1", "meet me at six", to="bob"),
    MessageEdited(3, "meet me at seven"),
    DecisionMade(3, "delegate", "asked privately", "what is 2+2?", "ann", 0.5),
    ApprovalRequested(3, "a", "system", "run", {"command": "ls", "n": [1, None]}, effects=("ls",)),
    ApprovalResolved(3, "a", "denied", "not now", covers="ls *", arguments={"command": "pwd"}),
    AnswerPosted(3, "four", "ann"),
    RunFailed(3, "agent", "it broke", text="fo"),
    RunCancelled(3, "stopped by ann", text="fo"),
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_only_readers_open_sealed_body(body: SealedBody) -> None:
    sealed = seal(body, ANN.key, BOTH)
    data = msgspec.json.encode(sealed)
    assert not any(word in data for word in (b"meet me", b"what is", b'"ls"', b'"pwd"', b"not now"))
    assert sealed == without_content(sealed)
    for place, reader in enumerate((ANN, BOB)):
        opened = unseal(sealed, ANN.key, reader, place)
        assert opened == msgspec.structs.replace(body, sealed=sealed.sealed)
    assert unseal(sealed, ANN.key, EVE, 0) is unseal(sealed, ANN.key, EVE, 1) is None
    assert unseal(sealed, ANN.key, BOB, 2) is None


def test_moved_seal_is_not_opened() -> None:
    sealed = seal(BODIES[0], ANN.key, BOTH)
    assert unseal(sealed, EVE.key, BOB, 1) is None
    as_edit = MessageEdited(3, "", sealed=sealed.sealed)
    assert unseal(as_edit, ANN.key, BOB, 1) is None


def test_padding_hides_exact_length() -> None:
    sizes = {
        len(seal(MessagePosted("1", "x" * n), ANN.key, [BOB.key]).sealed[0])
        for n in range(PADDING // 2)
    }
    assert len(sizes) == 1
    (size,) = sizes
    assert PADDING < size <= PADDING + OVERHEAD


def test_resealing_is_noop_seals_differ() -> None:
    one, two = (seal(BODIES[0], ANN.key, BOTH) for _ in range(2))
    assert seal(one, ANN.key, [EVE.key]) is one
    assert one.sealed[1] != two.sealed[1]


@pytest.mark.parametrize(
    "content", [b"", b"no json", b"[]", b"{}", b'{"text": 3}', b'{"text":"\\ud800"}']
)
def test_foreign_seal_opens_safely(content: bytes) -> None:
    info = b"\0".join((b"genie-tui sealed 1", b"said", raw_key(ANN.key)))
    box = encrypt(BOB.key, content, info)
    body = MessagePosted("1", "", to="bob", sealed=(b"", box))
    opened = unseal(body, ANN.key, BOB, 1)
    assert opened is None or isinstance(opened.text, str)
    assert unseal(body, ANN.key, BOB, 0) is None


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    sealed = seal(MessagePosted("1", text), ANN.key, [BOB.key])
    opened = unseal(sealed, ANN.key, BOB, 0)
    assert opened is not None
    assert opened.text == text


def test_sealed_step_passes_step_checks() -> None:
    for body in BODIES[2:]:
        sealed = seal(body, ANN.key, [ANN.key])
        assert normal(sealed, 100_000) == sealed  # type: ignore[arg-type] # they are steps


def test_the_keys_of_both_kinds_belong_together() -> None:
    """The public key by RFC 7748, section 4.1, is that of the private key which Ed25519 derives."""
    for _ in range(20):
        identity = Identity.generate()
        box = encrypt(identity.key, b"text", b"info")
        assert identity.decrypt(box, b"info") == b"text"
        assert identity.decrypt(box, b"other") == b""
        assert identity.decrypt(box[:-1], b"info") == b""
        stranger = X25519PrivateKey.generate()
        assert (
            identity.decrypt(suite().encrypt(b"text", stranger.public_key(), b"info"), b"info")
            == b""
        )


def test_nothing_is_encrypted_to_what_is_no_key() -> None:
    with pytest.raises(InvalidKey):
        encrypt("no key", b"", b"")
