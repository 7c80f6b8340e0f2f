"""The events of a room: the entries of its log.

An `Event` is an envelope (sequence number, time, author) around one of the bodies below. Bodies are
frozen and tagged, and only events are written to disk: every screen is a fold over them.

In a founded room each entry has a digest of the entry before, and every body with a `signature` is
signed: by its author, or by the host where the host decides. `previous` is the start of the
author's signature before, as far as their program knew the log. `genie_core.room.security.signing`
defines the signed bytes.
"""

import re
from typing import Any, Final, Literal, TypeAlias

import msgspec

from genie_core.room.protocol.founding import Founding
from genie_core.room.protocol.host_record import HostRecord
from genie_core.runtime.progress import Usage

ROOM: Final = ""
"""Author of the events that the room itself records, such as a member leaving."""

LATEST: Final = 253_370_764_800.0
"""The latest time that any calendar can show in any time zone: year 9999."""


LARGEST_FILE: Final = 2**53
"""A size in bytes beyond any disk that every program can still count."""

MOST_FILES: Final = 256
"""More files than any room accepts in one message."""

MOST_SPENDINGS: Final = 64
"""How many usages of one step are counted: of agents and their models."""

NAME_CHARS: Final = 100
"""Longest name of a model or agent in a usage."""

FILE_NAME_CHARS: Final = 200
"""Longest file name; the rest is ignored."""

DIGEST_CHARS: Final = 64
"""The length of a SHA-256 hex digest, which identifies a file."""

VISIT_CHARS: Final = 32
MOST_VISITS: Final = 16
"""Most terminals of one person that a message may be meant for."""

REACTION_CHARS: Final = 16
"""Most characters of a reaction; an emoji can have a dozen."""

MOST_READERS: Final = 2
"""Most members that a body is sealed for."""

MOST_REACTIONS: Final = 20
"""Most different reactions to one message or answer."""

LARGEST_COUNT: Final = 10**12
LARGEST_SPENDING: Final = 10.0**9
"""More dollars, or seconds, than anything here can take."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_MEDIA: Final = re.compile(r"[!-~]{0,127}")


def is_moment(at: float) -> bool:
    """Whether a calendar can show the time."""
    return 0 <= at <= LATEST


Role: TypeAlias = Literal["host", "member", "guest", "observer"]
"""A member's engine takes part; a guest is served by the host's; an observer only reads.

"host" is the host's own role, and that of members who administer the room with the host.
"""

Kind: TypeAlias = Literal["", "agent"]
"""Who a member is: a person, or an agent that runs elsewhere and joined by itself."""

Measure: TypeAlias = Literal["kick", "ban", "pardon", "mute", "unmute", "role", "free"]
Outcome: TypeAlias = Literal["approved", "denied", "expired", "parked"]
Scope: TypeAlias = Literal["once", "session", "times", "minutes"]
"""How far a grant reaches; "times" and "minutes" have a number."""

SUMMARISE: Final = "summarise_conversation"
"""The tool of a call that records how an agent has shortened its own conversation."""

How: TypeAlias = Literal["", "edit", "rule", "grant", "auto", "own"]
"""The resolver of an approval; empty for a person's answer to this very call, unchanged. With
"own", the agent made the call without asking, and nothing was resolved.
"""

MOST_HEIRS: Final = 32
"""Names in a list of heirs."""

MOST_OF_SCOPE: Final = 1_000
"""The largest number of a scope."""

PREFERENCE_CHARS: Final = 2_000
"""Longest text of preferences."""

Copied: TypeAlias = Literal["", "import", "fork", "continuation"]
"""How a room was made from another one; empty for a new one."""

Stage: TypeAlias = Literal[
    "reasoner", "secrets", "factory", "preferences", "tools", "state", "agent", "lost"
]


class Body(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """The content of an event; `type` is its tag on disk and on the wire."""


def tag(part: msgspec.Struct) -> str:
    """Return the tag of a body or frame on disk and on the wire."""
    return str(part.__struct_config__.tag)


class RoomCreated(Body, tag="opened", frozen=True):
    """The room was created. Always the first event.

    `founding` proves who founded the room; logs of earlier programs have none.
    """

    room: str
    title: str
    founding: Founding | None = None


class HostStarted(Body, tag="hosted", frozen=True):
    """A host opened the room, for the first time or again.

    `room` and `title` are set if they differ from the log before. `key` is the host's, `pin` that
    of the host's certificate. With `copied`, a room imported or forked from the room `origin`, or
    one that continues it, becomes the host's own: the host's name belongs to this key from now on.
    `founding` founds the room again: a copied one, or one from before there were foundings.
    """

    host: str
    room: str = ""
    title: str = ""
    key: str = ""
    pin: str = ""
    copied: Copied = ""
    origin: str = ""
    founding: Founding | None = None
    signature: bytes = b""


class RoomSuspended(Body, tag="suspended", frozen=True):
    """The host closed the room properly.

    `heir` hosts next, at the addresses in `host_record`; empty if no member does. `by_heir`: the host was
    not the head of the order, so the order stays as it is.
    """

    reason: str = ""
    heir: str = ""
    host_record: HostRecord | None = msgspec.field(default=None, name="deed")
    by_heir: bool = False
    signature: bytes = b""


class HeirsChanged(Body, tag="heirs", frozen=True):
    """The host named the heirs, who may host the room in the host's place, in this order.

    `heirs` are names and `keys` the public keys of the same people. `automatic`: the host's program
    keeps the list. `issue` counts the lists of one host, so the higher one is the later, in any log.

    Earlier programs wrote no keys and no issue; `anyone` and `after` are theirs and give no right.
    """

    heirs: tuple[str, ...] = ()
    anyone: bool = False
    after: float = 60.0
    keys: tuple[str, ...] = ()
    automatic: bool = False
    issue: int = 0
    signature: bytes = b""


class HostConfirmed(Body, tag="confirmed", frozen=True):
    """An earlier program's objection to a claim that the host was away; it has no effect any more."""

    link: bytes
    previous: bytes = b""
    signature: bytes = b""


class MemberJoined(Body, tag="joined", frozen=True):
    """The author joined, from one of maybe several terminals.

    `agent` labels the model of their engine, empty without one. `key` is the author's; the first
    key that uses a name owns it. `device` identifies the terminal. `preferences` say how the author
    wants to be answered. `visit` is a random id that the program draws when it starts; see
    `MessagePosted.visits`. `kind` "agent" says that an agent, not a person, is the member; a name
    never changes its kind.
    """

    role: Role
    engine: bool = False
    agent: str = ""
    key: str = ""
    device: str = ""
    preferences: str = ""
    visit: str = ""
    previous: bytes = b""
    signature: bytes = b""
    kind: Kind = ""


class PreferencesChanged(Body, tag="preferred", frozen=True):
    """The author's preferences from now on; empty for none."""

    text: str
    previous: bytes = b""
    signature: bytes = b""


class MemberLeft(Body, tag="left", frozen=True):
    """`name` left or lost the connection.

    With a `device`, only from that terminal.
    """

    name: str
    reason: str = ""
    device: str = ""


class EngineChanged(Body, tag="equipped", frozen=True):
    """The author's engine changed, for example from loading to ready or to another model."""

    agent: str
    device: str = ""


class FileRef(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of a message.

    `digest` is the SHA-256 hex digest of its content, `name` its owner's name for it and never a
    path, `size` is in bytes; the host detected `media` from the content.
    """

    digest: str
    name: str
    size: int
    media: str = ""

    def is_sane(self) -> bool:
        """Whether such a file can exist; its name may be any text."""
        named = _DIGEST.fullmatch(self.digest) and _MEDIA.fullmatch(self.media)
        return bool(named) and 0 < self.size <= LARGEST_FILE


class QuotedLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message of another room; `at` is in seconds since the epoch."""

    sender: str
    text: str
    at: float = 0.0


class Quote(msgspec.Struct, frozen=True, omit_defaults=True):
    """Messages of another room that a member shares, oldest first; or see `mark_of_source`."""

    room: str
    title: str
    lines: tuple[QuotedLine, ...]

    @property
    def is_mark(self) -> bool:
        """Whether it has no messages, but names the source of its message's text."""
        return not (self.room or self.lines)


def mark_of_source(source: str) -> Quote:
    """Return a quote that marks its message's text as that of a file or a tool server's prompt.

    Others may have written it.
    """
    return Quote("", source, ())


class MessagePosted(Body, tag="said", frozen=True):
    """A message by a person.

    `id` is the author's own, so that sending it twice records it once. `handler` is the person
    whose engine answers, and `device` that person's terminal, both chosen by the room; empty if
    there was none. `visits` are those of the author's terminals in the room when it was sent, and
    `signature` is the author's; see `genie_core.room.security.signing`. `written` is the author's
    time, in logs from before there were visits. `reply_to` is the number of the message or answer
    that it replies to, 0 for none, and `about` the signature of that.

    A `quiet` message rings no bell and shows no notification.

    With `to`, only the author and that member can read it: `sealed` has its text. A private request
    is one to oneself: only the author's own engine answers it, and all steps of that are sealed, too.
    See `genie_core.room.security.sealing`.
    """

    id: str
    text: str
    handler: str = ""
    emote: bool = False
    device: str = ""
    files: tuple[FileRef, ...] = ()
    quotes: tuple[Quote, ...] = ()
    signature: bytes = b""
    written: float = 0.0
    visits: tuple[str, ...] = ()
    previous: bytes = b""
    reply_to: int = 0
    to: str = ""
    sealed: tuple[bytes, ...] = ()
    about: bytes = b""
    quiet: bool = False


class MessageEdited(Body, tag="edited", frozen=True):
    """The author gave their message another text. The log keeps the earlier ones.

    `signature` is the author's, also in the two bodies below.
    """

    message: int
    text: str
    previous: bytes = b""
    signature: bytes = b""
    sealed: tuple[bytes, ...] = ()


class MessageDeleted(Body, tag="deleted", frozen=True):
    """The author took their message back. The log keeps its text, and screens don't show it."""

    message: int
    previous: bytes = b""
    signature: bytes = b""


class ReactionChanged(Body, tag="reacted", frozen=True):
    """The author's reaction to a message, or to the answer to it, is now on or off."""

    message: int
    reaction: str
    on: bool = True
    answer: bool = False
    previous: bytes = b""
    signature: bytes = b""


class Spending(msgspec.Struct, frozen=True, omit_defaults=True):
    """The usage of one agent at one model; see `genie_core.runtime.progress.Usage`.

    `agent` is a path of agents, or "reasoner".
    """

    agent: str
    model: str
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None

    @classmethod
    def of(cls, agent: str, usage: Usage) -> "Spending":
        """Create the record of an agent's usage."""
        return cls(
            agent,
            usage.model,
            usage.requests,
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.seconds,
            usage.cost,
        )

    @property
    def usage(self) -> Usage:
        """The usage, clamped to possible values."""
        known = self.cost is not None and self.cost >= 0
        return Usage(
            self.model[:NAME_CHARS],
            _count(self.requests),
            _count(self.input_tokens),
            _count(self.output_tokens),
            _count(self.cached_tokens),
            _between(self.seconds, LARGEST_SPENDING),
            _between(self.cost, LARGEST_SPENDING) if self.cost is not None and known else None,
        )


def _count(number: int) -> int:
    return min(max(number, 0), LARGEST_COUNT)


def _between(number: float, high: float) -> float:
    """Clamp a number to the range from 0 to `high`; NaN gives 0."""
    return number if 0 <= number <= high else high if number > high else 0.0


class DecisionMade(Body, tag="decided", frozen=True):
    """The reasoner's decision on the message with sequence number `message`.

    `elapsed` is in seconds. `reason` is one sentence, also for IGNORE. `signature` is that of the
    engine's owner. `spent` is the decision's usage.
    """

    message: int
    decision: Literal["ignore", "delegate"]
    reason: str | None = None
    query: str | None = None
    receiver: str | None = None
    elapsed: float = 0.0
    signature: bytes = b""
    spent: tuple[Spending, ...] = ()
    previous: bytes = b""
    sealed: tuple[bytes, ...] = ()


class ApprovalRequested(Body, tag="asked", frozen=True):
    """An agent wants to call a tool and waits for its owner's answer.

    `agent` is the path of agents that leads to the call, `where` the machine that would run it.
    `withheld`: only the owner sees the arguments. `signature` is the owner's. `because` says why
    the owner is asked, and `risk` the worst effect of the tool. `binding` is a digest of tool,
    schema and arguments: an answer after a pause is valid for nothing else. With `unasked` the
    resolution follows immediately, and no screen shows a question. `origins` say whose words the
    agent has read, beside those of the message's author; `reads` the kind of the owner's data that
    the call reads: "files", or "private" data. `effects` are its effects, one line each, and
    `source` names the texts of others that it would read: a page, a tool server, other rooms. Both
    are empty if `withheld`.
    """

    message: int
    approval: str
    agent: str
    tool: str
    arguments: dict[str, Any]
    where: str = ""
    withheld: bool = False
    signature: bytes = b""
    because: str = ""
    risk: str = ""
    binding: str = ""
    unasked: bool = False
    previous: bytes = b""
    origins: tuple[str, ...] = ()
    reads: str = ""
    effects: tuple[str, ...] = ()
    source: str = ""
    sealed: tuple[bytes, ...] = ()


class ApprovalResolved(Body, tag="settled", frozen=True):
    """An approval is resolved. A parked one may be resolved once more after a resume.

    `count` belongs to the scopes "times" and "minutes", `covers` to all but "once". `arguments` are
    a person's edited ones, unless the call was withheld. `how` names the resolver.
    """

    message: int
    approval: str
    outcome: Outcome
    reason: str | None = None
    scope: Scope = "once"
    arguments: dict[str, Any] | None = None
    count: int = 0
    how: How = ""
    previous: bytes = b""
    signature: bytes = b""
    covers: str = ""
    sealed: tuple[bytes, ...] = ()


class AnswerPosted(Body, tag="answered", frozen=True):
    """The agent's answer to a message, `elapsed` seconds after the query.

    `signature` is that of the agent's owner. `spent` is the usage of the agent and its subagents,
    also in `RunFailed` and `RunCancelled`. `cut`: the model's length limit ended the text early.
    """

    message: int
    text: str
    receiver: str | None = None
    elapsed: float = 0.0
    signature: bytes = b""
    spent: tuple[Spending, ...] = ()
    cut: bool = False
    previous: bytes = b""
    sealed: tuple[bytes, ...] = ()


class RunFailed(Body, tag="failed", frozen=True):
    """The run for a message failed, or was lost with its process.

    `error` has nothing that only the engine's owner may know. `text` is the part of the answer
    shown by then, and `signature` that of its agent's owner; empty without a text. The same holds
    for `RunCancelled`.
    """

    message: int
    stage: Stage
    error: str
    spent: tuple[Spending, ...] = ()
    text: str = ""
    signature: bytes = b""
    previous: bytes = b""
    sealed: tuple[bytes, ...] = ()


STOPPED_BY: Final = "stopped by "
"""Begins the reason of a run that a person stopped; their name follows. No other one is final."""


class RunCancelled(Body, tag="cancelled", frozen=True):
    """The run for a message was stopped."""

    message: int
    reason: str = ""
    spent: tuple[Spending, ...] = ()
    text: str = ""
    signature: bytes = b""
    previous: bytes = b""
    sealed: tuple[bytes, ...] = ()


class MemberModerated(Body, tag="moderated", frozen=True):
    """The host applied a measure to a person; `role` belongs to the measure of that name.

    `asked_by` is the member with the host's role who decided it, here and in the body below; empty
    if it was the host.
    """

    measure: Measure
    name: str
    role: Role | None = None
    reason: str = ""
    signature: bytes = b""
    asked_by: str = ""


class ArgumentSharingChanged(Body, tag="shared", frozen=True):
    """The host shows or hides the arguments of tool calls for guests."""

    on: bool
    signature: bytes = b""
    asked_by: str = ""


class RecoveredEvent(Body, tag="recovered", frozen=True):
    """An event that an earlier host recorded and the present log lacked.

    The envelope's author recovered it from their own copy of the log.
    """

    event: "Event"


class UnreadableEvent(Body, tag="unreadable", frozen=True):
    """Replaces an entry that is damaged, or of a kind that this version doesn't know."""

    why: str


AnyBody: TypeAlias = (
    RoomCreated
    | HostStarted
    | RoomSuspended
    | HeirsChanged
    | HostConfirmed
    | MemberJoined
    | MemberLeft
    | EngineChanged
    | PreferencesChanged
    | MessagePosted
    | MessageEdited
    | MessageDeleted
    | ReactionChanged
    | DecisionMade
    | ApprovalRequested
    | ApprovalResolved
    | AnswerPosted
    | RunFailed
    | RunCancelled
    | MemberModerated
    | ArgumentSharingChanged
    | RecoveredEvent
    | UnreadableEvent
)

RunBody: TypeAlias = (
    DecisionMade | ApprovalRequested | ApprovalResolved | AnswerPosted | RunFailed | RunCancelled
)
"""Bodies that only the engine responsible for a message may publish."""

ChangeBody: TypeAlias = MessageEdited | MessageDeleted | ReactionChanged
"""Bodies with which a member changes the text of a message."""

HostBody: TypeAlias = (
    HostStarted | RoomSuspended | HeirsChanged | MemberModerated | ArgumentSharingChanged
)
"""Bodies with which a host decides; the host signs them."""

SealedBody: TypeAlias = MessagePosted | MessageEdited | RunBody
"""Bodies whose content can be sealed for the members who may read it."""

SignedBody: TypeAlias = (
    HostBody
    | HostConfirmed
    | MemberJoined
    | PreferencesChanged
    | MessagePosted
    | ChangeBody
    | RunBody
)


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the room's log.

    `seq` counts from 1 without gaps, `at` is in seconds since the epoch (UTC), `by` is the author's
    name in the room. `parent` is the `link_of` the entry before; see
    `genie_core.room.security.chain`.
    """

    seq: int
    at: float
    by: str
    body: AnyBody
    parent: bytes = b""

    @property
    def original(self) -> "Event":
        """The event itself, or the one that it recovered."""
        event = self
        while isinstance(event.body, RecoveredEvent):
            event = event.body.event
        return event

    @property
    def posted(self) -> MessagePosted | None:
        """The message that the event records or recovers; None for any other event."""
        body = self.original.body
        return body if isinstance(body, MessagePosted) else None

    def has_sane_time(self) -> bool:
        """Whether a calendar can show `at` and the times in the body."""
        event = self
        while isinstance(event.body, RecoveredEvent) and is_moment(event.at):
            event = event.body.event
        quotes = self.posted.quotes if self.posted is not None else ()
        return is_moment(event.at) and all(is_moment(each.at) for q in quotes for each in q.lines)

    def has_sane_files(self) -> bool:
        """Whether the message's files, here or recovered, are valid and few enough."""
        files = self.posted.files if self.posted is not None else ()
        return len(files) <= MOST_FILES and all(file.is_sane() for file in files)


def is_digest(text: str) -> bool:
    """Whether a text is a lower-case SHA-256 hex digest."""
    return len(text) == DIGEST_CHARS and all(each in "0123456789abcdef" for each in text)
