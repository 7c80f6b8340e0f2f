"""A host's authority: who may be put out, silenced or given another role, and who hosts next."""

from collections.abc import Callable
from typing import Final

from genie_core.room.budget import Budget
from genie_core.room.history import NO_DISK, History
from genie_core.room.peer import Peer
from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.events import ArgumentSharingChanged, MemberModerated
from genie_core.room.protocol.frames import (
    FrameRefused,
    HostingAccepted,
    HostingOffered,
    Moderate,
    Refusal,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.roster import Roster
from genie_core.room.security.host_records import is_valid
from genie_core.room.state.members import Person

REASON_CHARS: Final = 200

FAREWELLS: Final[dict[str, tuple[Refusal, str]]] = {
    "kick": ("kicked", "the host put you out of the room"),
    "ban": ("banned", "the host does not want you in this room any more"),
}
NOT_ON_DISK: Final = (
    "not done for good: {} holds while this room is open, but the host can't write to its disk, and "
    "it is lost if the room ends before that. It is tried again until then"
)

CAN_NOT_HOST: Final = "{} can't host: that takes a member who is here and may speak"
PUT_OUT: Final = "put out by the host"


class Moderator:
    """Judges what hosts want done, records it, and acts on those who are here.

    Whatever is asked without authority is refused by name. `unseat` is called for those who are
    put out.
    """

    def __init__(
        self,
        history: History,
        roster: Roster,
        budget: Budget,
        unseat: Callable[[Peer, str, float], None],
    ) -> None:
        self._history = history
        self._roster = roster
        self._budget = budget
        self._unseat = unseat
        self._offered = ""
        self._heir: tuple[str, HostRecord | None] = ("", None)
        self._failing = False
        self._told = 0

    @property
    def heir(self) -> tuple[str, HostRecord | None]:
        """Who hosts when this host closes, and where; nobody if the name is empty."""
        return self._heir

    def has_authority(self, peer: Peer) -> bool:
        """Whether this is the host; if not, they are told."""
        if fold_name(peer.name) == fold_name(self._history.state.host):
            return True
        self._roster.refuse(peer, "not_allowed", "only the host may do that")
        return False

    def moderate(self, peer: Peer, wish: Moderate, now: float) -> None:
        """Act on somebody, who need not be here."""
        urgent = wish.measure not in ("unmute", "pardon")
        if not (self.has_authority(peer) and self._has_time(peer, now, urgent=urgent)):
            return
        person = self._person(peer, wish.name)
        if person is None:
            return
        objection = self._objection(wish, person)
        if objection:
            self._roster.refuse(peer, "out_of_state", objection)
            return
        role = wish.role if wish.measure == "role" else None
        reason = whole_text(wish.reason, REASON_CHARS)
        self._history.record(
            peer.name, MemberModerated(wish.measure, person.name, role, reason), now
        )
        if wish.measure in FAREWELLS or not _may_host(person):
            self._withdraw(person.name)
        if wish.measure in FAREWELLS:
            code, text = FAREWELLS[wish.measure]
            self._put_out(person.name, code, f"{text}: {reason}" if reason else text, now)
        self._tell_what_is_not_on_disk()

    def share(self, peer: Peer, on: bool, now: float) -> None:  # noqa: FBT001 - a frame's field
        """Show or withhold what tools are called with for guests."""
        if not (self.has_authority(peer) and self._has_time(peer, now, urgent=not on)):
            return
        if on != self._history.state.sharing:
            self._history.record(peer.name, ArgumentSharingChanged(on), now)
            self._tell_what_is_not_on_disk()

    def disk_fails(self, *, fails: bool) -> None:
        """Note whether the log can't be written, and tell the host what is not in it therefore."""
        self._failing = fails
        self._tell_what_is_not_on_disk()

    def _tell_what_is_not_on_disk(self) -> None:
        """Tell the host, once for each measure: it holds in memory, which ends with the room."""
        if not self._failing:
            return
        for event in self._history.pending():
            body = event.body
            if event.seq <= self._told or not isinstance(
                body, MemberModerated | ArgumentSharingChanged
            ):
                continue
            self._told = event.seq
            what = f"/{body.measure} {body.name}" if isinstance(body, MemberModerated) else "/share"
            for host in self._roster.at(self._history.state.host):
                self._roster.reply(host, FrameRefused("disk", NOT_ON_DISK.format(what)))

    def offer(self, peer: Peer, name: str, now: float) -> None:
        """Ask somebody who is here to host from now on."""
        if not (self.has_authority(peer) and self._has_time(peer, now)):
            return
        person = self._person(peer, name)
        if person is None:
            return
        if not (person.present and _may_host(person)):
            self._roster.refuse(peer, "out_of_state", CAN_NOT_HOST.format(person.name))
            return
        self._offered = person.name
        for terminal in self._roster.at(person.name):
            self._roster.reply(terminal, HostingOffered(peer.name))

    def accept(self, peer: Peer, deed: HostRecord, now: float) -> None:
        """Take note that whoever was asked is willing; the host closes the room then."""
        if peer.name != self._offered:
            self._roster.refuse(peer, "not_allowed", "nobody asked you to host")
            return
        if not _may_host(self._history.state.people[peer.name]):
            self._roster.refuse(peer, "not_allowed", CAN_NOT_HOST.format(peer.name))
            return
        if not self._has_time(peer, now):
            return
        if not is_valid(deed) or (deed.key, deed.host) != (peer.key, peer.name):
            self._roster.refuse(peer, "unproven", "the deed is not signed by your key")
            return
        if deed.room != self._history.state.room:
            self._roster.refuse(peer, "wrong_room", "the deed is for another room")
            return
        self._offered, self._heir = "", (peer.name, deed)
        for terminal in self._roster.at(self._history.state.host):
            self._roster.reply(terminal, HostingAccepted(peer.name, deed))

    def _has_time(self, peer: Peer, now: float, *, urgent: bool = False) -> bool:
        if self._history.congested and not urgent:  # what takes a right away can't wait
            self._roster.refuse(peer, "disk", NO_DISK)
        elif not self._budget.nudge(peer, now):
            self._roster.refuse(peer, "too_fast", "too much at once; slow down")
        else:
            return True
        return False

    def _person(self, peer: Peer, name: str) -> Person | None:
        wanted = fold_name(name)
        for person in self._history.state.people.values():
            if fold_name(person.name) == wanted:
                return person
        self._roster.refuse(peer, "unknown_person", f"nobody called {name[:64]} was ever here")
        return None

    def _objection(self, wish: Moderate, person: Person) -> str:
        state, name = self._history.state, fold_name(person.name)
        if name == fold_name(state.host):
            return "the host can't be the target of that"
        match wish.measure:
            case "kick" if not person.present:
                return f"{person.name} is not in the room"
            case "ban" if name in state.banned:
                return f"{person.name} is banned already"
            case "pardon" if name not in state.banned:
                return f"{person.name} is not banned"
            case "mute" if name in state.muted:
                return f"{person.name} is muted already"
            case "unmute" if name not in state.muted:
                return f"{person.name} is not muted"
            case "role" if wish.role in (None, "host"):
                return "there are the roles member, guest and observer; /host hands the room over"
        return ""

    def _withdraw(self, name: str) -> None:
        """Take back the offer to a person, and what they accepted."""
        if self._offered == name:
            self._offered = ""
        if self._heir[0] == name:
            self._heir = ("", None)

    def _put_out(self, name: str, code: Refusal, text: str, now: float) -> None:
        """Let somebody have the log up to here, and then the farewell."""
        until = self._history.head
        for terminal in self._roster.at(name):
            terminal.until = until
            self._roster.dismiss(terminal, code, text, final=True)
            self._unseat(terminal, PUT_OUT, now)


def _may_host(person: Person) -> bool:
    """Whether a person who is here may host next; members follow no other."""
    return person.role == "member" and bool(person.key) and not person.muted
