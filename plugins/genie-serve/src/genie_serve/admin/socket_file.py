"""The Unix socket of a service: where it is, and who may use it."""

import logging
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from genie_core.sessions.lock import SessionInUse, hold
from genie_core.settings.locations import Locations, short_path
from genie_core.storage.atomic import make_private_folder, reason
from genie_core.storage.errors import disk_access
from genie_serve.admin.errors import NoService, ServiceRunning, SocketPathTooLong

_FOLDER: Final = "admin"
_NAME: Final = "socket"
_RESTORING: Final = "restore"

_PATH_BYTES: Final = 107 if sys.platform == "linux" else 103
"""The longest path in a `sockaddr_un`, without the null character that ends it."""

_CREDENTIALS: Final = struct.Struct("3i")
"""`struct ucred` of Linux: process, user, group."""

ROOT: Final = 0

logger = logging.getLogger(__name__)


@contextmanager
def no_service(locations: Locations) -> Iterator[None]:
    """Let no service have its rooms here while the block runs.

    Raises:
        ServiceRunning: one has.
        DiskFailure: the folder can't be made or locked.
    """
    base = locations.sessions
    with disk_access("make the folder", base):
        make_private_folder(base)
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(base, _RESTORING))
        except SessionInUse as error:
            raise ServiceRunning(base, str(error.holder)) from error
        yield


def listening_socket(locations: Locations) -> socket.socket:
    """Return a socket that listens for administrators; the one of a killed service is replaced.

    Call it as the only service with its rooms here.

    Raises:
        SocketPathTooLong: the system takes no such path.
        DiskFailure: the socket can't be made.
    """
    folder = locations.data / _FOLDER
    path = folder / _NAME
    sock = socket.socket(socket.AF_UNIX)
    try:
        with disk_access("make the socket", path):
            make_private_folder(folder)
            folder.chmod(0o700)
        with disk_access("make the socket", path), _short(folder) as short:
            path.unlink(missing_ok=True)
            sock.bind(short)
            path.chmod(0o600)
            sock.listen()
    except BaseException:
        sock.close()
        raise
    return sock


def remove_socket(locations: Locations) -> None:
    """Remove the socket, if there is one."""
    with suppress(OSError):
        (locations.data / _FOLDER / _NAME).unlink()


def connected_socket(locations: Locations) -> socket.socket:
    """Return a connection to the service that runs here.

    Raises:
        NoService: none runs, or it is another user's.
        SocketPathTooLong: the system takes no such path.
    """
    where = f"for the rooms in {short_path(locations.sessions)}"
    sock = socket.socket(socket.AF_UNIX)
    try:
        with _short(locations.data / _FOLDER) as short:
            sock.connect(short)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        sock.close()
        why = "none runs; start it: genie-tui serve. GENIE_HOME says where its rooms are"
        raise NoService(where, why) from None
    except PermissionError:
        sock.close()
        raise NoService(where, "the service is another user's; run this as that user") from None
    except OSError as error:
        sock.close()
        raise NoService(where, reason(error)) from error
    except BaseException:
        sock.close()
        raise
    return sock


def may_administer(sock: socket.socket) -> bool:
    """Whether the process at the other end is this user's, or root's.

    The socket's mode says the same; this holds if someone opened the folder. Only Linux tells.
    """
    if sys.platform != "linux":
        return True
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(data)
    if user in (os.geteuid(), ROOT):
        return True
    logger.warning("process %d of user %d may not administer this service", process, user)
    return False


@contextmanager
def _short(folder: Path) -> Iterator[str]:
    """Yield a path of the socket that the system takes.

    Linux takes a folder by a descriptor of this process in place of a long path.
    """
    path = str(folder / _NAME)
    if len(os.fsencode(path)) <= _PATH_BYTES:
        yield path
        return
    if sys.platform != "linux":
        raise SocketPathTooLong(path, _PATH_BYTES)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{_NAME}"
    finally:
        os.close(descriptor)
