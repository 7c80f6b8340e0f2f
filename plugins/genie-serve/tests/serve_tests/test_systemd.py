"""What systemd hears of a service."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from genie_core.runtime.tasks import start_task
from genie_serve.systemd import ALIVE, LONGER, READY, STOPPING, Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The end of systemd."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(60)
        yield sock


def test_states_reach_the_manager(manager: socket.socket) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname()})
    notifier.tell(READY)
    notifier.tell(STOPPING)
    assert [manager.recv(100), manager.recv(100)] == [b"READY=1", b"STOPPING=1"]


def test_at_sign_means_abstract_socket() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind("")
        sock.settimeout(60)
        name = sock.getsockname().decode()
        Notifier({"NOTIFY_SOCKET": "@" + name[1:]}).tell(READY)
        assert sock.recv(100) == b"READY=1"


async def test_watchdog_is_fed_by_event_loop(manager: socket.socket) -> None:
    manager.setblocking(False)
    environment = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "1000"}
    staying = start_task(Notifier(environment).stay_alive())
    loop = asyncio.get_running_loop()
    for _ in range(3):
        assert await asyncio.wait_for(loop.sock_recv(manager, 100), 60) == ALIVE.encode()
    staying.cancel()


async def test_long_start_asks_for_more_time(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_serve.systemd.EXTENDED", 0.001)
    manager.setblocking(False)
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname()})
    starting = start_task(notifier.take_longer())
    loop = asyncio.get_running_loop()
    for _ in range(3):
        assert await asyncio.wait_for(loop.sock_recv(manager, 100), 60) == LONGER.encode()
    starting.cancel()


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": "/nowhere"}, {"NOTIFY_SOCKET": "@"}])
async def test_without_a_manager_nothing_happens(environment: dict[str, str]) -> None:
    notifier = Notifier({**environment})
    notifier.tell(READY)
    await notifier.stay_alive()
