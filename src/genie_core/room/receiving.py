"""One file on its way from the room. Pure: no disk, no clock, no waiting.

One piece after another is asked for, written, and the next one asked for from where the file on
disk then ends. So a connection that ends costs one piece, and a host can't send more than is asked.
"""

from enum import Enum
from typing import Final

from genie_core.room.protocol.frames import FetchFile, FilePiece, Refusal
from genie_core.room.transfer import Progress, Troubles


class _Phase(Enum):
    OFFLINE = "offline"
    ASKING = "asking"
    ASKED = "asked"
    WRITING = "writing"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"


_OVER: Final = frozenset({_Phase.DONE, _Phase.FAILED})


class Receiving:
    """Decides what to ask of a file that the room has, `have` bytes of which are here already.

    Call `connected` for each new connection and `take` whenever `due` is over. Hand in each
    `FilePiece`; if it is `to_write`, write it and tell by `written`; when `to_check`, compare the
    SHA-256 and tell by `checked`.
    """

    def __init__(self, digest: str, size: int, have: int = 0) -> None:
        self.digest: Final = digest
        self.size: Final = size
        self._have = have
        self._phase = _Phase.OFFLINE
        self._online = False
        self._owed = 0
        self._troubles = Troubles()
        self._code: Refusal = "malformed"
        self._why = ""
        if have >= size:
            self._phase = _Phase.CHECKING

    @property
    def done(self) -> int:
        """How many bytes are where they should be."""
        return self._have

    @property
    def progress(self) -> Progress:
        """Where it is, for people."""
        match self._phase:
            case _Phase.DONE:
                return Progress.DONE
            case _Phase.FAILED:
                return Progress.FAILED
            case _Phase.OFFLINE:
                return Progress.WAITING
            case _Phase.ASKING if self._why:
                return Progress.WAITING
        return Progress.RUNNING

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

    @property
    def to_write(self) -> bool:
        """Whether a piece was accepted that has not been written."""
        return self._phase is _Phase.WRITING

    @property
    def to_check(self) -> bool:
        """Whether all bytes are here and wait to be checked."""
        return self._phase is _Phase.CHECKING

    def connected(self) -> None:
        """Go on, on a new connection, where nothing is on its way."""
        self._online, self._owed = True, 0
        if self._phase in (_Phase.OFFLINE, _Phase.ASKED):
            self._phase = _Phase.ASKING

    def disconnected(self) -> None:
        """Wait for the next connection; what is being written or checked is not disturbed."""
        self._online = False
        if self._phase in (_Phase.ASKING, _Phase.ASKED):
            self._phase = _Phase.OFFLINE

    def take(self, now: float) -> FetchFile | None:
        """What to ask for now, if anything."""
        if self.due(now) != 0:
            return None
        self._phase = _Phase.ASKED
        self._owed += 1
        return FetchFile(self.digest, self._have)

    def due(self, now: float) -> float | None:
        """Seconds until `take` has something; None if that needs something else to happen."""
        asking = self._phase is _Phase.ASKING and not self._owed
        return self._troubles.wait(now) if asking else None

    def on_piece(self, piece: FilePiece, now: float) -> bool:
        """Take in an answer; returns whether it is to be written."""
        if not self._answered():
            return False
        if piece.size != self.size:
            self.fail("malformed", f"the host's file has {piece.size:,} bytes, not {self.size:,}")
            return False
        if not self._is_next(piece):
            self._bear("out_of_state", "the host sends other parts than it is asked for", now)
            return False
        self._phase, self._why = _Phase.WRITING, ""
        self._troubles.overcome()
        return True

    def on_refused(self, code: Refusal, text: str, now: float) -> None:
        """Take in a refusal: of some the cause may pass, the others are for good."""
        if self._answered():
            self._bear(code, text, now)

    def written(self, have: int) -> None:
        """Take note of how much is on disk after the piece was written."""
        if self._phase is _Phase.WRITING:
            self._have = have
            self._phase = _Phase.CHECKING if have >= self.size else self._ready

    def checked(self, now: float, *, intact: bool) -> None:
        """Take note of the check; what is damaged was removed, and is fetched once more."""
        if self._phase is not _Phase.CHECKING:
            return
        if intact:
            self._phase, self._have = _Phase.DONE, self.size
            return
        self._have = 0
        self._bear("corrupt", "the file arrives damaged; whoever sent it may send it again", now)

    def fail(self, code: Refusal, why: str) -> None:
        """Give up, unless it is over."""
        if not self.over:
            self._phase, self._code, self._why = _Phase.FAILED, code, why

    @property
    def _ready(self) -> _Phase:
        return _Phase.ASKING if self._online else _Phase.OFFLINE

    def _bear(self, code: Refusal, text: str, now: float) -> None:
        if self._troubles.bear(code, now):
            self._phase, self._why = self._ready, text
        else:
            self.fail(code, text)

    def _answered(self) -> bool:
        if not self._owed:
            return False
        self._owed -= 1
        return self._phase is _Phase.ASKED

    def _is_next(self, piece: FilePiece) -> bool:
        end = piece.offset + len(piece.data)
        return piece.offset == self._have and piece.offset < end <= self.size
