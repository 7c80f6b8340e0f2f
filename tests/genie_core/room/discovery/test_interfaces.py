import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from genie_core.room.discovery.interfaces import MOST, reachable_hosts, select_hosts


def test_ipv4_comes_before_global_and_local_ipv6() -> None:
    found = ["fd00::2", "2a00:1450::5", "198.51.100.4", "192.168.1.9"]
    assert select_hosts(found) == ("198.51.100.4", "192.168.1.9", "2a00:1450::5", "fd00::2")


def test_unroutable_addresses_are_left_out() -> None:
    useless = ["127.0.0.1", "::1", "169.254.3.4", "fe80::1", "fe80::1%eth0", "::", "224.0.0.1"]
    assert select_hosts([*useless, "::ffff:192.168.1.9", "", "host", "10.0.0.5"]) == ("10.0.0.5",)


def test_of_many_addresses_each_kind_keeps_one() -> None:
    many = [f"10.0.0.{number}" for number in range(1, 30)]
    chosen = select_hosts([*many, "2a00:1450::5", "fd00::2"])
    assert chosen == (*many[: MOST - 2], "2a00:1450::5", "fd00::2")


def test_duplicate_address_is_chosen_once() -> None:
    assert select_hosts(["10.0.0.5", "10.0.0.6", "10.0.0.5"]) == ("10.0.0.5", "10.0.0.6")


@given(st.lists(st.ip_addresses().map(str), max_size=40), st.integers(0, 10))
def test_there_are_never_more_than_allowed(found: list[str], most: int) -> None:
    chosen = select_hosts(found, most)
    assert len(chosen) <= most
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= set(found)


def test_this_machine_is_asked() -> None:
    hosts = reachable_hosts()
    assert len(hosts) <= MOST
    for host in hosts:
        assert not ipaddress.ip_address(host).is_loopback
