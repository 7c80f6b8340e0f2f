"""Connect to a room repeatedly, by its known addresses and by announcements."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from genie_core.room.protocol.address import Address, parse_address
from genie_core.room.protocol.errors import InvalidAddress, RoomError, Unreachable, WrongPin
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.transport.connection import ClientConnection
from genie_core.runtime.tasks import start_task

AGAIN: Final = 0.5
"""Seconds within which all addresses are dialled side by side, and then each that fails or refuses."""

STAGGER: Final = 0.25
"""Most seconds until the next address is dialled, as in RFC 8305; none if the last one failed."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait before the next attempt: doubling, with jitter.

    For the first `brisk` failures, about a minute, it is at most `shortly`: members are back soon
    after a host restarts or another one takes its place.
    """

    first: float = 0.4
    longest: float = 5.0
    shortly: float = AGAIN
    brisk: int = 180

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row."""
        most = min(self.shortly, self.longest) if failures < self.brisk else self.longest
        full = min(most, self.first * 2.0 ** min(failures, 16))
        return full * random.uniform(0.25, 1.0)  # noqa: S311 - spreads load, keeps no secret


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

    Known endpoints are dialled side by side, one after the other within half a second. If none
    answers correctly, announcements are searched: the same host at another address is recognised by
    its certificate, another host must have a record that `trusts` accepts. `room` may be set once it
    is known.

    The caller checks the host: `approve` makes its endpoint the `current` one, `pass_over` tries
    others first from now on, `forget` drops it. Until a host is approved, a host that refuses ends no
    dial to another one: a machine that does not answer costs no time, and a slow one is not missed.
    After the last call, `close` ends the dials.
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
        self._dials: dict[Endpoint, asyncio.Task[ClientConnection]] = {}
        self._due: dict[Endpoint, float] = {}
        self._tried: set[Endpoint] = set()
        self._search: asyncio.Task[None] | None = None

    @property
    def known(self) -> tuple[Endpoint, ...]:
        """The endpoints that may lead to the room, latest success first."""
        return tuple(self._known)

    async def __call__(self) -> ClientConnection:
        """Connect to the host. Cancelling leaves no connection open.

        Raises:
            WrongPin: another host answers at one of its addresses, and the right one at none.
            Unreachable: no host answers.
            NotLoopback: without an invite only this machine can be reached.
        """
        failures: dict[Endpoint, RoomError] = {}
        self._plan(self._known)
        try:
            while self._unanswered(failures) or self._searches() or self._unanswered(failures):
                await self._turn()
                if (link := self._answered(failures)) is not None:
                    return link
        except BaseException:  # cancelled, too
            self.close()
            raise
        finally:
            await self._end_search()
        self.close()
        raise _worst([*failures.values()])

    def pass_over(self) -> bool:
        """Try the last connected address after all others, until a host is approved.

        Returns whether another one has neither failed nor refused so far.
        """
        if self._latest is None:
            return False
        self._known = [*(each for each in self._known if each != self._latest), self._latest]
        self._tried.add(self._latest)
        others_may_answer = not self._tried.issuperset(self._known)
        if others_may_answer:
            self._due[self._latest] = _now() + _again()
        return others_may_answer

    def approve(self) -> None:
        """Confirm that the last connected host is the right one."""
        self.current = self._latest
        self.close()

    def forget(self, pin: str) -> None:
        """Drop the addresses of this certificate's host, unless the network announces them."""
        self._known = [each for each in self._known if each.pin != pin]
        self._drop([each for each in self._dials if each.pin == pin])

    def close(self) -> None:
        """End all dials."""
        self._drop([*self._dials])
        self._due.clear()
        self._tried.clear()

    def learn(self, host_record: HostRecord) -> None:
        """Learn a host's address; ignore hosts that are not trusted."""
        pins = {each.pin for each in self._known}
        if host_record.pin in pins or (self._trusts is not None and self._trusts(host_record)):
            self._note(_whereabouts(host_record.addresses, host_record.pin))

    def _note(self, more: Iterable[Endpoint]) -> None:
        self._known = list(dict.fromkeys([*self._known, *more]))[:MAX_KNOWN]

    def _came_by(self, way: Endpoint) -> None:
        self._latest = way
        rest = [each for each in self._known if each != way and each != (way.address, "")]
        self._known = [way, *rest][:MAX_KNOWN]

    # -- dialling

    def _plan(self, endpoints: Sequence[Endpoint]) -> None:
        """Let each endpoint that is not dialled be so within half a second, in this order."""
        new = [each for each in endpoints if each not in self._dials and each not in self._due]
        lead = min(STAGGER, AGAIN / max(1, len(new)))
        self._due |= {each: _now() + lead * place for place, each in enumerate(new)}

    def _unanswered(self, failures: Container[Endpoint]) -> list[Endpoint]:
        """The endpoints that have not failed in this call, the next one to dial first."""
        waiting = sorted(self._due, key=self._due.__getitem__)
        return [each for each in (*waiting, *self._dials) if each not in failures]

    async def _turn(self) -> None:
        """Dial the endpoints that are due, and wait for an answer, the search or the next one."""
        for each in [each for each, due in self._due.items() if due <= _now()]:
            del self._due[each]
            self._dials[each] = start_task(self._dial(each))
        tasks: set[asyncio.Task[Any]] = {*self._dials.values()}
        if self._search is not None and not self._search.done():
            tasks.add(self._search)
        next_at = min(self._due.values(), default=None)
        wait = None if next_at is None else max(0.0, next_at - _now())
        if tasks:
            await asyncio.wait(tasks, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(wait or 0.0)

    async def _dial(self, endpoint: Endpoint) -> ClientConnection:
        return await self._connect(endpoint.address, endpoint.pin)

    def _answered(self, failures: dict[Endpoint, RoomError]) -> ClientConnection | None:
        """Return a connection that is there, if one is; note the dials that failed."""
        for endpoint, dial in [each for each in self._dials.items() if each[1].done()]:
            del self._dials[endpoint]
            error = dial.exception()
            if error is None:
                link = dial.result()
                self._came_by(Endpoint(endpoint.address, endpoint.pin or link.channel or ""))
                return link
            if not isinstance(error, RoomError):
                raise error
            self._failed(endpoint, error, failures)
        return None

    def _failed(
        self, endpoint: Endpoint, error: RoomError, failures: dict[Endpoint, RoomError]
    ) -> None:
        """Note a dial that failed: the next endpoint is dialled now, and this one again."""
        failures.setdefault(endpoint, error)
        self._tried.add(endpoint)
        if following := [each for each in self._unanswered(failures) if each in self._due]:
            self._due[following[0]] = _now()
        if isinstance(error, Unreachable):
            self._due[endpoint] = _now() + _again()

    def _searches(self) -> bool:
        """Whether the search goes on; it begins at the first call."""
        self._search = self._search or start_task(self._look())
        return not self._search.done()

    async def _end_search(self) -> None:
        search, self._search = self._search, None
        if search is not None:
            search.cancel()
            await asyncio.wait({search})

    async def _look(self) -> None:
        """Plan to dial the addresses at which hosts of the room are announced."""
        if self._find is None or not self.room:
            return
        found: list[Endpoint] = []
        pins = {each.pin for each in self._known if each.pin}
        for host_record, addresses in await self._find(self.room, SEARCH):
            if host_record.pin in pins or (self._trusts is not None and self._trusts(host_record)):
                found += _whereabouts(addresses, host_record.pin)
        self._plan([each for each in dict.fromkeys(found) if each not in self._known])

    def _drop(self, endpoints: Iterable[Endpoint]) -> None:
        for each in endpoints:
            dial = self._dials.pop(each)
            dial.cancel()
            dial.add_done_callback(_abort)


def _abort(dial: "asyncio.Task[ClientConnection]") -> None:
    """Close the connection of a dial that is not needed any more."""
    if not dial.cancelled() and dial.exception() is None:
        dial.result().abort()


def _again() -> float:
    """Seconds until an address is dialled again, with jitter."""
    return AGAIN * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret


def _now() -> float:
    return asyncio.get_running_loop().time()


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
