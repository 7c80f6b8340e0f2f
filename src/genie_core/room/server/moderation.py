"""Authority over a room: removing and muting people, giving roles, choosing the next host.

The host has all of it. A member with the host's role has the part that concerns members without it:
`RoomState.administers` names both, `RoomState.is_host` the host alone. Decisions of such a member
are recorded as the host's decision, with their name in `asked_by`.
"""

from collections.abc import Callable, Sequence
from typing import Final

from genie_core.room.protocol.codec import whole_text
from genie_core.room.protocol.events import (
    MOST_HEIRS,
    ArgumentSharingChanged,
    HeirsChanged,
    MemberModerated,
    Role,
)
from genie_core.room.protocol.frames import (
    FrameRefused,
    HostingAccepted,
    HostingOffered,
    Moderate,
    Refusal,
    SetHeirs,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.host_records import is_valid
from genie_core.room.server.log_window import NO_DISK, LogWindow
from genie_core.room.server.peers import Peer, PeerRegistry, Refused
from genie_core.room.server.quotas import Quotas
from genie_core.room.state.members import Person

REASON_CHARS: Final = 200

FAREWELLS: Final[dict[str, tuple[Refusal, str]]] = {
    "kick": ("kicked", "{} put you out of the room"),
    "ban": ("banned", "{} does not want you in this room any more"),
}
NOT_ON_DISK: Final = (
    "not done for good: {} holds while this room is open, but the host can't write to its disk, and "
    "it is lost if the room ends before that. It is tried again until then"
)

CAN_NOT_HOST: Final = "{} can't host: that takes a member who is here and may speak"
CAN_NOT_INHERIT: Final = "{} can't be an heir: that takes a member who may speak"
ROLE_HOSTS_NOT: Final = "{0} has the host's role, which is not for hosting: first /role {0} member"
ONLY_HOST: Final = "only the host may do that"
HAS_ROLE: Final = "{} has the host's role: only {} may change that, mute or remove them"
NO_AGENT_HOSTS: Final = "{} is an agent, and agents never host"
PUT_OUT: Final = "put out by the host"
PUT_OUT_BY_COHOST: Final = "put out by a co-host"

_UNKNOWN: Final = "no one called {} was ever here"


class Moderation:
    """Checks and records demands of the host, and acts on those who are present.

    `leave` is called for each connection that is removed, `authority_changed` with the name of each
    person who may moderate from now on, or no longer.
    """

    def __init__(
        self,
        log: LogWindow,
        peers: PeerRegistry,
        quotas: Quotas,
        leave: Callable[[Peer, str, float], None],
        authority_changed: Callable[[str], None],
    ) -> None:
        self._log = log
        self._peers = peers
        self._quotas = quotas
        self._leave = leave
        self._authority_changed = authority_changed
        self._offered = ""
        self.heir: tuple[str, HostRecord | None] = ("", None)
        """Who hosts next, and where; the name is empty if no member has accepted."""
        self._failing = False
        self._told = 0

    def check_authority(self, peer: Peer) -> None:
        """Refuse a frame unless it is of the host or a member with the host's role."""
        if not self._log.state.administers(peer.name):
            raise Refused("not_allowed", ONLY_HOST)

    def _check_host(self, peer: Peer) -> None:
        if not self._log.state.is_host(peer.name):
            raise Refused("not_allowed", ONLY_HOST)

    def moderate(self, peer: Peer, frame: Moderate, now: float) -> None:
        """Apply a measure to a person, present or not."""
        self.check_authority(peer)
        urgent = frame.measure not in ("unmute", "pardon", "free")
        self._check_time(peer, now, urgent=urgent)
        person = self._person(frame.name)
        asker = self._asker(peer)
        if objection := self._objection(frame, person, asker):
            raise Refused("out_of_state", objection)
        self._apply(frame, person, now, asker)

    def administer(self, frame: Moderate, now: float) -> str:
        """Apply a measure in the host's name; return why it can't be, empty if it is."""
        person = self._known(frame.name)
        if person is None:
            return _UNKNOWN.format(frame.name[:64])
        if self._log.congested and frame.measure not in FAREWELLS:
            return NO_DISK
        objection = self._objection(frame, person)
        if not objection:
            self._apply(frame, person, now)
        return objection

    def _apply(self, frame: Moderate, person: Person, now: float, asker: str = "") -> None:
        role = frame.role if frame.measure == "role" else None
        reason = whole_text(frame.reason, REASON_CHARS)
        body = MemberModerated(frame.measure, person.name, role, reason, asked_by=asker)
        before = self._log.state.administers(person.name)
        self._log.record(self._log.state.host, body, now)
        self.keep_heirs(now)
        if frame.measure in FAREWELLS or not _may_host(person):
            self._withdraw(person.name)
        if frame.measure in FAREWELLS:
            code, text = FAREWELLS[frame.measure]
            text = text.format(asker or "the host")
            self._remove(person.name, code, f"{text}: {reason}" if reason else text, now, asker)
        if self._log.state.administers(person.name) != before:
            self._authority_changed(person.name)
        self._tell_what_is_not_on_disk()

    def _asker(self, peer: Peer) -> str:
        """Return who decides in the host's name; empty for the host."""
        return "" if self._log.state.is_host(peer.name) else peer.name

    def give_role(self, name: str, role: Role, asker: str, now: float) -> None:
        """Record the role that an invite gives to a person who has just joined by it."""
        body = MemberModerated("role", name, role, asked_by=asker)
        self._log.record(self._log.state.host, body, now)
        self.keep_heirs(now)

    def share(self, peer: Peer, on: bool, now: float) -> None:  # noqa: FBT001 - a frame's field
        """Show or hide the arguments of tool calls for guests.

        They are the host's, so others with the host's role may only hide them.
        """
        if on:
            self._check_host(peer)
        self.check_authority(peer)
        self._check_time(peer, now, urgent=not on)
        if on != self._log.state.sharing:
            body = ArgumentSharingChanged(on, asked_by=self._asker(peer))
            self._log.record(self._log.state.host, body, now)
            self._tell_what_is_not_on_disk()

    def set_heirs(self, peer: Peer, frame: SetHeirs, now: float) -> None:
        """Record who may host in the host's place."""
        self._check_host(peer)
        self._check_time(peer, now)
        if len(frame.heirs) > MOST_HEIRS:
            raise Refused("too_long", f"at most {MOST_HEIRS} heirs")
        people = [self._person(name) for name in frame.heirs]
        for each in people:
            if why := self._objection_to_heir(each):
                raise Refused("out_of_state", why)
        keys = tuple(dict.fromkeys(each.key for each in people))
        if frame.automatic:
            keys = self._usual_heirs()
        own = self._log.state.succession.own
        if (own.keys, own.automatic) != (keys, frame.automatic) or not own.issue:
            self._name_heirs(keys, now, automatic=frame.automatic)

    def _objection_to_heir(self, person: Person) -> str:
        """Return why a person can't be an heir; empty if they can."""
        state = self._log.state
        if state.is_host(person.name):
            return "the host comes before all heirs"
        if person.is_agent:
            return NO_AGENT_HOSTS.format(person.name)
        if state.members.entitled(person.key) is None:
            has_role = state.members.holds_host_role(person.name)
            return (ROLE_HOSTS_NOT if has_role else CAN_NOT_INHERIT).format(person.name)
        return ""

    def keep_heirs(self, now: float) -> None:
        """Bring the list of heirs up to date: the program's own, or one with a person put out."""
        state = self._log.state
        if state.founding is None or not self._log.signs:
            return
        succession, entitled = state.succession, self._entitled()
        if is_automatic := succession.is_automatic:
            keys = self._usual_heirs()
        else:
            keys = tuple(each for each in succession.own.keys if each in entitled)
        if keys != succession.own.keys or (succession.is_open and entitled):
            self._name_heirs(keys, now, automatic=is_automatic)

    def _usual_heirs(self) -> tuple[str, ...]:
        """Return the keys of the members with an engine of their own, as they first joined."""
        people = {each.key: each for each in self._log.state.people.values()}
        return tuple(key for key in self._entitled() if people[key].engine)[:MOST_HEIRS]

    def _entitled(self) -> list[str]:
        """Return the keys of all who may be heirs, in the order in which they first joined."""
        state = self._log.state
        keys = dict.fromkeys(each.key for each in state.people.values() if each.key)
        return [key for key in keys if key != state.host_key and state.members.entitled(key)]

    def _name_heirs(self, keys: Sequence[str], now: float, *, automatic: bool) -> None:
        state = self._log.state
        names = tuple(state.owner_of(key) or "" for key in keys)
        issue = state.succession.own.issue + 1
        changed = HeirsChanged(names, keys=tuple(keys), automatic=automatic, issue=issue)
        self._log.record(state.host, changed, now)

    def host_alone(self, now: float) -> None:
        """Let no member host in the host's place."""
        own = self._log.state.succession.own
        if own.automatic or own.keys:
            self._name_heirs((), now, automatic=False)

    def hand_over(self, now: float) -> tuple[str, HostRecord | None]:
        """Return who hosts next, and where.

        A hand-over by an heir, who hosts for the head of the order, makes the next host that heir's
        first heir; the head of the order hands the order over, too.
        """
        _, host_record = self.heir
        succession = self._log.state.succession
        if host_record is not None and succession.host != succession.principal:
            rest = (each for each in succession.own.keys if each != host_record.key)
            keys = (host_record.key, *rest)[:MOST_HEIRS]
            self._name_heirs(keys, now, automatic=succession.is_automatic)
        return self.heir

    def disk_fails(self, *, fails: bool) -> None:
        """Record whether the log can't be written, and tell who decided which measures are at risk."""
        self._failing = fails
        self._tell_what_is_not_on_disk()

    def _tell_what_is_not_on_disk(self) -> None:
        """Tell the host and who asked, once per measure, that it is only in memory."""
        if not self._failing:
            return
        for event in self._log.pending():
            body = event.body
            if event.seq <= self._told or not isinstance(
                body, MemberModerated | ArgumentSharingChanged
            ):
                continue
            self._told = event.seq
            what = f"/{body.measure} {body.name}" if isinstance(body, MemberModerated) else "/share"
            for name in {self._log.state.host, body.asked_by}:
                for terminal in self._peers.at(name):
                    self._peers.reply(terminal, FrameRefused("disk", NOT_ON_DISK.format(what)))

    def offer(self, peer: Peer, name: str, now: float) -> None:
        """Ask a member to host next."""
        self._check_host(peer)
        self._check_time(peer, now)
        person = self._person(name)
        if not (person.present and _may_host(person)):
            has_role = self._log.state.members.holds_host_role(person.name)
            why = (ROLE_HOSTS_NOT if has_role else CAN_NOT_HOST).format(person.name)
            raise Refused("out_of_state", why)
        self._offered = person.name
        for terminal in self._peers.at(person.name):
            self._peers.reply(terminal, HostingOffered(peer.name))

    def accept(self, peer: Peer, host_record: HostRecord, now: float) -> None:
        """Record that the asked member accepts; the host then closes the room."""
        if peer.name != self._offered:
            raise Refused("not_allowed", "the host has not asked you to host")
        if not _may_host(self._log.state.people[peer.name]):
            raise Refused("not_allowed", CAN_NOT_HOST.format(peer.name))
        self._check_time(peer, now)
        if not is_valid(host_record) or (host_record.key, host_record.host) != (
            peer.key,
            peer.name,
        ):
            raise Refused("unproven", "the host record is not signed by your key")
        if host_record.room != self._log.state.room:
            raise Refused("wrong_room", "the host record is for another room")
        self._offered, self.heir = "", (peer.name, host_record)
        for terminal in self._peers.at(self._log.state.host):
            self._peers.reply(terminal, HostingAccepted(peer.name, host_record))

    def _check_time(self, peer: Peer, now: float, *, urgent: bool = False) -> None:
        if self._log.congested and not urgent:  # the loss of a right can't wait
            raise Refused("disk", NO_DISK)
        if not self._quotas.nudge(peer, now):
            raise Refused("too_fast", "too much at once; slow down")

    def _person(self, name: str) -> Person:
        person = self._known(name)
        if person is None:
            raise Refused("unknown_person", _UNKNOWN.format(name[:64]))
        return person

    def _known(self, name: str) -> Person | None:
        wanted = fold_name(name)
        people = self._log.state.people.values()
        return next((each for each in people if fold_name(each.name) == wanted), None)

    def _objection(self, frame: Moderate, person: Person, asker: str = "") -> str:
        """Return why a person can't be the target of a measure of the host, or of the asker."""
        state, name = self._log.state, fold_name(person.name)
        if state.is_host(name):
            return "the host can't be the target of that"
        if asker and state.members.holds_host_role(name):
            return HAS_ROLE.format(person.name, state.host)
        match frame.measure:
            case "kick" if not person.present:
                return f"{person.name} is not in the room"
            case "ban" if name in state.banned:
                return f"{person.name} is banned already"
            case "pardon" if name not in state.banned:
                return f"{person.name} is not banned"
            case "free":
                return state.objection_to_free(person.name)
            case "mute" if name in state.muted:
                return f"{person.name} is muted already"
            case "unmute" if name not in state.muted:
                return f"{person.name} is not muted"
            case "role" if frame.role is None:
                return "there are the roles host, member, guest and observer"
            case "role" if frame.role in ("host", "member") and person.is_agent:
                return f"{person.name} is an agent: it can be a guest or an observer"
            case "role" if frame.role == "host":
                return self._objection_to_host_role(person, asker)
        return ""

    def _objection_to_host_role(self, person: Person, asker: str) -> str:
        """Return why a person can't get the host's role; empty if they can."""
        state, name = self._log.state, fold_name(person.name)
        if asker:
            return f"only {state.host} gives the host's role"
        if state.members.holds_host_role(name):
            return f"{person.name} has the host's role already"
        if name in state.banned:
            return f"{person.name} is banned; first /pardon {person.name}"
        if not state.keys.get(name):  # so that no one else can come by that name
            return f"{person.name} has no key that the room knows, so anyone could use that name"
        return ""

    def _withdraw(self, name: str) -> None:
        """Withdraw an offer and its acceptance."""
        if self._offered == name:
            self._offered = ""
        if self.heir[0] == name:
            self.heir = ("", None)

    def _remove(self, name: str, code: Refusal, text: str, now: float, asker: str) -> None:
        """Remove a person: send the log up to here, then the farewell."""
        until = self._log.head
        for terminal in self._peers.at(name):
            terminal.until = until
            self._peers.dismiss(terminal, code, text, final=True)
            self._leave(terminal, PUT_OUT_BY_COHOST if asker else PUT_OUT, now)


def _may_host(person: Person) -> bool:
    """Whether a person here may host next, so that members would follow."""
    may_speak = bool(person.key) and not person.muted
    return person.role == "member" and may_speak and not person.is_agent
