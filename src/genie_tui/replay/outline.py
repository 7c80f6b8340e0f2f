"""Where in a log what stands: the sequence numbers of all landmarks, a few bytes each."""

from array import array
from bisect import bisect_left, bisect_right

from genie_core.room.protocol.events import Event
from genie_tui.replay.landmark import Landmark, landmark_of


class Outline:
    """What is known so far of a log that is read from its start. `upto` is the last event read."""

    def __init__(self) -> None:
        self.upto = 0
        self._places: dict[Landmark, array[int]] = {kind: array("Q") for kind in Landmark}

    def add(self, event: Event) -> None:
        """Take note of the next event."""
        self.upto = event.seq
        kind = landmark_of(event)
        if kind is not None:
            self._places[kind].append(event.seq)

    def after(self, kind: Landmark, seq: int) -> int | None:
        """The next one behind an event, None if none is known."""
        places = self._places[kind]
        index = bisect_right(places, seq)
        return places[index] if index < len(places) else None

    def before(self, kind: Landmark, seq: int) -> int | None:
        """The last one before an event, None if there is none."""
        index = bisect_left(self._places[kind], seq)
        return self._places[kind][index - 1] if index else None

    def has(self, kind: Landmark, after: int, upto: int) -> bool:
        """Whether there is one among the events that follow `after`, up to `upto`."""
        found = self.after(kind, after)
        return found is not None and found <= upto

    def count(self, kind: Landmark) -> int:
        """How many are known."""
        return len(self._places[kind])
