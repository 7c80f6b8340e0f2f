"""The connections of a room: the state of each, and its queue."""

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.frames import (
    AcceptHosting,
    AgentProgress,
    AnswerApproval,
    AnswerDelta,
    AnswerJoinRequest,
    Bye,
    ChangeMessage,
    Chunk,
    FetchFile,
    Frame,
    FrameRefused,
    Hello,
    IssueInvite,
    MemberTyping,
    Moderate,
    OfferHosting,
    PostMessage,
    Prove,
    Publish,
    RecoverEvents,
    Refusal,
    ReportDelta,
    ReportProgress,
    ServerFrame,
    SetEngine,
    SetHeirs,
    SetPreferences,
    ShareArguments,
    Stop,
    StoreFile,
    Typing,
    VoidInvites,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.invite_tokens import InviteToken
from genie_core.room.server.counters import Counters

REFUSAL_CHARS: Final = 300
"""Longest text of a refusal, which may quote the sent text."""

MERGED_CHARS: Final = 64_000
"""Most text of one answer that waits for one peer; the finished answer has all of it anyway."""


class Stage(Enum):
    """Where a connection stands."""

    GREETING = "greeting"
    PROVING = "proving"
    PENDING = "pending"
    JOINED = "joined"
    LEAVING = "leaving"


ARRIVING: Final = frozenset({Stage.GREETING, Stage.PROVING})
"""Stages that end within seconds, or else the connection does."""

_TALK: Final = (
    *(
        PostMessage,
        ChangeMessage,
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
_AUTHORITY: Final = (
    *(Moderate, ShareArguments, SetHeirs, AnswerJoinRequest),
    *(IssueInvite, VoidInvites),
)
_FILES: Final = (StoreFile, Chunk, FetchFile)

BY_AGENTS: Final = (PostMessage, Typing, *_FILES, Bye)
"""The frames of an agent that is a member; the room refuses all others."""

NEXT: Final[dict[tuple[Stage, type[Frame]], Stage]] = {
    (Stage.GREETING, Hello): Stage.PROVING,
    (Stage.PROVING, Prove): Stage.JOINED,
    (Stage.PROVING, Bye): Stage.LEAVING,
    (Stage.PENDING, Bye): Stage.LEAVING,
    (Stage.JOINED, Bye): Stage.LEAVING,
    **{(Stage.JOINED, kind): Stage.JOINED for kind in (*_TALK, *_AUTHORITY, *_FILES)},
}
"""Which frames fit which stage, and the stage that follows if all is well. Anything else ends the
connection. Inside the host's own process a hello is enough to join."""


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
        """Queue a signal; replaces a queued one about the same person, agent or message."""
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
        taken: list[ServerFrame] = list(self._waiting.values())
        self._waiting.clear()
        return taken


class Refused(Exception):
    """The room does not act on a frame, and tells its sender why.

    For a stranger, that ends the connection; `final` tells the client not to return.
    """

    def __init__(self, code: Refusal, text: str, *, final: bool = True) -> None:
        super().__init__(text)
        self.code: Refusal = code
        self.text = text
        self.final = final


@dataclass(slots=True, eq=False)
class Peer:
    """One connection to the room. Nothing in it grows with how slowly the peer reads."""

    id: int
    signals: Signals
    source: str = ""
    channel: str | None = None
    """As in `Room.connect`, like `source`."""
    stage: Stage = Stage.GREETING
    hello: Hello = field(default_factory=lambda: Hello(""))
    nonce: str = ""
    """The client signs it with its `hello`."""
    pass_id: str = ""
    """The invite that the client has proven; `invite` is the one that it has used."""
    invite: InviteToken | None = None
    waiting_since: float = 0.0
    name: str = ""
    device: str = ""
    position: int = 0
    """The last event sent."""
    strikes: int = 0
    """How many frames in a row were refused."""
    replies: deque[ServerFrame] = field(default_factory=deque)
    arrived: int = 0
    """The size of the last frame."""
    farewell: FrameRefused | None = None
    """The refusal to end with, sent only after the events up to `until`."""
    until: int = 0
    done: bool = False
    """Whether nothing more is sent."""

    @property
    def key(self) -> str:
        """The key that the client claims; proven from stage PENDING on."""
        return self.hello.key

    def take_replies(self) -> list[ServerFrame]:
        taken = list(self.replies)
        self.replies.clear()
        return taken


class PeerRegistry:
    """The connections of a room, and which of them are members.

    Names that a reader could confuse count as the same. A person may be connected from several
    terminals, told apart by their devices.
    """

    def __init__(self, limits: Limits, counters: Counters | None = None) -> None:
        self.counters: Final = counters or Counters()
        self._limits = limits
        self._peers: dict[int, Peer] = {}
        self._members: dict[str, dict[str, Peer]] = {}
        self._ready: set[int] = set()
        self._next = 1

    def __iter__(self) -> Iterator[Peer]:
        return iter(list(self._peers.values()))

    def add(self, source: str, channel: str | None = None) -> Peer:
        """Register a new connection, not a member yet."""
        signals = Signals(self._limits.signals)
        peer = self._peers[self._next] = Peer(self._next, signals, source, channel)
        self._next += 1
        return peer

    def get(self, peer_id: int) -> Peer | None:
        """Return the connection with this number, if any."""
        return self._peers.get(peer_id)

    def remove(self, peer: Peer) -> bool:
        """Forget a connection, which the caller vacates; False if it was gone."""
        return self._peers.pop(peer.id, None) is not None

    @property
    def strangers(self) -> list[Peer]:
        """Connections that have not authenticated, oldest first."""
        return [peer for peer in self._peers.values() if peer.stage in ARRIVING]

    @property
    def pending(self) -> list[Peer]:
        """Connections that wait for the host's answer."""
        return [peer for peer in self._peers.values() if peer.stage is Stage.PENDING]

    @property
    def people(self) -> int:
        return len(self._members)

    @property
    def members(self) -> list[Peer]:
        """The members' terminals, grouped by person, in order of arrival."""
        return [peer for terminals in self._members.values() for peer in terminals.values()]

    def without(self, known: str) -> list[Peer]:
        """Return the members' terminals whose program doesn't know a later frame or field."""
        return [peer for peer in self.members if known not in peer.hello.knows]

    def at(self, name: str) -> list[Peer]:
        """Return the terminals of the person with this name or a look-alike."""
        return list(self._members.get(fold_name(name), {}).values())

    def terminal(self, name: str, device: str) -> Peer | None:
        return self._members.get(fold_name(name), {}).get(device)

    def join(self, peer: Peer) -> None:
        """Make a peer a member, by name and device."""
        self.counters.joins += 1
        self._members.setdefault(fold_name(peer.name), {})[peer.device] = peer

    def leave(self, peer: Peer) -> bool:
        """Undo `join`; False if the peer is no member."""
        name = fold_name(peer.name)
        terminals = self._members.get(name, {})
        if not peer.name or terminals.get(peer.device) is not peer:
            return False
        del terminals[peer.device]
        if not terminals:
            del self._members[name]
        return True

    def reply(self, peer: Peer, frame: ServerFrame) -> None:
        """Queue a frame that must not get lost; dismiss a peer that reads too slowly.

        A peer that is leaving gets nothing more than its farewell.
        """
        if peer.stage is Stage.LEAVING:
            return
        if len(peer.replies) >= self._limits.replies:
            peer.replies.clear()
            self.dismiss(peer, "slow", "you read too slowly; come back to catch up", final=False)
            return
        peer.replies.append(frame)
        self._ready.add(peer.id)

    def refuse(self, peer: Peer, code: Refusal, text: str, ref: str = "") -> None:
        """Refuse a frame; dismiss a peer after too many refusals in a row."""
        if peer.stage is Stage.LEAVING:
            return
        peer.strikes += 1
        if peer.strikes > self._limits.replies:
            self.dismiss(peer, "too_fast", "too many refused frames in a row", final=False)
            return
        self.reply(peer, FrameRefused(code, whole_text(text, REFUSAL_CHARS), ref))

    def drop(self, peer: Peer, why: str) -> None:
        """Dismiss an overloading peer immediately; it may return later."""
        if peer.stage is not Stage.LEAVING:
            peer.replies.clear()
            self.dismiss(peer, "too_fast", why, final=False)

    def signal(self, sender: Peer, signal: MemberTyping | AnswerDelta | AgentProgress) -> None:
        """Send an ephemeral frame to all members but its sender."""
        for peer in self.members:
            if peer is not sender:
                peer.signals.add(signal)
                self._ready.add(peer.id)

    def dismiss(self, peer: Peer, code: Refusal, text: str, *, final: bool) -> None:
        """End a connection with a farewell; `final` tells the client not to return."""
        self.count_end(peer, code)
        peer.stage = Stage.LEAVING
        peer.farewell = FrameRefused(code, whole_text(text, REFUSAL_CHARS), final=final)
        self._ready.add(peer.id)

    def count_end(self, peer: Peer, code: Refusal) -> None:
        """Count a connection that the room ends, before it does."""
        if peer.stage is not Stage.LEAVING:
            counters = self.counters
            ends = counters.evicted if peer.stage is Stage.JOINED else counters.refused
            ends[code] += 1

    def mark_ready(self, *peers: Peer) -> None:
        """Mark peers, or all by default, as having pending frames."""
        self._ready.update(peer.id for peer in peers or self._peers.values())

    def take_ready(self) -> list[Peer]:
        """Take the peers that may have pending frames."""
        ready = [self._peers[each] for each in self._ready if each in self._peers]
        self._ready.clear()
        return ready
