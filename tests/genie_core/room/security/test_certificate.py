"""The host's certificate: one pin for as long as its key lives, and nobody else's."""

import logging
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from tests.genie_core.room.security.together import run_together

from genie_core.room.protocol.errors import CertificateError, InvalidCertificate
from genie_core.room.security.certificate import (
    Certificate,
    client_context,
    load_certificate,
    pin_of,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def shown(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def meet(server: ssl.SSLContext, client: ssl.SSLContext) -> ssl.SSLObject:
    """Do the handshake in memory; returns the client's side."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    ours = client.wrap_bio(to_client, to_server)
    waiting = [ours, theirs]
    for _ in range(10):
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(side)
    assert waiting == []
    return ours


def test_client_sees_announced_pin(tmp_path: Path) -> None:
    host = load_certificate(tmp_path / "host.pem", NOW)
    ours = meet(host.server_context(), client_context())
    der = ours.getpeercert(binary_form=True)
    assert der is not None
    assert pin_of(der) == host.pin
    assert len(host.pin) == 43
    assert ours.version() == "TLSv1.3"


def test_two_hosts_have_two_pins(tmp_path: Path) -> None:
    one, other = (load_certificate(tmp_path / name, NOW) for name in ("a.pem", "b.pem"))
    assert one.pin != other.pin


@pytest.mark.parametrize("old_side", ["server", "client"])
def test_nothing_older_than_tls_1_3_is_spoken(tmp_path: Path, old_side: str) -> None:
    server = load_certificate(tmp_path / "host.pem", NOW).server_context()
    client = client_context()
    old = server if old_side == "server" else client
    old.minimum_version = ssl.TLSVersion.TLSv1_2
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError, match=r"(?i)version|protocol"):
        meet(server, client)


def test_a_certificate_is_kept_privately(tmp_path: Path) -> None:
    path = tmp_path / "tls" / "host.pem"
    first = load_certificate(path, NOW)
    content = path.read_bytes()
    assert load_certificate(path, NOW + timedelta(days=300)) == first
    assert path.read_bytes() == content
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("days", [336, 400, 4000, -2])
def test_it_is_renewed_in_time_and_keeps_its_pin(tmp_path: Path, days: int) -> None:
    path = tmp_path / "host.pem"
    first = load_certificate(path, NOW)
    before = shown(path)
    later = NOW + timedelta(days=days)
    assert load_certificate(path, later) == first
    after = shown(path)
    assert after.serial_number != before.serial_number
    assert after.not_valid_after_utc == later + timedelta(days=365)
    assert after.not_valid_before_utc < later
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ours = meet(first.server_context(), client_context())
    assert pin_of(ours.getpeercert(binary_form=True) or b"") == first.pin


def test_hosts_that_start_together_have_one_pin(tmp_path: Path) -> None:
    pins = run_together(
        "from datetime import UTC, datetime;from pathlib import Path;"
        "from genie_core.room.security.certificate import load_certificate",
        "print(load_certificate(Path(sys.argv[1]), datetime.now(UTC)).pin)",
        tmp_path / "tls" / "host.pem",
        4,
    )
    assert len(pins) == 1


def test_unrenewable_certificate_is_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "host.pem"
    first = load_certificate(path, NOW)
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").mkdir()  # root, too, can't open a folder for writing
    with caplog.at_level(logging.WARNING):
        assert load_certificate(path, NOW + timedelta(days=350)) == first
    assert "can't be renewed" in caplog.text


def test_every_damage_is_noticed(tmp_path: Path) -> None:
    path, other = tmp_path / "host.pem", tmp_path / "other.pem"
    load_certificate(path, NOW)
    load_certificate(other, NOW)
    whole, strange = path.read_bytes(), other.read_bytes()
    cut = whole.index(b"-----BEGIN CERTIFICATE")
    for damaged in (b"", whole[:cut], whole[cut:], whole[:-60], whole[:cut] + strange[cut - 8 :]):
        path.write_bytes(damaged)
        with pytest.raises(CertificateError, match=r"damaged|belong together") as caught:
            load_certificate(path, NOW)
        assert caught.value.path == path
        assert path.read_bytes() == damaged


def test_a_file_that_went_away_is_named(tmp_path: Path) -> None:
    gone = Certificate(tmp_path / "gone.pem", "pin")
    with pytest.raises(CertificateError, match="No such file"):
        gone.server_context()


def test_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "tls").write_text("a file")
    with pytest.raises(CertificateError, match="Not a directory"):
        load_certificate(tmp_path / "tls" / "host.pem", NOW)


@pytest.mark.parametrize("der", [b"", b"\x30\x03\x02\x01\x01", b"certificate"])
def test_what_is_no_certificate_has_no_pin(der: bytes) -> None:
    with pytest.raises(InvalidCertificate):
        pin_of(der)
