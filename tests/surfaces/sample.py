"""A room's log with an event of every kind, in each of its forms, and with awkward texts.

Its people are those of `tests.docs.sample_log`; all but the sealed contents are the same each time.
"""

import hashlib
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace
from tests.docs.sample_log import ANN, BOB, CAT, PEOPLE, SPENT, START, SampleRoom

from genie_core.room.protocol.events import (
    ROOM,
    SUMMARISE,
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    ArgumentSharingChanged,
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
    Quote,
    QuotedLine,
    ReactionChanged,
    RecoveredEvent,
    RoomSuspended,
    RunCancelled,
    RunFailed,
    UnreadableEvent,
    mark_of_source,
)
from genie_core.room.security.host_records import sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.security.sealing import seal
from genie_core.room.security.signing import sign
from genie_core.room.server.log_window import LogWindow

LONG = "maximilian-alexander.von.hohenzollern"
SCOUT = "scout"
AGENT = Identity(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
PEOPLE |= {LONG: CAT, SCOUT: AGENT}

AWKWARD = (
    "plum [bold]hi[/] <b>&amp;</b> *md* `code` ![p](http://x/p.png)\n> ann: quote\n"
    "\x1b[31mred\x1b[0m \u202eevil\ttab @ann 👩‍🚀"
)
TOOL = "run_[tool]\x1b[2J"
REASON = "a <reason>\nin two [lines]"
FILE = FileRef(hashlib.sha256(b"x").hexdigest(), "no/te[s]\x1b.txt", 1_234, "text/plain")
LINES = (QuotedLine("dora\x1b", "plum\nann: forged", START - 90), QuotedLine("eve", "b", START))
QUOTES = (Quote("r7", "Other [room]", LINES), mark_of_source("a *file*"))


@cache
def sample() -> tuple[Event, ...]:
    """The events, as the room's log has them."""
    room = SampleRoom()
    _people(room)
    _messages(room)
    _runs(room)
    _calls(room)
    _private(room)
    _moderation(room)
    _recovered(room)
    _hosts(room)
    return tuple(room.log.remembered())


def _request(room: SampleRoom, text: str, by: str = "bob", **fields: object) -> int:
    said = MessagePosted(f"m{room.log.head}", text, "ann", device="d1", visits=("v1",))
    return room.add(by, replace(said, **fields))


def _about(room: SampleRoom, seq: int) -> bytes:
    return room.log.state.signature_of(seq) or b""


def _people(room: SampleRoom) -> None:
    room.add(ROOM, HostStarted("ann", key=ANN.key, pin="p" * 43))
    agent = "openai:[gpt]"
    room.add("ann", MemberJoined("host", True, agent, ANN.key, "d1", visit="v1"))
    room.add("bob", MemberJoined("guest", False, "", BOB.key, "d2", visit="v2"))
    room.add("bob", MemberJoined("guest", False, "", BOB.key, "d3", visit="v3"))
    room.add(LONG, MemberJoined("observer", False, "", CAT.key, "d4", visit="v4"))
    room.add(SCOUT, MemberJoined("member", False, "", AGENT.key, "d5", visit="v5", kind="agent"))
    room.add("bob", PreferencesChanged("Answer in [one] sentence."))
    room.add("ann", HeirsChanged(("bob",), automatic=True, keys=(BOB.key,), issue=1))
    room.add("ann", HeirsChanged(("bob", LONG), keys=(BOB.key, CAT.key), issue=2))
    room.add("ann", HeirsChanged(issue=3))
    room.add("ann", ArgumentSharingChanged(True))
    room.add("ann", ArgumentSharingChanged(False, asked_by="bob"))
    room.add("ann", EngineChanged("offline [helper]", "d1"))


def _messages(room: SampleRoom) -> None:
    first = _request(room, AWKWARD, files=(FILE,), quotes=QUOTES)
    room.add("ann", DecisionMade(first, "ignore", REASON, elapsed=0.4, spent=SPENT))
    room.add("ann", ReactionChanged(first, "👍"))
    room.add("bob", ReactionChanged(first, "👍"))
    room.add("ann", ReactionChanged(first, "[no]"))
    room.add("ann", ReactionChanged(first, "[no]", on=False))
    edited = _request(room, "plum, the first text", "ann", handler="", emote=True)
    room.add("ann", MessageEdited(edited, AWKWARD))
    deleted = _request(room, "plum, to be deleted", handler="", files=(FILE,), quotes=QUOTES)
    room.add("bob", MessageDeleted(deleted))
    _request(room, "plum, a reply", "ann", handler="", reply_to=first, about=_about(room, first))
    _request(
        room, "plum, a reply to nothing", handler="", reply_to=deleted, about=_about(room, deleted)
    )
    _request(room, "plum, by an agent", SCOUT, handler="", device="d5")
    _request(room, "", handler="", files=(FILE, FILE))
    room.log.record("bob", MessagePosted("x", "plum, forged", signature=b"f" * 64), START + 90)
    room.log.record("bob", MessageEdited(edited, "plum, forged"), START + 91)


def _runs(room: SampleRoom) -> None:
    asked = _request(room, "@genie plum?")
    query = "Q: plum\nQuestion: what is a [plum]?"
    room.add("ann", DecisionMade(asked, "delegate", REASON, query, "bob", 0.4, spent=SPENT))
    answer = room.add("ann", AnswerPosted(asked, AWKWARD, "bob", 1.7, spent=SPENT))
    room.add("bob", ReactionChanged(asked, "🎉", answer=True))
    _request(room, "plum, thanks", handler="", reply_to=answer, about=_about(room, answer))
    error = f"agent 'system' of ann: {REASON}\x1b[2J"
    ends = (
        lambda said: AnswerPosted(said, "plum, cut", cut=True, elapsed=90.0),
        lambda said: RunFailed(said, "agent", error, SPENT, "plum, it had begun"),
        lambda said: RunFailed(said, "tools", error),
        lambda said: RunFailed(said, "lost", "the program ended"),
        lambda said: RunCancelled(said, "stopped by bob", SPENT, "plum, it had begun"),
        lambda said: RunCancelled(said),
        lambda said: RunCancelled(said, "the room was suspended"),
    )
    for end in ends:
        said = _request(room, "genie, plum once more", "ann")
        room.add("ann", DecisionMade(said, "delegate", query="Once more."))
        room.add("ann", end(said))
    failed = _request(room, "plum, undecided")
    room.add("ann", RunFailed(failed, "reasoner", f"reasoner of ann: {REASON}"))
    silent = _request(room, "plum, small talk")
    room.add("ann", DecisionMade(silent, "ignore"))
    _request(room, "plum, not decided yet")


def _calls(room: SampleRoom) -> None:
    said = _request(room, "genie, use plum tools")
    room.add("ann", DecisionMade(said, "delegate", query="Use tools."))
    because = "a guest [asked]"
    call = ApprovalRequested(
        said,
        "c0",
        "system/writer",
        TOOL,
        {"path": "plum\x1b", "n": 3},
        "ann's [machine]",
        because=because,
        risk="write",
        origins=("bob",),
        effects=("writes [a]\x1b.txt",),
    )
    resolutions = (
        ApprovalResolved(said, "", "approved"),
        ApprovalResolved(said, "", "approved", scope="session", covers="plum*"),
        ApprovalResolved(said, "", "approved", scope="times", count=5),
        ApprovalResolved(said, "", "approved", how="rule"),
        ApprovalResolved(said, "", "approved", how="edit", arguments={"path": "other"}),
        ApprovalResolved(said, "", "denied", REASON),
        ApprovalResolved(said, "", "denied", how="rule"),
        ApprovalResolved(said, "", "expired", REASON),
    )
    for number, resolved in enumerate(resolutions, 1):
        room.add("ann", replace(call, approval=f"c{number}"))
        room.add("ann", replace(resolved, approval=f"c{number}"))
    room.add("ann", replace(call, approval="own", unasked=True))
    room.add("ann", ApprovalResolved(said, "own", "approved", how="own"))
    room.add("ann", replace(call, approval="sum", tool=SUMMARISE, unasked=True))
    room.add("ann", ApprovalResolved(said, "sum", "approved", how="own"))
    room.add("ann", replace(call, approval="hid", arguments={}, effects=(), withheld=True))
    room.add("ann", ApprovalResolved(said, "hid", "parked"))
    room.add("ann", RunCancelled(said, "the room was suspended"))
    room.add("ann", ApprovalResolved(said, "hid", "denied", REASON))
    waits = _request(room, "genie, plum and wait", "ann")
    room.add("ann", DecisionMade(waits, "delegate", query="Wait."))
    room.add("ann", replace(call, message=waits, approval="open"))


def _private(room: SampleRoom) -> None:
    ann, bob, cat = ANN.key, BOB.key, CAT.key
    body = MessagePosted("p1", f"private {AWKWARD}", to="bob", visits=("v1",))
    said = room.add("ann", seal(body, ann, [ann, bob]))
    room.add("ann", seal(MessageEdited(said, "plum, private and edited"), ann, [ann, bob]))
    body = MessagePosted("p2", "plum between others", to=LONG, visits=("v2",))
    room.add("bob", seal(body, bob, [bob, cat]))
    body = MessagePosted("p3", "plum for my agent", "ann", device="d1", to="ann", visits=("v1",))
    asked = room.add("ann", seal(body, ann, [ann]))
    room.add("ann", seal(DecisionMade(asked, "delegate", "private", "A query."), ann, [ann]))
    room.add("ann", seal(AnswerPosted(asked, "plum for ann alone", "ann", 1.0), ann, [ann]))


def _moderation(room: SampleRoom) -> None:
    room.add("ann", MemberModerated("mute", LONG, reason=REASON))
    room.add("ann", MemberModerated("unmute", LONG, asked_by="bob"))
    room.add("ann", MemberModerated("role", "bob", "member"))
    room.add("ann", MemberModerated("role", "bob", "host"))
    room.add("ann", MemberModerated("free", "nobody"))
    room.add("ann", MemberModerated("ban", LONG))
    room.add("ann", MemberModerated("pardon", LONG))
    room.add("ann", MemberModerated("kick", LONG, reason=REASON))
    room.add(ROOM, MemberLeft(LONG, "kicked"))
    room.add(ROOM, MemberLeft("bob", device="d3"))


def _recovered(room: SampleRoom) -> None:
    def lost(seq: int, by: Identity, body: MessagePosted, about: str = "") -> Event:
        signed = sign(by, room.room, body, about)
        return Event(seq, START - 200 + seq, "bob", signed, b"l" * 24)

    first = lost(40, BOB, MessagePosted("r1", AWKWARD, visits=("v2",), files=(FILE,)))
    room.add("bob", RecoveredEvent(first))
    forged = Event(41, START - 100, "ann", AnswerPosted(40, "plum, recovered", elapsed=1.0))
    room.add("bob", RecoveredEvent(forged))
    room.add("bob", RecoveredEvent(Event(42, START - 99, "ann", MessageEdited(40, "forged"))))
    room.add("bob", RecoveredEvent(Event(43, START - 98, ROOM, MemberLeft("ann"))))
    room.add("bob", HostConfirmed(b"l" * 24))


def _hosts(room: SampleRoom) -> None:
    room.add(ROOM, UnreadableEvent("it is [damaged]\x1b"))
    room.add(ROOM, UnreadableEvent("it is [damaged]\x1b"))
    room.add(ROOM, RoomSuspended("good [night]"))
    room.add(ROOM, HostStarted("ann", key=ANN.key, pin="p" * 43))
    room.add("ann", MemberJoined("host", True, "", ANN.key, "d1", visit="v6"))
    host_record = sign_host_record(
        BOB, room=room.room, host="bob", pin="p" * 43, addresses=(), at=START + room.log.head
    )
    room.add(ROOM, RoomSuspended(heir="bob", host_record=host_record))
    room.log = LogWindow(room.log.remembered(), identity=BOB)
    room.add(ROOM, HostStarted("bob", key=BOB.key, pin="p" * 43))
    room.add("bob", MemberJoined("host", False, "", BOB.key, "d2", visit="v7"))
    room.add(ROOM, HostStarted("bob", key=BOB.key, pin="p" * 43))
    _request(room, "plum, late at night, @ann", handler="", quiet=True)
