"""One file on its way to the room. Pure: no disk, no clock, no waiting.

The host is asked how much of the file it has, and gets the rest in chunks, of which a few may be
on their way at a time. Each frame is answered by exactly one other, in order; after anything
unexpected the question is asked again once all answers are there. So the cuts of a connection, its
end included, cost at most what was on its way.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from genie_core.room.protocol.frames import Refusal, StoreFile
from genie_core.room.transfer import CHUNK_BYTES, Progress, Troubles

WINDOW: Final = 2
"""How many chunks may be on their way."""


class _Phase(Enum):
    OFFLINE = "offline"
    ASKING = "asking"
    ASKED = "asked"
    SENDING = "sending"
    DONE = "done"
    FAILED = "failed"


_OVER: Final = frozenset({_Phase.DONE, _Phase.FAILED})


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the file to be read and sent as a `Chunk`."""

    offset: int
    length: int


class Sending:
    """Decides what to send of a file, and when.

    Call `connected` for each new connection, `take` until it returns None, and then again after
    each answer, or when `due` is over.
    """

    def __init__(
        self, digest: str, size: int, *, window: int = WINDOW, chunk: int = CHUNK_BYTES
    ) -> None:
        self.digest: Final = digest
        self.size: Final = size
        self._window = window
        self._chunk = chunk
        self._phase = _Phase.OFFLINE
        self._troubles = Troubles()
        self._confirmed = 0
        self._next = 0
        self._owed = 0
        self._code: Refusal = "malformed"
        self._why = ""

    @property
    def done(self) -> int:
        """How many bytes are where they should be."""
        return self._confirmed

    @property
    def progress(self) -> Progress:
        """Where it is, for people."""
        match self._phase:
            case _Phase.DONE:
                return Progress.DONE
            case _Phase.FAILED:
                return Progress.FAILED
            case _Phase.SENDING:
                return Progress.RUNNING
        return Progress.WAITING

    @property
    def why(self) -> str:
        """What is in the way, or was when it failed; usually nothing."""
        return self._why

    @property
    def code(self) -> Refusal:
        """Why it failed, for programs."""
        return self._code

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or the other."""
        return self._phase in _OVER

    def connected(self) -> None:
        """Start over on a new connection, where nothing is on its way."""
        self._owed = 0
        self._ask_again()

    def disconnected(self) -> None:
        """Wait for the next connection."""
        if not self.over:
            self._phase = _Phase.OFFLINE

    def take(self, now: float) -> StoreFile | Part | None:
        """What to send now, if anything; each call is for one frame."""
        if self._wait(now) != 0:
            return None
        self._owed += 1
        if self._phase is _Phase.ASKING:
            self._phase = _Phase.ASKED
            return StoreFile(self.digest, self.size)
        part = Part(self._next, min(self._chunk, self.size - self._next))
        self._next += part.length
        return part

    def due(self, now: float) -> float | None:
        """Seconds until `take` has something; None if that needs an answer or a connection."""
        return self._wait(now)

    def on_stored(self, have: int, now: float) -> None:
        """Take in an answer. One that nobody asked for matters only if all of the file is there."""
        awaited = self._answered()
        if have == self.size and not self.over:
            self._confirmed, self._phase, self._why = have, _Phase.DONE, ""
        elif not awaited:
            return
        elif not 0 <= have < self.size:
            self.fail("malformed", "the host miscounts what it has of the file")
        elif self._phase is _Phase.ASKED:
            self._phase, self._why = _Phase.SENDING, ""
            self._confirmed = self._next = have
        else:
            self._advance(have, now)

    def on_refused(self, code: Refusal, text: str, now: float) -> None:
        """Take in a refusal: of some the cause may pass, the others are for good."""
        if not self._answered():
            return
        if self._troubles.bear(code, now):
            self._why = text
            self._ask_again()
        else:
            self.fail(code, text)

    def fail(self, code: Refusal, why: str) -> None:
        """Give up, unless it is over."""
        if not self.over:
            self._phase, self._code, self._why = _Phase.FAILED, code, why

    def _answered(self) -> bool:
        """Count an answer; False if it doesn't matter, because none or a new one is awaited."""
        if not self._owed:
            return False
        self._owed -= 1
        return self._phase in (_Phase.ASKED, _Phase.SENDING)

    def _advance(self, have: int, now: float) -> None:
        if have > self._confirmed:
            self._troubles.overcome()
        self._confirmed = have
        self._next = max(self._next, have)  # another terminal of ours may send the same file
        if not self._owed and have < self._next:
            self._note_gap(now)

    def _note_gap(self, now: float) -> None:
        """Ask again, as the host has less than was sent."""
        if self._troubles.bear("out_of_state", now):
            self._ask_again()
        else:
            self.fail("out_of_state", "the host does not take in what is sent")

    def _ask_again(self) -> None:
        if not self.over:
            self._phase = _Phase.ASKING

    def _wait(self, now: float) -> float | None:
        match self._phase:
            case _Phase.ASKING if not self._owed:
                return self._troubles.wait(now)
            case _Phase.SENDING if self._owed < self._window and self._next < self.size:
                return 0.0
        return None
