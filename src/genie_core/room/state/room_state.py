"""A room's state as a fold over its events.

Every screen shows a `RoomState`, and the room checks frames against it. The same events in the same
order give the same state, from any source: a live connection, a catch-up, a saved log.
"""

from bisect import bisect_left
from typing import Final

import msgspec

from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.events import (
    MOST_REACTIONS,
    MOST_SPENDINGS,
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
    ChangeBody,
    DecisionMade,
    EngineChanged,
    Event,
    FileRef,
    HeirsChanged,
    HostConfirmed,
    HostStarted,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    PreferencesChanged,
    ReactionChanged,
    RecoveredEvent,
    Role,
    RoomCreated,
    RoomSuspended,
    RunBody,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
    tag,
)
from genie_core.room.protocol.founding import Founding
from genie_core.room.protocol.names import fold_name
from genie_core.room.security.chain import link_of
from genie_core.room.state.costs import Costs
from genie_core.room.state.entry_set import EntrySet, digest_of, digest_of_message
from genie_core.room.state.members import Members, Person, Presence
from genie_core.room.state.proofs import GAP, REPEATED, note_signature, objection
from genie_core.room.state.reading import Reading
from genie_core.room.state.succession import Link, Succession, is_link, with_link
from genie_core.room.state.thread import (
    RUNNING,
    MessageThread,
    Phase,
    Reactions,
    Reply,
    ToolApproval,
)

WINDOW: Final = 1_000
"""A state holds between this many and twice as many of the latest messages.

Messages with unfinished work or a parked tool call stay longer.
"""

REPLY_CHARS: Final = 200
"""Characters of the original of a reply that are quoted."""

AGENT: Final = "genie"
"""The author's name of answers."""

KNOWN_CHANGES: Final = 10_000
"""How many of the latest changes and reactions to forgotten messages are known."""


class IllegalEvent(Exception):
    """An event contradicts the state."""


class RoomState:
    """The fold of the events so far, in bounded memory.

    `head` is the sequence number of the last applied event. Events up to it are skipped, so
    overlapping deliveries do no harm; a gap raises `IllegalEvent`. After an unreadable event, later
    ones that refer to something unknown are skipped: it may have been in the lost one.

    Once a room has a `founding`, each entry is checked: its place in the chain, its signature, its
    author's authority. `doubts` has the problems of the latest ones that fail, and they have no
    other effect than to be shown. `link` is that of the last entry; `links` are the latest entries
    that say who hosts. `entries` are those that count, so that none counts twice; `repeated` has
    the numbers of those that were. `last_at` is the latest time of an event.

    `amended` has the latest edited and deleted messages, with the number of the event; `reactions`
    those to the latest forgotten messages that have some, and to their answers.

    Of the `messages` so far, old ones are forgotten in groups, as `WINDOW` says: `floor` is the
    number of the latest forgotten one. Later events about them are skipped as well.
    """

    def __init__(self) -> None:
        self.room = ""
        self.title = ""
        self.host = ""
        self.hosting = False
        self.head = 0
        self.members = Members()
        self.threads: dict[int, MessageThread] = {}
        self.calls: dict[str, ToolApproval] = {}
        self.running: dict[int, MessageThread] = {}
        self.open: dict[str, ToolApproval] = {}
        self.parked: dict[str, ToolApproval] = {}
        self.unreadable: set[int] = set()
        self.host_key = ""
        self.pin = ""
        self.hostings: list[int] = []
        self.hosts: set[str] = set()
        self.heir: RoomSuspended | None = None
        self.sharing = False
        self.recovered: dict[int, int] = {}
        self.costs = Costs()
        self.reading = Reading()
        self.messages = 0
        self.floor = 0
        self.files: dict[str, FileRef] = {}
        self.amended: dict[int, int] = {}
        self.reactions: dict[int, tuple[Reactions, Reactions]] = {}
        self.inherited: set[tuple[int, int]] = set()
        self.founding: Founding | None = None
        self._link = b""
        self._newest: Event | None = None
        self.links: list[Link] = []
        self.succession = Succession()
        self.last_at = 0.0
        self.doubts: dict[int, str] = {}
        self.doubtful = 0
        self.signatures: dict[str, list[bytes]] = {}
        self.is_whole = True
        self.entries = EntrySet()
        self.repeated: list[int] = []

    def begin_late(self, seq: int) -> None:
        """Begin with event `seq` of a log; nothing is checked, as the entries before it are missing."""
        self.head = self.floor = seq - 1
        self.is_whole = False

    def has_said(self, author: str, id_: str) -> bool:
        """Whether the log has the author's message, recovered ones included."""
        return digest_of_message(author, id_) in self.entries

    def has_entry(self, event: Event) -> bool:
        """Whether the log has the content of this entry: its signature, or its author's message."""
        digest = digest_of(event)
        return digest is not None and digest in self.entries

    def is_repeated(self, event: Event) -> bool:
        """Whether the next entry repeats the log."""
        at = bisect_left(self.repeated, event.seq)
        return self.repeated[at : at + 1] == [event.seq] or self.has_entry(event)

    def become(self, other: "RoomState") -> None:
        """Take over everything from another state, which must not be used afterwards."""
        self.__dict__.update(other.__dict__)

    def apply(self, event: Event, shown: Event | None = None) -> bool:
        """Apply an event; False if it was applied before.

        `shown` takes its place on this machine, with data that the log does not have.
        """
        if event.seq <= self.head:
            return False
        if event.seq != self.head + 1:
            raise IllegalEvent(f"event {event.seq} does not follow event {self.head}")
        doubt = objection(self, event)
        if doubt:
            self._note_doubt(event.seq, doubt)
        if doubt == REPEATED and event.seq > max(self.repeated[-1:], default=0):
            self.repeated.append(event.seq)
        before, counts = self.succession, doubt in ("", GAP)
        self._dispatch(shown or event, counts=counts)
        if isinstance(event.original.body, MessagePosted | ChangeBody | RunBody | HostConfirmed):
            self.members.note_words(event.original.by)
        self.head = event.seq
        self._advance(event, before, counts=counts)
        return True

    def _advance(self, event: Event, before: Succession, *, counts: bool) -> None:
        """Continue the chain with an entry; anything may follow one that can't be read."""
        is_lost = isinstance(event.body, UnreadableEvent)
        self._newest, self._link = None if is_lost else event, b""
        if counts and is_link(event):
            self.links = with_link(self.links, Link.of(event, before))
            self.succession = before.after(event, self.keys)
        self.last_at = max(self.last_at, event.at)
        if counts:
            self._note_entry(event)

    def _note_entry(self, event: Event) -> None:
        """Remember an entry that counts; before a founding, engines signed equal steps alike."""
        digest = digest_of(event)
        if self.founding is not None:
            note_signature(self.signatures, event)
        elif not isinstance(event.original.body, MessagePosted):
            return
        if digest is not None and digest not in self.entries:
            self.entries.add(digest)

    @property
    def link(self) -> bytes:
        """The link of the last entry, which the next one has as its `parent`."""
        if not self._link and self._newest is not None:
            self._link, self._newest = link_of(self._newest), None
        return self._link

    def continues(self, event: Event) -> bool:
        """Whether an entry's `parent` is the last entry, as far as that is known.

        The first entry is proven by its founding, and may have been restored.
        """
        return event.seq <= 2 or event.parent == self.link or not self.link

    def continue_from(self, link: bytes) -> None:
        """Restore the link of the last entry."""
        self._link, self._newest = link, None

    def doubt_of(self, seq: int) -> str:
        """Return the problem of one of the latest entries; empty if nothing is known."""
        return self.doubts.get(seq, "")

    def is_proven(self, seq: int) -> bool:
        """Whether one of the latest entries is its author's, as far as the room can tell."""
        return self.doubt_of(seq) in ("", GAP)

    def _note_doubt(self, seq: int, doubt: str) -> None:
        self.doubtful += 1
        self.doubts[seq] = doubt
        if len(self.doubts) >= 2 * WINDOW:
            for old in list(self.doubts)[:-WINDOW]:
                del self.doubts[old]

    @property
    def people(self) -> dict[str, Person]:
        """Present and former members, by name."""
        return self.members.people

    @property
    def keys(self) -> dict[str, str]:
        """The first key of each folded name."""
        return self.members.keys

    @property
    def roles(self) -> dict[str, Role]:
        """The roles that the host assigned, by folded name."""
        return self.members.roles

    @property
    def banned(self) -> dict[str, str]:
        """The keys of banned people by folded name; empty where unknown."""
        return self.members.banned

    @property
    def muted(self) -> set[str]:
        """The folded names of muted people."""
        return self.members.muted

    @property
    def preferences(self) -> dict[str, str]:
        """How people want to be answered, by folded name."""
        return self.members.preferences

    def present(self) -> list[Person]:
        """The people in the room: who has the host's role first, then in order of arrival."""
        return self.members.present()

    def handler_for(self, name: str, device: str = "") -> tuple[str, str]:
        """Return whose engine answers a person, and at which terminal: their own, else the host's.

        Both are empty if none does. None answers an agent, so that it can't act through the agents
        of a person.
        """
        person, host = self.people.get(name), self.people.get(self.host)
        if person is None or person.is_agent:
            return "", ""
        if person.role != "guest":
            for own in (device, *person.terminals):
                if own in person.terminals and person.terminals[own].engine:
                    return name, own
        for at, terminal in host.terminals.items() if host is not None else ():
            if terminal.engine:
                return self.host, at
        return "", ""

    def pending_for(self, owner: str) -> list[ToolApproval]:
        """The tool calls that wait for this person, oldest first."""
        return [call for call in self.open.values() if call.owner == owner and not call.unasked]

    def waiting_in(self, thread: MessageThread) -> list[ToolApproval]:
        """The tool calls of a run that wait for a person, oldest first."""
        calls = (self.calls[each] for each in thread.waiting)
        return [each for each in calls if not each.unasked]

    def parked_for(self, owner: str) -> list[ToolApproval]:
        """The tool calls from before the last suspend that this person can still answer."""
        return [call for call in self.parked.values() if call.owner == owner]

    def unprompted(self) -> int:
        """Count the messages by agents that are members since the last message by a person."""
        count = 0
        for thread in reversed(self.threads.values()):
            if thread.recovered_from or thread.is_private:
                continue  # recovered from another log, or not said to agents
            if not thread.by_agent:
                break
            count += 1
        return count

    def presence(self, name: str) -> Presence:
        """The activity of this person's agent."""
        person = self.people.get(name)
        if person is None or not person.engine:
            return Presence.NONE
        phases = {run.phase for run in self.running.values() if run.handler == name}
        if Phase.WAITING in phases:
            return Presence.WAITING
        return Presence.THINKING if phases else Presence.IDLE

    def owner_of(self, key: str) -> str | None:
        """The name that a key belongs to; None if it is unknown."""
        if key and key == self.host_key:
            return self.host
        return self.members.owner_of(key)

    def is_host(self, name: str) -> bool:
        """Whether this is the host's name, by any spelling; never that of another with the role."""
        return fold_name(name) == fold_name(self.host)

    def administers(self, name: str) -> bool:
        """Whether a person may moderate the room and invite: the host, or who has the host's role."""
        return self.is_host(name) or (
            self.members.holds_host_role(name) and fold_name(name) not in self.muted
        )

    def role_of(self, person: Person) -> str:
        """Return a person's role in one word: an agent is one, unless it only reads.

        A member who was given the host's role is a co-host, since the room has one host.
        """
        if person.is_agent and person.role != "observer":
            return "agent"
        return "co-host" if self.members.holds_host_role(person.name) else person.role

    def objection_to_free(self, name: str) -> str:
        """Return why another person can't get this member's name; empty if one can.

        A name by which a person wrote, hosted, or that the host put on the list of heirs, stays that
        person's, and that of the head of the order.
        """
        folded = fold_name(name)
        people = [each for each in self.people.values() if fold_name(each.name) == folded]
        named = self.succession.order[: 1 if self.succession.is_automatic else None]
        heirs = (self.owner_of(key) or "" for key in named)
        trusted = {*map(fold_name, self.hosts), *map(fold_name, heirs)}
        if any(each.spoke for each in people):
            return f"{name} has written here, so the name stays theirs"
        if folded in trusted or self.members.holds_host_role(name):
            return f"{name} has hosted, or may host, or administers the room"
        if any(each.present for each in people):
            return f"{name} is in the room; first /kick {name}"
        return f"{name} is banned; first /pardon {name}" if folded in self.banned else ""

    def is_elsewhere(self, thread: MessageThread, device: str) -> bool:
        """Whether another connected terminal of its handler is responsible for a run."""
        person = self.people.get(thread.handler)
        return person is not None and thread.device in person.terminals.keys() - {device}

    def objection(self, body: RunBody, by: str, device: str = "") -> str | None:
        """Why `by` may not publish this now; None if they may."""
        thread = self.threads.get(body.message)
        if thread is None:
            return f"there is no message {body.message}"
        if thread.handler != by:
            return f"message {body.message} is handled by {thread.handler or 'nobody'}"
        if self.is_elsewhere(thread, device):
            return f"message {body.message} is handled at another terminal of {by}"
        if bool(body.sealed) != thread.is_private:
            return f"message {body.message} and the work on it must both be private, or neither"
        return self._out_of_order(thread, body)

    def _out_of_order(self, thread: MessageThread, body: RunBody) -> str | None:
        phase = thread.phase
        match body:
            case DecisionMade(decision="ignore"):
                fits = phase is Phase.DECIDING
            case DecisionMade():
                fits = phase is Phase.DECIDING or phase not in RUNNING
            case ApprovalRequested():
                fits = phase in (Phase.WORKING, Phase.WAITING)
                fits = fits and body.approval not in self.calls
            case ApprovalResolved():
                fits = body.approval in thread.calls and (
                    body.approval in self.open or body.approval in self.parked
                )
            case AnswerPosted():
                fits = phase is Phase.WORKING
            case RunFailed() | RunCancelled():
                fits = phase in RUNNING
        if fits:
            return None
        kind = tag(body)
        return f"message {thread.seq} is {phase.value}, which {kind} does not fit"

    def _dispatch(self, event: Event, *, counts: bool) -> None:
        match event.body:
            case RoomCreated() if event.seq > 1:
                pass  # no room is created twice
            case RoomCreated(room=room, title=title, founding=founding):
                self.room, self.title = room, title
                self.founding = founding if counts else None
            case (
                HostStarted()
                | RoomSuspended()
                | HeirsChanged()
                | MemberModerated()
                | ArgumentSharingChanged()
                | PreferencesChanged()
                | RecoveredEvent()
                | MessageEdited()
                | MessageDeleted()
                | ReactionChanged()
            ) if not counts:
                pass
            case HeirsChanged() | HostConfirmed():
                pass  # part of the succession
            case HostStarted() as hosted:
                self._host_started(event, hosted)
            case RoomSuspended() as suspended:
                self._room_suspended(suspended)
            case MemberJoined() as joined if not counts:
                self.members.join(event, msgspec.structs.replace(joined, key="", kind=""))
            case MemberJoined() as joined:
                self.members.join(event, joined)
            case MemberLeft() as left:
                self.members.leave(left)
            case EngineChanged() as equipped:
                self.members.equip(event.by, equipped)
            case PreferencesChanged(text=text):
                self.members.prefer(event.by, text)
            case MessagePosted() as said:
                self._said(event, said)
            case MessageEdited() | MessageDeleted() | ReactionChanged():
                self._changed(event, self.changed_by(event))
            case MemberModerated(measure="free", name=name):
                if not self.objection_to_free(name):
                    self.members.free(name)
                    self.signatures.pop(fold_name(name), None)
            case MemberModerated() as moderated:
                self.members.moderate(moderated)
            case ArgumentSharingChanged(on=on):
                self.sharing = on
            case RecoveredEvent() as recovered:
                self._recovered(event, recovered.event)
            case UnreadableEvent():
                if len(self.unreadable) < WINDOW:  # that there is one is all that counts
                    self.unreadable.add(event.seq)
            case body:
                self._ran(event, body)

    def _host_started(self, event: Event, hosted: HostStarted) -> None:
        is_new_room = hosted.room not in ("", self.room)
        was_theirs = self.founding is not None and self.owner_of(hosted.key) == hosted.host
        if hosted.copied and not was_theirs:
            self.reading.add_copy(hosted.origin)
        elif hosted.founding is not None and self.reading.authors:
            self.reading.authors.setdefault(hosted.host, False)
        self.room, self.title = hosted.room or self.room, hosted.title or self.title
        self.founding = hosted.founding or self.founding
        self.host, self.hosting, self.heir = hosted.host, True, None
        self.host_key, self.pin = hosted.key, hosted.pin
        self.sharing = False  # that is for each host to say, and was perhaps another one's word
        self.hostings.append(event.seq)
        self.hosts.add(hosted.host)
        if hosted.copied:  # which its new host administers alone
            self.members.take_host_roles()
        if hosted.copied and is_new_room:  # within one room a name never changes its key
            self.members.rebind(hosted.host, hosted.key)
        self.members.host(hosted.host, hosted.key)

    def _room_suspended(self, suspended: RoomSuspended) -> None:
        self.hosting = False
        self.heir = suspended if suspended.heir else None
        self.members.empty()

    def _recovered(self, event: Event, original: Event) -> None:
        """Show an event of another log of this room; nothing runs because of it.

        A former host's measures are shown only: their authority ended with that log.
        """
        self.recovered[original.seq] = event.seq
        self.inherited.add((original.seq, event_mark(original)))
        match original.body:
            case MessagePosted() as said:
                told = msgspec.structs.replace(said, handler="", device="")
                thread = MessageThread(event.seq, original.at, original.by, told, Phase.UNHANDLED)
                thread.recovered_from = event.by
                thread.by_agent = self.members.is_agent(original.by)
                self._keep(thread)
            case MessageEdited() | MessageDeleted() | ReactionChanged():
                self._changed(event, self.changed_by(event))
            case AnswerPosted(message=message) as answered:
                found = self.meant(message, original.seq)
                if found is not None and found.answer is None:
                    self._answered_before(event, original, answered, found)

    def _answered_before(
        self, event: Event, original: Event, answered: AnswerPosted, found: MessageThread
    ) -> None:
        """Show a recovered answer; only the engine of a running run ends it."""
        if found.phase in RUNNING and not event.by == original.by == found.handler:
            return
        found.answer, found.answered_seq = answered, event.seq
        found.answer_recovered_from, found.error, found.cancelled = event.by, None, None
        self._end(found, Phase.ANSWERED, original.at)

    def meant(self, message: int, seq: int) -> MessageThread | None:
        """Return the message that the recovered event `seq` refers to.

        Numbers from before the logs diverged, at a change of host, mean the same here. In a founded
        room, the signature of an entry about a message tells whether it is this one.
        """
        if message in self.recovered:
            return self.threads.get(self.recovered[message])
        is_shared = self.founding is not None or any(
            message < parted <= seq for parted in self.hostings[1:]
        )
        return self.threads.get(message) if is_shared else None

    def _said(self, event: Event, said: MessagePosted) -> None:
        thread = MessageThread(event.seq, event.at, event.by, said, Phase.UNHANDLED)
        thread.by_agent = self.members.is_agent(event.by)
        target = self._message_at(said.reply_to)
        thread.reply = target.seq if target is not None else 0
        if thread.handler:
            thread.phase = Phase.DECIDING
            self.running[event.seq] = thread
        self._keep(thread)

    def _message_at(self, seq: int) -> MessageThread | None:
        """Return the message of this number, or whose answer has it, if it is one of the latest."""
        if seq in self.threads or not seq:
            return self.threads.get(seq)
        latest = reversed(self.threads.values())
        return next((each for each in latest if each.answered_seq == seq), None)

    def signature_of(self, seq: int) -> bytes | None:
        """Return the signature of a message or answer; None if it is not one of the latest."""
        message = self._message_at(seq)
        if message is None:
            return None
        answer = message.answer if message.seq != seq else None
        return message.said.signature if answer is None else answer.signature

    def reply_of(self, thread: MessageThread) -> Reply | None:
        """Return the original of a reply, as it is now; None if it is unknown or not proven.

        Private ones are quoted in private messages only, for those who can read it.
        """
        seq, message = thread.said.reply_to, self.threads.get(thread.reply)
        if message is None or not (self.is_proven(thread.seq) and self.is_proven(seq)):
            return None
        if message.is_hidden or (message.is_private and not thread.is_private):
            return None
        if seq == message.seq:
            return Reply(message.author, message.text[:REPLY_CHARS], message.is_deleted)
        if message.answer is None or seq != message.answered_seq:
            return None  # it was answered again
        return Reply(AGENT, message.answer.text[:REPLY_CHARS])

    def changed_by(self, event: Event) -> MessageThread | None:
        """Return the message that an edit, a deletion or a reaction is about, recovered or not."""
        change = event.original.body
        if not isinstance(change, ChangeBody):
            return None
        if event.original is event:
            return self.threads.get(change.message)
        return self.meant(change.message, event.original.seq)

    def amend(self, message: int, event: Event) -> None:
        """Apply a change of a message that comes later in the log than the last entry here."""
        if isinstance(event.original.body, ChangeBody):
            self._changed(event, self.threads.get(message))

    def _changed(self, event: Event, thread: MessageThread | None) -> None:
        """Change the text of a message.

        Without effect on one that is unknown or of another author.
        """
        by, change = event.original.by, event.original.body
        if thread is None:
            return
        if isinstance(change, ReactionChanged):
            _react(thread, by, change)
        elif by == thread.author and not thread.is_deleted:
            thread.is_deleted = isinstance(change, MessageDeleted)
            thread.edit = change if isinstance(change, MessageEdited) else None
            self.amended.pop(thread.seq, None)
            self.amended[thread.seq] = event.seq
            if len(self.amended) > KNOWN_CHANGES:
                del self.amended[next(iter(self.amended))]

    def _keep(self, thread: MessageThread) -> None:
        """Add a message; forget old ones if there are too many."""
        self.threads[thread.seq] = thread
        if not thread.is_private:
            self.reading.add_message(thread)
        self.messages += 1
        self.files.update((file.digest, file) for file in thread.said.files)
        if len(self.threads) >= 2 * WINDOW and not len(self.threads) % WINDOW:
            self._forget()

    def _forget(self) -> None:
        """Forget old messages that have no unfinished work."""
        awaited = {call.message for call in self.parked.values()} | self.running.keys()
        for seq in list(self.threads)[:-WINDOW]:
            if seq in awaited:
                continue
            forgotten = self.threads.pop(seq)
            for approval in forgotten.calls:
                self.calls.pop(approval, None)
            if forgotten.reactions or forgotten.answer_reactions:
                self.reactions[seq] = forgotten.reactions, forgotten.answer_reactions
            self.floor = max(self.floor, seq)
        for seq in list(self.reactions)[:-KNOWN_CHANGES]:
            del self.reactions[seq]

    def _ran(self, event: Event, body: RunBody) -> None:
        thread = self.threads.get(body.message)
        if thread is None:
            if self.unreadable or body.message <= self.floor:
                return
            raise IllegalEvent(f"event {event.seq} speaks of the unknown message {body.message}")
        if isinstance(body, DecisionMade | AnswerPosted | RunFailed | RunCancelled) and body.spent:
            thread.spent = (thread.spent + body.spent)[:MOST_SPENDINGS]
            silent = isinstance(body, DecisionMade) and body.decision == "ignore"
            self.costs.add(event.by, body.spent, silent=silent)
        match body:
            case DecisionMade():
                thread.decision, thread.decided_at = body, event.at
                if body.decision == "ignore":
                    self._end(thread, Phase.IGNORED, event.at)
                else:
                    thread.phase, thread.ended_at = Phase.WORKING, None
                    thread.error = thread.cancelled = None
                    self.running[thread.seq] = thread
            case ApprovalRequested():
                self._asked(event, thread, body)
            case ApprovalResolved():
                self._settled(event, thread, body)
            case AnswerPosted():
                thread.answer, thread.answered_seq = body, event.seq
                thread.answer_recovered_from = ""
                self._end(thread, Phase.ANSWERED, event.at)
            case RunFailed():
                thread.error = body
                self._end(thread, Phase.FAILED, event.at)
            case RunCancelled():
                thread.cancelled = body
                self._end(thread, Phase.CANCELLED, event.at)

    def _asked(self, event: Event, thread: MessageThread, asked: ApprovalRequested) -> None:
        call = ToolApproval(
            asked.approval,
            asked.message,
            thread.handler,
            asked.agent,
            asked.tool,
            asked.arguments,
            asked.where,
            event.seq,
            event.at,
            asked.withheld,
            signature=asked.signature,
            because=asked.because,
            risk=asked.risk,
            binding=asked.binding,
            origins=asked.origins,
            reads=asked.reads,
            effects=asked.effects,
            source=asked.source,
            unasked=asked.unasked,
            previous=asked.previous,
            sealed=asked.sealed,
        )
        self.calls[call.id] = self.open[call.id] = call
        thread.calls.append(call.id)
        thread.waiting[call.id] = None
        if not call.unasked:
            thread.phase = Phase.WAITING

    def _settled(self, event: Event, thread: MessageThread, settled: ApprovalResolved) -> None:
        call = self.calls.get(settled.approval)
        if call is None:
            if self.unreadable:
                return
            raise IllegalEvent(f"event {event.seq} settles an approval that was never asked for")
        call.outcome, call.reason = settled.outcome, settled.reason
        call.scope, call.settled_at = settled.scope, event.at
        call.settled_by = event.by
        call.edited, call.count = settled.arguments, settled.count
        call.how, call.covers = settled.how, settled.covers
        self.open.pop(call.id, None)
        if settled.outcome == "approved":
            self.reading.add_call(call)
        if settled.outcome == "parked":
            self.parked[call.id] = call
            thread.parked[call.id] = None
        else:
            self.parked.pop(call.id, None)
            thread.parked.pop(call.id, None)
        thread.waiting.pop(call.id, None)
        if thread.phase is Phase.WAITING and not thread.waiting:
            thread.phase = Phase.WORKING

    def _end(self, thread: MessageThread, phase: Phase, at: float) -> None:
        thread.phase, thread.ended_at = phase, at
        self.running.pop(thread.seq, None)
        for approval in thread.waiting:
            call = self.open.pop(approval, None)
            if call is not None:
                call.outcome, call.settled_at = "expired", at
        thread.waiting.clear()


def _react(thread: MessageThread, name: str, change: ReactionChanged) -> None:
    thread.reacted[name] = change.signature
    reactions = thread.answer_reactions if change.answer else thread.reactions
    names = reactions.get(change.reaction, [])
    if change.on and name not in names:
        if names or len(reactions) < MOST_REACTIONS:
            reactions.setdefault(change.reaction, names).append(name)
    elif not change.on and name in names:
        names.remove(name)
        if not names:
            del reactions[change.reaction]
