import socket

import pytest

from genie_core.room.reach import reachable_hosts


@pytest.fixture
def port() -> int:
    """A port that is free on all of this machine's addresses."""
    with socket.create_server(("", 0)) as probe:
        number: int = probe.getsockname()[1]
        return number


@pytest.fixture
def own_hosts() -> tuple[str, ...]:
    """This machine's addresses beyond loopback, at which joining takes an invite."""
    hosts = reachable_hosts()
    if not hosts:
        pytest.skip("this machine has no address beyond loopback")
    return hosts
