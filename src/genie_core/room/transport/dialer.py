"""Connect to a room repeatedly, by its known addresses and by announcements."""

import asyncio
import logging
import random
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.errors import InvalidAddress, RoomError, Unreachable, WrongPin
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.transport.connection import ClientConnection
from genie_core.runtime.tasks import start_task


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait before the next attempt: doubling, with jitter.

    For the first `brisk` failures it is at most `shortly`, so that members are back within seconds
    of a host that restarts, or of the one that takes its place.
    """

    first: float = 0.4
    longest: float = 5.0
    shortly: float = 1.5
    brisk: int = 60

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row."""
        most = min(self.shortly, self.longest) if failures < self.brisk else self.longest
        full = min(most, self.first * 2.0 ** min(failures, 16))
        return full * random.uniform(0.25, 1.0)  # noqa: S311 - spreads load, keeps no secret


STAGGER: Final = 0.25
"""Seconds until the next address is tried in parallel, as in RFC 8305; at once if the last one failed."""

AGAIN: Final = 0.5
"""Seconds until an address is tried again, while others may still answer."""

MOST_PASSED: Final = 8
"""How many times in a row an address is passed over for a second longer."""

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
    host: `approve` makes its endpoint the `current` one, `pass_over` tries others first from now
    on, `forget` drops it.
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
        self._passed: Counter[Endpoint] = Counter()

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
        attempt = _Attempt(self._connect, self._search, self._passed)
        found = await attempt.run(self._known)
        if found is None:
            raise _worst(attempt.failures)
        way, link = found
        self._came_by(Endpoint(way.address, way.pin or link.channel or ""))
        return link

    def pass_over(self) -> bool:
        """Try the last connected address after all others, until a host is approved.

        Returns whether it is the first time, so that others should be tried at once.
        """
        latest = self._latest
        if latest is None:
            return False
        self._known = [*(each for each in self._known if each != latest), latest]
        self._passed[latest] += 1
        return self._passed[latest] == 1 and len(self._known) > 1

    def approve(self) -> None:
        """Confirm that the last connected host is the right one."""
        self.current = self._latest
        self._passed.clear()

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

    def _came_by(self, way: Endpoint) -> None:
        self._latest = way
        rest = [each for each in self._known if each != way and each != (way.address, "")]
        self._known = [way, *rest][:MAX_KNOWN]


class _Attempt:
    """Tries endpoints until one connects, or all have failed.

    The next one is tried once the one before has failed, or soon; one that was `passed` over so
    many times only if the others don't answer for so many seconds. Once all have failed, `search`
    finds more. An endpoint at which nothing answers is tried again while others still may.
    """

    def __init__(
        self,
        connect: Callable[[Address, str], Awaitable[ClientConnection]],
        search: Callable[[], Awaitable[list[Endpoint]]],
        passed: Counter[Endpoint],
    ) -> None:
        self._connect = connect
        self._find = search
        self._passed = passed
        self._fresh: deque[Endpoint] = deque()
        self._next_at = 0.0
        self._tries: dict[asyncio.Task[ClientConnection], Endpoint] = {}
        self._unanswered: set[Endpoint] = set()
        self._search: asyncio.Task[None] | None = None
        self.failures: list[RoomError] = []

    async def run(self, known: Iterable[Endpoint]) -> tuple[Endpoint, ClientConnection] | None:
        """Return the first connection, and where to; cancelling leaves none open."""
        self._fresh.extend(sorted(known, key=lambda each: self._passed[each]))
        try:
            while self._fresh or self._unanswered or self._searches():
                self._begin()
                await self._wait()
                for task in [each for each in self._tries if each.done()]:
                    if task.exception() is None:
                        return self._tries.pop(task), task.result()
                    self._failed(task)
            return None
        finally:
            await self._give_up()

    def _begin(self) -> None:
        """Try the next endpoint if it is due."""
        now = asyncio.get_running_loop().time()
        if not self._fresh or (self._unanswered and now < self._next_at):
            return
        candidate = self._fresh.popleft()
        self._unanswered.add(candidate)
        self._tries[start_task(self._try(candidate))] = candidate
        self._next_at = now + self._lead

    @property
    def _lead(self) -> float:
        """Seconds for which the others may answer before the next one is tried."""
        times = self._passed[self._fresh[0]] if self._fresh else 0
        return float(min(times, MOST_PASSED)) or STAGGER

    async def _wait(self) -> None:
        """Wait until a try or the search ends, or the next endpoint is due."""
        tasks: set[asyncio.Task[Any]] = {*self._tries}
        if self._search is not None and not self._search.done():
            tasks.add(self._search)
        due = self._next_at - asyncio.get_running_loop().time() if self._fresh else None
        await asyncio.wait(tasks, timeout=due, return_when=asyncio.FIRST_COMPLETED)

    def _failed(self, task: asyncio.Task[ClientConnection]) -> None:
        candidate, error = self._tries.pop(task), task.exception()
        if not isinstance(error, RoomError):
            task.result()
            return
        if candidate in self._unanswered:
            self._unanswered.discard(candidate)
            self.failures.append(error)
            if self._lead == STAGGER:
                self._next_at = 0.0
        if isinstance(error, Unreachable):
            self._tries[start_task(self._try(candidate, AGAIN))] = candidate

    async def _try(self, candidate: Endpoint, delay: float = 0.0) -> ClientConnection:
        await asyncio.sleep(delay)
        return await self._connect(candidate.address, candidate.pin)

    def _searches(self) -> bool:
        """Whether the search goes on; it begins at the first call."""
        if self._search is None:
            self._search = start_task(self._look())
        return not self._search.done() or bool(self._fresh)

    async def _look(self) -> None:
        self._fresh.extend(await self._find())

    async def _give_up(self) -> None:
        tasks: set[asyncio.Task[Any]] = {*self._tries}
        if self._search is not None:
            tasks.add(self._search)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task in self._tries:
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
