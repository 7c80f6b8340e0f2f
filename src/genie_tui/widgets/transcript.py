"""From events to the entries of a timeline."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Final

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalResolved,
    Event,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    RecoveredEvent,
    RoomSuspended,
    RunCancelled,
    RunFailed,
    Stage,
    UnreadableEvent,
)
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.thread import MessageThread
from genie_core.text.format import local_time
from genie_core.text.safe import visible, visible_line
from genie_tui.widgets.announcement import announcement, because, copied_from
from genie_tui.widgets.brought import file_lines, quote_lines
from genie_tui.widgets.entry import Day, Divider, Entry, Note, Reply, Speech, Tone
from genie_tui.widgets.failure import CUT, CUT_MARK, part, why_failed
from genie_tui.widgets.parking import MARK, goes_on, parked_with

GROUPED: Final = 300.0
"""Seconds within which messages of one author stand under one name."""

QUOTED: Final = 120
"""Characters of a question that are repeated above an answer."""


class Transcript:
    """The entries so far. `add` appends at most a date and one entry for an event.

    Events in a row that can't be read, for the same reason, share one entry, which then changes.
    `head` is the sequence number of the last event that is in it, and `seqs` has one for each
    entry. What the state has forgotten is not shown; `forget` drops entries, too.
    """

    def __init__(self, state: RoomState) -> None:
        self.entries: list[Entry] = []
        self.seqs: list[int] = []
        self.head = 0
        self._state = state
        self._place: dict[int, int] = {}
        self._day = (0.0, 0.0)  # when the day of the last entry begins and ends
        self._parked: dict[str, int] = {}  # calls that wait, and their messages
        self._kept: set[str] = set()
        self._files: dict[str, list[int]] = {}
        self._host = ""
        self._devices: dict[str, set[str]] = {}
        self._lost = (0, 0, "")  # the events that the last entry says can't be read, and why

    @property
    def messages(self) -> int:
        """How many messages there are among the entries."""
        return len(self._place)

    def place(self, message: int) -> int | None:
        """The index of the entry that shows a message."""
        return self._place.get(message)

    def places_of(self, digest: str) -> list[int]:
        """The indices of the entries that show a file."""
        return [self._place[message] for message in self._files.get(digest, ())]

    def read(self, events: Iterable[Event], *, head: int) -> None:
        """Append what many events show, which stand for all of them up to `head`."""
        for event in events:
            self.add(event)
        self.head = head
        if head == self._state.head:
            self._host = self._state.host

    def add(self, event: Event) -> None:
        """Append what the event shows, if anything."""
        self.head = max(self.head, event.seq)
        entry = self._entry(event) if event.seq > self._state.floor else None
        if entry is not None:
            now = local_time(event.at)
            if not self._day[0] <= now.timestamp() < self._day[1]:  # a clock may go back
                self._turn_page(now, event.seq)
                entry = self._entry(event) or entry  # a group never spans two days
            before = self.entries[-1] if self.shares(event) else None
            if isinstance(before, Note) and isinstance(entry, Note):
                self.entries[-1] = replace(entry, opens=before.opens)
            else:
                self._append(entry, event.seq)
        self._note_presence(event)

    def shares(self, event: Event) -> bool:
        """Whether the last entry is about an event that was added, and about others before it."""
        first, last, _ = self._lost
        return first < last == event.seq and bool(self.seqs) and self.seqs[-1] == first

    def forget(self, count: int) -> int:
        """Drop the first entries, so many; returns how many messages were among them.

        What comes first then has its date above it, and its author's name.
        """
        gone = sum(isinstance(entry, Speech) for entry in self.entries[:count])
        kept = list(zip(self.entries[count:], self.seqs[count:], strict=True))
        self.entries, self.seqs = [], []
        self._place, self._files = {}, {}
        if kept and (at := _moment(kept[0][0])) is not None:
            self._append(Day(local_time(at).date()), kept[0][1])
        for entry, seq in kept:
            if isinstance(entry, Speech) and len(self.entries) <= 1:
                entry = replace(entry, opens=True)
            self._append(entry, seq)
        return gone

    def _append(self, entry: Entry, seq: int) -> None:
        if isinstance(entry, Speech):
            self._place[entry.message] = len(self.entries)
            for file in entry.files:
                self._files.setdefault(file.digest, []).append(entry.message)
        self.entries.append(entry)
        self.seqs.append(seq)

    def _answer(self, event: Event, answered: AnswerPosted) -> Reply:
        reply = self._said_by_agent(event, answered, answered.elapsed, answered.receiver)
        return replace(reply, incomplete=CUT, mark=CUT_MARK) if answered.cut else reply

    def _said_by_agent(
        self,
        event: Event,
        said: AnswerPosted | RunCancelled | RunFailed,
        elapsed: float,
        receiver: str | None = None,
    ) -> Reply:
        exchange = self._state.exchanges.get(said.message)
        if exchange is not None:
            return self.reply(exchange, said.text, event.at, elapsed)
        by, whom = visible_line(event.by), visible_line(receiver or event.by)
        owner = by if by != whom else ""
        return Reply(said.message, event.at, whom, owner, visible(said.text), "", elapsed)

    def _ended(self, event: Event, end: RunCancelled | RunFailed) -> Note | Reply:
        """How a run ended without an answer, below the part of one that there is."""
        note = self._how_it_ended(event, end)
        if not end.text:
            return note
        reply = self._said_by_agent(event, end, 0.0)
        why = f"incomplete: {note.text}"
        return replace(reply, incomplete=why, mark=note.mark, tone=note.tone)

    def _how_it_ended(self, event: Event, end: RunCancelled | RunFailed) -> Note:
        author, tools = self._author(event, end.message), self._tools_parked(end)
        match end:
            case _ if tools is not None:
                text = f"genie's work for {author} was {parked_with(tools)}"
                why = end.reason if isinstance(end, RunCancelled) else end.error
                return self._note(event, MARK, because(text, why), message=end.message)
            case RunFailed(stage=stage, error=error):
                why = f"{_where(stage)}{visible_line(why_failed(error))}"
                text = f"genie could not answer {author}: {why}"
                return self._note(event, "✗", text, Tone.FAILED, end.message)
            case RunCancelled(reason=reason):
                return self._note(event, "■", _stopped(author, reason), message=end.message)

    def _author(self, event: Event, message: int) -> str:
        """Whose message it is; the name of whoever handled it if that is forgotten."""
        exchange = self._state.exchanges.get(message)
        return visible_line(exchange.author if exchange is not None else event.by)

    def reply(self, exchange: MessageThread, text: str, at: float, elapsed: float | None) -> Reply:
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
            and not last.voucher
            and abs(at - last.at) < GROUPED
        )

    def _turn_page(self, now: datetime, seq: int) -> None:
        day = now.date()
        midnights = (datetime.combine(day + timedelta(days=each), time.min) for each in (0, 1))
        begin, end = (midnight.astimezone().timestamp() for midnight in midnights)
        self._day = begin, end
        self._append(Day(day), seq)

    def _entry(self, event: Event) -> Entry | None:
        match event.body:
            case MessagePosted() as said:
                return self._speech(event.seq, event, said)
            case AnswerPosted() as answered:
                return self._answer(event, answered)
            case RunCancelled() | RunFailed() as end:
                return self._ended(event, end)
            case ApprovalResolved() as settled:
                return self._settled(event, settled)
            case RecoveredEvent(event=original):
                return self._recovered(event, original)
            case UnreadableEvent(why=why):
                return self._unreadable(event, why)
            case HostStarted(host=host) as hosted if self._host not in ("", host):
                return Divider(f"{visible_line(host)} hosts now{copied_from(hosted)}")
        told = announcement(event, self._devices)
        return told and self._note(event, *told)

    def _speech(self, message: int, event: Event, said: MessagePosted, voucher: str = "") -> Speech:
        author = visible_line(event.by)
        return Speech(
            message,
            event.at,
            author,
            visible(said.text),
            said.emote,
            bool(voucher) or self.opens(author, event.at),
            file_lines(said.files),
            quote_lines(said.quotes),
            visible_line(voucher),
        )

    def _unreadable(self, event: Event, why: str) -> Note:
        first, last, before = self._lost
        first = first if (last + 1, before) == (event.seq, why) else event.seq
        self._lost = first, event.seq, why
        which = f"entry {first:,}" if first == event.seq else f"entries {first:,} to {event.seq:,}"
        return self._note(event, "⚠", f"{which} can't be read: {visible_line(why)}")

    def _recovered(self, event: Event, original: Event) -> Entry | None:
        """Show what an earlier host knew: as it was, and who vouches for it."""
        match original.body:
            case MessagePosted() as said:
                return self._speech(event.seq, original, said, event.by)
            case AnswerPosted(message=message, text=text, elapsed=elapsed, cut=cut):
                found = self.exchange_of(message)
                if found is None:
                    return None
                reply = self.reply(found, text, original.at, elapsed)
                if cut:
                    reply = replace(reply, incomplete=CUT, mark=CUT_MARK)
                return replace(reply, voucher=visible_line(event.by))
        told = announcement(original, {})
        if told is None:
            return None
        mark, text = told
        return self._note(event, mark, f"{text} (recovered from {visible_line(event.by)}'s copy)")

    def exchange_of(self, recovered: int) -> MessageThread | None:
        """The message that a recovered event speaks of by the number it had once."""
        number = self._state.recovered.get(recovered, recovered)
        return self._state.exchanges.get(number)

    def _note_presence(self, event: Event) -> None:
        match event.body:
            case HostStarted(host=host):
                self._host = host
                self._devices.clear()
            case RoomSuspended():
                self._devices.clear()
            case MemberJoined(device=device):
                self._devices.setdefault(event.by, set()).add(device)
            case MemberLeft(name=name, device=device):
                here = self._devices.get(name, set())
                here.discard(device)
                if not device:
                    here.clear()

    def _tools_parked(self, end: RunCancelled | RunFailed) -> list[str] | None:
        """The tools that wait for an answer at the end of a run which goes on with that, if any."""
        calls = [call for call, message in self._parked.items() if message == end.message]
        if not calls or not goes_on(end):
            return None
        known = (self._state.proposals.get(call) for call in calls)
        return [call.tool if call is not None else "a tool call" for call in known]

    def _settled(self, event: Event, settled: ApprovalResolved) -> Note | None:
        """Tell of changes, and of a denial that no answer follows: its run ended before the pause."""
        proposal = self._state.proposals.get(settled.approval)
        if settled.outcome == "parked":
            self._parked[settled.approval] = settled.message
            self._kept.add(settled.approval)
            return None
        self._parked.pop(settled.approval, None)
        if proposal is None:
            return None
        by, tool = visible_line(event.by), visible_line(proposal.tool)
        if settled.outcome == "approved" and settled.how == "edit":
            text = f"{tool} was allowed with changes by {by}"
            return self._note(event, "✎", text, message=settled.message)
        if settled.approval not in self._kept or settled.outcome != "denied":
            return None
        text = because(f"{by} did not allow {tool}", proposal.reason or "")
        return self._note(event, "✗", text, message=settled.message)

    def _note(
        self, event: Event, mark: str, text: str, tone: Tone = Tone.QUIET, message: int = 0
    ) -> Note:
        opens = not (self.entries and isinstance(self.entries[-1], Note))
        return Note(event.at, mark, text, opens, tone, message)


def _moment(entry: Entry) -> float | None:
    """When it was; None for what is a date itself or has none."""
    match entry:
        case Note(at=at) | Speech(at=at) | Reply(at=at):
            return at
    return None


def _where(stage: Stage) -> str:
    return "" if stage in ("agent", "lost") else f"{part(stage)} failed: "


def _stopped(author: str, reason: str) -> str:
    if reason.startswith("stopped by "):
        return f"genie's work for {author} was {visible_line(reason)}"
    return because(f"genie's work for {author} was stopped", reason)
