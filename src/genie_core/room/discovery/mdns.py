"""A task on multicast DNS (RFC 6762) while a context is open.

Machines and networks without multicast are common: the task retries now and then, and logs one
line.
"""

import asyncio
import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from genie_core.runtime.tasks import start_task

if TYPE_CHECKING:
    from zeroconf.asyncio import AsyncZeroconf

RETRY: Final = 15.0
"""Seconds until the next attempt without multicast."""

RESCAN: Final = 2.0
"""Seconds between two checks of the interfaces, which change as a laptop moves."""

CLOSING: Final = 1.0
"""Seconds that saying goodbye may take."""

logger = logging.getLogger(__name__)


class MdnsTask(ABC):
    """A task on the network while the context is open.

    Entering never waits for the network, nor fails because of it. `interfaces` are the addresses of
    those to use, by default all.
    """

    def __init__(self, interfaces: Sequence[str] | None = None) -> None:
        self._interfaces = None if interfaces is None else list(interfaces)
        self._task: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self._complained = False
        self.available = False

    async def __aenter__(self) -> Self:
        self._task = start_task(self._live(), name=type(self).__name__)
        self._task.add_done_callback(_report)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def settle(self) -> bool:
        """Wait until it is on the network, or can't be; return which."""
        await self._tried.wait()
        return self.available

    @abstractmethod
    async def _dwell(self, network: "AsyncZeroconf") -> None:
        """Do the work on the network; call `_settled` once it has started."""

    def _settled(self) -> None:
        self.available = True
        self._tried.set()

    async def _live(self) -> None:
        try:
            failure = await asyncio.to_thread(_load)
            while True:
                try:
                    await self._visit()
                except* (failure, OSError, RuntimeError, ValueError) as errors:
                    self._complain(errors.exceptions[0])
                self._tried.set()
                await asyncio.sleep(RETRY)
        finally:
            self._tried.set()

    async def _visit(self) -> None:
        network = _open(self._interfaces)
        try:
            await self._dwell(network)
        finally:
            self.available = False
            await _close(network)

    def _complain(self, error: BaseException) -> None:
        """Report the problem once; zeroconf raises `RuntimeError` for a missing interface."""
        if not self._complained:
            self._complained = True
            logger.warning("rooms are not announced or found on this network: %s", error)

    async def _rescan(self, network: "AsyncZeroconf", before: frozenset[str]) -> frozenset[str]:
        """Switch to the current interfaces if they have changed."""
        now = interface_addresses()
        if self._interfaces is None and now != before:
            await network.async_update_interfaces()
        return now


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("discovery broke and goes on no more", exc_info=error)


def interface_addresses() -> frozenset[str]:
    """Return every address of this machine with its interface number, link-local ones included."""
    import ifaddr

    with suppress(OSError):
        return frozenset(
            f"{ip.ip}%{adapter.index}" for adapter in ifaddr.get_adapters() for ip in adapter.ips
        )
    return frozenset()


def _load() -> type[Exception]:
    """Import zeroconf, which takes a while; return the base class of its errors."""
    import zeroconf.asyncio

    import genie_core.room.security.identity  # noqa: F401 - records are checked on the event loop

    # Input of strangers is not worth a line, and a missing network is logged once, here.
    logging.getLogger("zeroconf").setLevel(logging.CRITICAL)
    return zeroconf.Error


def _open(interfaces: list[str] | None) -> "AsyncZeroconf":
    """Open the sockets for IPv4 and IPv6, or IPv4 alone if the system lacks IPv6."""
    from zeroconf import InterfaceChoice, IPVersion
    from zeroconf.asyncio import AsyncZeroconf

    if interfaces is not None:
        return _attempt(lambda: AsyncZeroconf(interfaces))
    try:
        return _attempt(lambda: AsyncZeroconf(InterfaceChoice.All, ip_version=IPVersion.All))
    except (OSError, RuntimeError):
        return _attempt(lambda: AsyncZeroconf(InterfaceChoice.All, ip_version=IPVersion.V4Only))


def _attempt(make: Callable[[], "AsyncZeroconf"]) -> "AsyncZeroconf":
    """Close the socket that zeroconf leaks when it fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            return make()
        except (OSError, RuntimeError) as error:
            failure = error.with_traceback(None)
    raise failure


async def _close(network: "AsyncZeroconf") -> None:
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(CLOSING):
            await network.async_close()
