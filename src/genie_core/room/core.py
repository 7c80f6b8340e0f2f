"""The room itself: who is in it, what they may do, and what becomes part of its log.

Pure: frames and times go in, frames to deliver come out. Nothing here waits, reads a clock or
touches a file. The log is everybody's outbox: each peer has a position in it, and `pull` hands over
what is safe on disk and not yet seen. So a slow peer costs no memory, and nothing is acknowledged
before it is durable: the `Said` event that comes back *is* the acknowledgement.
"""

import hmac
from collections.abc import Callable, Iterable
from typing import Final

from genie_core.room.budget import Budget
from genie_core.room.codec import event_mark, whole_text
from genie_core.room.errors import InvalidName
from genie_core.room.event import ROOM, Event, Hosted, Joined, Left, Opened, Role, Suspended
from genie_core.room.floor import LABEL_CHARS, Floor
from genie_core.room.fold import RoomState
from genie_core.room.frame import (
    VERSION,
    Bye,
    ClientFrame,
    Delta,
    Equip,
    Hello,
    Limits,
    Publish,
    Refusal,
    Say,
    ServerFrame,
    Stop,
    Trouble,
    Typing,
    Welcome,
)
from genie_core.room.history import NO_DISK, History
from genie_core.room.names import check_name, fold_name
from genie_core.room.peer import NEXT, Peer, Stage
from genie_core.room.roster import Roster

REASON_CHARS: Final = 200
FAREWELL_CHARS: Final = 80
"""Longest reason of somebody who leaves, which is recorded each time."""


class Room:
    """A room, built from its past events; they don't decide about its id and title.

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
        token: Callable[[], str],
        limits: Limits | None = None,
    ) -> None:
        self.limits: Final = limits or Limits()
        self._history = History(events)
        self._roster = Roster(self.limits)
        self._budget = Budget(self.limits)
        self._floor = Floor(self._history, self._roster, self._budget, self.limits)
        self._id = room
        self._title = title
        self._new_token = token
        self._host_token = ""
        self._trouble = ""
        self._closed = True

    @property
    def state(self) -> RoomState:
        """The room as of the last event, durable or not."""
        return self._history.state

    @property
    def durable(self) -> int:
        """Sequence number up to which events are on disk and may be delivered."""
        return self._history.durable

    def open(self, host: str, host_token: str, now: float) -> None:
        """Open the doors. Only a hello with `host_token` gets the host's seat.

        Raises:
            InvalidName: the host can't go by this name.

        """
        name = check_name(host)
        self._host_token = host_token
        if not self._history.head:
            self._history.record(ROOM, Opened(self._id, self._title), now)
        if (self.state.room, self.state.title) == (self._id, self._title):
            self._history.record(ROOM, Hosted(name), now)
        else:  # the line that told them is damaged, or the room goes by another title now
            self._history.record(ROOM, Hosted(name, self._id, self._title), now)
        self._closed = False

    def connect(self, source: str = "") -> int:
        """Take in a new connection; returns the number that stands for it from now on.

        What comes from the same `source` shares some limits. Empty stands for the own process.
        """
        peer = self._roster.admit(source)
        if self._closed:
            self._roster.dismiss(peer, "suspended", "the room is closed", final=True)
        elif self._roster.strangers > self.limits.members:
            why = "too many connections at once; try again"
            self._roster.dismiss(peer, "room_full", why, final=False)
        return peer.id

    def receive(self, peer_id: int, frame: ClientFrame, now: float) -> None:
        """Act on a frame. Never raises for anything a peer can send."""
        peer = self._roster.get(peer_id)
        if peer is None or peer.stage is Stage.LEAVING:
            return
        if (peer.stage, type(frame)) not in NEXT:
            kind = type(frame).__name__.lower()
            why = f"{kind} does not fit here: the connection is {peer.stage.value}"
            self._expel(peer, "out_of_state", why, now)
            return
        match frame:
            case Hello():
                self._greet(peer, frame, now)
            case Say():
                self._floor.say(peer, frame, now)
            case Publish():
                self._floor.publish(peer, frame, now)
            case Equip():
                self._floor.equip(peer, frame, now)
            case Typing():
                self._floor.typing(peer, now)
            case Delta():
                self._floor.delta(peer, frame, now)
            case Stop():
                self._floor.stop(peer, frame, now)
            case Bye(reason=reason):
                peer.stage = Stage.LEAVING
                self._roster.stir(peer)
                self._unseat(peer, reason, now)

    def reject(self, peer_id: int, code: Refusal, text: str, now: float) -> None:
        """End a connection that sent something that is no frame, or nothing in time."""
        peer = self._roster.get(peer_id)
        if peer is not None and peer.stage is not Stage.LEAVING:
            self._expel(peer, code, text, now)

    def disconnect(self, peer_id: int, reason: str, now: float) -> None:
        """Take note that a connection ended."""
        peer = self._roster.remove(peer_id)
        if peer is not None:
            slow = peer.farewell is not None and peer.farewell.code == "slow"
            self._unseat(peer, "too slow" if slow else reason, now)

    def suspend(self, reason: str, now: float) -> None:
        """Close the doors. Everybody gets what is left of the log, and then a farewell."""
        if self._closed:
            return
        self._closed = True
        reason = whole_text(reason, REASON_CHARS)
        self._history.record(ROOM, Suspended(reason), now)
        text = f"the host suspended the room: {reason}" if reason else "the host suspended the room"
        for peer in self._roster:
            self._roster.vacate(peer)
            if peer.stage is not Stage.LEAVING:
                peer.lingers = peer.stage is Stage.SEATED
                self._roster.dismiss(peer, "suspended", text, final=True)

    def trouble(self, text: str) -> None:
        """Tell everybody that nothing can be written at the moment; empty: it can again."""
        if text != self._trouble:
            self._trouble = text
            for peer in self._roster.seated:
                self._roster.reply(peer, Trouble(text))

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
        if peer is None or peer.stage is Stage.GREETING:
            return []
        frames = self._take(peer) if peer.stage is Stage.SEATED or peer.lingers else []
        if peer.stage is Stage.LEAVING and not peer.done and not self._lacks_events(peer):
            peer.done = True
            if peer.farewell is not None:
                frames.append(peer.farewell)
        return frames

    def finished(self, peer_id: int) -> bool:
        """Whether the peer got all that it will ever get, so that its connection should close."""
        peer = self._roster.get(peer_id)
        return peer is None or peer.done

    def _take(self, peer: Peer) -> list[ServerFrame]:
        frames = peer.take_replies()
        batch = self._history.after(peer.position)
        if batch is not None:
            frames.append(batch)
            peer.position = batch.events[-1].seq
        return frames + peer.signals.take()

    def _lacks_events(self, peer: Peer) -> bool:
        return peer.lingers and peer.position < self._history.head

    def _greet(self, peer: Peer, hello: Hello, now: float) -> None:
        try:
            name = check_name(hello.name)
        except InvalidName as error:
            self._expel(peer, "name_invalid", str(error), now)
            return
        refusal = self._refusal_of(hello, name)
        if refusal is not None:
            self._expel(peer, *refusal, now)
            return
        if self._history.congested:  # this passes, so it is of use to come back
            self._roster.dismiss(peer, "disk", NO_DISK, final=False)
            return
        if not self._budget.join(peer.source, now):
            why = "too many people come in at once; try again in a moment"
            self._roster.dismiss(peer, "too_fast", why, final=False)
            return
        token = self._new_token()
        held = self._roster.at(name)
        if held is not None:
            name, token = held.name, held.token
            self._roster.vacate(held)
            why = f"{held.name} came in from another connection"
            self._roster.dismiss(held, "replaced", why, final=True)
        if self._is_host(name):
            self._seat(peer, self.state.host, "host", self._host_token, hello, now)
        else:
            self._seat(peer, name, "member" if hello.engine else "guest", token, hello, now)

    def _refusal_of(self, hello: Hello, name: str) -> tuple[Refusal, str] | None:
        held = self._roster.at(name)
        if hello.version != VERSION:
            why = f"this room speaks version {VERSION} of the protocol, you speak {hello.version}"
            return "version", why
        if hello.room and hello.room != self._id:
            return "wrong_room", f"the room at this address is another one, {self._title!r}"
        if self._contradicts(hello):
            return "diverged", f"event {hello.since} of this room is another one here"
        if self._is_host(name):
            if not _same_secret(hello.token, self._host_token):
                return "name_taken", f"{name} is the host's name in this room; choose another"
        elif held is not None and not _same_secret(hello.token, held.token):
            return "name_taken", f"{held.name} is in the room already; choose another name"
        elif held is None and len(self._roster.seated) >= self.limits.members:
            return "room_full", f"the room is full: {self.limits.members} people are in it"
        return None

    def _contradicts(self, hello: Hello) -> bool:
        """Whether the last event that somebody has is not the one that the log has there."""
        if not hello.mark or not 0 < hello.since <= self._history.head:
            return False
        return event_mark(self._history.events[hello.since - 1]) not in (0, hello.mark)

    def _is_host(self, name: str) -> bool:
        return fold_name(name) == fold_name(self.state.host)

    def _seat(
        self, peer: Peer, name: str, role: Role, token: str, hello: Hello, now: float
    ) -> None:
        joined = Joined(role, hello.engine, whole_text(hello.agent, LABEL_CHARS))
        if not self._is_here_as(name, joined):
            self._history.record(name, joined, now)
        peer.stage, peer.name, peer.token = Stage.SEATED, name, token
        peer.position = max(0, min(hello.since, self._history.head))
        self._roster.seat(peer)
        self._budget.arrive(peer, now)
        host, head = self.state.host, self._history.head
        welcome = Welcome(self._id, self._title, name, role, host, head, token, self.limits)
        self._roster.reply(peer, welcome)
        if self._trouble:
            self._roster.reply(peer, Trouble(self._trouble))

    def _is_here_as(self, name: str, joined: Joined) -> bool:
        person = self.state.people.get(name)
        if person is None or not person.present:
            return False
        now = (person.role, person.engine, person.agent)
        return now == (joined.role, joined.engine, joined.agent)

    def _unseat(self, peer: Peer, reason: str, now: float) -> None:
        if self._roster.vacate(peer):
            self._budget.depart(peer)
            self._history.record(ROOM, Left(peer.name, whole_text(reason, FAREWELL_CHARS)), now)

    def _expel(self, peer: Peer, code: Refusal, text: str, now: float) -> None:
        self._roster.dismiss(peer, code, text, final=True)
        self._unseat(peer, text, now)


def _same_secret(given: str, expected: str) -> bool:
    """Compare in constant time; an empty secret never matches."""
    return bool(expected) and hmac.compare_digest(
        given.encode("utf-8", "replace"), expected.encode("utf-8", "replace")
    )
