import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.discovery.service_record import (
    TITLE_CHARS,
    WAYS,
    Announcement,
    read_announcement,
    write_announcement,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity

HANA = Identity.generate()
HERE = ("192.0.2.7:7654", "[2001:db8::7]:7654")


def host_record(addresses: tuple[str, ...] = HERE, **changes: str) -> HostRecord:
    facts = {"room": "garden", "host": "hana", "pin": "p" * 43} | changes
    return sign_host_record(HANA, addresses=addresses, at=1_790_000_000.25, **facts)


def on_wire(announcement: Announcement) -> dict[bytes, bytes | None]:
    return {name.encode(): value for name, value in write_announcement(announcement).items()}


def test_written_announcement_is_read_back() -> None:
    written = Announcement(host_record(), "Garden – spring", 7654, continues="r0")
    read = read_announcement(on_wire(written), 7654, ["192.0.2.7"])
    assert read == msgspec.structs.replace(written, addresses=HERE)


def test_host_record_addresses_come_first() -> None:
    written = on_wire(Announcement(host_record(("198.51.100.1:99",)), "Garden", 7654))
    read = read_announcement(written, 7655, ["192.0.2.7", "2001:db8::9"])
    assert read is not None
    assert read.addresses == ("198.51.100.1:99", "192.0.2.7:7655", "[2001:db8::9]:7655")


def test_vague_addresses_are_left_out() -> None:
    odd = ("[fe80::1]:7", "224.0.0.1:7", "[::]:7", "evil.example:7", "192.0.2.7:0", "x", "\x1b[2J")
    read = read_announcement(
        on_wire(Announcement(host_record(odd), "", 7)), 7, ["host", "ff02::fb", ""]
    )
    assert read is not None
    assert read.addresses == ()


def test_the_number_of_addresses_is_bounded() -> None:
    hosts = [f"10.0.{number // 250}.{number % 250 + 1}" for number in range(1_000)]
    read = read_announcement(on_wire(Announcement(host_record(), "", 7)), 7, hosts)
    assert read is not None
    assert len(read.addresses) == WAYS


def test_values_fit_dns_strings() -> None:
    long = host_record(("a" * 64,) * 9, room="r" * 250, host="é" * 125)
    values = on_wire(Announcement(long, "🌿" * 200, 7654))
    assert all(len(name) + 1 + len(value or b"") <= 255 for name, value in values.items())
    read = read_announcement(values, 7654)
    assert read is not None
    assert read.host_record == long
    assert set(read.title) == {"🌿"}


@pytest.mark.parametrize("name", [b"v", b"id", b"host", b"pin", b"key", b"at", b"sig", b"a0"])
@pytest.mark.parametrize("value", [None, b"", b"\xff\xfe", b"nan", b"1e999", b"x" * 250])
def test_altered_announcement_is_rejected(name: bytes, value: bytes | None) -> None:
    values = on_wire(Announcement(host_record(), "Garden", 7654))
    assert read_announcement(values, 7654) is not None
    assert read_announcement({**values, name: value}, 7654) is None


@pytest.mark.parametrize("port", [None, 0, -1, 65536])
def test_without_a_port_it_is_no_announcement(port: int | None) -> None:
    assert read_announcement(on_wire(Announcement(host_record(), "Garden", 7654)), port) is None


def test_a_title_is_only_text_of_limited_length() -> None:
    values = on_wire(Announcement(host_record(), "", 7654))
    for raw in (b"\xff\xfe", b"\x1b[2J", b"x" * 240, None):
        read = read_announcement({**values, b"title": raw}, 7654)
        assert read is not None
        assert len(read.title) <= TITLE_CHARS


@given(st.dictionaries(st.binary(max_size=9), st.none() | st.binary(max_size=255)), st.integers())
def test_no_record_whatsoever_raises(values: dict[bytes, bytes | None], port: int) -> None:
    assert read_announcement(values, port, ["192.0.2.7"]) is None


@given(
    st.sampled_from([b"v", b"id", b"title", b"host", b"pin", b"key", b"at", b"sig", b"a0", b"a7"]),
    st.binary(max_size=255),
    st.lists(st.text(max_size=20), max_size=20),
)
def test_no_single_value_raises(name: bytes, value: bytes, hosts: list[str]) -> None:
    values = on_wire(Announcement(host_record(), "Garden", 7654))
    read = read_announcement({**values, name: value}, 7654, hosts)
    assert read is None or read.host_record == host_record()
