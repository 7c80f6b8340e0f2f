"""A host's certificate, and the pin by which members recognise it.

No authority signs it: the pin, which comes with an invite, replaces authorities. It is the digest
of the public key alone (RFC 7469), so a renewed certificate keeps it.
"""

import hashlib
import logging
import ssl
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from genie_core.room.protocol.errors import CertificateError, InvalidCertificate
from genie_core.storage.atomic import reason
from genie_core.storage.private_files import read_or_make, rewrite

VALID: Final = timedelta(days=365)
RENEWED_BEFORE: Final = timedelta(days=30)
CLOCKS_DIFFER: Final = timedelta(days=1)
"""How far in the past a new certificate starts, for machines whose clocks are behind."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its private key in one file, and the pin: 43 characters of base64url."""

    path: Path
    pin: str

    def server_context(self) -> ssl.SSLContext:
        """Return a server's TLS context with this certificate; TLS 1.3 only.

        Raises:
            CertificateError: the file is gone or has changed.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0  # a resumed session would show no certificate
        try:
            context.load_cert_chain(self.path)
        except OSError as error:  # SSLError is one
            raise CertificateError(self.path, reason(error)) from error
        return context


def client_context() -> ssl.SSLContext:
    """Return a client's TLS context: TLS 1.3 only, without authorities.

    The peer then has proven that it owns its certificate's key, but not that it is the right one:
    compare `pin_of` it before anything is sent.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def pin_of(der: bytes) -> str:
    """Return the pin of a peer's certificate.

    Raises:
        InvalidCertificate: it can't be parsed.
    """
    try:
        return _pin(x509.load_der_x509_certificate(der))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InvalidCertificate from error


def load_certificate(path: Path, now: datetime) -> Certificate:
    """Read the certificate in a file; create it if it is missing, renew it if it ends soon.

    `now` has a time zone. Concurrent processes get the same one. Blocks while the disk works. One
    that can't be renewed stays valid: only the pin counts.

    Raises:
        CertificateError: the file can't be read or written, or has other content.
    """
    try:
        content = read_or_make(path, lambda: _signed(ec.generate_private_key(ec.SECP256R1()), now))
    except OSError as error:
        raise CertificateError(path, reason(error)) from error
    _, certificate = _understood(content, path)
    if _is_due(certificate, now):
        _renew(path, now)
    return Certificate(path, _pin(certificate))


def _renew(path: Path, now: datetime) -> None:
    def renewed(content: bytes) -> bytes:
        key, certificate = _understood(content, path)
        return _signed(key, now) if _is_due(certificate, now) else content

    try:
        rewrite(path, renewed)
    except OSError as error:
        logger.warning("the certificate in %s can't be renewed: %s", path, reason(error))


def _is_due(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether it ends soon, or starts in the future because a clock was wrong."""
    ends, begins = certificate.not_valid_after_utc, certificate.not_valid_before_utc
    return now > ends - RENEWED_BEFORE or now < begins


def _signed(key: ec.EllipticCurvePrivateKey, now: datetime) -> bytes:
    """Return key and certificate as PEM; they name no person."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "genie-tui")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - CLOCKS_DIFFER)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("genie-tui")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem + certificate.public_bytes(Encoding.PEM)


def _understood(content: bytes, path: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    try:
        key = load_pem_private_key(content, password=None)
        certificate = x509.load_pem_x509_certificate(content)
        theirs = certificate.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CertificateError(path, "it is damaged") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != theirs:
        raise CertificateError(path, "its key and its certificate don't belong together")
    return key, certificate


def _pin(certificate: x509.Certificate) -> str:
    spki = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return urlsafe_b64encode(hashlib.sha256(spki).digest()).rstrip(b"=").decode()
