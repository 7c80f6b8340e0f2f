"""Rate limits of a room: for one person, for one source of connections, and for all together.

Recorded events stay on the disk of every member, so they are limited in number and in size.
"""

from typing import Final

from genie_core.room.protocol.limits import WORK_RATE, Limits
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

READ_VOLUMES: Final = 4
"""From one person, so many times their volume is read at once, and per second in the long run.

A client within the other limits needs no more, except for files, which then arrive more slowly.
"""

READ_FRAMES: Final = 32
"""Frames of the largest size that are read at once from one person, however small the volume."""

MILLISECONDS: Final = 100.0
MILLISECONDS_REGAINED: Final = 50.0
"""How long the frames of one person may keep the event loop busy at once, and per second.

By the clock on the wall, so that their share stays the same on a machine that has other work.
"""

LONGEST_CHARGE: Final = 1.0
"""Seconds that are charged for one frame at most: a process that stood still meanwhile, or a machine
that slept, took the rest."""


class Quotas:
    """Says whether a quota suffices, and takes from it if so. Sizes are in bytes.

    Quotas belong to names and outlast a visit. A newcomer from a source that another person has
    just left gets what that person had left: a new name makes no difference. People known to the
    room have quotas of their own, wherever they connect from. Peers without a source are inside the
    host's process and bound by their own quotas only.
    """

    def __init__(self, limits: Limits) -> None:
        burst, rate, volume = limits.burst, limits.per_second, limits.volume
        self._joins = Rates(limits.joins, limits.joins / 60)
        newcomers = limits.joins * NEIGHBOURS
        self._site_joins = Rates(newcomers, newcomers / 60)
        self._speech = Rates(burst, rate)
        self._nudges = Rates(burst, rate)
        self._work = Rates(burst * WORK_RATE, rate * WORK_RATE)
        self._volume = Rates(volume, volume * REGAIN)
        most = max(READ_VOLUMES * volume, READ_FRAMES * limits.frame_bytes)
        self._reading = Rates(most, most)
        self._time = Rates(MILLISECONDS, MILLISECONDS_REGAINED)
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
        """Give a person what their name had left, a newcomer what the last of their source had.

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
        if peer.stage is Stage.LEAVING:
            return False
        peer.arrived = size
        if peer.source and peer.name:
            self._reading.charge(fold_name(peer.name), now, size)
        return True

    def spend(self, peer: Peer, seconds: float, now: float) -> None:
        """Charge the time that a frame took on the event loop."""
        if peer.source and peer.name:
            charged = min(seconds, LONGEST_CHARGE)
            self._time.charge(fold_name(peer.name), now, charged * 1000)

    def pause(self, peer: Peer, now: float) -> float:
        """Seconds for which to read nothing from this person, on any connection."""
        name = fold_name(peer.name)
        return max(self._reading.wait(name, now), self._time.wait(name, now))

    def repeat(self, peer: Peer, now: float) -> bool:
        """Charge a frame that changes nothing, such as one recorded before."""
        return not peer.source or self._idle.take(fold_name(peer.name), now, max(1, peer.arrived))

    def exclusion(self, name: str, now: float) -> float:
        """Seconds until a person who repeated too much may return."""
        return self._idle.wait(fold_name(name), now)

    @property
    def _personal(self) -> tuple[Rates, ...]:
        return (
            *(self._speech, self._nudges, self._work, self._volume),
            *(self._reading, self._time, self._idle),
        )

    def _tidy(self, now: float) -> None:
        """Drop quotas that were not used for a while."""
        for rates in (self._joins, self._site_joins, *self._personal):
            rates.tidy(now)
        self._gone = {
            source: kept
            for source, names in self._gone.items()
            if (kept := [name for name in names if any(name in r for r in self._personal)])
        }
