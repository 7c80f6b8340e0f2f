"""A room's log that a test writes as it goes, applied to a state at once."""

from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    DecisionMade,
    Event,
    MessagePosted,
)
from genie_core.room.state.room_state import RoomState

START = 1_790_000_000.0


class RoomLog:
    """Numbers events, spaces them a second apart and keeps the state up to date."""

    def __init__(self) -> None:
        self.state = RoomState()
        self.events: list[Event] = []

    def add(self, body: AnyBody, by: str = ROOM, *, after: float = 1.0) -> Event:
        at = self.events[-1].at + after if self.events else START
        event = Event(len(self.events) + 1, at, by, body)
        self.state.apply(event)
        self.events.append(event)
        return event

    def say(
        self, by: str, text: str, *, handler: str = "", emote: bool = False, after: float = 1.0
    ) -> Event:
        said = MessagePosted(f"{by}-{len(self.events)}", text, handler, emote)
        return self.add(said, by, after=after)

    def ask(self, by: str, text: str) -> Event:
        """Say something that the author's own agent starts to work on."""
        said = self.say(by, text, handler=by)
        self.add(DecisionMade(said.seq, "delegate"), by)
        return said

    def answer(self, message: Event, text: str) -> Event:
        return self.add(AnswerPosted(message.seq, text, elapsed=1.5), message.by)
