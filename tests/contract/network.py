"""A small network of its own: machines with their own addresses, at one switch, with cables."""

import ctypes
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest
from tests.limits import scaled

PREFIX_LENGTH: Final = 24
CLONE_NEWNET: Final = 0x40000000


class Network:
    """Machines, which are network namespaces, at a switch, which is another one.

    Leaving the context takes everything away. Whatever was started there has to be ended before.
    Where the system forbids all this the test is skipped with the reason.
    """

    def __init__(self) -> None:
        self._tag = f"genie-{os.getpid()}-{secrets.token_hex(2)}"
        self._switch = f"{self._tag}-switch"
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as made:
            self._stack = made
            self._create(self._switch)
            _ip(
                "-n", self._switch, "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0"
            )
            _ip("-n", self._switch, "link", "set", "bridge", "up")
            self._stack = made.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def machine(self, name: str, address: str) -> "Machine":
        """Put a machine on the network."""
        space = f"{self._tag}-{name}"
        self._create(space)
        there = ("type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("-n", self._switch, "link", "add", name, *there)
        _ip("-n", self._switch, "link", "set", name, "master", "bridge", "up")
        machine = Machine(self._switch, space, name)
        _ip("-n", space, "link", "set", "lo", "up")
        _ip("-n", space, "link", "set", "eth0", "up")
        machine.take_address(address)
        return machine

    def space(self, name: str) -> str:
        """Make a namespace that nothing leads to."""
        space = f"{self._tag}-{name}"
        self._create(space)
        return space

    def _create(self, space: str) -> None:
        if shutil.which("ip") is None:
            pytest.skip("there is no ip command on this machine, to make a network with")
        try:
            _ip("netns", "add", space)
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this system lets us make no network: {error.stderr.strip()}")
        self._stack.callback(_remove, space)


@contextmanager
def machine_of_ones_own(address: str) -> Iterator[None]:
    """Put this thread, and every process it starts, on a machine that is on no network.

    It has loopback and one more address. Only the calling thread moves, and it moves back at the
    end. Where the system forbids it the test is skipped with the reason.
    """
    with Network() as network, Path("/proc/thread-self/ns/net").open() as home:
        space = network.space("alone")
        _ip("-n", space, "link", "set", "lo", "up")
        _ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
        _ip("-n", space, "addr", "add", f"{address}/{PREFIX_LENGTH}", "dev", "eth0")
        for end in ("eth1", "eth0"):
            _ip("-n", space, "link", "set", end, "up")
        with (Path("/run/netns") / space).open() as there:
            _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def _enter(descriptor: int) -> None:
    """Move the calling thread to another network namespace; see setns(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Machine:
    """A machine on the network."""

    def __init__(self, switch: str, space: str, port: str) -> None:
        self._switch = switch
        self._space = space
        self._port = port
        self.address = ""

    @property
    def prefix(self) -> tuple[str, ...]:
        """What to run a program there with; it keeps the process id that it is started with."""
        return ("ip", "netns", "exec", self._space)

    def pull_cable(self) -> None:
        """Take its cable out of the switch: it has no carrier any more."""
        _ip("-n", self._switch, "link", "set", self._port, "down")

    def plug_cable(self) -> None:
        """Put its cable back."""
        _ip("-n", self._switch, "link", "set", self._port, "up")

    def take_address(self, address: str) -> None:
        """Give it another address than it has, as another network would."""
        if self.address:
            _ip("-n", self._space, "addr", "del", self.address, "dev", "eth0")
        self.address = f"{address}/{PREFIX_LENGTH}"
        _ip("-n", self._space, "addr", "add", self.address, "dev", "eth0")


def _ip(*arguments: str) -> None:
    subprocess.run(
        ["ip", *arguments], check=True, capture_output=True, text=True, timeout=scaled(30)
    )


def _remove(space: str) -> None:
    with suppress(subprocess.CalledProcessError):  # what is left of it can't be taken away
        _ip("netns", "del", space)
