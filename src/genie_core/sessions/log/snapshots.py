"""States of a room at intervals, from which a fold can continue."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state

SPACING: Final = 2_000
"""Events between two snapshots of a short log."""

MOST: Final = 128
"""Maximum number of snapshots; those of a longer log are further apart."""


class Snapshots:
    """The empty state and those at intervals, in bounded memory."""

    def __init__(
        self,
        spacing: int = SPACING,
        most: int = MOST,
        kept: Sequence[tuple[int, bytes]] = (),
    ) -> None:
        self._spacing = spacing
        self._most = most
        self._seqs = [seq for seq, _ in kept]
        self._states = [state for _, state in kept]

    def __len__(self) -> int:
        return len(self._seqs)

    def add(self, state: RoomState) -> None:
        """Keep a state if it is far enough after the last kept one; stores a copy."""
        last = self._seqs[-1] if self._seqs else 0
        if state.head - last >= self._spacing:
            self._seqs.append(state.head)
            self._states.append(encode_state(state, entries=False))
            self._thin_out()

    @property
    def kept(self) -> list[tuple[int, bytes]]:
        """The events and the encoded states after them."""
        return [*zip(self._seqs, self._states, strict=True)]

    def last_before(self, seq: int) -> int:
        """Return the event of the latest kept state that is not after an event; 0 for none."""
        index = bisect_right(self._seqs, seq)
        return self._seqs[index - 1] if index else 0

    def before(self, seq: int) -> RoomState:
        """Return a copy of the latest kept state that is not after an event."""
        index = bisect_right(self._seqs, seq)
        return decode_state(self._states[index - 1]) if index else RoomState()

    def _thin_out(self) -> None:
        if len(self._seqs) > self._most:
            self._spacing *= 2
            del self._seqs[::2]
            del self._states[::2]
