"""Announce a room on the network, and find those of others.

Announcements are signed but not trusted: they name hosts, rooms and places, as claims. Their number
and size in memory is bounded against any input.
"""

import asyncio
import hashlib
import ipaddress
import itertools
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from genie_core.room.discovery.mdns import RESCAN, MdnsTask, interface_addresses
from genie_core.room.discovery.service_record import (
    SERVICE,
    Announcement,
    read_announcement,
    write_announcement,
)
from genie_core.room.protocol.address import LOOPBACK, parse_address
from genie_core.room.protocol.errors import InvalidAddress
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.host_records import is_valid
from genie_core.room.transport.rate import TokenBucket

if TYPE_CHECKING:
    from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

MAX_ROOMS: Final = 64
"""Most rooms in memory."""

MAX_UNRESOLVED: Final = 256
RESOLVERS: Final = 4
RESOLVE: Final = 2_000
"""Milliseconds to wait for the details of a room that is known only by name."""

LIFETIME: Final = 30
"""Seconds for which an announcement is valid; a host that vanishes is listed that long.

Only the record that lists a service lives longer: zeroconf requires at least 1,125 s.
"""

LOOK: Final = 1.0
"""Seconds between two checks of the remaining validity."""

ASKS: Final = 4
"""How often a host is queried in the second half of that time, as multicast may get lost."""

READ_BURST: Final = 128
READ_RATE: Final = 100.0
"""Records that are read in one go and per second: checking a signature takes a quarter of a
millisecond, and the network must not keep the event loop busy.
"""

ASKING: Final = 1.0
"""Minimum seconds between two queries to the whole network."""


class Announcer(MdnsTask):
    """Announces one room while the context is open, with a goodbye at the end."""

    def __init__(
        self, announcement: Announcement, *, interfaces: Sequence[str] | None = None
    ) -> None:
        super().__init__(interfaces)
        self._announcement = announcement
        self._news = asyncio.Event()

    def update(self, announcement: Announcement) -> None:
        """Replace the announcement by one of the same room and host, once the network allows."""
        self._announcement = announcement
        self._news.set()

    async def _dwell(self, network: "AsyncZeroconf") -> None:
        if not is_valid(self._announcement.host_record):
            raise ValueError("what there is to say of the room is too long, or not signed")
        self._news.clear()
        info = _record(self._announcement)
        seen = interface_addresses()
        sent = await network.async_register_service(info, allow_name_change=True)
        self._settled()
        await sent
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), RESCAN)
            if self._news.is_set():
                self._news.clear()
                await (await network.async_update_service(_record(self._announcement, info.name)))
            seen = await self._rescan(network, seen)


class Browser(MdnsTask):
    """Tracks the announced rooms while the context is open.

    `on_change` is called on the event loop whenever `rooms` has changed. If there are too many,
    those that `prefers` accepts replace others.
    """

    def __init__(
        self,
        on_change: Callable[[], None] | None = None,
        *,
        prefers: Callable[[Announcement], bool] | None = None,
        interfaces: Sequence[str] | None = None,
    ) -> None:
        super().__init__(interfaces)
        self._on_change = on_change
        self._prefers = prefers
        self._rooms: dict[str, Announcement] = {}
        self._unresolved: dict[str, None] = {}
        self._waiting = asyncio.Semaphore(0)
        self._pace = TokenBucket(READ_BURST, READ_RATE)
        self._changed = asyncio.Event()
        self._ask = asyncio.Event()

    @property
    def rooms(self) -> Mapping[str, Announcement]:
        """The rooms on the network now, by the names of their records."""
        return MappingProxyType(self._rooms)

    def found(self, room: str) -> list[tuple[HostRecord, tuple[str, ...]]]:
        """Return the announcements of a room and the addresses to try, latest first."""
        found = [each for each in self._rooms.values() if each.host_record.room == room]
        found.sort(key=lambda each: each.host_record.at, reverse=True)
        return [(each.host_record, each.addresses) for each in found]

    async def find(
        self, room: str, seconds: float = 3.0
    ) -> list[tuple[HostRecord, tuple[str, ...]]]:
        """Return the result of `found`; if that is empty, wait for an answer from the network.

        The network is queried in any case, so that the next call may find more.
        """
        self.refresh()
        if not self.found(room):
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while not self.found(room):
                        self._changed.clear()
                        await self._changed.wait()
        return self.found(room)

    def refresh(self) -> None:
        """Query the whole network again soon, for example after it was away; known rooms stay."""
        self._ask.set()

    async def _dwell(self, network: "AsyncZeroconf") -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(RESOLVERS):
                    group.create_task(self._resolve_forever(network))
                group.create_task(self._verify_forever(network))
                await self._browse(network)
        finally:
            self._unresolved.clear()
            if self._rooms:
                self._rooms.clear()
                self._tell()

    async def _browse(self, network: "AsyncZeroconf") -> None:
        from zeroconf.asyncio import AsyncServiceBrowser

        seen = interface_addresses()
        while True:
            self._ask.clear()
            browser = AsyncServiceBrowser(network.zeroconf, SERVICE, handlers=[self._heard])
            self._settled()
            try:
                await asyncio.sleep(ASKING)
                while not self._ask.is_set():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._ask.wait(), RESCAN)
                    now = await self._rescan(network, seen)
                    if now != seen:
                        seen = now
                        self._ask.set()
            finally:
                await browser.async_cancel()

    def _heard(self, *, zeroconf: Any, name: str, state_change: Any, **_: object) -> None:
        from zeroconf import Error, ServiceStateChange
        from zeroconf.asyncio import AsyncServiceInfo

        if state_change is ServiceStateChange.Removed:
            self._forget(name)
            return
        with suppress(Error):  # a name that no service of ours would have
            info = AsyncServiceInfo(SERVICE, name)
            if info.load_from_cache(zeroconf) and self._pace.take(time.monotonic()):
                self._take(name, info)
            elif name not in self._unresolved and len(self._unresolved) < MAX_UNRESOLVED:
                self._unresolved[name] = None
                self._waiting.release()

    async def _resolve_forever(self, network: "AsyncZeroconf") -> None:
        from zeroconf import Error

        while True:
            await self._waiting.acquire()
            name = next(iter(self._unresolved), None)
            if name is None:
                continue
            del self._unresolved[name]
            await asyncio.sleep(self._pace.wait(time.monotonic()))
            self._pace.take(time.monotonic())
            with suppress(Error, OSError):
                info = await network.async_get_service_info(SERVICE, name, RESOLVE)
                if info is not None:
                    self._take(name, info)

    async def _verify_forever(self, network: "AsyncZeroconf") -> None:
        """Query hosts before their announcements expire; forget those that don't answer.

        Some listed hosts without an answer are queried further, as they may return.
        """
        asked: dict[str, float] = {}
        while True:
            await asyncio.sleep(LOOK)
            now = time.monotonic()
            for name in [name for name in self._rooms if not _is_listed(network, name)]:
                self._forget(name)
            # Anyone can list names without end: the known ones must not depend on their order.
            names = [*self._rooms, *_listed(network, besides=self._rooms, most=MAX_ROOMS)]
            asked = {name: asked[name] for name in names if name in asked}
            for name in names:
                left = _seconds_left(network, name)
                if not left:
                    self._forget(name)
                due = asked.get(name, 0.0) + LIFETIME / 2 / ASKS
                # All hear the answer: the first query spares the others theirs.
                if now >= due and left < LIFETIME / 2 * random.uniform(0.8, 1.0):  # noqa: S311
                    asked[name] = now
                    with suppress(OSError):
                        _ask_for(network, name)

    def _take(self, name: str, info: "AsyncServiceInfo") -> None:
        announcement = read_announcement(info.properties, info.port, info.parsed_addresses())
        if announcement is None:
            self._forget(name)
        elif self._is_news(name, announcement) and self._has_place(name, announcement):
            self._rooms[name] = announcement
            self._tell()

    def _is_news(self, name: str, announcement: Announcement) -> bool:
        """Whether it is new; any device can repeat old records, under any name."""
        host_record = announcement.host_record
        for other, known in list(self._rooms.items()):
            if (known.host_record.room, known.host_record.key) == (
                host_record.room,
                host_record.key,
            ):
                if known.host_record.at > host_record.at or (
                    other != name and known.host_record.at == host_record.at
                ):
                    return False
                if other != name:
                    del self._rooms[other]
        return self._rooms.get(name) != announcement

    def _has_place(self, name: str, announcement: Announcement) -> bool:
        if name in self._rooms or len(self._rooms) < MAX_ROOMS:
            return True
        if self._prefers is None or not self._prefers(announcement):
            return False
        others = (key for key, known in self._rooms.items() if not self._prefers(known))
        loser = next(others, None)
        if loser is not None:
            del self._rooms[loser]
        return loser is not None

    def _forget(self, name: str) -> None:
        if self._rooms.pop(name, None) is not None:
            self._tell()

    def _tell(self) -> None:
        self._changed.set()
        if self._on_change is not None:
            self._on_change()


def _record(announcement: Announcement, name: str = "") -> "AsyncServiceInfo":
    from zeroconf.asyncio import AsyncServiceInfo

    host_record = announcement.host_record
    # Not the title: a record's name should stay the same, and hosts of one room need different ones.
    own = hashlib.sha256(
        f"{host_record.room}\0{host_record.key}".encode("utf-8", "replace")
    ).hexdigest()[:16]
    name = name or f"genie-{own}.{SERVICE}"
    return AsyncServiceInfo(
        SERVICE,
        name,
        server=name,
        port=announcement.port,
        properties=dict(write_announcement(announcement)),
        parsed_addresses=_hosts(host_record.addresses) or [LOOPBACK],
        host_ttl=LIFETIME,
        other_ttl=LIFETIME,
    )


def _is_listed(network: "AsyncZeroconf", name: str) -> bool:
    """Whether the network lists this record as a room."""
    from zeroconf import current_time_millis
    from zeroconf._dns import DNSPointer  # the package's own name for it is not typed
    from zeroconf.const import _CLASS_IN, _TYPE_PTR

    wanted = DNSPointer(SERVICE, _TYPE_PTR, _CLASS_IN, LIFETIME, name)
    pointer = network.zeroconf.cache.async_get_unique(wanted)
    return pointer is not None and not pointer.is_expired(current_time_millis())


def _listed(network: "AsyncZeroconf", besides: Collection[str], most: int) -> list[str]:
    """Return up to `most` other records that the network lists as rooms."""
    from zeroconf import current_time_millis
    from zeroconf._dns import DNSPointer

    now, found = current_time_millis(), network.zeroconf.cache.async_entries_with_name(SERVICE)
    pointers = (each for each in found if isinstance(each, DNSPointer) and not each.is_expired(now))
    names = (each.alias for each in pointers if each.alias not in besides)
    return list(itertools.islice(names, most))


def _seconds_left(network: "AsyncZeroconf", name: str) -> float:
    """Seconds until the announcement under a name expires."""
    from zeroconf import current_time_millis
    from zeroconf._dns import DNSService

    now, found = current_time_millis(), network.zeroconf.cache.async_entries_with_name(name)
    left = (each.get_remaining_ttl(now) for each in found if isinstance(each, DNSService))
    return max(left, default=0.0)


def _ask_for(network: "AsyncZeroconf", name: str) -> None:
    """Query the network for the announcement under a name."""
    from zeroconf._dns import DNSQuestion
    from zeroconf._protocol.outgoing import DNSOutgoing
    from zeroconf.const import _CLASS_IN, _FLAGS_QR_QUERY, _TYPE_ANY

    question = DNSOutgoing(_FLAGS_QR_QUERY)
    question.add_question(DNSQuestion(name, _TYPE_ANY, _CLASS_IN))
    network.zeroconf.async_send(question)


def _hosts(addresses: Sequence[str]) -> list[str]:
    hosts: dict[str, None] = {}
    for text in addresses:
        with suppress(InvalidAddress, ValueError):
            hosts.setdefault(str(ipaddress.ip_address(parse_address(text).host)))
    return list(hosts)
