"""What those who are in a room may do there: speak, let their engine report, stop runs."""

from collections import OrderedDict
from typing import Final

from genie_core.room.budget import Budget
from genie_core.room.codec import normal, size_of, whole_text
from genie_core.room.errors import FrameError
from genie_core.room.event import Equipped, Said
from genie_core.room.fold import RoomState
from genie_core.room.frame import (
    Delta,
    Equip,
    Limits,
    Publish,
    Refusal,
    Say,
    Stop,
    Stopping,
    Streamed,
    Typed,
)
from genie_core.room.history import NO_DISK, History
from genie_core.room.peer import Peer
from genie_core.room.roster import Roster

ID_CHARS: Final = 64
LABEL_CHARS: Final = 200
"""Longest label of an engine; what goes beyond is cut off."""

REMEMBERED_IDS: Final = 4096
TOO_MUCH: Final = "too much at once; slow down"


class Floor:
    """Judges the frames of seated peers and records what is in order.

    Everything refused is answered; ephemeral frames that don't fit are dropped without a word.
    """

    def __init__(self, history: History, roster: Roster, budget: Budget, limits: Limits) -> None:
        self._history = history
        self._roster = roster
        self._budget = budget
        self._limits = limits
        self._said = _Recent()
        self._published = _Recent()
        for event in history.events:
            if isinstance(event.body, Said):
                self._said.add(event.by, event.body.id)

    @property
    def _state(self) -> RoomState:
        return self._history.state

    def say(self, peer: Peer, say: Say, now: float) -> None:
        """Record a message. The same id by the same author is recorded once."""
        if (peer.name, say.id) in self._said:
            return  # the recorded event is the answer
        refusal = self._objection_to(peer, say, now)
        if refusal is not None:
            self._roster.refuse(peer, *refusal, say.id[:ID_CHARS])
            return
        handler = self._handler_for(peer.name)
        said = Said(whole_text(say.id), whole_text(say.text), handler, say.emote)
        self._history.record(peer.name, said, now)
        self._said.add(peer.name, say.id)
        peer.strikes = 0

    def publish(self, peer: Peer, publish: Publish, now: float) -> None:
        """Record what the responsible engine did. The same id is recorded once."""
        if (peer.name, publish.id) in self._published:
            return
        ref = publish.id[:ID_CHARS]
        if not _is_id(publish.id):
            self._roster.refuse(peer, "malformed", f"an id has 1 to {ID_CHARS} characters", ref)
            return
        if self._history.congested:
            self._roster.refuse(peer, "disk", NO_DISK, ref)
            return
        if not self._budget.work(peer, now):
            self._roster.refuse(peer, "too_fast", "the engine reports too much", ref)
            return
        try:
            body = normal(publish.body, self._limits.frame_bytes)
        except FrameError as error:
            self._roster.refuse(peer, error.code, str(error), ref)
            return
        objection = self._state.objection(body, peer.name)
        if objection is not None:
            self._roster.refuse(peer, self._code(body.message, peer.name), objection, ref)
            return
        if not self._budget.record(peer, size_of(body), now):
            self._roster.refuse(peer, "too_fast", TOO_MUCH, ref)
            return
        self._history.record(peer.name, body, now)
        self._published.add(peer.name, publish.id)
        peer.strikes = 0

    def equip(self, peer: Peer, equip: Equip, now: float) -> None:
        """Record that an engine goes by another label."""
        person = self._state.people[peer.name]
        label = whole_text(equip.agent, LABEL_CHARS)
        if not person.engine:
            self._roster.refuse(peer, "out_of_state", "a guest has no engine to speak of")
        elif label == person.agent:
            pass
        elif self._history.congested:
            self._roster.refuse(peer, "disk", NO_DISK)
        elif not (self._budget.nudge(peer, now) and self._budget.record(peer, len(label), now)):
            self._roster.refuse(peer, "too_fast", "the engine changes too often")
        else:
            self._history.record(peer.name, Equipped(label), now)

    def typing(self, peer: Peer, now: float) -> None:
        """Pass on that somebody is writing."""
        if self._budget.nudge(peer, now):
            self._roster.signal(peer, Typed(peer.name))

    def delta(self, peer: Peer, delta: Delta, now: float) -> None:
        """Pass on text of an answer in the making, if it comes from where the answer will."""
        exchange = self._state.running.get(delta.message)
        if exchange is None or exchange.handler != peer.name:
            return
        if len(delta.text) > self._limits.text_chars:
            return
        if self._budget.pass_on(peer, len(delta.text), now):
            self._roster.signal(peer, Streamed(delta.message, whole_text(delta.text)))

    def stop(self, peer: Peer, stop: Stop, now: float) -> None:
        """Ask the engine that runs a message to stop, on behalf of its author or its owner."""
        exchange = self._state.running.get(stop.message)
        if exchange is None:
            self._roster.refuse(peer, "out_of_state", f"nothing runs for message {stop.message}")
            return
        if peer.name not in (exchange.author, exchange.handler):
            why = f"only {exchange.author} and {exchange.handler} may stop this run"
            self._roster.refuse(peer, "not_responsible", why)
            return
        if not self._budget.nudge(peer, now):
            self._roster.refuse(peer, "too_fast", "too many requests to stop; slow down")
            return
        handler = self._roster.at(exchange.handler)
        if handler is None:
            self._roster.refuse(peer, "out_of_state", f"{exchange.handler} is not here")
        else:
            self._roster.reply(handler, Stopping(stop.message, peer.name))

    def _objection_to(self, peer: Peer, say: Say, now: float) -> tuple[Refusal, str] | None:
        limit = self._limits.text_chars
        if not _is_id(say.id):
            return "malformed", f"an id has 1 to {ID_CHARS} characters"
        if not say.text.strip():
            return "malformed", "a message without text"
        if len(say.text) > limit:
            return (
                "too_long",
                f"the message has {len(say.text):,} characters, the limit is {limit:,}",
            )
        if self._history.congested:
            return "disk", NO_DISK
        if not self._budget.speak(peer, size_of(say), now):
            return "too_fast", TOO_MUCH
        return None

    def _handler_for(self, author: str) -> str:
        for name in (author, self._state.host):
            person = self._state.people.get(name)
            if person is not None and person.present and person.engine:
                return name
        return ""

    def _code(self, message: int, name: str) -> Refusal:
        exchange = self._state.exchanges.get(message)
        if exchange is None:
            return "unknown_message"
        return "out_of_state" if exchange.handler == name else "not_responsible"


def _is_id(text: str) -> bool:
    return 0 < len(text) <= ID_CHARS


class _Recent:
    """The client ids that each author used lately."""

    def __init__(self) -> None:
        self._ids: dict[str, OrderedDict[str, None]] = {}

    def add(self, author: str, id_: str) -> None:
        ids = self._ids.setdefault(author, OrderedDict())
        ids[id_] = None
        if len(ids) > REMEMBERED_IDS:
            ids.popitem(last=False)

    def __contains__(self, key: tuple[str, str]) -> bool:
        author, id_ = key
        return id_ in self._ids.get(author, ())
