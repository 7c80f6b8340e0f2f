"""Tokens and keys of NATS, as its own tool `nsc` makes them."""

import base64
import binascii
import json
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PREFIXES: Final = {"operator": 14 << 3, "account": 0, "user": 20 << 3}
SEED: Final = 18 << 3
UNLIMITED: Final = dict.fromkeys(
    ("subs", "data", "payload", "conn", "leaf", "imports", "exports"), -1
)
STREAMS: Final = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), -1)


class Key:
    """A key of an operator, an account or a user."""

    def __init__(self, kind: str) -> None:
        self._key = Ed25519PrivateKey.generate()
        self._kind = kind
        self.public = _encoded(bytes([PREFIXES[kind]]) + self._key.public_key().public_bytes_raw())

    @property
    def seed(self) -> str:
        prefix = PREFIXES[self._kind]
        start = bytes([SEED | prefix >> 5, (prefix & 31) << 3])
        return _encoded(start + self._key.private_bytes_raw())

    def token(self, name: str, of: "Key", **claims: Any) -> str:
        """Sign a token of another key, or of this one."""
        content = {
            "jti": name,
            "iat": 1_700_000_000,
            "iss": self.public,
            "name": name,
            "sub": of.public,
            "nats": {"type": of._kind, "version": 2, **claims},
        }
        head = {"typ": "JWT", "alg": "ed25519-nkey"}
        text = ".".join(_in_url(json.dumps(each).encode()) for each in (head, content))
        return f"{text}.{_in_url(self._key.sign(text.encode()))}"


def operated(extra: str = "") -> tuple[str, str]:
    """Return the configuration of a server with an operator, and the credentials of a user."""
    operator, system, account, user = Key("operator"), Key("account"), Key("account"), Key("user")
    tokens = {
        system.public: operator.token("system", system, limits=UNLIMITED),
        account.public: operator.token("rooms", account, limits={**UNLIMITED, **STREAMS}),
    }
    preloaded = "\n".join(f"{name}: {token}" for name, token in tokens.items())
    config = (
        f"operator: {operator.token('operator', operator)}\n"
        f"system_account: {system.public}\nresolver: MEMORY\n"
        f"resolver_preload: {{\n{preloaded}\n}}\n{extra}"
    )
    token = account.token("service", user, subs=-1, data=-1, payload=-1)
    credentials = (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        "************************* IMPORTANT *************************\n"
        "NKEY Seed printed below can be used to sign and prove identity.\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n"
    )
    return config, credentials


def _encoded(content: bytes) -> str:
    checked = content + binascii.crc_hqx(content, 0).to_bytes(2, "little")
    return base64.b32encode(checked).decode().rstrip("=")


def _in_url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
