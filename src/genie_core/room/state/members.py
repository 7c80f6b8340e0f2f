"""The people of a room, and the host's measures, as its events tell."""

from dataclasses import dataclass, field
from enum import Enum

from genie_core.room.protocol.events import (
    EngineChanged,
    Event,
    Kind,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    Role,
)
from genie_core.room.protocol.names import fold_name


class Presence(Enum):
    """The activity of a person's agent."""

    NONE = "none"
    IDLE = "idle"
    THINKING = "thinking"
    WAITING = "waiting"


@dataclass(slots=True)
class Terminal:
    """A connected terminal of a person."""

    engine: bool
    agent: str
    visit: str = ""


@dataclass(slots=True)
class Person:
    """A present or former member.

    `engine` and `agent` are those of the terminal that answers for them. `terminals` are the
    connected ones by device, in order of arrival. `kind` tells an agent from a person. One who
    `spoke` is the author of more than arrivals and preferences.
    """

    name: str
    role: Role
    engine: bool
    agent: str
    present: bool
    since: float
    key: str = ""
    muted: bool = False
    terminals: dict[str, Terminal] = field(default_factory=dict)
    kind: Kind = ""
    spoke: bool = False

    @property
    def is_agent(self) -> bool:
        return self.kind == "agent"

    def survey(self) -> None:
        """Update the summary of the terminals; a person who left keeps the last one."""
        self.present = bool(self.terminals)
        here = list(self.terminals.values())
        if here:
            best = next((each for each in here if each.engine), here[0])
            self.engine, self.agent = best.engine, best.agent


@dataclass(slots=True)
class Members:
    """The present and former members of a room.

    `people` are keyed by name as spelled; everything else by folded name: the first key of each
    name, assigned roles, keys of banned people, muted people, and preferences. Measures hold
    whether the person is present or not.
    """

    people: dict[str, Person] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    banned: dict[str, str] = field(default_factory=dict)
    muted: set[str] = field(default_factory=set)
    preferences: dict[str, str] = field(default_factory=dict)

    def present(self) -> list[Person]:
        """The people in the room: who has the host's role first, then in order of arrival."""
        here = [person for person in self.people.values() if person.present]
        return sorted(here, key=lambda person: (person.role != "host", person.since))

    def owner_of(self, key: str) -> str | None:
        """The name that a key belongs to; None if it is unknown."""
        names = (person.name for person in self.people.values() if person.key == key)
        return next(names, None) if key else None

    def is_agent(self, name: str) -> bool:
        """Whether an agent, not a person, has this name."""
        person = self.people.get(name)
        return person is not None and person.is_agent

    def holds_host_role(self, name: str) -> bool:
        """Whether a host gave this person the host's role, by any spelling of the name."""
        return self.roles.get(fold_name(name)) == "host"

    def entitled(self, key: str) -> str | None:
        """Return the name of the key's owner if they may host: a person and member who may speak.

        "host" is the role of former hosts, too; one who was given it administers the room, and must
        be a member again to host it.
        """
        name = self.owner_of(key)
        person = self.people.get(name or "")
        if name is None or person is None or person.role not in ("host", "member"):
            return None
        if person.is_agent or self.holds_host_role(name):
            return None
        folded = fold_name(name)
        return None if folded in self.muted or folded in self.banned else name

    def host(self, name: str, key: str) -> None:
        """Make a person the host, neither muted nor banned; the room is empty then."""
        folded = fold_name(name)
        if key:
            self.keys.setdefault(folded, key)
        self.muted.discard(folded)
        self.banned.pop(folded, None)
        self._take_host_role(folded)
        self.empty()

    def rebind(self, name: str, key: str) -> None:
        """Bind a name to another key, and to no other."""
        folded = fold_name(name)
        self.keys[folded] = key
        for person in self.people.values():
            if fold_name(person.name) == folded:
                person.key, person.kind = key, ""

    def note_words(self, name: str) -> None:
        """Note that a person is the author of more than arrivals and preferences."""
        if (person := self.people.get(name)) is not None:
            person.spoke = True

    def free(self, name: str) -> None:
        """Forget a person, so that another one can have the name."""
        folded = fold_name(name)
        self.people = {each: one for each, one in self.people.items() if fold_name(each) != folded}
        for known in (self.keys, self.roles, self.preferences):
            known.pop(folded, None)
        self.muted.discard(folded)

    def take_host_roles(self) -> None:
        """Take the host's role from all who were given it."""
        for name in list(self.roles):
            self._take_host_role(name)

    def _take_host_role(self, name: str) -> None:
        if self.roles.get(name) != "host":
            return
        del self.roles[name]
        for person in self.people.values():
            if fold_name(person.name) == name:
                person.role = "member" if person.engine else "guest"

    def empty(self) -> None:
        for person in self.people.values():
            person.terminals.clear()
            person.survey()

    def join(self, event: Event, joined: MemberJoined) -> None:
        """Add the author of an event, at one of maybe several terminals."""
        before = self.people.get(event.by)
        terminal = Terminal(joined.engine, joined.agent, joined.visit)
        if before is not None and before.present:
            before.role, before.key = joined.role, joined.key or before.key
            before.kind = joined.kind or before.kind
            before.terminals[joined.device] = terminal
            before.survey()
        else:
            self.people[event.by] = Person(
                event.by,
                joined.role,
                joined.engine,
                joined.agent,
                present=True,
                since=event.at,
                key=joined.key,
                muted=fold_name(event.by) in self.muted,
                terminals={joined.device: terminal},
                kind=joined.kind or (before.kind if before is not None else ""),
                spoke=before is not None and before.spoke,
            )
        if joined.key:
            self.keys.setdefault(fold_name(event.by), joined.key)
        if not joined.signature:  # those who sign tell their preferences by themselves
            self.prefer(event.by, joined.preferences)

    def leave(self, left: MemberLeft) -> None:
        """Remove a person from one terminal, or from all."""
        person = self.people.get(left.name)
        if person is None:
            return
        if left.device or "" in person.terminals:
            person.terminals.pop(left.device, None)
        else:
            person.terminals.clear()
        person.survey()

    def equip(self, name: str, equipped: EngineChanged) -> None:
        """Set the engine label of a person's terminal."""
        person = self.people.get(name)
        if person is None:
            return
        terminal = person.terminals.get(equipped.device)
        if terminal is not None:
            terminal.agent = equipped.agent
            person.survey()
        else:
            person.agent = equipped.agent

    def prefer(self, name: str, text: str) -> None:
        """Set how a person wants to be answered; an empty text removes it."""
        if text:
            self.preferences[fold_name(name)] = text
        else:
            self.preferences.pop(fold_name(name), None)

    def moderate(self, moderated: MemberModerated) -> None:
        """Apply the host's measure to a person."""
        name = fold_name(moderated.name)
        person = self.people.get(moderated.name)
        match moderated.measure:
            case "ban":
                self.banned[name] = self.keys.get(name, "")
                self._take_host_role(name)
            case "pardon":
                self.banned.pop(name, None)
            case "mute":
                self.muted.add(name)
            case "unmute":
                self.muted.discard(name)
            case "role" if moderated.role is not None:
                self.roles[name] = moderated.role
                if person is not None:
                    person.role = moderated.role
        if person is not None:
            person.muted = name in self.muted
