"""What the room keeps for each connection. None of it grows with how slowly the peer reads."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from genie_core.room.protocol.frames import (
    AcceptHosting,
    AgentProgress,
    AnswerApproval,
    AnswerDelta,
    AnswerJoinRequest,
    Bye,
    Chunk,
    FetchFile,
    Frame,
    FrameRefused,
    Hello,
    MemberTyping,
    Moderate,
    OfferHosting,
    PostMessage,
    Prove,
    Publish,
    RecoverEvents,
    ReportDelta,
    ReportProgress,
    ServerFrame,
    SetEngine,
    SetPreferences,
    ShareArguments,
    Stop,
    StoreFile,
    Typing,
)

MERGED_CHARS: Final = 64_000
"""Most text of one answer that waits for one peer; the finished answer has all of it anyway."""


class Stage(Enum):
    """Where a connection is in its life."""

    GREETING = "greeting"
    PROVING = "proving"
    HELD = "held"
    SEATED = "seated"
    LEAVING = "leaving"


ARRIVING: Final = frozenset({Stage.GREETING, Stage.PROVING})
"""Stages that are over within seconds, or the connection is."""

_TALK: Final = (
    *(
        PostMessage,
        Publish,
        SetEngine,
        SetPreferences,
        Typing,
        ReportDelta,
        ReportProgress,
        Stop,
        AnswerApproval,
    ),
    *(RecoverEvents, OfferHosting, AcceptHosting),
)
_AUTHORITY: Final = (Moderate, ShareArguments, AnswerJoinRequest)
_FILES: Final = (StoreFile, Chunk, FetchFile)

NEXT: Final[dict[tuple[Stage, type[Frame]], Stage]] = {
    (Stage.GREETING, Hello): Stage.PROVING,
    (Stage.PROVING, Prove): Stage.SEATED,
    (Stage.PROVING, Bye): Stage.LEAVING,
    (Stage.HELD, Bye): Stage.LEAVING,
    (Stage.SEATED, Bye): Stage.LEAVING,
    **{(Stage.SEATED, kind): Stage.SEATED for kind in (*_TALK, *_AUTHORITY, *_FILES)},
}
"""Which frames fit which stage, and where they lead if all is well. Anything else ends the
connection. Inside the host's own process a hello leads to the seat at once."""


class Signals:
    """Ephemeral frames that wait for one peer. The oldest go when there are too many."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._waiting: OrderedDict[
            str | int | tuple[int, str, str], MemberTyping | AnswerDelta | AgentProgress
        ] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, signal: MemberTyping | AnswerDelta | AgentProgress) -> None:
        """Keep a signal, merged with one for the same person, agent or message that still waits."""
        if isinstance(signal, MemberTyping):
            self._waiting[signal.name] = signal
        elif isinstance(signal, AgentProgress):
            note = signal.detail if signal.what == "note" else ""  # nothing else may hide it
            self._waiting[signal.message, signal.agent, note] = signal
        else:
            earlier = self._waiting.get(signal.message)
            text = earlier.text if isinstance(earlier, AnswerDelta) else ""
            merged = (text + signal.text)[-MERGED_CHARS:]
            self._waiting[signal.message] = AnswerDelta(signal.message, merged)
        if len(self._waiting) > self._capacity:
            self._waiting.popitem(last=False)

    def take(self) -> list[ServerFrame]:
        """Hand over what waits."""
        taken: list[ServerFrame] = list(self._waiting.values())
        self._waiting.clear()
        return taken


@dataclass(slots=True, eq=False)
class Peer:
    """One connection to the room.

    `source` tells connections from different places apart; it is empty inside the host's process.
    `channel` is the pin of the certificate that the connection runs over, empty without TLS, None
    where nothing needs to be proven because both ends are one process. `hello` is what they came
    with, `nonce` what they are to sign with it, and `pass_id` the invite that let them in.
    `position` is the last event handed over, `strikes` how many frames in a row were refused,
    `arrived` the size of the frame that arrived last.
    `farewell` is the refusal to end with; it comes only after the events up to `until`. `done` says
    that nothing more will be sent.
    """

    id: int
    signals: Signals
    source: str = ""
    channel: str | None = None
    stage: Stage = Stage.GREETING
    hello: Hello = field(default_factory=lambda: Hello(""))
    nonce: str = ""
    pass_id: str = ""
    held_at: float = 0.0
    name: str = ""
    device: str = ""
    position: int = 0
    strikes: int = 0
    replies: deque[ServerFrame] = field(default_factory=deque)
    arrived: int = 0
    farewell: FrameRefused | None = None
    until: int = 0
    done: bool = False

    @property
    def key(self) -> str:
        """Who they say they are; to be believed from the stage HELD on."""
        return self.hello.key

    def take_replies(self) -> list[ServerFrame]:
        """Hand over the direct replies that wait."""
        taken = list(self.replies)
        self.replies.clear()
        return taken
