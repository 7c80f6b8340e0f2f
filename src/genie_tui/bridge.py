"""The only place that knows both the room and the screen.

`Doorman` is how the app gets a seat, `Bridge` turns what the seat reports into Textual messages.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from textual.message import Message
from textual.message_pump import MessagePump

from genie_core.room.files.transfer import Transfer
from genie_core.room.protocol.events import Event, Quote
from genie_core.room.seat import (
    EngineStatus,
    Knock,
    Link,
    LinkStatus,
    Listener,
    Seat,
    Severity,
    Unsent,
)
from genie_core.runtime.progress import What
from genie_core.sessions.view_state import View
from genie_tui.nearby import NearbyRoom
from genie_tui.opening import Opening

if TYPE_CHECKING:
    from genie_core.assistant.what_if.report import WhatIfReport
    from genie_core.sessions.labels import Labels
    from genie_core.sessions.replay.player import Recording


@dataclass(frozen=True, slots=True)
class SavedSummary:
    """What the lobby says about a saved room. `last_activity` is in seconds since the epoch.

    `host` is whoever hosts it, None for a room that this person hosts.
    """

    id: str
    title: str
    last_activity: float
    people: int
    messages: int
    note: str = ""
    host: str | None = None


class Doorman(Protocol):
    """Lets a person into rooms and knows the saved ones."""

    async def open(self, opening: Opening, listener: Listener) -> Seat:
        """Take a seat in a room.

        The listener hears every event of the room from the first one on, in order, also those
        that come from a saved log, and may hear some of them before this returns. Raises a
        `GenieError` whose text is one line for the person. Cancelling it leaves nothing open.
        """

    def saved(self) -> Sequence[SavedSummary]:
        """The saved rooms, most recent first. Reads files, so call it off the event loop."""

    def catch_up(self) -> str:
        """Bring what is told of saved rooms up to their logs, where programs crashed.

        Returns a line for the person, about rooms that are past a limit of theirs, else nothing.
        May take a while; call it off the event loop. Raises a `GenieError` if there is no way.
        """

    def quote(self, wanted: str, last: int) -> Quote:
        """The last messages of a saved room, by its id or title, oldest first.

        At most 200, and as many of the newest as have 50,000 characters. Reads files, so call it
        off the event loop. Raises a `GenieError` if there is no such room, or none that is meant.
        """

    def recording(self, saved: str) -> "Recording":
        """Open a saved room to watch it, by the name of its folder, without holding it.

        Reads files, so call it off the event loop; raises `GenieError`.
        """

    def labels(self, saved: str) -> "Labels":
        """What this person said of decisions in a saved room, by the name of its folder.

        Reads a file, so call it off the event loop; raises `GenieError`.
        """

    def view(self, saved: str) -> View:
        """What this person's view of a saved room was like, by the name of its folder.

        Reads a file, so call it off the event loop.
        """

    def keep_view(self, saved: str, view: View) -> None:
        """Write that down. Writes a file; raises `GenieError`."""

    def place_of(self, saved: str) -> str:
        """Where a saved room is, as people write it; empty if it is no folder."""

    def reports(self, saved: str) -> "Sequence[WhatIfReport]":
        """What other reasoners would have decided in a saved room, as far as they were asked.

        The latest first. Reads files, so call it off the event loop; raises `GenieError`.
        """

    def preferences(self, name: str) -> str:
        """How a person of this machine likes to be answered. Reads a file; raises `GenieError`."""

    def keep_preferences(self, name: str, text: str) -> None:
        """Write that down, for all rooms to come. Writes a file; raises `GenieError`."""

    def browse(
        self, on_change: Callable[[Sequence[NearbyRoom]], None]
    ) -> AbstractAsyncContextManager[None]:
        """Watch for rooms on the network until the context is left.

        `on_change` is called on the event loop with all of them, known ones first, whenever that
        changes. Without a network it is never called; nothing is raised.
        """


class SeatMessage(Message, bubble=False):
    """Root of what a seat reports to the screen."""


class EventsArrived(SeatMessage):
    """Events were applied to the state. One message carries all that came since the last."""

    def __init__(self, first: Event) -> None:
        super().__init__()
        self._events = [first]
        self._taken = False

    def add(self, event: Event) -> bool:
        """Append the next event; False if the message has been read already."""
        if self._taken:
            return False
        self._events.append(event)
        return True

    def take(self) -> list[Event]:
        """Read the events, in order. Later ones travel in another message."""
        self._taken = True
        return self._events


class SomebodyTyping(SeatMessage):
    """Somebody else is writing."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class DeltaArrived(SeatMessage):
    """An answer in the making has more text."""

    def __init__(self, message: int, text: str) -> None:
        super().__init__()
        self.message = message
        self._parts = [text]
        self._taken = False

    def add(self, message: int, text: str) -> bool:
        """Append more text; False if it is another answer's or this was read already."""
        if self._taken or message != self.message:
            return False
        self._parts.append(text)
        return True

    @property
    def text(self) -> str:
        """What came; what comes from now on travels in another message."""
        self._taken = True
        return "".join(self._parts)


class ProgressMade(SeatMessage):
    """An agent is at something else in the run for a message."""

    def __init__(self, message: int, agent: str, what: What, detail: str) -> None:
        super().__init__()
        self.message = message
        self.agent = agent
        self.what = what
        self.detail = detail


class LinkChanged(SeatMessage):
    """The connection is in another state."""

    def __init__(self, status: LinkStatus) -> None:
        super().__init__()
        self.status = status


class EngineChanged(SeatMessage):
    """The own engine is in another state."""

    def __init__(self, status: EngineStatus) -> None:
        super().__init__()
        self.status = status


class UnsentChanged(SeatMessage):
    """Another set of messages waits for acknowledgement."""

    def __init__(self, unsent: tuple[Unsent, ...]) -> None:
        super().__init__()
        self.unsent = unsent


class Rejected(SeatMessage):
    """The room will not take a message."""

    def __init__(self, unsent: Unsent, why: str) -> None:
        super().__init__()
        self.unsent = unsent
        self.why = why


class Notice(SeatMessage):
    """A line that matters now and is not in the log."""

    def __init__(self, severity: Severity, text: str) -> None:
        super().__init__()
        self.severity = severity
        self.text = text


class KnockArrived(SeatMessage):
    """Somebody waits for this host's word, or no longer does."""

    def __init__(self, knock: Knock) -> None:
        super().__init__()
        self.knock = knock


class HostingOffered(SeatMessage):
    """The host asks whether this person would host from now on."""

    def __init__(self, by: str) -> None:
        super().__init__()
        self.by = by


class HostingAccepted(SeatMessage):
    """Somebody is willing to host; the room is theirs when this host leaves."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class RivalsChanged(SeatMessage):
    """Other hosts of this room appeared or ended."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        super().__init__()
        self.hosts = hosts


class TransferMoved(SeatMessage):
    """A file has come further, or stopped."""

    def __init__(self, transfer: Transfer) -> None:
        super().__init__()
        self.transfer = transfer


class Bridge(Listener):
    """Posts what a seat reports to a screen, keeping the order.

    Nothing is posted before `start`, since a seat may speak before the screen has it. What the
    screen then reads from the seat itself is not posted at all for the time before: it may be of
    a seat that was tried first and given up.

    A burst of events becomes one message, so that catching up costs the screen one step instead
    of thousands, and so does the text of an answer; any other report ends the burst, so that order is kept between the kinds.
    """

    def __init__(self, target: MessagePump) -> None:
        self._target = target
        self._held: list[SeatMessage] | None = []
        self._burst: EventsArrived | None = None
        self._words: DeltaArrived | None = None

    def start(self) -> None:
        """Post what was held back, and from now on everything at once.

        The screen has to have read the seat's connection, engine and unsent messages.
        """
        held, self._held = self._held or [], None
        for message in held:
            if not isinstance(message, LinkChanged | EngineChanged | UnsentChanged):
                self._target.post_message(message)

    def on_event(self, event: Event) -> None:
        """Add the event to the burst that the screen has not read yet, or begin one."""
        if self._burst is None or not self._burst.add(event):
            burst = EventsArrived(event)
            self._post(burst)
            self._burst = burst

    def on_typing(self, name: str) -> None:
        """Report that somebody else is writing."""
        self._post(SomebodyTyping(name))

    def on_delta(self, message: int, text: str) -> None:
        """Add the text to what the screen has not read yet, or report it anew."""
        if self._words is None or not self._words.add(message, text):
            words = DeltaArrived(message, text)
            self._post(words)
            self._words = words

    def on_progress(self, message: int, agent: str, what: What, detail: str) -> None:
        """Report what an agent is at."""
        self._post(ProgressMade(message, agent, what, detail))

    def on_link(self, status: LinkStatus) -> None:
        """Report the state of the connection; at once while there is no seat to wait for."""
        if self._held is not None and status.link is Link.CONNECTING:
            self._target.post_message(LinkChanged(status))
        else:
            self._post(LinkChanged(status))

    def on_engine(self, status: EngineStatus) -> None:
        """Report the state of the own engine."""
        self._post(EngineChanged(status))

    def on_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Report what waits for acknowledgement."""
        self._post(UnsentChanged(unsent))

    def on_rejected(self, unsent: Unsent, why: str) -> None:
        """Report that the room will not take a message."""
        self._post(Rejected(unsent, why))

    def on_notice(self, severity: Severity, text: str) -> None:
        """Report a line that matters now."""
        self._post(Notice(severity, text))

    def on_knock(self, knock: Knock) -> None:
        """Report that somebody waits for this host's word, or no longer does."""
        self._post(KnockArrived(knock))

    def on_offered(self, by: str) -> None:
        """Report that the host asks this person to host."""
        self._post(HostingOffered(by))

    def on_accepted(self, name: str) -> None:
        """Report that somebody is willing to host."""
        self._post(HostingAccepted(name))

    def on_transfer(self, transfer: Transfer) -> None:
        """Report how far a file has come."""
        self._post(TransferMoved(transfer))

    def on_rivals(self, hosts: tuple[str, ...]) -> None:
        """Report who else hosts this room at the same time."""
        self._post(RivalsChanged(hosts))

    def _post(self, message: SeatMessage) -> None:
        self._burst = self._words = None
        if self._held is None:
            self._target.post_message(message)
        else:
            self._held.append(message)
