"""The room itself: who is in it, what they may do, and what becomes part of its log.

Pure: frames and times go in, frames to deliver come out. Nothing here waits, reads a clock or
touches a file. The log is everybody's outbox: each peer has a position in it, and `pull` hands over
what is safe on disk and not yet seen. So a slow peer costs no memory, and nothing is acknowledged
before it is durable: the `MessagePosted` event that comes back *is* the acknowledgement.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from genie_core.room.budget import Budget
from genie_core.room.door import Door
from genie_core.room.floor import LABEL_CHARS, SILENCED, Floor
from genie_core.room.heritage import Heritage
from genie_core.room.history import History, Past
from genie_core.room.moderator import PUT_OUT, Moderator
from genie_core.room.peer import ARRIVING, NEXT, Peer, Stage
from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.events import (
    DIGEST_CHARS,
    PREFERENCE_CHARS,
    ROOM,
    VISIT_CHARS,
    Copied,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MessagePosted,
    Role,
    RoomCreated,
    RoomSuspended,
    tag,
)
from genie_core.room.protocol.frames import (
    AcceptHosting,
    AnswerApproval,
    AnswerJoinRequest,
    Bye,
    Chunk,
    ClientFrame,
    Entries,
    FetchFile,
    Hello,
    MemberTyping,
    Moderate,
    OfferHosting,
    PostMessage,
    Prove,
    Publish,
    RecoverEvents,
    Refusal,
    ReportDelta,
    ReportProgress,
    ServerFrame,
    SetEngine,
    SetPreferences,
    ShareArguments,
    Stop,
    StoreFile,
    Suspending,
    Trouble,
    Typing,
    Welcome,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import check_name, fold_name, is_blank, skeletons
from genie_core.room.roster import Roster
from genie_core.room.security.identity import Identity
from genie_core.room.security.invite_tokens import InviteTokens
from genie_core.room.server.file_requests import FileJob, FileRequests
from genie_core.room.state.members import Terminal
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.hardening import most_standing
from genie_core.room.transport.origin import site_of

REASON_CHARS: Final = 200
SUSPENDING: Final = "suspending"
DROPPED: Final = {"slow": "too slow", "too_fast": "sent too much"}
"""Why somebody left whom the room has dropped."""

ROOMS_REASONS: Final = frozenset({PUT_OUT, *DROPPED.values()})
"""Reasons to leave that the room gives, not the person."""

FAREWELL_CHARS: Final = 80
"""Longest reason of somebody who leaves, which is recorded each time."""


class Room:
    """A room, built from its past events; they don't decide about its id and title.

    A long log need not be given whole: `base` is the room before the first of `events` then, and
    `past` is where those before can be read. With an `identity`, the host's, each challenge
    is signed by the host's key.

    Call `open` once, then `connect`, `receive` and `disconnect` for each connection. After any
    call, `stirred` names the peers to `pull` for, and `pending` the events to write; `commit` tells
    what has been written. `suspend` ends it. Times are in seconds since the epoch.
    """

    def __init__(
        self,
        events: Iterable[Event] = (),
        *,
        room: str,
        title: str,
        limits: Limits | None = None,
        passes: InviteTokens | None = None,
        ask: bool = False,
        files: Mapping[str, FileRef] | None = None,
        base: RoomState | None = None,
        past: Past | None = None,
        identity: Identity | None = None,
    ) -> None:
        self.limits: Final = limits or Limits()
        self._history = History(events, base, past)
        self._roster = Roster(self.limits)
        self._budget = Budget(self.limits)
        self._filing = FileRequests(self._roster, self.limits, files or {})
        self._floor = Floor(self._history, self._roster, self._budget, self._filing, self.limits)
        self._moderator = Moderator(self._history, self._roster, self._budget, self._unseat)
        self._heritage = Heritage(self._history, self._roster, self._budget, self.limits)
        self._door = Door(
            self._history,
            self._roster,
            self._budget,
            self.limits,
            passes,
            room=room,
            ask=ask,
            seat=self._seat,
            identity=identity,
        )
        self._id = room
        self._title = title
        self._deed: HostRecord | None = None
        self._trouble = ""
        self._ends_at: float | None = None
        self._closed = "the room is closed"

    @property
    def state(self) -> RoomState:
        """The room as of the last event, durable or not."""
        return self._history.state

    def remembered(self) -> list[Event]:
        """The latest events, as far as they are held in memory; any thread may ask."""
        return self._history.remembered()

    @property
    def durable(self) -> int:
        """Sequence number up to which events are on disk and may be delivered."""
        return self._history.durable

    def open(
        self,
        host: str,
        host_token: str,
        now: float,
        *,
        key: str = "",
        pin: str = "",
        copied: Copied = "",
        origin: str = "",
    ) -> None:
        """Open the doors.

        The host's seat is for a hello with `host_token` from inside this process, and for a person
        who proves `key`. `pin` is that of the certificate, empty without TLS. A room that was
        `copied` from the room `origin` becomes the host's own.

        Raises:
            InvalidName: the host can't go by this name.

        """
        name = check_name(host)
        self._door.host_token = host_token
        if not self._history.head:
            self._history.record(ROOM, RoomCreated(self._id, self._title), now)
        if not copied and (self.state.room, self.state.title) == (self._id, self._title):
            self._history.record(ROOM, HostStarted(name, key=key, pin=pin), now)
        else:  # also where the line that told them is damaged, or the room has another title now
            hosted = HostStarted(name, self._id, self._title, key, pin, copied, origin)
            self._history.record(ROOM, hosted, now)
        self._closed = ""

    def settle(self, deed: HostRecord) -> None:
        """Take note of where the host can be found; told to those who come in from now on."""
        self._deed = deed

    def connect(self, source: str = "", channel: str | None = None) -> int:
        """Take in a new connection; returns the number that stands for it from now on.

        What comes from the same `source` shares some limits. Empty stands for the own process,
        `source.LOOPBACK` for the own machine. `channel` is the pin of the certificate that the connection
        runs over, empty without TLS; None if nobody can be between the two ends, so that nothing
        needs to be proven.
        """
        peer = self._roster.admit(source, channel)
        if self._closed:
            self._roster.dismiss(peer, "suspended", self._closed, final=True)
        else:
            self._limit_strangers()
        return peer.id

    def _limit_strangers(self) -> None:
        """Dismiss the oldest stranger of the site with the most if there are too many.

        There are no more than the gate lets stand, unless connections come by another way.
        """
        strangers = [each for each in self._roster.strangers if each.channel is not None]
        if len(strangers) > most_standing(self.limits.half_open):
            sites = [site_of(each.source) for each in strangers]
            heaviest = max(sites, key=Counter(sites).__getitem__)
            why = "too many connections at once; try again"
            self._roster.dismiss(strangers[sites.index(heaviest)], "room_full", why, final=False)

    def is_arriving(self, peer_id: int) -> bool:
        """Whether this connection has still to show who it is, for which its time is limited."""
        peer = self._roster.get(peer_id)
        return peer is not None and peer.stage in ARRIVING

    def is_known(self, peer_id: int) -> bool:
        """Whether this connection has shown who it is, and was let in or waits for the host's word."""
        peer = self._roster.get(peer_id)
        return peer is not None and peer.stage in (Stage.HELD, Stage.SEATED)

    def receive(self, peer_id: int, frame: ClientFrame, now: float) -> None:
        """Act on a frame. Never raises for anything a peer can send."""
        peer = self._roster.get(peer_id)
        if peer is None or peer.stage is Stage.LEAVING:
            return
        if (peer.stage, type(frame)) not in NEXT:
            kind = tag(frame)
            why = f"{kind} does not fit here: the connection is {peer.stage.value}"
            self._expel(peer, "out_of_state", why, now)
        elif peer.stage is Stage.SEATED:
            self._hear(peer, frame, now)
        else:
            self._meet(peer, frame, now)

    def _meet(self, peer: Peer, frame: ClientFrame, now: float) -> None:
        """Act on a frame of somebody who is not in the room."""
        match frame:
            case Hello():
                self._door.greet(peer, frame, now)
            case Prove():
                self._door.prove(peer, frame, now)
            case Bye():
                self._go(peer, "", now)

    def _hear(self, peer: Peer, frame: ClientFrame, now: float) -> None:
        """Act on a frame of somebody who is in the room."""
        match frame:
            case PostMessage():
                self._floor.say(peer, frame, now)
            case Publish():
                self._floor.publish(peer, frame, now)
            case SetEngine():
                self._floor.equip(peer, frame, now)
            case SetPreferences():
                self._floor.prefer(peer, frame, now)
            case ReportProgress():
                self._floor.progress(peer, frame, now)
            case Typing():
                self._floor.typing(peer, now)
            case ReportDelta():
                self._floor.delta(peer, frame, now)
            case Stop():
                self._floor.stop(peer, frame, now)
            case AnswerApproval():
                self._floor.rule(peer, frame, now)
            case Moderate():
                self._moderator.moderate(peer, frame, now)
            case ShareArguments(on=on):
                self._moderator.share(peer, on, now)
            case OfferHosting(name=name):
                self._moderator.offer(peer, name, now)
            case AcceptHosting(deed=deed):
                self._moderator.accept(peer, deed, now)
            case AnswerJoinRequest():
                if self._moderator.has_authority(peer):
                    self._door.admit(peer, frame, now)
            case RecoverEvents(events=events):
                self._heritage.take(peer, events, now)
            case StoreFile() | Chunk() if self._floor.is_silenced(peer):
                self._roster.refuse(peer, "not_allowed", SILENCED, frame.digest[:DIGEST_CHARS])
            case StoreFile() | Chunk() | FetchFile():
                self._filing.ask(peer, frame)
            case Bye(reason=reason):
                self._go(peer, _persons_reason(reason), now)

    def _go(self, peer: Peer, reason: str, now: float) -> None:
        self._forget_knock(peer)
        peer.stage = Stage.LEAVING
        self._roster.stir(peer)
        self._unseat(peer, reason, now)

    def _forget_knock(self, peer: Peer) -> None:
        if peer.stage is Stage.HELD:
            self._door.forget_knock(peer)

    def arrived(self, peer_id: int, size: int, now: float) -> bool:
        """Charge a frame of this size to its sender before it is decoded; no if it is useless."""
        peer = self._roster.get(peer_id)
        if peer is None or peer.stage is Stage.LEAVING:
            return False
        peer.arrived = size
        self._budget.read(peer, size, now)
        return True

    def took(self, peer_id: int, seconds: float, now: float) -> None:
        """Charge the time for which decoding and handling a frame kept the event loop busy."""
        peer = self._roster.get(peer_id)
        if peer is not None:
            self._budget.spend(peer, seconds, now)

    def pause(self, peer_id: int, now: float) -> float:
        """How many seconds to wait before the next frame is read; shared by all of a person's."""
        peer = self._roster.get(peer_id)
        return 0.0 if peer is None else self._budget.pause(peer, now)

    def reject(self, peer_id: int, code: Refusal, text: str, now: float) -> None:
        """End a connection that sent something that is no frame, or nothing in time."""
        peer = self._roster.get(peer_id)
        if peer is not None and peer.stage is not Stage.LEAVING:
            self._expel(peer, code, text, now)

    def disconnect(self, peer_id: int, reason: str, now: float) -> None:
        """Take note that a connection ended."""
        peer = self._roster.remove(peer_id)
        if peer is None:
            return
        self._filing.forget(peer)
        self._forget_knock(peer)
        code = peer.farewell.code if peer.farewell is not None else ""
        self._unseat(peer, DROPPED.get(code, reason), now)

    def begin_suspending(self, within: float, now: float) -> int:
        """Take no more messages, and tell everybody that the room is suspended so many seconds on.

        What engines report is recorded as before. Returns the number of the last event so far:
        those after it are no messages.
        """
        if not self._closed and self._ends_at is None:
            self._ends_at = now + within
            self._floor.closing = True
            for peer in self._roster.seated:
                self._tell_of_end(peer, now)
        return self._history.head

    def _tell_of_end(self, peer: Peer, now: float) -> None:
        if self._ends_at is not None and SUSPENDING in peer.hello.knows:
            self._roster.reply(peer, Suspending(max(0.0, self._ends_at - now)))

    def suspend(self, reason: str, now: float) -> None:
        """Close the doors. Everybody gets what is left of the log, and then a farewell.

        If somebody has accepted to host from now on, the log says so.
        """
        if self._closed:
            return
        reason = whole_text(reason, REASON_CHARS)
        heir, deed = self._moderator.heir
        self._history.record(ROOM, RoomSuspended(reason, heir, deed), now)
        last = self.durable if self.refuses else self.state.head
        self._closed = "the host suspended the room" + (f": {reason}" if reason else "")
        for peer in self._roster:
            self._roster.vacate(peer)
            if peer.stage is not Stage.LEAVING:
                peer.until = last if peer.stage is Stage.SEATED else 0
                self._roster.dismiss(peer, "suspended", self._closed, final=True)

    def trouble(self, text: str) -> None:
        """Tell everybody that nothing can be written at the moment; empty: it can again."""
        if text != self._trouble:
            self._trouble = text
            self._moderator.disk_fails(fails=bool(text))
            self._roster.stir()  # those who are put out don't wait for the disk
            for peer in self._roster.seated:
                self._roster.reply(peer, Trouble(text))

    def refuse_all(self, text: str) -> None:
        """Take nothing and let nobody in from now on, for this reason: nothing can be written."""
        self._history.refusal = text
        self.trouble(text)

    @property
    def refuses(self) -> bool:
        """Whether nothing will be written any more."""
        return bool(self._history.refusal)

    def pending(self) -> list[Event]:
        """The events to write to disk next, in order. The same ones come until `commit`."""
        return self._history.pending()

    def commit(self, seq: int) -> None:
        """Take note that everything up to `seq` is on disk; it may now be delivered."""
        self._history.commit(seq)
        self._roster.stir()

    def stirred(self) -> set[int]:
        """The peers that may have something to pull since this was last asked."""
        return self._roster.stirred()

    def pull(self, peer_id: int) -> list[ServerFrame]:
        """The next frames for a peer: replies, a batch of events, signals; empty if up to date."""
        peer = self._roster.get(peer_id)
        if peer is None or peer.done:
            return []
        frames = peer.take_replies() if peer.replies else []
        if peer.stage is Stage.SEATED:
            frames += self._entries(peer, self.durable)
            if len(peer.signals):
                frames += _timely(peer.signals.take(), frames)
        elif peer.position < peer.until:
            frames += self._entries(peer, peer.until)
        if peer.stage is Stage.LEAVING and (peer.position >= peer.until or self._is_cut_off(peer)):
            peer.done = True
            if peer.farewell is not None:
                frames.append(peer.farewell)
        return frames

    def _is_cut_off(self, peer: Peer) -> bool:
        """Whether the host put this peer out, and what it was to have first can't be written."""
        put_out = peer.farewell is not None and peer.farewell.code in ("kicked", "banned")
        return put_out and bool(self._trouble)

    def finished(self, peer_id: int) -> bool:
        """Whether the peer got all that it will ever get, so that its connection should close."""
        peer = self._roster.get(peer_id)
        return peer is None or peer.done

    def _entries(self, peer: Peer, until: int) -> list[Entries]:
        """The next events for a peer, none after `until`."""
        batch = self._history.after(peer.position)
        if batch is None:
            return []
        if batch.events[-1].seq > until:
            batch = Entries(tuple(event for event in batch.events if event.seq <= until))
        peer.position = batch.events[-1].seq
        return [batch]

    @property
    def passes_used(self) -> int:
        """How often somebody came in by a pass; when it grows, the passes have changed."""
        return self._door.passes_used

    def take_jobs(self) -> list[FileJob]:
        """What peers want done with files on disk, in order; each is handed out once."""
        return self._filing.take_jobs()

    def answer_job(self, job: FileJob, answer: ServerFrame) -> None:
        """Pass on what came of an errand, if the peer is still there."""
        self._filing.answer(job, answer)

    def file_arrived(self, file: FileRef) -> None:
        """Take note that a file is complete, of this size and sort; messages may now name it."""
        self._filing.add(file)

    def _seat(self, peer: Peer, name: str, role: Role, now: float) -> None:
        hello = peer.hello
        silent = self._floor.is_silent_role(name, role)  # so that they write nothing this way, too
        agent = "" if silent else whole_text(hello.agent, LABEL_CHARS)
        preferences = whole_text(hello.preferences, PREFERENCE_CHARS)
        if silent:
            preferences = self.state.preferences.get(fold_name(name), "")
        joined = MemberJoined(
            role,
            hello.engine,
            agent,
            hello.key,
            whole_text(hello.device),
            preferences,
            whole_text(hello.visit, VISIT_CHARS),
        )
        known = fold_name(name) in self.state.keys or name in self.state.people
        self._replace(name, joined.device)
        if not self._is_here_as(name, joined):
            self._history.record(name, joined, now)
        peer.stage, peer.name, peer.device = Stage.SEATED, name, joined.device
        peer.position = max(0, min(hello.since, self._history.head))
        self._roster.seat(peer)
        self._budget.arrive(peer, now, known=known)
        host, head = self.state.host, self._history.head
        welcome = Welcome(
            self._id, self._title, name, role, host, head, self.limits, deed=self._deed
        )
        self._roster.reply(peer, welcome)
        if role == "host":
            self._door.recall_knocks(peer)
        if self._trouble:
            self._roster.reply(peer, Trouble(self._trouble))
        self._tell_of_end(peer, now)

    def _replace(self, name: str, device: str) -> None:
        before = self._roster.terminal(name, device)
        if before is None:
            return
        self._roster.vacate(before)
        if before.stage is not Stage.LEAVING:  # whoever was put out stays put out
            why = f"{before.name} came in from another connection"
            self._roster.dismiss(before, "replaced", why, final=True)

    def _is_here_as(self, name: str, joined: MemberJoined) -> bool:
        person = self.state.people.get(name)
        if person is None or (person.role, person.key) != (joined.role, joined.key):
            return False
        here = Terminal(joined.engine, joined.agent, joined.visit)
        return person.terminals.get(joined.device) == here

    def _unseat(self, peer: Peer, reason: str, now: float) -> None:
        if self._roster.vacate(peer):
            self._budget.depart(peer)
            if self._floor.is_silenced(peer) and reason not in ROOMS_REASONS:
                reason = ""
            left = MemberLeft(peer.name, whole_text(reason, FAREWELL_CHARS), peer.device)
            self._history.record(ROOM, left, now)

    def _expel(self, peer: Peer, code: Refusal, text: str, now: float) -> None:
        self._forget_knock(peer)
        self._roster.dismiss(peer, code, text, final=True)
        self._unseat(peer, text, now)


def _persons_reason(text: str) -> str:
    """Return a person's reason to leave, empty if it could be read as one that the room gives."""
    reason = whole_text(text, FAREWELL_CHARS)
    seen = skeletons("".join(char for char in reason if not is_blank(char)))
    given = set().union(*map(skeletons, ROOMS_REASONS))
    return "" if any(own in form for own in given for form in seen) else reason


def _timely(signals: list[ServerFrame], frames: list[ServerFrame]) -> list[ServerFrame]:
    """The signals without those of writing by people whose message these frames bring."""
    spoke = {
        event.by
        for frame in frames
        if isinstance(frame, Entries)
        for event in frame.events
        if isinstance(event.body, MessagePosted)
    }
    return [each for each in signals if not (isinstance(each, MemberTyping) and each.name in spoke)]
