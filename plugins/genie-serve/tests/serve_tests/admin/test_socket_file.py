"""The socket of a service on its machine."""

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from genie_core.sessions.lock import hold
from genie_core.settings.locations import Locations
from genie_serve.admin.errors import NoService, ServiceRunning
from genie_serve.admin.socket_file import (
    connected_socket,
    listening_socket,
    may_administer,
    no_service,
    remove_socket,
)
from serve_tests.admin.administering import places


def path_in(locations: Locations) -> Path:
    return locations.data / "admin" / "socket"


def test_only_its_owner_can_use_it(tmp_path: Path) -> None:
    locations = places(tmp_path)
    path_in(locations).parent.mkdir(parents=True, mode=0o777)
    with listening_socket(locations) as sock, connected_socket(locations) as ours:
        modes = [
            stat.S_IMODE(path.stat().st_mode)
            for path in (path_in(locations), path_in(locations).parent)
        ]
        assert modes == [0o600, 0o700]
        theirs, _ = sock.accept()
        with theirs:
            assert may_administer(theirs)
            ours.sendall(b"hello")
            assert theirs.recv(5) == b"hello"
    remove_socket(locations)
    remove_socket(locations)
    assert not path_in(locations).exists()


PYTHON = shutil.which("python3", path="/usr/bin:/bin")


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or PYTHON is None, reason="needs another user"
)
def test_other_user_may_not_administer() -> None:
    with tempfile.TemporaryDirectory() as home, listening_socket(places(Path(home))) as sock:
        path = path_in(places(Path(home)))
        for each in (Path(home), path.parent.parent, path.parent, path):
            each.chmod(0o777)
        code = (
            f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); s.recv(1)"
        )
        with subprocess.Popen([str(PYTHON), "-c", code], user=65534) as other:
            sock.settimeout(30)
            theirs, _ = sock.accept()
            with theirs:
                assert not may_administer(theirs)
            assert other.wait(30) == 0


def test_what_a_killed_service_left_is_replaced(tmp_path: Path) -> None:
    locations = places(tmp_path)
    listening_socket(locations).close()
    assert path_in(locations).exists()
    with pytest.raises(NoService, match="none runs; start it: genie-tui serve"):
        connected_socket(locations)
    with listening_socket(locations), connected_socket(locations):
        pass


def test_without_a_service_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoService, match="none runs"):
        connected_socket(places(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is an error")
def test_overlong_path_works(tmp_path: Path) -> None:
    locations = places(tmp_path / ("x" * 100) / ("y" * 100))
    before = len([*Path("/proc/self/fd").iterdir()])
    with listening_socket(locations) as sock, connected_socket(locations):
        assert isinstance(sock, socket.socket)
        assert path_in(locations).is_socket()
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_running_service_blocks_restore(tmp_path: Path) -> None:
    locations = places(tmp_path)
    with no_service(locations):
        pass
    with (
        hold(locations.sessions, "service"),
        pytest.raises(ServiceRunning, match=r"of service.*genie-tui admin stop"),
        no_service(locations),
    ):
        pass
