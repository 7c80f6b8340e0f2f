import math
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.limits import scaled

from genie_core.room.protocol.host_record import ADDRESSES, HostRecord
from genie_core.room.security.host_records import is_valid, sign_host_record
from genie_core.room.security.identity import Identity

HANA = Identity.generate()
PIN = "p" * 43


def host_record(**changes: object) -> HostRecord:
    signed = sign_host_record(
        HANA,
        room="garden",
        host="hana",
        pin=PIN,
        addresses=("192.0.2.7:7654", "[2001:db8::7]:7654"),
        at=1_790_000_000.25,
    )
    return msgspec.structs.replace(signed, **changes)


def test_signed_record_survives_wire() -> None:
    data = msgspec.json.encode(host_record())
    assert is_valid(msgspec.json.decode(data, type=HostRecord))


@pytest.mark.parametrize(
    "change",
    [
        {"room": "other"},
        {"host": "hanna"},
        {"key": Identity.generate().key},
        {"pin": "q" * 43},
        {"addresses": ("192.0.2.8:7654", "[2001:db8::7]:7654")},
        {"addresses": ("192.0.2.7:7654",)},
        {"addresses": ("192.0.2.7:7654[2001:db8::7]:7654",)},
        {"at": 1_790_000_000.5},
        {"signature": b""},
        {"signature": bytes(64)},
    ],
)
def test_nothing_in_it_can_be_changed(change: dict[str, object]) -> None:
    assert is_valid(host_record())
    assert not is_valid(host_record(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"room": ""},
        {"room": "r" * 251},
        {"host": ""},
        {"host": "é" * 126},
        {"pin": "short"},
        {"addresses": ("192.0.2.7:7654",) * (ADDRESSES + 1)},
        {"addresses": ("a" * 65,)},
        {"addresses": ("",)},
        {"at": -1.0},
        {"at": math.inf},
        {"at": math.nan},
    ],
)
def test_signed_excess_is_invalid(change: dict[str, object]) -> None:
    unsigned = host_record(**change)
    parts = {name: getattr(unsigned, name) for name in ("room", "host", "pin", "addresses", "at")}
    signed = sign_host_record(HANA, **parts)
    if len(unsigned.addresses) <= ADDRESSES:
        assert not is_valid(signed)
    else:
        assert len(signed.addresses) == ADDRESSES
        assert is_valid(signed)
        assert not is_valid(unsigned)


@given(st.text(), st.text(), st.text(), st.lists(st.text()), st.floats(), st.binary())
def test_arbitrary_record_raises_no_error(
    room: str, key: str, pin: str, addresses: list[str], at: float, signature: bytes
) -> None:
    assert not is_valid(HostRecord(room, "hana", key, pin, tuple(addresses), at, signature))
    assert not is_valid(HostRecord(f"{room}\ud800", "hana", HANA.key, PIN, (), at, signature))


def test_reading_deeds_takes_no_cryptography() -> None:
    code = (
        "import sys, genie_core.room.protocol.host_record; sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=scaled(60)).returncode == 0
