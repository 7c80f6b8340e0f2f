"""From events to the entries of a timeline."""

from collections.abc import Iterable
from datetime import datetime, time, timedelta
from typing import Final

from genie_core.room.event import (
    Answered,
    Cancelled,
    Equipped,
    Event,
    Failed,
    Hosted,
    Joined,
    Left,
    Opened,
    Outcome,
    Said,
    Settled,
    Stage,
    Suspended,
)
from genie_core.room.fold import Exchange, Phase, RoomState
from genie_tui.moments import local_time
from genie_tui.text import visible, visible_line
from genie_tui.widgets.entry import Day, Entry, Note, Reply, Speech, Tone

GROUPED: Final = 300.0
"""Seconds within which messages of one author stand under one name."""

QUOTED: Final = 120
"""Characters of a question that are repeated above an answer."""


class Transcript:
    """The entries so far. `add` appends at most a date and one entry for an event.

    `head` is the sequence number of the last event that is in it.
    """

    def __init__(self, state: RoomState) -> None:
        self.entries: list[Entry] = []
        self.head = 0
        self._state = state
        self._place: dict[int, int] = {}
        self._until = 0.0  # when the day of the last entry ends
        self._parked: set[str] = set()

    def place(self, message: int) -> int | None:
        """The index of the entry that shows a message."""
        return self._place.get(message)

    def read(self, events: Iterable[Event], *, head: int) -> None:
        """Append what many events show, which stand for all of them up to `head`."""
        for event in events:
            self.add(event)
        self.head = head

    def add(self, event: Event) -> None:
        """Append what the event shows, if anything."""
        self.head = max(self.head, event.seq)
        entry = self._entry(event)
        if entry is None:
            return
        now = local_time(event.at)
        if now.timestamp() >= self._until:
            self._turn_page(now)
            entry = self._entry(event) or entry  # a group never spans two days
        if isinstance(entry, Speech):
            self._place[entry.message] = len(self.entries)
        self.entries.append(entry)

    def reply(self, exchange: Exchange, text: str, at: float, elapsed: float | None) -> Reply:
        """An answer to a message, as it would stand at the end now."""
        answer = exchange.answer
        receiver = (answer.receiver if answer else None) or exchange.author
        owner = exchange.handler if exchange.handler not in ("", receiver) else ""
        last = self.entries[-1] if self.entries else None
        follows = isinstance(last, Speech) and last.message == exchange.seq
        quote = "" if follows else visible_line(exchange.said.text[:QUOTED])
        return Reply(
            exchange.seq,
            at,
            visible_line(receiver),
            visible_line(owner),
            visible(text),
            quote,
            elapsed,
        )

    def opens(self, author: str, at: float) -> bool:
        """Whether a message by this author would start a new group."""
        last = self.entries[-1] if self.entries else None
        return not (
            isinstance(last, Speech)
            and last.author == author
            and not last.emote
            and at - last.at < GROUPED
        )

    def _turn_page(self, now: datetime) -> None:
        day = now.date()
        midnight = datetime.combine(day + timedelta(days=1), time.min)
        self._until = midnight.astimezone().timestamp()
        self.entries.append(Day(day))

    def _entry(self, event: Event) -> Entry | None:
        match event.body:
            case Said(text=text, emote=emote):
                author = visible_line(event.by)
                opens = self.opens(author, event.at)
                return Speech(event.seq, event.at, author, visible(text), emote, opens)
            case Answered(message=message, text=text, elapsed=elapsed):
                return self.reply(self._state.exchanges[message], text, event.at, elapsed)
            case Failed(message=message, stage=stage, error=error):
                author = visible_line(self._state.exchanges[message].author)
                text = f"genie could not answer {author}: {_where(stage)}{visible_line(error)}"
                return self._note(event, "✗", text, Tone.FAILED, message)
            case Cancelled(message=message, reason=reason):
                author = visible_line(self._state.exchanges[message].author)
                return self._note(event, "■", _stopped(author, reason), message=message)
            case Settled(message=message, approval=approval, outcome=outcome):
                return self._settled(event, message, approval, outcome)
        said = _about_the_room(event)
        return said and self._note(event, *said)

    def _settled(self, event: Event, message: int, approval: str, outcome: Outcome) -> Note | None:
        """Tell of a denial that no answer follows, since its run ended before the pause."""
        if outcome == "parked":
            self._parked.add(approval)
            return None
        if approval not in self._parked or outcome != "denied":
            return None
        proposal = self._state.proposals[approval]
        text = f"{visible_line(event.by)} did not allow {visible_line(proposal.tool)}"
        return self._note(event, "✗", _because(text, proposal.reason or ""), message=message)

    def _note(
        self, event: Event, mark: str, text: str, tone: Tone = Tone.QUIET, message: int = 0
    ) -> Note:
        opens = not (self.entries and isinstance(self.entries[-1], Note))
        return Note(event.at, mark, text, opens, tone, message)


def _about_the_room(event: Event) -> tuple[str, str] | None:
    by = visible_line(event.by)
    match event.body:
        case Opened(title=title):
            return "◇", f"the room {visible_line(title)} was opened"
        case Hosted(host=host):
            return "◇", f"{visible_line(host)} is hosting"
        case Suspended(reason=reason):
            return "◇", _because("the room was suspended", reason)
        case Joined(role="guest"):
            return "→", f"{by} joined as a guest"
        case Joined(agent=agent):
            return "→", f"{by} joined" + (f" with {visible_line(agent)}" if agent else "")
        case Left(name=name, reason=reason):
            return "←", _because(f"{visible_line(name)} left", reason)
        case Equipped(agent=agent) if agent:
            return "·", f"{by}'s agent is {visible_line(agent)} now"
    return None


def _where(stage: Stage) -> str:
    return "" if stage in ("agent", "lost") else f"{stage} failed: "


def _stopped(author: str, reason: str) -> str:
    if reason.startswith("stopped by "):
        return f"genie's work for {author} was {visible_line(reason)}"
    return _because(f"genie's work for {author} was stopped", reason)


def _because(text: str, reason: str) -> str:
    return f"{text}: {visible_line(reason)}" if reason else text


def past(state: RoomState) -> Iterable[Event]:
    """The events that a state still knows, in order: what was said, answered, broken and stopped.

    Their sequence numbers are right only for what was said and answered.
    """
    known: list[Event] = []
    for exchange in state.exchanges.values():
        known.append(Event(exchange.seq, exchange.at, exchange.author, exchange.said))
        ended = exchange.ended_at if exchange.ended_at is not None else exchange.at
        if exchange.answer is not None:
            seq = exchange.answered_seq or exchange.seq
            known.append(Event(seq, ended, exchange.handler, exchange.answer))
        if exchange.error is not None:
            known.append(Event(exchange.seq, ended, exchange.handler, exchange.error))
        if exchange.phase is Phase.CANCELLED:
            stopped = Cancelled(exchange.seq)
            known.append(Event(exchange.seq, ended, exchange.handler, stopped))
    return sorted(known, key=lambda event: (event.at, event.seq))
