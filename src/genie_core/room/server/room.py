"""The room at its host: connections come and go, frames go in, events and replies come out.

Pure: nothing here waits, reads a clock or touches a file. The log is the outbox of all peers: each
has a position in it, and `pull` returns the events that are on disk and not yet sent. So a slow
peer costs no memory, and nothing is acknowledged before it is durable: the `MessagePosted` event that comes
back *is* the acknowledgement.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from genie_core.room.protocol.address import parse_address
from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.events import (
    DIGEST_CHARS,
    ROOM,
    VISIT_CHARS,
    Event,
    FileRef,
    HostStarted,
    MemberJoined,
    MemberLeft,
    Role,
    RoomCreated,
    RoomSuspended,
    tag,
)
from genie_core.room.protocol.frames import (
    BEQUEST_REF,
    KNOWN,
    AcceptHosting,
    AnswerApproval,
    AnswerJoinRequest,
    Bye,
    ChangeMessage,
    Chunk,
    ClientFrame,
    Entries,
    FetchFile,
    Hello,
    InviteIssued,
    IssueInvite,
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
    SetHeirs,
    SetPreferences,
    ShareArguments,
    Stop,
    StoreFile,
    Suspending,
    Trouble,
    Typing,
    VoidInvites,
    Welcome,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import check_name, fold_name, is_blank, skeletons
from genie_core.room.security.founding import hash_in
from genie_core.room.security.invite import Invite, write_invite
from genie_core.room.security.keys import SIGNATURE_BYTES
from genie_core.room.security.signing import PREVIOUS_BYTES
from genie_core.room.server.admission import NO_INVITES, Admission
from genie_core.room.server.file_requests import FileRequests
from genie_core.room.server.handlers import (
    ID_CHARS,
    LABEL_CHARS,
    SILENCED,
    FrameHandlers,
)
from genie_core.room.server.log_window import LogWindow
from genie_core.room.server.moderation import PUT_OUT, PUT_OUT_BY_COHOST, Moderation
from genie_core.room.server.peers import BY_AGENTS, NEXT, Peer, PeerRegistry, Refused, Stage
from genie_core.room.server.quotas import Quotas
from genie_core.room.server.recovery import EventRecovery
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.members import Terminal
from genie_core.room.state.proofs import REPEATED
from genie_core.room.state.room_state import RoomState
from genie_core.room.transport.hardening import most_standing
from genie_core.room.transport.origin import site_of

REASON_CHARS: Final = 200
SUSPENDING: Final = "suspending"
DROPPED: Final = {"slow": "too slow", "too_fast": "sent too much"}
"""Why a dropped member left."""

ROOMS_REASONS: Final = frozenset({PUT_OUT, PUT_OUT_BY_COHOST, *DROPPED.values()})
"""Reasons to leave that the room gives, not the person."""

NOT_BY_AGENTS: Final = "an agent may read, write and attach files here, and nothing else"

FAREWELL_CHARS: Final = 80
"""Longest reason to leave, which is recorded each time."""


class Room:
    """A room, built from its past events; its id and title are those of the `setup`.

    A long log need not be given whole: `setup.base` is then the room before the first of `events`.
    `files` are the complete files of the room by digest.

    Call `open` once, then `connect`, `receive` and `disconnect` for each connection. After any
    call, `peers.take_ready` names the peers to `pull` for, `log.pending` the events to write, and
    `files.take_jobs` the disk work; `commit` reports written events. `suspend` ends it. Times are
    in seconds since the epoch.
    """

    def __init__(
        self,
        events: Iterable[Event],
        setup: RoomSetup,
        files: Mapping[str, FileRef] | None = None,
    ) -> None:
        self._setup = setup
        self.limits: Final = setup.limits
        self.log: Final = LogWindow(events, setup.base, setup.past, setup.identity)
        self.peers: Final = PeerRegistry(self.limits, setup.counters)
        self.quotas: Final = Quotas(self.limits, setup.strangers)
        self.files: Final = FileRequests(self.peers, self.limits, files or {})
        self.admission: Final = Admission(self.log, self.peers, self.quotas, setup, self._join)
        self.host_record: HostRecord | None = None
        self._handlers = FrameHandlers(self.log, self.peers, self.quotas, self.files, self.limits)
        self._moderation = Moderation(
            self.log, self.peers, self.quotas, self._leave, self.admission.authority_changed
        )
        self._recovery = EventRecovery(self.log, self.peers, self.quotas, self.limits)
        self.parting = ""
        """The reason with which connections are closed."""
        self._trouble = ""
        self._ends_at: float | None = None
        self._closed = "the room is closed"

    @property
    def state(self) -> RoomState:
        """The state after the last event, durable or not."""
        return self.log.state

    @property
    def failure(self) -> str:
        """Why the log can't be written now, in the words for members; empty if it can."""
        return self._trouble

    def open(self, host_token: str, now: float, *, pin: str = "") -> None:
        """Let people in.

        The host is admitted by a hello with `host_token` from inside this process, and by a proof of
        their key. `pin` is that of the certificate, empty without TLS.

        Raises:
            InvalidName: the host can't have this name.
        """
        setup = self._setup
        name, key, founding = check_name(setup.host), setup.host_key, setup.founding
        room, title, copied = setup.room, setup.title, setup.copied
        self.admission.host_token = host_token
        if not self.log.head:
            self.log.record(ROOM, RoomCreated(room, title, founding), now)
            founding = None
        is_known = (self.state.room, self.state.title) == (room, title)
        if is_known and not (copied or founding):
            hosted = HostStarted(name, key=key, pin=pin)
        else:  # also where the line that told them is damaged, or the room has another title now
            hosted = HostStarted(name, room, title, key, pin, copied, setup.origin, founding)
        self.log.record(ROOM, hosted, now)
        if setup.hosts_alone:
            self._moderation.host_alone(now)
        self._moderation.keep_heirs(now)
        self._closed = ""

    # -- connections

    def connect(self, source: str = "", channel: str | None = None) -> Peer:
        """Register a new connection.

        Connections of the same `source` share some limits. Empty stands for the own process,
        `source.LOOPBACK` for the own machine. `channel` is the pin of the certificate that the
        connection runs over, empty without TLS; None if both ends are in this process, so that
        nothing needs to be proven.
        """
        peer = self.peers.add(source, channel)
        if self._closed:
            self.peers.dismiss(peer, "suspended", self._closed, final=True)
        else:
            self._limit_strangers()
        return peer

    def _limit_strangers(self) -> None:
        """Dismiss the oldest stranger of the site with the most if there are too many.

        Connections over a network are limited before they get here.
        """
        strangers = [each for each in self.peers.strangers if each.channel is not None]
        if len(strangers) > most_standing(self.limits.half_open):
            sites = [site_of(each.source) for each in strangers]
            heaviest = max(sites, key=Counter(sites).__getitem__)
            why = "too many connections at once; try again"
            self.peers.dismiss(strangers[sites.index(heaviest)], "room_full", why, final=False)

    def disconnect(self, peer: Peer, reason: str, now: float) -> None:
        """Process the end of a connection."""
        if not self.peers.remove(peer):
            return
        self.files.forget(peer)
        self._withdraw_request(peer)
        code = peer.farewell.code if peer.farewell is not None else ""
        self._leave(peer, DROPPED.get(code, reason), now)
        peer.stage, peer.done = Stage.LEAVING, True

    def reject(self, peer: Peer, code: Refusal, text: str, now: float) -> None:
        """Dismiss a connection that sent invalid data, or nothing in time."""
        if peer.stage is not Stage.LEAVING:
            self._expel(peer, code, text, now)

    # -- frames

    def receive(self, peer: Peer, frame: ClientFrame, now: float) -> None:
        """Process a frame; never raises for anything a peer can send."""
        if peer.stage is Stage.LEAVING:
            return
        if (peer.stage, type(frame)) not in NEXT:
            kind = tag(frame)
            why = f"{kind} does not fit here: the connection is {peer.stage.value}"
            self._expel(peer, "out_of_state", why, now)
            return
        if self._is_agents(peer) and not isinstance(frame, BY_AGENTS):
            ref = "" if isinstance(frame, ChangeMessage) else _ref_of(frame)
            self.peers.refuse(peer, "not_allowed", NOT_BY_AGENTS, ref)
            return
        try:
            self._handle(peer, frame, now)
        except Refused as refused:
            self.peers.refuse(peer, refused.code, refused.text, _ref_of(frame))

    def _handle(self, peer: Peer, frame: ClientFrame, now: float) -> None:
        """Act on a frame that fits the stage of its sender. Raises `Refused`."""
        match frame:
            case Hello():
                self.admission.greet(peer, frame, now)
            case Prove():
                self.admission.prove(peer, frame, now)
            case PostMessage():
                self._handlers.say(peer, frame, now)
            case ChangeMessage():
                self._handlers.change(peer, frame, now)
            case Publish():
                self._handlers.publish(peer, frame, now)
            case SetEngine():
                self._handlers.set_engine(peer, frame, now)
            case SetPreferences():
                self._handlers.set_preferences(peer, frame, now)
            case ReportProgress():
                self._handlers.progress(peer, frame, now)
            case Typing():
                self._handlers.typing(peer, now)
            case ReportDelta():
                self._handlers.delta(peer, frame, now)
            case Stop():
                self._handlers.stop(peer, frame, now)
            case AnswerApproval():
                self._handlers.answer_approval(peer, frame, now)
            case Moderate():
                self._moderation.moderate(peer, frame, now)
            case SetHeirs():
                self._moderation.set_heirs(peer, frame, now)
            case ShareArguments(on=on):
                self._moderation.share(peer, on, now)
            case OfferHosting(name=name):
                self._moderation.offer(peer, name, now)
            case AcceptHosting(host_record=host_record):
                self._moderation.accept(peer, host_record, now)
            case AnswerJoinRequest():
                self._moderation.check_authority(peer)
                self.admission.answer_request(frame, now)
            case IssueInvite():
                self._moderation.check_authority(peer)
                self._issue_invite(peer, frame, now)
            case VoidInvites():
                self._moderation.check_authority(peer)
                self.admission.void_invites(peer, now)
            case RecoverEvents(events=events):
                self._recovery.recover(peer, events, now)
            case StoreFile() | Chunk() if self._handlers.is_silenced(peer):
                raise Refused("not_allowed", SILENCED)
            case StoreFile() | Chunk() | FetchFile():
                self.files.ask(peer, frame)
            case Bye(reason=reason):
                self._say_goodbye(peer, reason, now)

    def _issue_invite(self, peer: Peer, frame: IssueInvite, now: float) -> None:
        host_record = self.host_record
        if host_record is None or not host_record.pin:
            raise Refused("out_of_state", NO_INVITES)
        made = self.admission.issue(peer, frame, now)
        places = tuple(map(parse_address, host_record.addresses))
        setup, hash_ = self._setup, hash_in(self._setup.room)
        invite = Invite(places, host_record.pin, made.id, made.secret, setup.title, hash_)
        self.peers.reply(peer, InviteIssued(write_invite(invite)))

    def _is_agents(self, peer: Peer) -> bool:
        return peer.stage is Stage.JOINED and self.state.members.is_agent(peer.name)

    def _say_goodbye(self, peer: Peer, reason: str, now: float) -> None:
        self._withdraw_request(peer)
        peer.stage = Stage.LEAVING
        self.peers.mark_ready(peer)
        self._leave(peer, _persons_reason(reason), now)

    def administer(self, frame: Moderate, now: float) -> str:
        """Apply a measure in the host's name; return why it can't be, empty if it is."""
        return self._moderation.administer(frame, now)

    # -- the log

    def commit(self, seq: int) -> None:
        """Mark events up to `seq` as durable; they may now be sent."""
        self.log.commit(seq)
        self.peers.mark_ready()

    def pull(self, peer: Peer) -> list[ServerFrame]:
        """Return a peer's next frames: replies, events, signals; empty if up to date."""
        if peer.done:
            return []
        frames = peer.take_replies() if peer.replies else []
        if peer.stage is Stage.JOINED:
            frames += self._entries(peer, self.log.durable)
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
        """Whether the host removed this peer and the events before that can't be written."""
        removed = peer.farewell is not None and peer.farewell.code in ("kicked", "banned")
        return removed and bool(self._trouble)

    def _entries(self, peer: Peer, until: int) -> list[Entries]:
        """The next events for a peer, up to `until`."""
        batch = self.log.after(peer.position)
        if batch is None:
            return []
        if batch.events[-1].seq > until:
            batch = Entries(tuple(event for event in batch.events if event.seq <= until))
        peer.position = batch.events[-1].seq
        return [batch]

    def trouble(self, text: str) -> None:
        """Tell all members that the log can't be written; an empty text says that it can again."""
        if text != self._trouble:
            self._trouble = text
            self._moderation.disk_fails(fails=bool(text))
            self.peers.mark_ready()  # those who are removed don't wait for the disk
            self._tell_trouble()

    def fill(self, text: str) -> None:
        """Accept no messages while the text says why no more may be written, and tell all members."""
        if text != self.log.full:
            self.log.full = text
            self._tell_trouble()

    def _tell_trouble(self) -> None:
        for peer in self.peers.members:
            self.peers.reply(peer, Trouble(self._trouble or self.log.full))

    def refuse_all(self, text: str) -> None:
        """Accept no frames and admit no members from now on, since the log can't be written."""
        self.log.refusal = text
        self.trouble(text)

    # -- the end

    def begin_suspending(self, within: float, now: float) -> int:
        """Take no more messages, and tell all members that the room is suspended so many seconds on.

        Reports of engines are recorded as before. Returns the number of the last event so far:
        those after it are no messages.
        """
        if not self._closed and self._ends_at is None:
            self._ends_at = now + within
            self._handlers.closing = True
            for peer in self.peers.members:
                self._tell_of_end(peer, now)
        return self.log.head

    def _tell_of_end(self, peer: Peer, now: float) -> None:
        if self._ends_at is not None and SUSPENDING in peer.hello.knows:
            self.peers.reply(peer, Suspending(max(0.0, self._ends_at - now)))

    def suspend(self, reason: str, now: float) -> None:
        """End the room. All members get the rest of the log, and then a farewell.

        If a member has accepted to host from now on, the log says so.
        """
        if self._closed:
            return
        reason = whole_text(reason, REASON_CHARS)
        heir, host_record = self._moderation.hand_over(now)
        succession = self.state.succession
        by_heir = host_record is not None and succession.host != succession.principal
        self.log.record(ROOM, RoomSuspended(reason, heir, host_record, by_heir), now)
        last = self.log.durable if self.log.refusal else self.log.head
        self._closed = "the host suspended the room" + (f": {reason}" if reason else "")
        for peer in self.peers:
            self.peers.leave(peer)
            if peer.stage is not Stage.LEAVING:
                peer.until = last if peer.stage is Stage.JOINED else 0
                self.peers.dismiss(peer, "suspended", self._closed, final=True)

    def release(self, reason: str) -> None:
        """Disconnect all, members once they have the durable events; nothing is recorded.

        They come back by themselves to a host who continues this log.
        """
        self.parting = reason
        for peer in self.peers:
            if peer.stage is not Stage.LEAVING:
                peer.until = self.log.durable if peer.stage is Stage.JOINED else 0
                peer.stage = Stage.LEAVING
            self.peers.leave(peer)
        self.peers.mark_ready()

    # -- coming and going

    def _join(self, peer: Peer, name: str, role: Role, now: float) -> None:
        hello = peer.hello
        joined = self._joined(peer, name, role)
        is_here = self._is_here_as(name, joined)
        why = self.log.objection(name, joined, now)
        if why and not (is_here and why == REPEATED):
            text = f"the host can't record that you came in: {why}"
            self.peers.dismiss(peer, "unproven", text, final=True)
            return
        known = fold_name(name) in self.state.keys or name in self.state.people
        self._replace(name, joined.device)
        if not is_here:
            self.log.record(name, joined, now)
        if peer.invite is not None and peer.invite.role is not None:
            self._moderation.give_role(name, peer.invite.role, peer.invite.by, now)
        self._moderation.keep_heirs(now)
        peer.stage, peer.name, peer.device = Stage.JOINED, name, joined.device
        peer.position = max(0, min(hello.since, self.log.head))
        self.peers.join(peer)
        self.quotas.arrive(peer, now, known=known)
        welcome = Welcome(
            self._setup.room,
            self._setup.title,
            name,
            role,
            self.state.host,
            self.log.head,
            self.limits,
            host_record=self.host_record,
            knows=KNOWN,
        )
        self.peers.reply(peer, welcome)
        if self.state.administers(name):
            self.admission.resend_requests(peer)
        if trouble := self._trouble or self.log.full:
            self.peers.reply(peer, Trouble(trouble))
        self._tell_of_end(peer, now)

    def _joined(self, peer: Peer, name: str, role: Role) -> MemberJoined:
        hello = peer.hello
        silent = self._handlers.is_silent_role(name, role)  # the label is writing, too
        return MemberJoined(
            role,
            hello.engine,
            "" if silent else whole_text(hello.agent, LABEL_CHARS),
            hello.key,
            whole_text(hello.device),
            visit=whole_text(hello.visit, VISIT_CHARS),
            previous=hello.previous[:PREVIOUS_BYTES],
            signature=hello.signature[:SIGNATURE_BYTES],
            kind=hello.kind,
        )

    def _replace(self, name: str, device: str) -> None:
        before = self.peers.terminal(name, device)
        if before is None:
            return
        self.peers.leave(before)
        if before.stage is not Stage.LEAVING:  # a peer that was removed stays removed
            why = f"{before.name} came in from another connection"
            self.peers.dismiss(before, "replaced", why, final=True)

    def _is_here_as(self, name: str, joined: MemberJoined) -> bool:
        person = self.state.people.get(name)
        if person is None or (person.role, person.key) != (joined.role, joined.key):
            return False
        here = Terminal(joined.engine, joined.agent, joined.visit)
        return person.terminals.get(joined.device) == here

    def _leave(self, peer: Peer, reason: str, now: float) -> None:
        if self.peers.leave(peer):
            self.quotas.depart(peer)
            if self._handlers.is_silenced(peer) and reason not in ROOMS_REASONS:
                reason = ""
            left = MemberLeft(peer.name, whole_text(reason, FAREWELL_CHARS), peer.device)
            self.log.record(ROOM, left, now)

    def _expel(self, peer: Peer, code: Refusal, text: str, now: float) -> None:
        self._withdraw_request(peer)
        self.peers.dismiss(peer, code, text, final=True)
        self._leave(peer, text, now)

    def _withdraw_request(self, peer: Peer) -> None:
        if peer.stage is Stage.PENDING:
            self.admission.withdraw_request(peer)


def _ref_of(frame: ClientFrame) -> str:
    """Return the part of a frame by which a refusal refers to it."""
    match frame:
        case PostMessage(id=id_) | ChangeMessage(id=id_) | Publish(id=id_):
            return id_[:ID_CHARS]
        case StoreFile(digest=digest) | Chunk(digest=digest):
            return digest[:DIGEST_CHARS]
        case RecoverEvents():
            return BEQUEST_REF
        case _:
            return ""


def _persons_reason(text: str) -> str:
    """Return a person's reason to leave; empty if it looks like one of the room's own."""
    reason = whole_text(text, FAREWELL_CHARS)
    seen = skeletons("".join(char for char in reason if not is_blank(char)))
    given = set().union(*map(skeletons, ROOMS_REASONS))
    return "" if any(own in form for own in given for form in seen) else reason


def _timely(signals: list[ServerFrame], frames: list[ServerFrame]) -> list[ServerFrame]:
    """Drop typing signals of people whose message is in these frames."""
    spoke = {
        event.by
        for frame in frames
        if isinstance(frame, Entries)
        for event in frame.events
        if event.posted is not None
    }
    return [each for each in signals if not (isinstance(each, MemberTyping) and each.name in spoke)]
