from collections.abc import Iterator

import pytest
from tests.contract.network import machine_of_ones_own
from tests.ports import free_port

from genie_core.room.discovery.interfaces import reachable_hosts


@pytest.fixture
def port() -> int:
    """A port that is free on all of this machine's addresses."""
    return free_port("")


@pytest.fixture
def own_hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ...]]:
    """Addresses beyond loopback, at which joining takes an invite, and which nobody else reaches.

    Rooms that are hosted meanwhile are not kept on loopback.
    """
    monkeypatch.setenv("GENIE_LOCAL", "false")
    with machine_of_ones_own("10.77.0.1"):
        yield reachable_hosts()
