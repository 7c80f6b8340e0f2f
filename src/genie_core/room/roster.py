"""Who is connected to a room, and what waits to be sent to them."""

from collections.abc import Iterator
from typing import Final

from genie_core.room.peer import ARRIVING, Peer, Signals, Stage
from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.frames import (
    AgentProgress,
    AnswerDelta,
    FrameRefused,
    MemberTyping,
    Refusal,
    ServerFrame,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import fold_name

REFUSAL_CHARS: Final = 300
"""Longest text of a refusal, which may quote what was sent."""


class Roster:
    """The connections of a room, and the seats that some of them hold.

    A seat belongs to a name; names that a reader could confuse are the same seat. A person may sit
    at several terminals, told apart by their devices.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._peers: dict[int, Peer] = {}
        self._seats: dict[str, dict[str, Peer]] = {}
        self._stirred: set[int] = set()
        self._next = 1

    def __iter__(self) -> Iterator[Peer]:
        return iter(list(self._peers.values()))

    def admit(self, source: str, channel: str | None = None) -> Peer:
        """Take in a new connection, which has no seat yet."""
        signals = Signals(self._limits.signals)
        peer = self._peers[self._next] = Peer(self._next, signals, source, channel)
        self._next += 1
        return peer

    def get(self, peer_id: int) -> Peer | None:
        """The connection with this number, unless it is gone."""
        return self._peers.get(peer_id)

    def remove(self, peer_id: int) -> Peer | None:
        """Forget a connection. Its seat, if any, must be vacated separately."""
        return self._peers.pop(peer_id, None)

    @property
    def strangers(self) -> list[Peer]:
        """The connections that have not shown who they are, the oldest first."""
        return [peer for peer in self._peers.values() if peer.stage in ARRIVING]

    @property
    def held(self) -> list[Peer]:
        """Those who wait for the host's word."""
        return [peer for peer in self._peers.values() if peer.stage is Stage.HELD]

    @property
    def people(self) -> int:
        """How many names are in the room."""
        return len(self._seats)

    @property
    def seated(self) -> list[Peer]:
        """Every terminal with a seat, those of a person together, in order of arrival."""
        return [peer for terminals in self._seats.values() for peer in terminals.values()]

    def at(self, name: str) -> list[Peer]:
        """The terminals of whoever has this name or one too much like it."""
        return list(self._seats.get(fold_name(name), {}).values())

    def terminal(self, name: str, device: str) -> Peer | None:
        """One terminal of a person."""
        return self._seats.get(fold_name(name), {}).get(device)

    def seat(self, peer: Peer) -> None:
        """Give a peer a place at the seat of its name."""
        self._seats.setdefault(fold_name(peer.name), {})[peer.device] = peer

    def vacate(self, peer: Peer) -> bool:
        """Free the peer's place; False if it holds none."""
        seat = fold_name(peer.name)
        terminals = self._seats.get(seat, {})
        if not peer.name or terminals.get(peer.device) is not peer:
            return False
        del terminals[peer.device]
        if not terminals:
            del self._seats[seat]
        return True

    def reply(self, peer: Peer, frame: ServerFrame) -> None:
        """Queue a frame that must not get lost. Whoever lets too many pile up is dismissed.

        Who is leaving has been told why, and is told nothing more.
        """
        if peer.stage is Stage.LEAVING:
            return
        if len(peer.replies) >= self._limits.replies:
            peer.replies.clear()
            self.dismiss(peer, "slow", "you read too slowly; come back to catch up", final=False)
            return
        peer.replies.append(frame)
        self._stirred.add(peer.id)

    def refuse(self, peer: Peer, code: Refusal, text: str, ref: str = "") -> None:
        """Tell a peer that something was not accepted. Who insists too often is dismissed."""
        if peer.stage is Stage.LEAVING:
            return
        peer.strikes += 1
        if peer.strikes > self._limits.replies:
            self.dismiss(peer, "too_fast", "too many refused frames in a row", final=False)
            return
        self.reply(peer, FrameRefused(code, whole_text(text, REFUSAL_CHARS), ref))

    def drop(self, peer: Peer, why: str) -> None:
        """End the connection of somebody who demands too much; they may come back later."""
        if peer.stage is not Stage.LEAVING:
            peer.replies.clear()
            self.dismiss(peer, "too_fast", why, final=False)

    def signal(self, sender: Peer, signal: MemberTyping | AnswerDelta | AgentProgress) -> None:
        """Pass something ephemeral on to everybody but its sender."""
        for peer in self.seated:
            if peer is not sender:
                peer.signals.add(signal)
                self._stirred.add(peer.id)

    def dismiss(self, peer: Peer, code: Refusal, text: str, *, final: bool) -> None:
        """End a connection with a farewell. `final`: it is of no use to come back."""
        peer.stage = Stage.LEAVING
        peer.farewell = FrameRefused(code, whole_text(text, REFUSAL_CHARS), final=final)
        self._stirred.add(peer.id)

    def stir(self, *peers: Peer) -> None:
        """Note that there may be something to send to these peers, or to all if none is given."""
        self._stirred.update(peer.id for peer in peers or self._peers.values())

    def stirred(self) -> set[int]:
        """The peers that may have something to be sent since this was last asked."""
        stirred = self._stirred & self._peers.keys()
        self._stirred = set()
        return stirred
