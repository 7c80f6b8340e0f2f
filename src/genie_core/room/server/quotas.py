"""Rate limits of a room: for one person, for one source of connections, and for all together.

Recorded events stay on the disk of every member, so they are limited in number and in size.
"""

from typing import Final

from genie_core.room.protocol.limits import AGENT_BURST, AGENT_PER_MINUTE, WORK_RATE, Limits
from genie_core.room.protocol.names import fold_name
from genie_core.room.server.peers import Peer, Stage
from genie_core.room.transport.origin import site_of
from genie_core.room.transport.rate import Rates, TokenBucket

REGAIN: Final = 1 / 16
"""Part of their volume that a person gets back each second."""

ENGINES: Final = 3
"""The whole room records as many events as this many engines may report."""

WRITERS: Final = 8
"""The whole room records as many bytes as this many people may."""


NEIGHBOURS: Final = 4
"""From one network there may arrive so many times as many strangers as from one address of it."""

MILLISECONDS: Final = 100.0
MILLISECONDS_REGAINED: Final = 50.0
"""How long one person may keep the event loop busy in one go, over all connections, and per second.

By the clock on the wall, so that their share stays the same on a machine that has other work.
Decoding and handling are measured, with each signature that is checked. The earlier work, in TLS
and WebSocket, is charged by number and size. A person over budget is read later, not refused.
"""

ROOM_MILLISECONDS: Final = 500.0
ROOM_MILLISECONDS_REGAINED: Final = 250.0
"""The same for all members of one room together, where it shares the event loop with others: one
person with an invite for many can be many members."""

FRAME_MS: Final = 0.015
"""Charge for a frame before it is decoded."""

BYTE_MS: Final = 6e-6
"""Charge for a byte: a third for the loop, the rest as no client needs more than 8 MiB a second."""

TLS_MS: Final = 1.5
"""Charge for a TLS handshake and the WebSocket's after it."""

STRANGERS_REGAINED: Final = 4
"""Strangers of one address or network get back so many times as much as one person each second.

All strangers together have twice as much.
"""

USUAL_JOINS: Final = 60
"""Strangers have more where the limit of arrivals per minute is above this."""

LONGEST_CHARGE: Final = 0.25
"""Seconds that are charged for one frame at most: a process that stood still meanwhile, or a machine
that slept, took the rest."""


class StrangerQuotas:
    """How long strangers may keep the event loop busy, for one site and together, at one port."""

    def __init__(self, limits: Limits) -> None:
        scale = max(1.0, limits.joins / USUAL_JOINS)
        most, regained = MILLISECONDS * scale, MILLISECONDS_REGAINED * STRANGERS_REGAINED * scale
        self._sites = Rates(most, regained)
        self._all = TokenBucket(most * 2, regained * 2)

    def begin(self, source: str, now: float) -> float:
        """Seconds until TLS may begin with another stranger from here; 0 charges it."""
        seconds = max(self._sites.wait(site_of(source), now), self._all.wait(now))
        if not seconds:
            self.charge(source, TLS_MS, now)
        return seconds

    def charge(self, source: str, cost: float, now: float) -> None:
        """Charge milliseconds."""
        self._sites.charge(site_of(source), now, cost)
        self._all.charge(now, cost)

    def read(self, source: str, size: int, now: float) -> None:
        """Charge a frame that arrived."""
        self.charge(source, FRAME_MS + size * BYTE_MS, now)

    def tidy(self, now: float) -> None:
        """Drop quotas that were not used for a while."""
        self._sites.tidy(now)


class Quotas:
    """Says whether a quota suffices, and takes from it if so. Sizes are in bytes.

    Quotas belong to names and outlast a visit. A newcomer from a source that another person has
    just left gets that person's remaining quota: a new name makes no difference. People known to
    the room have quotas of their own, wherever they connect from. Peers without a source are inside
    the host's process and bound by their own quotas only. Rooms at one port share the `strangers`,
    and each has its share of the event loop.
    """

    def __init__(self, limits: Limits, strangers: StrangerQuotas | None = None) -> None:
        burst, rate, volume = limits.burst, limits.per_second, limits.volume
        self._joins = Rates(limits.joins, limits.joins / 60)
        newcomers = limits.joins * NEIGHBOURS
        self._site_joins = Rates(newcomers, newcomers / 60)
        self._speech = Rates(burst, rate)
        self._agents = Rates(AGENT_BURST, AGENT_PER_MINUTE / 60)
        self._nudges = Rates(burst, rate)
        self._work = Rates(burst * WORK_RATE, rate * WORK_RATE)
        self._volume = Rates(volume, volume * REGAIN)
        self._costs = Rates(MILLISECONDS, MILLISECONDS_REGAINED)
        self.strangers: Final = strangers or StrangerQuotas(limits)
        self._room_costs: TokenBucket | None = None
        if strangers is not None:
            self._room_costs = TokenBucket(ROOM_MILLISECONDS, ROOM_MILLISECONDS_REGAINED)
        self._idle = Rates(volume, volume * REGAIN)
        self._events = TokenBucket(burst * WORK_RATE * ENGINES, rate * WORK_RATE * ENGINES)
        self._bytes = TokenBucket(volume * WRITERS, volume * WRITERS * REGAIN)
        self._gone: dict[str, list[str]] = {}

    def join(self, source: str, now: float, key: str = "") -> bool:
        """Whether another may join from this source; each known `key` has its own quota."""
        if not source:
            return True
        if key:
            return self._joins.take(key, now)
        return self._joins.take(source, now) and self._site_joins.take(site_of(source), now)

    def arrive(self, peer: Peer, now: float, *, known: bool = False) -> None:
        """Give a person the rest of the name's quota, a newcomer that of the source.

        `known`: the room has seen this name before.
        """
        self._tidy(now)
        name = fold_name(peer.name)
        if known or not peer.source or any(name in rates for rates in self._personal):
            return
        if gone := self._gone.get(peer.source):
            before = gone.pop()
            for rates in self._personal:
                rates.hand_over(before, name)

    def depart(self, peer: Peer) -> None:
        """Remember that a person of this source left."""
        if peer.source:
            gone, name = self._gone.setdefault(peer.source, []), fold_name(peer.name)
            if name not in gone:
                gone.append(name)

    def speak(self, peer: Peer, size: int, now: float) -> bool:
        """Charge a message."""
        return self._speech.take(fold_name(peer.name), now) and self.record(peer, size, now)

    def agent_speaks(self, peer: Peer, now: float) -> float:
        """Charge a message of an agent; returns in how many seconds it may post, 0 for now."""
        name = fold_name(peer.name)
        wait = self._agents.wait(name, now)
        if not wait:
            self._agents.take(name, now)
        return wait

    def work(self, peer: Peer, now: float) -> bool:
        """Charge an engine's report; recording it costs extra."""
        return self._work.take(fold_name(peer.name), now)

    def record(self, peer: Peer, size: int, now: float) -> bool:
        """Charge an event of the log."""
        if not self._volume.take(fold_name(peer.name), now, size):
            return False
        return not peer.source or (self._events.take(now) and self._bytes.take(now, size))

    def pass_on(self, peer: Peer, size: int, now: float) -> bool:
        """Charge text that goes to all members but not into the log."""
        return self.work(peer, now) and self._volume.take(fold_name(peer.name), now, size)

    def nudge(self, peer: Peer, now: float) -> bool:
        """Charge a small ephemeral frame."""
        return self._nudges.take(fold_name(peer.name), now)

    def read(self, peer: Peer, size: int, now: float) -> bool:
        """Charge a frame that arrived; False if the peer is leaving and it need not be decoded."""
        peer.arrived = size
        self._charge(peer, FRAME_MS + size * BYTE_MS, now)
        return peer.stage is not Stage.LEAVING

    def spend(self, peer: Peer, seconds: float, now: float) -> None:
        """Charge the time that a frame took on the event loop."""
        self._charge(peer, min(seconds, LONGEST_CHARGE) * 1000, now)

    def pause(self, peer: Peer, now: float) -> float:
        """Seconds for which to read nothing from this person, on any connection.

        Strangers wait once, before TLS: the few frames of theirs that are read are charged only.
        """
        if not peer.name:
            return 0.0
        own = self._costs.wait(fold_name(peer.name), now)
        if self._room_costs is None or not peer.source:
            return own
        return max(own, self._room_costs.wait(now))

    def _charge(self, peer: Peer, cost: float, now: float) -> None:
        """Charge milliseconds to a person, whose name is proven, or else to where they are."""
        if not peer.source:
            return
        if peer.name:
            self._costs.charge(fold_name(peer.name), now, cost)
            if self._room_costs is not None:
                self._room_costs.charge(now, cost)
        else:
            self.strangers.charge(peer.source, cost, now)

    def repeat(self, peer: Peer, now: float) -> bool:
        """Charge a frame that changes nothing, such as one recorded before."""
        return not peer.source or self._idle.take(fold_name(peer.name), now, max(1, peer.arrived))

    def exclusion(self, name: str, now: float) -> float:
        """Seconds until a person who repeated too much may return."""
        return self._idle.wait(fold_name(name), now)

    @property
    def _personal(self) -> tuple[Rates, ...]:
        return (
            *(self._speech, self._agents, self._nudges, self._work),
            *(self._volume, self._costs, self._idle),
        )

    def _tidy(self, now: float) -> None:
        """Drop quotas that were not used for a while."""
        self.strangers.tidy(now)
        for rates in (self._joins, self._site_joins, *self._personal):
            rates.tidy(now)
        self._gone = {
            source: kept
            for source, names in self._gone.items()
            if (kept := [name for name in names if any(name in r for r in self._personal)])
        }
