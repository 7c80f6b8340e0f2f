"""The input of reasoners in a recorded room, and their decisions, so that others can be asked."""

from dataclasses import dataclass

from genie_core.message import Message
from genie_core.room.engine.context import Place, as_answer, as_message, missing
from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    Event,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    RoomSuspended,
)
from genie_core.room.state.room_state import RoomState


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A message that was decided about.

    `position` is its place in the conversation as the engine of `handler` has it, in which the
    reasoner saw everything up to it.
    """

    event: Event
    said: MessagePosted
    position: int
    before: DecisionMade

    @property
    def seq(self) -> int:
        """The number of the message."""
        return self.event.seq

    @property
    def handler(self) -> str:
        """Whose engine it was."""
        return self.said.handler

    @property
    def author(self) -> str:
        """Whose message it is; an engine has a reasoner for each author."""
        return self.event.by


@dataclass(frozen=True, slots=True)
class _Open:
    event: Event
    said: MessagePosted
    position: int


class RecordedDecisions:
    """Goes through a room's events and gathers for each engine its input, and the cases.

    `take` is called for every event, in order. Cases are those from the event `first` to the event
    `last`; of the earlier part, an engine knows as much as one that comes into an old room. Files
    count as if they had been there immediately, and `place` tells where they are now.

    The losses of an ended engine are not recorded, so nothing is forgotten here.
    """

    def __init__(self, place: Place | None = None, first: int = 1, last: int | None = None) -> None:
        self.conversations: dict[str, list[Message]] = {}
        self.cases: list[RecordedDecision] = []
        self._place = place
        self._first = first
        self._last = last
        self._state = RoomState()
        self._here: set[str] = set()
        self._open: dict[int, _Open] = {}

    def take(self, event: Event) -> None:
        """Take the next event in."""
        self._state.apply(event)
        match event.body:
            case DecisionMade(message=message) as decided:
                if (found := self._open.pop(message, None)) is not None:
                    self.cases.append(
                        RecordedDecision(found.event, found.said, found.position, decided)
                    )
            case _ if event.seq < self._first:
                pass
            case MemberJoined(engine=True):
                self._begin(event.by)
            case MemberLeft() | RoomSuspended() | HostStarted():
                self._here = {name for name in self._here if self._is_here(name)}
            case MessagePosted() as said:
                self._said(event, said)
            case AnswerPosted(message=message):
                self._answered(message)
            case _:
                pass

    def _is_here(self, name: str) -> bool:
        person = self._state.people.get(name)
        return person is not None and person.present and person.engine

    def _begin(self, owner: str, but: int = 0) -> None:
        """Give a new engine the missing messages, except for the message `but`."""
        told = self.conversations.setdefault(owner, [])
        self._here.add(owner)
        lacking = missing(self._state, owner, told, place=self._place)
        told += [item.message for item in lacking if item.thread.seq != but]

    def _said(self, event: Event, said: MessagePosted) -> None:
        if said.handler and said.handler not in self._here:
            self._begin(said.handler, but=event.seq)
        thread = self._state.threads[event.seq]
        if thread.is_private:
            return
        for owner in self._here:
            reply = self._state.reply_of(thread)
            self.conversations[owner].append(as_message(thread, self._place, reply))
        if said.handler and (self._last is None or event.seq <= self._last):
            position = len(self.conversations[said.handler]) - 1
            self._open[event.seq] = _Open(event, said, position)

    def _answered(self, message: int) -> None:
        thread = self._state.threads.get(message)
        if thread is None or thread.is_private:
            return
        for owner in self._here:
            answer = as_answer(thread, owner)
            if answer is not None:
                self.conversations[owner].append(answer)
