"""Written-down states of a room, so that the way to any event is short."""

from bisect import bisect_right
from typing import Final

from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state

SPACING: Final = 2_000
"""Events between two rungs of a ladder that is not long."""

MOST: Final = 128
"""Rungs at most; a longer log gets them further apart."""


class Ladder:
    """Keeps a state every so many events, the empty one always. Its memory is bounded."""

    def __init__(self, spacing: int = SPACING, most: int = MOST) -> None:
        self._spacing = spacing
        self._most = most
        self._seqs: list[int] = []
        self._states: list[bytes] = []

    def __len__(self) -> int:
        return len(self._seqs)

    def offer(self, state: RoomState) -> None:
        """Keep a state if it is far enough beyond the last that is kept; it is not held on to."""
        last = self._seqs[-1] if self._seqs else 0
        if state.head - last >= self._spacing:
            self._seqs.append(state.head)
            self._states.append(encode_state(state))
            self._thin_out()

    def below(self, seq: int) -> RoomState:
        """The latest state that is kept and not beyond an event; the caller may change it."""
        index = bisect_right(self._seqs, seq)
        return decode_state(self._states[index - 1]) if index else RoomState()

    def _thin_out(self) -> None:
        if len(self._seqs) > self._most:
            self._spacing *= 2
            del self._seqs[::2]
            del self._states[::2]
