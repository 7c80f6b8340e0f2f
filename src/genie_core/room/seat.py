"""The surface between a participant and whatever shows the room to a person.

`Seat` is what a screen may ask for; `Listener` is what it is told. Both are synchronous and called
on the event loop's thread: nothing here waits. Everything a screen shows about the past comes from
`Seat.state`, which is up to date when a listener is called.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from genie_core.room.departure import Ending, Receipt
from genie_core.room.engine.backlog import BacklogChoice
from genie_core.room.engine.controls import EngineControls
from genie_core.room.files.transfer import Transfer
from genie_core.room.protocol.events import Event, FileRef, Measure, Quote, Role, RunBody, Scope
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.state.room_state import RoomState
from genie_core.runtime.progress import What

if TYPE_CHECKING:
    from genie_core.room.engine.grants import Grant


class Link(Enum):
    """The connection to the room, as a person would describe it."""

    CONNECTING = "connecting"
    ONLINE = "online"
    RETRYING = "retrying"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """How the connection is. `retry_in` is in seconds, None when nothing is planned.

    `closing_in` is how many seconds may pass until the host suspends the room, which takes no
    messages any more; None while that is not so.
    """

    link: Link
    detail: str = ""
    retry_in: float | None = None
    closing_in: float | None = None


class EngineState(Enum):
    """Where the participant's own engine is."""

    ABSENT = "absent"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """The participant's engine; `label` is the model, `offline` that it is no language model.

    `auto` says that calls for the owner's own messages are allowed without a question. `backlog`
    counts messages from before that wait for the owner's word.
    """

    state: EngineState
    label: str = ""
    offline: bool = False
    detail: str = ""
    auto: bool = False
    backlog: int = 0


class Severity(Enum):
    """How much a notice matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Unsent:
    """A message typed here that the room has not acknowledged yet."""

    id: str
    text: str
    emote: bool
    at: float
    files: tuple[FileRef, ...] = ()
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """A step of the own engine that the room's log does not show yet.

    `since` is the last event that was known of the room when it was taken.
    """

    id: str
    body: RunBody
    since: int = 0


@dataclass(frozen=True, slots=True)
class Knock:
    """Somebody unknown who waits for the host's word; `over` when they no longer do."""

    id: int
    name: str
    key: str
    source: str
    over: bool = False


class Hosting(Protocol):
    """What only a host's seat can do outside the room's log."""

    @property
    def invite(self) -> str:
        """The invite that is open now; empty if nobody beyond this machine can join."""

    def issue(self, *, uses: int | None = None, lifetime: float | None = None) -> str:
        """Make another invite beside those that are open; `lifetime` is in seconds."""

    def renew(self, *, uses: int | None = None, lifetime: float | None = None) -> str:
        """Make a new invite and void all others; `lifetime` is in seconds. Members stay."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A person's answer to an approval.

    `arguments` replaces what the agent proposed; `scope` "session" also lets later calls of the
    same tool by the same agent pass until the session ends, "times" so many of them in all, and
    "minutes" those of so many minutes, as `count` says. `stop` ends the run with a denial.
    """

    allow: bool
    reason: str | None = None
    scope: Scope = "once"
    arguments: dict[str, Any] | None = None
    count: int = 0
    stop: bool = False


class Going(Enum):
    """How to go on after a seat has ended."""

    REJOIN = "rejoin"
    """Join again: the logs parted, and what only this copy has is brought back then."""

    HOST = "host"
    """Host the room: its host handed it over to this person."""


@dataclass(frozen=True, slots=True)
class Parting:
    """A seat that ended without the person's wish, and the way to go on.

    `saved` is the folder's name of the own copy; `unsent` is to be sent again by the next seat.
    """

    going: Going
    saved: str
    text: str
    unsent: tuple[Unsent, ...] = ()


class Listener(Protocol):
    """Told what happens, in order."""

    def on_event(self, event: Event) -> None:
        """Take note that an event was applied to the state."""

    def on_typing(self, name: str) -> None:
        """Take note that somebody else is writing."""

    def on_delta(self, message: int, text: str) -> None:
        """Take in more text of the answer that is being written for a message."""

    def on_progress(self, message: int, agent: str, what: What, detail: str) -> None:
        """Take note of what an agent is at in the run for a message."""

    def on_link(self, status: LinkStatus) -> None:
        """Take note that the connection changed."""

    def on_engine(self, status: EngineStatus) -> None:
        """Take note that the own engine changed."""

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Take note of the messages now waiting for acknowledgement, oldest first."""

    def on_rejected(self, unsent: Unsent, why: str) -> None:
        """Give a message back to the person that the room will not take; nothing else keeps it."""

    def on_notice(self, severity: Severity, text: str) -> None:
        """Show a line that matters now but is not part of the room's log."""

    def on_knock(self, knock: Knock) -> None:
        """Take note that somebody waits for this host's word, or no longer does."""

    def on_offered(self, by: str) -> None:
        """Ask the person whether they would host from now on; `accept` says yes."""

    def on_accepted(self, name: str) -> None:
        """Take note that somebody is willing to host; leaving hands the room over to them."""

    def on_transfer(self, transfer: Transfer) -> None:
        """Take note of how far a file has come."""

    def on_rivals(self, hosts: tuple[str, ...]) -> None:
        """Show which others host this room at the same time; an empty tuple if none does now."""


class Seat(Protocol):
    """One person's place in a room."""

    @property
    def name(self) -> str:
        """The person's name in this room."""

    @property
    def state(self) -> RoomState:
        """The room so far, as known here."""

    @property
    def link(self) -> LinkStatus:
        """How the connection is now."""

    @property
    def engine(self) -> EngineStatus:
        """How the own engine is now."""

    @property
    def unsent(self) -> tuple[Unsent, ...]:
        """Messages typed here and not acknowledged yet, oldest first."""

    @property
    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """What the own engine did and the room has not recorded yet, oldest first."""

    @property
    def address(self) -> str:
        """Where others can join, as HOST:PORT; empty if this is not the host."""

    @property
    def saved(self) -> str:
        """The folder's name of the own copy of the room; empty without one."""

    @property
    def hosting(self) -> Hosting | None:
        """What a host can do beyond the room; None for everybody else."""

    @property
    def successor(self) -> HostRecord | None:
        """Who has accepted to host when this host leaves, and where."""

    @property
    def parting(self) -> "Parting | None":
        """Why this seat ended and how to go on, once `link` is closed; None if it just ended."""

    def listen(self, listener: Listener) -> None:
        """Direct what happens from now on to this listener."""

    def say(
        self,
        text: str,
        *,
        emote: bool = False,
        files: Sequence[FileRef] = (),
        quotes: Sequence[Quote] = (),
    ) -> None:
        """Send a message. It is kept and sent again until the room acknowledges it.

        `files` are those that `attach` returned. The message goes when they have arrived.
        """

    async def attach(self, path: Path) -> FileRef:
        """Take a file of this machine in, and begin to send it; `on_transfer` tells how far it is.

        Raises a `GenieError` if it can't be read, is no file, or is larger than the room takes.
        """

    def bring(self, file: FileRef) -> bool:
        """Begin to send a file that an earlier seat here took in; False if it is gone."""

    def detach(self, digest: str) -> None:
        """Stop to send an attached file after all, unless a message brings it."""

    def file(self, digest: str) -> Path | None:
        """Where a file of the room is on this machine; None if it has not arrived (yet)."""

    def moderate(
        self, measure: Measure, name: str, *, role: Role | None = None, reason: str = ""
    ) -> bool:
        """Use a host's authority. False without a connection; the room refuses by a notice."""

    def share(self, on: bool) -> bool:  # noqa: FBT001 - the one thing there is to say
        """Show, or no longer, what a host's tools are called with for guests."""

    def admit(self, knock: int, allow: bool) -> bool:  # noqa: FBT001 - as above
        """Let somebody in who waits for the host's word, or turn them away."""

    def offer(self, name: str) -> bool:
        """Ask somebody to host from now on."""

    def accept(self) -> bool:
        """Say yes to hosting; the room comes over when its host leaves."""

    def typing(self) -> None:
        """Tell the others that something is being written; cheap to call on every key."""

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an approval of one's own, pending or parked; False if it is not open."""

    def schema(self, approval: str) -> dict[str, Any] | None:
        """The JSON schema of the arguments of a call that waits here; None if it is not known."""

    @property
    def grants(self) -> "Sequence[Grant]":
        """What was allowed from the keyboard beyond single calls and still counts, oldest first."""

    def revoke(self, grant: int) -> bool:
        """Take an allowance back; False if there is none with this id."""

    def answer_backlog(self, choice: BacklogChoice) -> int | None:
        """Say which of the messages are answered that were undecided when the room was resumed.

        Returns how many that are; None if none wait for this person's word.
        """

    def auto(self, on: bool) -> bool:  # noqa: FBT001 - the one thing there is to say
        """Allow calls for one's own messages without a question, as far as no rule denies them.

        Ends with the session. False if there is no engine to tell.
        """

    @property
    def workbench(self) -> EngineControls | None:
        """The parts of the own engine, once it is loaded."""

    async def use_model(self, name: str) -> str:
        """Let another model answer for this person; returns its label.

        Raises a `GenieError`, and changes nothing, if there is no engine or it can't use it.
        """

    async def past(self, before: int, most: int) -> list[Event]:
        """The events before one, at most so many, in order; none where there is no log to read.

        What this machine alone knows of them is not told. An `OSError` says that it can't be read.
        """

    def prefer(self, text: str) -> bool:
        """Tell the room how this person likes to be answered. False without a connection."""

    def stop(self, message: int | None = None) -> int:
        """Stop the run for a message, or all runs one may stop; returns how many were asked to."""

    def note_seen(self, seq: int) -> None:
        """Note that the person has seen all events up to this one; kept when the seat is left."""

    @property
    def ending(self) -> Ending | None:
        """How far `leave` has come; None before it is called."""

    def hurry(self) -> None:
        """End running work at once, once `leave` has been called."""

    async def leave(self, reason: str = "", grace: float | None = None) -> Receipt:
        """End in good order: park approvals, give running work some seconds, save, disconnect.

        `grace` is that many seconds, None what the person has set. A host's seat also closes the
        room for the others. Always returns within the grace and some seconds more. Raises a
        `LeftInDisorder`, with a receipt, if not everything could be done.
        """
