"""What an earlier host recorded and the present one never got, brought back by those who have it."""

from typing import Final

from genie_core.room.budget import Budget
from genie_core.room.floor import TOO_MUCH
from genie_core.room.history import NO_DISK, UNREADABLE, History
from genie_core.room.outbox import BEQUEST_REF
from genie_core.room.peer import Peer
from genie_core.room.protocol.codec import event_mark, normal, size_of, survives
from genie_core.room.protocol.errors import FrameError, InvalidName
from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    MemberModerated,
    MessagePosted,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    EventsRecovered,
    Refusal,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.protocol.names import check_name, fold_name
from genie_core.room.roster import Roster

WORTH_KEEPING: Final = (
    MessagePosted,
    DecisionMade,
    ApprovalRequested,
    ApprovalResolved,
    AnswerPosted,
    RunFailed,
    RunCancelled,
    MemberModerated,
)
"""What was said and done. Who came and went is of no use once everybody has come anew."""

MAX_RECOVERED: Final = 20_000


class Heritage:
    """Appends bequeathed events to the log as `RecoveredEvent`, each once, whoever brings them.

    They are the word of whoever brings them, and are recorded as that. Only where the log has
    changed hosts can there be any: everything else is refused.
    """

    def __init__(self, history: History, roster: Roster, budget: Budget, limits: Limits) -> None:
        self._history = history
        self._roster = roster
        self._budget = budget
        self._limits = limits

    def take(self, peer: Peer, events: tuple[Event, ...], now: float) -> None:
        """Take in events that somebody's copy has, in their order."""
        state = self._history.state
        muted = fold_name(peer.name) in state.muted
        if not peer.key or muted or state.people[peer.name].role == "observer":
            self._refuse(peer, "not_allowed", "you may not add to this room's past")
            return
        for event in events:
            if not self._take_one(peer, event, now):
                return
        if events:
            self._roster.reply(peer, EventsRecovered(events[-1].seq))

    def _refuse(self, peer: Peer, code: Refusal, text: str) -> None:
        self._roster.refuse(peer, code, text, BEQUEST_REF)

    def _take_one(self, peer: Peer, event: Event, now: float) -> bool:
        """Record one; False if what follows has to wait or is not wanted, which the peer is told."""
        if not self._is_fit(event):
            self._refuse(peer, "malformed", "that is nothing that a room's log could hold")
            return False
        if not self._is_new(event):
            return True
        if self._history.congested:
            self._refuse(peer, "disk", NO_DISK)
            return False
        if event.seq <= self._history.head and self._history.event(event.seq) is None:
            self._refuse(peer, "disk", UNREADABLE)  # so it can't be told whether it is new
            return False
        if len(self._history.state.inherited) >= MAX_RECOVERED:
            self._refuse(peer, "no_space", "this room has recovered enough")
            return False
        if not (
            self._budget.work(peer, now) and self._budget.record(peer, size_of(event.body), now)
        ):
            self._refuse(peer, "too_fast", TOO_MUCH)
            return False
        self._history.record(peer.name, RecoveredEvent(event), now)
        peer.strikes = 0
        return True

    def _is_fit(self, event: Event) -> bool:
        body = event.body
        first = min(self._history.state.hostings[1:], default=None)
        if first is None or event.seq < first or not event.has_sane_time():
            return False
        if not (isinstance(body, WORTH_KEEPING) and _is_name(event.by)):
            return False
        if not survives(event, self._limits.frame_bytes // 2):
            return False
        if isinstance(body, MessagePosted):
            return event.has_sane_files() and len(body.text) <= self._limits.text_chars
        if isinstance(body, MemberModerated):
            return _is_name(body.name) and body.role != "host"  # which no measure gives
        try:
            return normal(body, self._limits.frame_bytes) == body
        except FrameError:
            return False

    def _is_new(self, event: Event) -> bool:
        state = self._history.state
        if (event.seq, event_mark(event)) in state.inherited:
            return False
        if isinstance(event.body, MessagePosted) and state.has_said(event.by, event.body.id):
            return False
        return self._history.event(event.seq) != event


def _is_name(by: str) -> bool:
    """Whether this room could have let somebody of that name in."""
    try:
        return check_name(by) == by
    except InvalidName:
        return False
