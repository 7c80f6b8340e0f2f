"""Connect to a room repeatedly, by its known addresses and by announcements."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.errors import InvalidAddress, RoomError, Unreachable, WrongPin
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.transport.connection import ClientConnection
from genie_core.runtime.tasks import start_task


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait before the next attempt: doubling, with jitter."""

    first: float = 0.2
    longest: float = 5.0

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row."""
        full = min(self.longest, self.first * 2.0 ** min(failures, 16))
        return full * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret


STAGGER: Final = 0.25
"""Seconds until the next address is tried in parallel, as in RFC 8305."""

SEARCH: Final = 2.0
"""Seconds to wait for announcements after all known addresses failed."""

MAX_KNOWN: Final = 24

logger = logging.getLogger(__name__)


class Endpoint(NamedTuple):
    """A host's address and the pin of its certificate; only a loopback address may have no pin."""

    address: Address
    pin: str


FindHosts: TypeAlias = Callable[[str, float], Awaitable[list[tuple[HostRecord, tuple[str, ...]]]]]
"""Searches so many seconds for hosts that announce a room; returns the latest ones first."""


class Dialer:
    """A connector with several addresses.

    Known endpoints are tried first, in order. If none answers correctly, announcements are
    searched: the same host at another address is recognised by its certificate, another host must
    have a record that `trusts` accepts. `room` may be set once it is known. The caller checks the
    host: `approve` makes its endpoint the `current` one, `forget` drops it.
    """

    def __init__(
        self,
        known: Sequence[Endpoint],
        connect: Callable[[Address, str], Awaitable[ClientConnection]],
        *,
        room: str = "",
        find: FindHosts | None = None,
        trusts: Callable[[HostRecord], bool] | None = None,
    ) -> None:
        self._known = list(dict.fromkeys(known))
        self._connect = connect
        self._find = find
        self._trusts = trusts
        self.room = room
        self.current: Endpoint | None = None
        self._latest: Endpoint | None = None

    @property
    def known(self) -> tuple[Endpoint, ...]:
        """The endpoints that may lead to the room, latest success first."""
        return tuple(self._known)

    async def __call__(self) -> ClientConnection:
        """Connect to the host.

        Raises:
            WrongPin: another host answers at one of its addresses, and the right one at none.
            Unreachable: no host answers.
            NotLoopback: without an invite only this machine can be reached.
        """
        failures: list[RoomError] = []
        link = await self._try(self._known, failures)
        if link is None:
            link = await self._try(await self._search(), failures)
        if link is None:
            raise _worst(failures)
        return link

    def approve(self) -> None:
        """Confirm that the last connected host is the right one."""
        self.current = self._latest

    def forget(self, pin: str) -> None:
        """Drop the addresses of this certificate's host, unless the network announces them."""
        self._known = [each for each in self._known if each.pin != pin]

    def learn(self, deed: HostRecord) -> None:
        """Learn a host's address; ignore hosts that are not trusted."""
        pins = {each.pin for each in self._known}
        if deed.pin in pins or (self._trusts is not None and self._trusts(deed)):
            self._note(_whereabouts(deed.addresses, deed.pin))

    def _note(self, more: Iterable[Endpoint]) -> None:
        self._known = list(dict.fromkeys([*self._known, *more]))[:MAX_KNOWN]

    async def _search(self) -> list[Endpoint]:
        if self._find is None or not self.room:
            return []
        found: list[Endpoint] = []
        pins = {each.pin for each in self._known if each.pin}
        for deed, addresses in await self._find(self.room, SEARCH):
            if deed.pin in pins or (self._trusts is not None and self._trusts(deed)):
                found += _whereabouts(addresses, deed.pin)
        return [each for each in dict.fromkeys(found) if each not in self._known]

    async def _try(
        self, candidates: Sequence[Endpoint], failures: list[RoomError]
    ) -> ClientConnection | None:
        """Return the first connection that succeeds; cancelling leaves none open."""
        tasks: list[asyncio.Task[ClientConnection]] = []
        try:
            for number, candidate in enumerate(candidates):
                delay = STAGGER * number
                tasks.append(start_task(self._try_one(candidate, delay, failures)))
            waiting = set(tasks)
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if task.exception() is None:
                        tasks.remove(task)
                        return task.result()
        finally:
            await _give_up(tasks)
        return None

    async def _try_one(
        self, candidate: Endpoint, delay: float, failures: list[RoomError]
    ) -> ClientConnection:
        await asyncio.sleep(delay)
        try:
            link = await self._connect(candidate.address, candidate.pin)
        except RoomError as error:
            failures.append(error)
            raise
        self._came_by(Endpoint(candidate.address, candidate.pin or link.channel or ""))
        return link

    def _came_by(self, way: Endpoint) -> None:
        self._latest = way
        rest = [each for each in self._known if each != way and each != (way.address, "")]
        self._known = [way, *rest][:MAX_KNOWN]


async def _give_up(tasks: list[asyncio.Task[ClientConnection]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and task.exception() is None:
            task.result().abort()


def _whereabouts(addresses: Iterable[str], pin: str) -> list[Endpoint]:
    found: list[Endpoint] = []
    for text in addresses:
        with suppress(InvalidAddress):
            found.append(Endpoint(parse_address(text), pin))
    return found


def _worst(failures: list[RoomError]) -> RoomError:
    """Return the failure to show: an impostor first, then that of the first address tried."""
    impostors = [error for error in failures if isinstance(error, WrongPin)]
    if impostors:
        return impostors[0]
    return failures[0] if failures else Unreachable("any known address", "none is known")
