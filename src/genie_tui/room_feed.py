"""Posts the events of a room to its screen."""

from textual.message import Message
from textual.message_pump import MessagePump

from genie_core.room.client.events import CopyRead, EventsRecorded, PendingChanged, RoomEvent
from genie_core.room.client.model import ConnectionState, ConnectionStatus, EngineStatus
from genie_core.room.protocol.events import Event
from genie_core.room.protocol.frames import AnswerDelta


class RoomFeed:
    """Posts each `RoomEvent` to a screen as an `Arrived`, in order with the screen's own messages.

    Unread events of one kind are merged: a burst of log events becomes one message, so that
    catching up costs one step instead of thousands, and so does the text of an answer. Before
    `start`, only the copy of the room and the steps of connecting are posted, as a room may report
    before the screen has it.
    """

    class Arrived(Message, bubble=False):
        """A room event for the screen."""

        def __init__(self, event: RoomEvent) -> None:
            super().__init__()
            self.first = event
            self._events: list[Event] = []
            self._text: list[str] = []
            self._taken = False
            self.add(event)

        def add(self, event: RoomEvent) -> bool:
            """Append an event that continues the first; False if it doesn't or is too late."""
            if self._taken:
                return False
            match self.first, event:
                case EventsRecorded(), EventsRecorded(events=events):
                    self._events += events
                    return True
                case AnswerDelta(message=first), AnswerDelta(message=message) if first == message:
                    self._text.append(event.text)
                    return True
            return False

        def take(self) -> RoomEvent:
            """Return the event with everything appended; later events go into another message."""
            self._taken = True
            match self.first:
                case EventsRecorded():
                    return EventsRecorded(tuple(self._events))
                case AnswerDelta(message=message):
                    return AnswerDelta(message, "".join(self._text))
            return self.first

    def __init__(self, screen: MessagePump) -> None:
        self._screen = screen
        self._held: list[RoomFeed.Arrived] | None = []
        self._last: RoomFeed.Arrived | None = None

    def __call__(self, event: RoomEvent) -> None:
        """Post an event, or add it to the last one if that is unread."""
        is_connecting = (
            isinstance(event, ConnectionStatus) and event.state is ConnectionState.CONNECTING
        )
        if is_connecting or isinstance(event, CopyRead):
            self._last = self.Arrived(event)
            self._screen.post_message(self._last)  # before `start`, too: the host may be asked
        elif self._last is None or not self._last.add(event):
            self._last = self.Arrived(event)
            if self._held is None:
                self._screen.post_message(self._last)
            else:
                self._held.append(self._last)

    def start(self) -> None:
        """Post the held events, and from now on every event directly.

        The screen must have read the room's statuses and pending messages: reports about them are
        dropped here, as they may come from an earlier attempt to join.
        """
        held, self._held = self._held or [], None
        for message in held:
            if not isinstance(message.first, ConnectionStatus | EngineStatus | PendingChanged):
                self._screen.post_message(message)
