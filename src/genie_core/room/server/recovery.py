"""Recovers events of an earlier host, which the present one never got, from members' copies."""

from typing import Final

from genie_core.room.protocol.codec import event_mark, normal, size_of, survives
from genie_core.room.protocol.errors import FrameError
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ChangeBody,
    DecisionMade,
    Event,
    HeirsChanged,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
    RecoveredEvent,
    RoomSuspended,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    EventsRecovered,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import fold_name, is_blank, is_name
from genie_core.room.server.admission import TOO_FAST
from genie_core.room.server.handlers import is_reaction
from genie_core.room.server.log_window import UNREADABLE, LogWindow
from genie_core.room.server.peers import Peer, PeerRegistry, Refused
from genie_core.room.server.quotas import Quotas
from genie_core.room.state.proofs import flaw_of_recovered
from genie_core.room.state.succession import is_fit

WORTH_KEEPING: Final = (
    MessagePosted,
    MessageEdited,
    MessageDeleted,
    ReactionChanged,
    DecisionMade,
    ApprovalRequested,
    ApprovalResolved,
    AnswerPosted,
    RunFailed,
    RunCancelled,
    MemberModerated,
    HeirsChanged,
    RoomSuspended,
)
"""Words and work; who came and went no longer matters."""

MAX_RECOVERED: Final = 20_000

LOOKUPS: Final = 4
"""After so many reads from the disk for one frame, its other events have to be sent again."""


class EventRecovery:
    """Appends events from members' copies to the log as `RecoveredEvent`, each once.

    In a founded room, only those are taken that their authors signed. In another one, only a log
    that has changed hosts can lack any: everything else is refused.
    """

    def __init__(self, log: LogWindow, peers: PeerRegistry, quotas: Quotas, limits: Limits) -> None:
        self._log = log
        self._peers = peers
        self._quotas = quotas
        self._limits = limits

    def recover(self, peer: Peer, events: tuple[Event, ...], now: float) -> None:
        """Record the events of a member's copy, in order; the answer says up to which."""
        state = self._log.state
        muted = fold_name(peer.name) in state.muted
        if not peer.key or muted or state.people[peer.name].role == "observer":
            raise Refused("not_allowed", "you may not add to this room's past")
        unproven, taken = 0, 0
        most = self._log.lookups + LOOKUPS
        for event in events:
            if taken and self._log.lookups >= most:
                break
            taken += 1
            is_change = isinstance(event.body, ChangeBody) and self._is_fit(event)
            if is_change and not self._is_new(event):
                continue  # later changes may have followed, so it would not be proven now
            unsigned = state.founding is not None and flaw_of_recovered(state, event)
            if unsigned or (is_change and self._is_silenced(event.by)):
                unproven += 1
            else:
                self._recover_one(peer, event, now)
        if events:
            self._peers.reply(peer, EventsRecovered(events[taken - 1].seq, unproven))

    def _is_silenced(self, author: str) -> bool:
        """Whether the author of a change may not write in the room now."""
        members, name = self._log.state.members, fold_name(author)
        is_out = name in members.muted or name in members.banned
        return is_out or members.roles.get(name) == "observer"

    def _recover_one(self, peer: Peer, event: Event, now: float) -> None:
        """Record one event, unless the room has it; refuse if later ones can't be recorded."""
        if not self._is_fit(event):
            raise Refused("malformed", "that is nothing that a room's log could hold")
        if not self._is_new(event):
            return
        if obstacle := self._log.obstacle:
            raise Refused("disk", obstacle)
        if event.seq <= self._log.head and self._log.event(event.seq) is None:
            raise Refused("disk", UNREADABLE)  # so its novelty is unknown
        if len(self._log.state.inherited) >= MAX_RECOVERED:
            raise Refused("no_space", "this room has recovered enough")
        if not (
            self._quotas.work(peer, now) and self._quotas.record(peer, size_of(event.body), now)
        ):
            raise Refused("too_fast", TOO_FAST)
        self._log.record(peer.name, RecoveredEvent(event), now)
        peer.strikes = 0

    def _is_fit(self, event: Event) -> bool:
        body, state = event.body, self._log.state
        first = min(state.hostings[1:], default=None)
        if state.founding is None and (first is None or event.seq < first):
            return False
        if not event.has_sane_time():
            return False
        if not isinstance(body, WORTH_KEEPING):
            return False
        if isinstance(body, RoomSuspended):
            return body.host_record is not None and is_fit(body)
        if not is_name(event.by):
            return False
        if isinstance(body, HeirsChanged):
            return body.issue > 0 and is_fit(body)
        if not survives(event, self._limits.frame_bytes // 2):
            return False
        if isinstance(body, MessagePosted):
            return event.has_sane_files() and len(body.text) <= self._limits.text_chars
        if isinstance(body, MessageEdited):
            return (bool(body.sealed) or not is_blank(body.text)) and len(
                body.text
            ) <= self._limits.text_chars
        if isinstance(body, MessageDeleted):
            return True
        if isinstance(body, ReactionChanged):
            return is_reaction(body.reaction)
        if isinstance(body, MemberModerated):
            names = {body.name, body.asked_by} - {""}  # in other rooms, no measure gives that role
            gives = body.role == "host" and state.founding is None
            return bool(body.name) and all(map(is_name, names)) and not gives
        try:
            return normal(body, self._limits.frame_bytes) == body
        except FrameError:
            return False

    def _is_new(self, event: Event) -> bool:
        state, body = self._log.state, event.body
        if (event.seq, event_mark(event)) in state.inherited:
            return False
        if isinstance(body, HeirsChanged | RoomSuspended):
            entry = Event(event.seq, event.at, event.by, RecoveredEvent(event))
            return state.succession.after(entry, state.keys) != state.succession
        if state.has_entry(event):
            return False
        if isinstance(body, MessageEdited | MessageDeleted):
            thread = state.meant(body.message, event.seq)
            if thread is not None and thread.is_deleted:
                return False
        return self._log.event(event.seq) != event
