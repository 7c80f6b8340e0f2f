"""Recorded rooms for those who ask what others would have decided."""

from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
)
from genie_eval.cases import RecordedDecisions

START = 1_790_000_000.0


class Recording:
    """A room that ann hosts, written as a test goes."""

    def __init__(self, *, engine: bool = True) -> None:
        self.events: list[Event] = []
        self.add(RoomCreated("r1", "Garden"))
        self.add(HostStarted("ann"))
        self.add(MemberJoined("host", engine=engine, device="ann-1"), "ann")

    def add(self, body: AnyBody, by: str = ROOM) -> Event:
        seq = len(self.events) + 1
        event = Event(seq, START + seq, by, body)
        self.events.append(event)
        return event

    def say(self, text: str, by: str = "ann", handler: str = "") -> int:
        """Somebody says something; returns its number."""
        return self.add(MessagePosted(f"{by}-{len(self.events)}", text, handler), by).seq

    def ignored(self, text: str, by: str = "ann", handler: str = "ann") -> int:
        """Something that the handler's reasoner left alone."""
        message = self.say(text, by, handler)
        self.add(DecisionMade(message, "ignore", "small talk"), handler)
        return message

    def answered(self, text: str, answer: str, by: str = "ann", handler: str = "ann") -> int:
        """Something that the handler's agent answered."""
        message = self.say(text, by, handler)
        self.add(DecisionMade(message, "delegate", "a question", text, by), handler)
        self.add(AnswerPosted(message, answer, by), handler)
        return message

    def recalled(self, first: int = 1, last: int | None = None) -> RecordedDecisions:
        """What there is to be decided anew."""
        past = RecordedDecisions(first=first, last=last)
        for event in self.events:
            past.take(event)
        return past
