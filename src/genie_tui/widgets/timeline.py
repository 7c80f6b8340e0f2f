"""The room's conversation, drawn line by line so that its length does not matter."""

from collections.abc import Iterable

from textual.message import Message
from textual.scroll_view import ScrollView

from genie_core.room.event import Event
from genie_core.room.fold import RoomState
from genie_core.room.seat import Unsent


class Timeline(ScrollView, can_focus=True):
    """Everything that was said, answered and noted in the room, oldest first."""

    class StopRequested(Message):
        """The person wants work to stop: for one message, or all of it when None."""

        def __init__(self, message: int | None) -> None:
            super().__init__()
            self.message = message

    class NewBelow(Message):
        """The number of messages that arrived below the part being read changed."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    def bind_state(self, state: RoomState, me: str) -> None:
        """Show this room from now on, as seen by `me`, beginning with what it holds already."""

    def apply(self, event: Event) -> None:
        """Take in an event that was just applied to the state."""

    def apply_many(self, events: Iterable[Event]) -> None:
        """Take in many events that were applied to the state, at the cost of one."""

    def stream(self, message: int, text: str) -> None:
        """Add text to the answer that is being written for a message."""

    def set_unsent(self, unsent: tuple[Unsent, ...]) -> None:
        """Show these messages at the end as not sent yet."""

    def show_reasons(self, on: bool) -> None:  # noqa: FBT001 - a switch is what it is
        """Show or hide the reason behind every message that nobody answered."""
