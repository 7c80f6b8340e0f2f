"""A host that lies, made of nothing but websockets, JSON and cryptography.

It shares no code with the program, so that what it gets is what anyone on the network would get.
"""

import base64
import hashlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

Frame = dict[str, Any]
Script = Callable[["Impostor", Frame], Awaitable[Sequence[Frame]] | Sequence[Frame]]
"""What to answer to the first frame of a participant."""


class Impostor:
    """Answers as a script says, and remembers everything that it is sent."""

    def __init__(self, folder: Path, room: str, script: Script) -> None:
        self.room = room
        self.heard: list[Frame] = []
        self.port = 0
        self._script = script
        self._key = Ed25519PrivateKey.generate()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_3
        self.pin = self._certify(folder / "impostor.pem")

    @property
    def key(self) -> str:
        return _text(self._key.public_key().public_bytes_raw())

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Impostor"]:
        async with serve(self._serve, "127.0.0.1", 0, ssl=self._tls, compression=None) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            yield self

    def sign(self, hello: Frame, nonce: str, pin: str = "") -> str:
        """A host's signature over a meeting, as a stranger can make it."""
        return base64.b64encode(self._key.sign(self._meeting(hello, nonce, pin))).decode()

    def _meeting(self, hello: Frame, nonce: str, pin: str) -> bytes:
        told = self.room, hello["name"], hello["key"], hello["nonce"], nonce, pin or self.pin
        parts = [b"genie-tui room host 1", *(part.encode() for part in told)]
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

    async def _serve(self, ws: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            self.heard.append(json.loads(await ws.recv()))
            answer = self._script(self, self.heard[-1])
            for frame in await answer if isinstance(answer, Awaitable) else answer:
                await ws.send(json.dumps(frame))
            while True:
                self.heard.append(json.loads(await ws.recv()))

    def _certify(self, file: Path) -> str:
        private = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "genie-tui")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(private.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .sign(private, hashes.SHA256())
        )
        pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(certificate.public_bytes(Encoding.PEM) + pem)
        self._tls.load_cert_chain(file)
        public = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return _text(hashlib.sha256(public).digest())


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
