from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_ai import _ssrf

from genie_core.assistant.tools.web.addresses import is_metadata, is_public


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808",
     "2002:808:808::1", "2606:4700::5efe:808:808", "168.63.129.17", "2a00:1450:4001:82f::200e"],
)  # fmt: skip
def test_addresses_of_the_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1",  # noqa: S104 — nothing is bound
        "169.254.169.254", "100.64.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1",
        "192.0.2.1", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
        "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::808:808", "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "fc00::1", "fd12::1", "fe80::1",
        "fe80::1%eth0", "2606:4700::1111%eth0", "fec0::1", "ff02::1", "100::1", "",
        "localhost", "127.1", "0x7f000001", "1.2.3.4.5", "168.63.129.16", "::ffff:168.63.129.16",
        "192.0.0.9", "192.88.99.1", "3fff::1", "2606:4700::5efe:127.0.0.1",
        "2606:4700::200:5efe:a00:1", "2606:4700::5efe:168.63.129.16", "2002:a83f:8110::1",
        "2606:4700:a9fe:a9fe::1", "2002:808:808::5efe:0:0",
    ],
)  # fmt: skip
def test_local_and_invalid_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192",
     "fd00:ec2::254", "fd00:ec2::254%eth0", "fd20:ce::254", "::ffff:169.254.169.254",
     "64:ff9b::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "2002:a9fe:a9fe::1", "fd00::5efe:a9fe:a9fe",
     "2001:0:1:2:3:4:5601:5601"],
)  # fmt: skip
def test_where_clouds_give_credentials(address: str) -> None:
    assert is_metadata(address)
    assert not is_public(address)


def test_other_addresses_are_no_clouds() -> None:
    for address in ("127.0.0.1", "169.254.169.253", "fd00::1", "10.0.0.1", "8.8.8.8", "", "::1"):
        assert not is_metadata(address)


# The guard of pydantic-ai is private to it, so ours is its own; held against theirs here.
_NOTABLE = [
    *(edge for network in _ssrf._PRIVATE_NETWORKS for edge in (network[0], network[-1])),
    *_ssrf._CLOUD_METADATA_IPV4,
    *_ssrf._CLOUD_METADATA_IPV6,
]
_V4 = st.ip_addresses(v=4) | st.sampled_from(
    [each for each in _NOTABLE if isinstance(each, IPv4Address)]
).flatmap(lambda at: st.integers(-1, 1).map(lambda step: IPv4Address((int(at) + step) % 2**32)))
_NETWORKS_V6 = st.sampled_from(
    [
        *(each for each in _ssrf._PRIVATE_NETWORKS if isinstance(each, IPv6Network)),
        *map(
            IPv6Network,
            ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/23", "2000::/3", "::/80",
             "::ffff:0:0/96", "2001::/32", "fd00::/8", "::/0"),
        ),
    ]
)  # fmt: skip


@st.composite
def _v6(draw: st.DrawFn) -> IPv6Address:
    """An IPv6 address of any kind of network, in which an IPv4 address may stand at any place."""
    network: IPv6Network = draw(_NETWORKS_V6)
    host = draw(st.integers(0, network.num_addresses - 1))
    packed = bytearray((int(network[0]) + host).to_bytes(16, "big"))
    if marker := draw(st.sampled_from([b"", *_ssrf._ISATAP_INTERFACE_IDS])):
        packed[8:12] = marker
    places = draw(st.none() | st.sampled_from(_ssrf._ALL_EMBEDDED_OFFSETS))
    if places is not None:
        inner = draw(_V4)
        flipped = draw(st.sampled_from([0, 0xFF]))  # as Teredo has it
        for place, byte in zip(places, inner.packed, strict=True):
            packed[place] = byte ^ flipped
    return IPv6Address(bytes(packed))


@example(IPv6Address("2002:100::5efe:0:0"))
@given(_V4 | _v6() | st.ip_addresses(v=6) | st.sampled_from(_NOTABLE))
def test_what_pydantic_ai_blocks_is_blocked(address: IPv4Address | IPv6Address) -> None:
    text = str(address)
    metadata = _ssrf.is_cloud_metadata_ip(text)
    assert is_metadata(text) >= metadata
    assert not (is_public(text) and (metadata or _ssrf.is_private_ip(text)))


def test_disguised_private_is_blocked() -> None:
    bases = ("64:ff9b::", "64:ff9b:1::", "2002::", "2606:4700::5efe:0:0", "::ffff:0:0", "::")
    for notable in _NOTABLE:
        assert not is_public(str(notable))
        for base in bases if isinstance(notable, IPv4Address) else ():
            for places in _ssrf._ALL_EMBEDDED_OFFSETS:
                packed = bytearray(ip_address(base).packed)
                for place, byte in zip(places, notable.packed, strict=True):
                    packed[place] = byte
                text = str(IPv6Address(bytes(packed)))
                theirs = _ssrf.is_private_ip(text) or _ssrf.is_cloud_metadata_ip(text)
                assert not (theirs and is_public(text)), text
