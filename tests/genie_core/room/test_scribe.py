"""The formats of rooms as a stranger implements them, and what lying hosts and members get with them."""

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from tests.genie_core.room import scribe
from tests.genie_core.room.live_room import Ear, Sink
from tests.genie_core.room.open.test_opener import LOCAL, joined, places
from tests.genie_core.room.scribe import Chain, Dict, Log, LyingHost, Person, RawClient

from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import JoinRoom, RejoinRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.errors import OtherHost, RoomError, UnfoundedRoom
from genie_core.room.protocol.events import (
    AnswerPosted,
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
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
    RoomCreated,
    RoomSuspended,
    RunCancelled,
    RunFailed,
    Spending,
    tag,
)
from genie_core.room.protocol.founding import Founding
from genie_core.room.protocol.frames import Challenge
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.security.certificate import load_certificate
from genie_core.room.security.chain import link_of
from genie_core.room.security.founding import found_room, is_founding_of, room_id
from genie_core.room.security.host_records import is_valid, sign_host_record
from genie_core.room.security.identity import Identity
from genie_core.room.security.signing import About, is_signed, sign
from genie_core.room.server.server import RoomServer
from genie_core.room.server.setup import RoomSetup
from genie_core.room.state.hosting import Claim, KnownHosts
from genie_core.room.state.proofs import GAP, REPEATED
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.session import SavedSession

US = Identity.generate()
ROOM = "team-abcdefghijklmnopqrstuvwx"
DEED = sign_host_record(US, room=ROOM, host="ann", pin="p" * 43, addresses=("h:1",), at=1.5)
FOUNDING = found_room(US, "Team ☕", 'The "team"\n', "old-room")

BODIES: list[tuple[AnyBody, About]] = [
    (RoomCreated(ROOM, "Team ☕", FOUNDING), ""),
    (HostStarted("ann", key=US.key, pin="p" * 43), b"\0" * 24),
    (HostStarted("ann", room_id(FOUNDING), "T", US.key, "", "fork", "o", FOUNDING), b""),
    (RoomSuspended("enough"), b"\xff" * 24),
    (RoomSuspended("", "ann", DEED), b"\xff" * 24),
    (HeirsChanged(("bob", "cleo"), after=5.0), b"1"),
    (HeirsChanged(("bob",), keys=(US.key,), automatic=True, issue=3), b"1"),
    (HeirsChanged(anyone=True), b"1"),
    (HostConfirmed(b"\x01" * 24, b"\x02" * 12), ""),
    (MemberJoined("member", True, "model", US.key, "d", "", "visit", b"p" * 12), "ann"),
    (PreferencesChanged("", b"p"), ""),
    (MemberLeft("ann", device="d"), ""),
    (MessagePosted("1", 'tab\t "quoted" \\ \x01 ünï 😀', visits=("a", "b")), ""),
    (
        MessagePosted(
            "2",
            "files",
            "ann",
            True,
            "d",
            (FileRef("a" * 64, "plan.txt", 5, "text/plain"),),
            (Quote("r", "T", (QuotedLine("x", "y", 2.5),)),),
            previous=b"p" * 12,
        ),
        "",
    ),
    (MessagePosted("3", "at noon", reply_to=4, about=b"s" * 64), ""),
    (DecisionMade(4, "delegate", "why", "what", "ann", 0.25), b"s" * 64),
    (ApprovalRequested(4, "a", "genie", "shell", {"z": [1, {"b": None}], "a": 0.5}), b"s" * 64),
    (ApprovalResolved(4, "a", "approved", arguments={"b": 1, "a": 2}, count=3), b"s" * 64),
    (AnswerPosted(4, "so", spent=(Spending("genie", "small", 1),), cut=True), b"s" * 64),
    (RunFailed(4, "agent", "broken"), b"s" * 64),
    (RunCancelled(4, "enough"), b"s" * 64),
    (MessageEdited(4, "better ☕"), b"s" * 64),
    (MessageDeleted(4), b"s" * 64),
    (ReactionChanged(4, "👍", on=False, answer=True), b"s" * 64),
    (MemberModerated("role", "bob", "guest", "so"), b"1"),
    (RecoveredEvent(Event(3, 1.0, "bob", MessagePosted("1", "x", previous=b"p"))), ""),
]


def decoded(entries: Sequence[Dict]) -> list[Event]:
    return msgspec.json.decode(json.dumps(entries), type=list[Event])


def folded(entries: Sequence[Dict]) -> RoomState:
    state = RoomState()
    for event in decoded(entries):
        state.apply(event)
    return state


def challenge_of(log: Log, host: Person, links: Sequence[Dict] | None = None) -> Claim:
    shown = tuple(decoded(log.links if links is None else links))
    founding = msgspec.convert(log.founding, Founding, builtin_types=())
    return Claim("p", host.key, Challenge("n", log.room, host.key, b"", founding, shown))


# -- the formats


@pytest.mark.parametrize(("body", "about"), BODIES, ids=lambda each: type(each).__name__)
def test_entries_are_written_and_signed_alike(body: AnyBody, about: About) -> None:
    if "signature" in body.__struct_fields__:
        before = getattr(body, "previous", b"")
        body = sign(US, ROOM, body, about, before)  # type: ignore[type-var] # those that can
    event = Event(7, 1_700_000_000.25, "ann", body, b"\x07" * 24)
    raw = msgspec.json.encode(event)
    entry = json.loads(raw)
    shuffled = {name: entry[name] for name in sorted(entry)}
    shuffled["body"] = {name: entry["body"][name] for name in sorted(entry["body"])}
    assert scribe.compact(scribe.entry_of(shuffled)) == raw
    assert scribe.link_of(entry) == link_of(event)
    assert scribe.mark_of(entry) == event_mark(event)
    if "signature" in entry["body"]:
        meant = scribe.b64(about) if isinstance(about, bytes) else about
        data = scribe.statement(ROOM, entry["body"], meant)
        assert scribe.is_by(US.key, entry["body"]["signature"], data)
        them = Person("ann")
        theirs = them.signed(ROOM, entry["body"], meant)
        ours = msgspec.json.decode(json.dumps(entry | {"body": theirs}), type=Event).body
        assert is_signed(them.key, ROOM, ours, about)  # type: ignore[arg-type] # one with a signature
        assert not is_signed(them.key, ROOM + "x", ours, about)  # type: ignore[arg-type] # as above


def test_changes_are_signed_and_count_once() -> None:
    ann = Person("ann")
    log = Log(ann)
    number = log.say(ann, "one")["seq"]
    edits = [
        log.add("ann", {"type": "edited", "message": number, "text": text}, ann)
        for text in ("two", "three")
    ]
    for on in (True, False):
        log.add("ann", {"type": "reacted", "message": number, "reaction": "👍", "on": on}, ann)
    assert folded(log.entries).doubts == {}
    again = log.add("ann", edits[0]["body"])
    state = folded(log.entries)
    assert state.doubts == {again["seq"]: REPEATED}
    assert state.threads[number].text == "three"


def test_every_kind_of_entry_is_known_to_both() -> None:
    assert {tag(body) for body, _ in BODIES} | {
        "equipped",
        "shared",
        "unreadable",
    } == scribe.FIELDS.keys()


def test_foundings_and_records_sign_alike() -> None:
    ours = json.loads(msgspec.json.encode(FOUNDING))
    assert scribe.id_of(ours) == room_id(FOUNDING)
    assert scribe.is_by(US.key, ours["signature"], scribe.founding_statement(ours))
    them = Person("zoe")
    theirs = msgspec.json.decode(json.dumps(them.found("team", "Team ☕", "old")), type=Founding)
    assert is_founding_of(theirs, scribe.id_of(them.found("team", "Team ☕", "old")))
    host_record = json.loads(msgspec.json.encode(DEED))
    assert scribe.is_by(US.key, host_record["signature"], scribe.host_record_statement(host_record))
    record = json.dumps(them.host_record(ROOM, "p" * 43, 2.5, ["h:1"]))
    assert is_valid(msgspec.json.decode(record, type=HostRecord))


def test_a_log_by_the_scribe_is_in_order() -> None:
    team = Team()
    log = team.log
    log.heirs(team.ann, team.cleo)
    log.moderate(team.ann, "mute", "cleo")
    log.moderate(team.ann, "unmute", "cleo")
    log.close(team.ann, team.bob)
    log.host(team.bob)
    log.say(team.cleo, "and on")
    state = folded(log.entries)
    assert not state.doubts
    assert (state.host, state.host_key) == ("bob", team.bob.key)
    assert state.link == scribe.link_of(log.entries[-1])
    assert Chain(log.entries, log.room).leads_to(log.links, team.bob.key)
    assert not Chain(log.entries, log.room).leads_to(log.links, team.ann.key)


# -- hosts that are none


class Team:
    """Ann's room with Bob and Cleo, all of whose keys the test has, and Zoe, a stranger."""

    def __init__(self) -> None:
        self.ann, self.bob, self.cleo, self.zoe = map(Person, ("ann", "bob", "cleo", "zoe"))
        self.log = Log(self.ann)
        for each in (self.bob, self.cleo):
            self.log.join(each, engine=True)
        self.log.heirs(self.ann, self.bob, self.cleo)
        self.log.say(self.bob, "hello")


def no_founding(team: Team) -> tuple[Log, Person, Dict]:
    lie = team.log.copy(1)
    lie.host(team.zoe)
    return lie, team.zoe, team.zoe.found("team", "Team")


def copied_founding(team: Team) -> tuple[Log, Person, Dict]:
    lie = team.log.copy(1)
    lie.host(team.zoe)
    return lie, team.zoe, lie.founding


def chain_of_another(team: Team) -> tuple[Log, Person, Dict]:
    return team.log.copy(), team.zoe, team.log.founding


def stranger_follows(team: Team) -> tuple[Log, Person, Dict]:
    lie = team.log.copy()
    lie.host(team.zoe, at=lie.clock + 100)
    return lie, team.zoe, lie.founding


def name_of_a_member(team: Team) -> tuple[Log, Person, Dict]:
    lie, zoe = team.log.copy(), Person("bob")
    lie.host(zoe, at=lie.clock + 100)
    return lie, zoe, lie.founding


def former_host(team: Team) -> tuple[Log, Person, Dict]:
    lie = team.log.copy()
    team.log.close(team.ann, team.bob)
    team.log.host(team.bob)
    lie.host(team.ann)
    return lie, team.ann, lie.founding


def second_word(team: Team) -> tuple[Log, Person, Dict]:
    """The former host names another heir, too, earlier by the clock than the real one."""
    lie = team.log.copy()
    team.log.close(team.ann, team.bob, at=lie.clock + 50)
    team.log.host(team.bob)
    lie.close(team.ann, team.zoe, at=lie.clock + 1)
    lie.host(team.zoe)
    return lie, team.zoe, lie.founding


def second_word_after_a_return(team: Team) -> tuple[Log, Person, Dict]:
    team.log.close(team.ann, team.bob, at=team.log.clock + 1)
    lie = team.log.copy()
    team.log.host(team.bob, at=lie.clock + 50)
    lie.host(team.ann)
    lie.close(team.ann, team.zoe)
    lie.host(team.zoe)
    return lie, team.zoe, lie.founding


def back_dated(team: Team) -> tuple[Log, Person, Dict]:
    """A member cuts the copy at an early entry and claims that the host was away since."""
    lie = team.log.copy()
    team.log.heirs(team.ann, issue=2)
    team.log.host(team.ann, at=team.log.clock + 100)
    lie.host(team.bob, at=lie.clock + 60.5)
    return lie, team.bob, lie.founding


def name_of_another(team: Team) -> tuple[Log, Person, Dict]:
    """The named heir begins in the name of another member."""
    team.log.close(team.ann, team.bob)
    lie = team.log.copy()
    lie.add("", {"type": "hosted", "host": "cleo", "key": team.bob.key}, team.bob)
    return lie, team.bob, lie.founding


def no_heir(team: Team) -> tuple[Log, Person, Dict]:
    team.log.heirs(team.ann, team.cleo, issue=2)
    lie = team.log.copy()
    lie.host(team.bob, at=lie.clock + 100)
    return lie, team.bob, lie.founding


def rule_of_ones_own(team: Team) -> tuple[Log, Person, Dict]:
    team.log.heirs(team.ann, team.cleo, issue=2)
    lie = team.log.copy()
    lie.heirs(team.bob, team.bob, issue=9)
    lie.host(team.bob, at=lie.clock + 100)
    return lie, team.bob, lie.founding


def banned(team: Team) -> tuple[Log, Person, Dict]:
    team.log.moderate(team.ann, "ban", "bob")
    lie = team.log.copy()
    lie.host(team.bob, at=lie.clock + 100)
    return lie, team.bob, lie.founding


def banned_later(team: Team) -> tuple[Log, Person, Dict]:
    lie = team.log.copy()
    team.log.moderate(team.ann, "ban", "bob")
    lie.host(team.bob, at=lie.clock + 100)
    return lie, team.bob, lie.founding


def other_room(team: Team) -> tuple[Log, Person, Dict]:
    """A room of Zoe's own in which she hosts rightly, under the id of Ann's."""
    lie = Log(team.zoe)
    lie.room = team.log.room
    return lie, team.zoe, lie.founding


LIES = (
    no_founding,
    copied_founding,
    chain_of_another,
    stranger_follows,
    name_of_a_member,
    former_host,
    second_word,
    second_word_after_a_return,
    back_dated,
    name_of_another,
    no_heir,
    rule_of_ones_own,
    banned,
    banned_later,
    other_room,
)


def only_a_name_left(host: LyingHost) -> None:
    assert host.heard
    for frame in host.heard:
        assert frame["type"] == "hello"
        assert frame.keys() <= {"type", "name", "version", "key", "nonce", "room", "knows"}


def copy_in(home: Path) -> SavedSession:
    (listing,) = Catalog(home / "data" / "sessions").all()
    return Catalog(home / "data" / "sessions").find(listing.id)


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
async def test_false_host_gets_only_name_and_key(
    lie: Callable[[Team], tuple[Log, Person, Dict]], tmp_path: Path
) -> None:
    team = Team()
    wrong, who, founding = lie(team)
    right = team.bob if lie in SUCCEEDED else team.ann
    async with LyingHost(tmp_path, right, team.log).running() as host:
        async with joined("dan", JoinRoom(host.address), tmp_path / "d") as (dan, ear):
            dan.messages.send("to the right host")
            await ear.until(lambda: dan.state.messages == 2 and not dan.messages.pending)
            assert not dan.state.doubts
        async with LyingHost(tmp_path, who, wrong, founding=founding).running() as liar:
            with pytest.raises(RoomError) as refused:
                await RoomOpener("dan", LOCAL, places(tmp_path / "d")).enter(
                    JoinRoom(liar.address), Ear()
                )
            assert isinstance(refused.value, OtherHost)
            only_a_name_left(liar)
        copy = copy_in(tmp_path / "d")
        again = RejoinRoom(copy.id, (host.address,), host.pin)
        async with joined("dan", again, tmp_path / "d") as (dan, _):
            assert dan.state.messages == 2


SUCCEEDED = (
    former_host,
    second_word,
    second_word_after_a_return,
)


async def test_stranger_founds_no_room(tmp_path: Path) -> None:
    """Who has no copy takes the id of the founding, and no founding that is another's."""
    team = Team()
    for lie in (no_founding, other_room):
        wrong, who, founding = lie(team)
        async with LyingHost(tmp_path, who, wrong, founding=founding).running() as liar:
            with pytest.raises(RoomError) as refused:
                await RoomOpener("dan", LOCAL, places(tmp_path / lie.__name__)).enter(
                    JoinRoom(liar.address), Ear()
                )
            only_a_name_left(liar)
            assert isinstance(refused.value, UnfoundedRoom)
            assert "copy" not in str(refused.value)


def test_connected_member_leaves_for_no_heir() -> None:
    """Also not with a log that ends before the host decided something, at any time."""
    team = Team()
    early = team.log.copy()
    team.log.heirs(team.ann, team.cleo, issue=2)
    for lie, who in ((early, team.bob), (team.log.copy(), team.cleo)):
        state = folded(team.log.entries)
        hosts = KnownHosts(lambda state=state: state)  # type: ignore[misc] # bound early
        assert hosts.accepts(challenge_of(team.log, team.ann))
        for at in (0.0, lie.clock + 200, 1e12):
            taken = lie.copy()
            taken.host(who, at=at)
            claim = challenge_of(taken, who)
            assert not hosts.outranks(claim)
            is_heir = who is team.cleo
            assert KnownHosts(lambda state=state: state).follows(claim) is is_heir  # type: ignore[misc] # as above


# -- a host in the chain that forges entries


@asynccontextmanager
async def dan_at(host: LyingHost, home: Path) -> AsyncIterator[tuple[JoinedRoom, Ear]]:
    async with joined("dan", JoinRoom(host.address), home) as (dan, ear):
        await ear.until(lambda: dan.state.head >= len(host.log.entries))
        yield dan, ear


def invented(log: Log, team: Team, _dan: str) -> None:
    log.add("bob", {"type": "said", "id": "x", "text": "never said", "handler": "dan"}, team.ann)


def unsigned(log: Log, _team: Team, _dan: str) -> None:
    log.add("bob", {"type": "said", "id": "x", "text": "never said"})


def altered(log: Log, team: Team, _dan: str) -> None:
    said = team.bob.signed(log.room, {"type": "said", "id": "x", "text": "pay 1"})
    log.add("bob", said | {"text": "pay 1000"})


def of_another_room(log: Log, team: Team, _dan: str) -> None:
    other = Log(team.ann, "Other")
    log.add("bob", {"type": "said", "id": "x", "text": "there"}, team.bob, room=other.room)


def of_another_member(log: Log, team: Team, _dan: str) -> None:
    log.add("cleo", {"type": "said", "id": "x", "text": "mine"}, team.bob)


def other_key_for_a_name(log: Log, team: Team, _dan: str) -> None:
    log.add("bob", {"type": "joined", "role": "member", "key": team.zoe.key}, team.zoe)


def join_in_a_name(log: Log, team: Team, _dan: str) -> None:
    log.add("zoe", {"type": "joined", "role": "member", "key": team.zoe.key}, team.ann, "zoe")


def key_of_the_reader(log: Log, team: Team, dan: str) -> None:
    log.add("eve", {"type": "joined", "role": "member", "key": dan}, team.zoe, "eve")


def ban_by_a_member(log: Log, team: Team, _dan: str) -> None:
    log.moderate(team.bob, "ban", "cleo")


def ban_in_the_hosts_name(log: Log, team: Team, _dan: str) -> None:
    log.add("ann", {"type": "moderated", "measure": "ban", "name": "cleo"}, team.bob)


def ban_from_elsewhere(log: Log, team: Team, _dan: str) -> None:
    """What the host signed at another place in the log."""
    body = {"type": "moderated", "measure": "ban", "name": "cleo"}
    log.add("ann", body, team.ann, scribe.b64(b"\0" * 24))


def rule_by_a_member(log: Log, team: Team, _dan: str) -> None:
    log.heirs(team.bob, team.bob, issue=9)


def closing_by_a_member(log: Log, team: Team, _dan: str) -> None:
    log.close(team.bob, team.bob)


def out_of_chain(log: Log, team: Team, _dan: str) -> None:
    log.say(team.bob, "one")
    log.entries[-1]["parent"] = scribe.b64(b"\0" * 24)


def decision_about(log: Log, kind: Dict, signer: Person | None) -> None:
    own = next(each for each in log.entries if each["body"].get("text") == "bob asks")
    log.add("bob", kind | {"message": own["seq"]}, signer)


def forged_decision(log: Log, team: Team, _dan: str) -> None:
    decision_about(log, {"type": "decided", "decision": "delegate", "query": "rm"}, team.ann)


def forged_call(log: Log, team: Team, _dan: str) -> None:
    call = {"type": "asked", "approval": "a", "agent": "genie", "tool": "rm", "arguments": {}}
    decision_about(log, call, team.ann)


def forged_answer(log: Log, team: Team, _dan: str) -> None:
    decision_about(log, {"type": "answered", "text": "so I say"}, None)


def answer_to_another_question(log: Log, team: Team, _dan: str) -> None:
    own = next(each for each in log.entries if each["body"].get("text") == "bob asks")
    first = next(each for each in log.entries if each["body"].get("text") == "hello")
    body = {"type": "answered", "text": "yes", "message": own["seq"]}
    log.add("bob", body, team.bob, first["body"]["signature"])


def forged_resolution(log: Log, team: Team, _dan: str) -> None:
    call = {"type": "asked", "approval": "a", "agent": "genie", "tool": "rm", "arguments": {}}
    decision_about(log, call, team.bob)
    settled = {"type": "settled", "approval": "a", "outcome": "approved"}
    decision_about(log, settled, team.ann)


def recovered_unsigned(log: Log, _team: Team, _dan: str) -> None:
    said = {"type": "said", "id": "old", "text": "long ago"}
    event = {"seq": 4, "at": log.clock, "by": "bob", "body": said}
    log.add("cleo", {"type": "recovered", "event": event})


def recovered_answer_to_nothing(log: Log, _team: Team, _dan: str) -> None:
    answer = {"type": "answered", "text": "so I said", "message": 77}
    event = {"seq": 78, "at": log.clock, "by": "bob", "body": answer}
    log.add("cleo", {"type": "recovered", "event": event})


def recovered_ban_of_no_host(log: Log, team: Team, _dan: str) -> None:
    body = {"type": "moderated", "measure": "ban", "name": "cleo"}
    body = team.bob.signed(log.room, body, log.parent)
    event = {"seq": 9, "at": 1.0, "by": "bob", "body": body, "parent": log.parent}
    log.add("bob", {"type": "recovered", "event": event})


FORGERIES = (
    invented,
    unsigned,
    altered,
    of_another_room,
    of_another_member,
    other_key_for_a_name,
    join_in_a_name,
    key_of_the_reader,
    ban_by_a_member,
    ban_in_the_hosts_name,
    ban_from_elsewhere,
    rule_by_a_member,
    closing_by_a_member,
    out_of_chain,
    forged_decision,
    forged_call,
    forged_answer,
    answer_to_another_question,
    forged_resolution,
    recovered_unsigned,
    recovered_answer_to_nothing,
    recovered_ban_of_no_host,
)


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
async def test_forged_entry_is_marked_and_void(
    forge: Callable[[Log, Team, str], None], tmp_path: Path
) -> None:
    team = Team()
    team.log.say(team.bob, "bob asks", handler="bob")
    async with (
        LyingHost(tmp_path, team.ann, team.log).running() as host,
        dan_at(host, tmp_path / "d") as (dan, ear),
    ):
        state, key = dan.state, dan.state.keys["dan"]
        before = dict(state.keys), dict(state.banned), dict(state.roles), state.host_key
        order = state.succession.order
        assert not state.doubts
        forge(team.log, team, key)
        await host.send_all()
        await ear.until(lambda: state.head == len(team.log.entries))
        assert list(state.doubts) == [len(team.log.entries)]
        assert not state.is_proven(state.head)
        assert (dict(state.keys), dict(state.banned), dict(state.roles), state.host_key) == before
        assert state.succession.order == order
        assert state.hosting
        assert not state.inherited
        dan.messages.send("and on")
        await ear.until(lambda: not dan.messages.pending)
        assert len(state.doubts) == 1


def _decided(who: JoinedRoom, text: str) -> bool:
    threads = who.state.threads.values()
    return any(each.said.text == text and each.decision is not None for each in threads)


async def test_stranger_as_host_ends_visit(tmp_path: Path) -> None:
    team = Team()
    async with (
        LyingHost(tmp_path, team.ann, team.log).running() as host,
        dan_at(host, tmp_path / "d") as (dan, ear),
    ):
        team.log.host(team.zoe, at=team.log.clock + 1e4)
        await host.send_all()
        await ear.until(lambda: ear.links and ear.links[-1].state.name == "CLOSED")
        assert "zoe" in ear.links[-1].detail
        assert (dan.state.host, dan.state.head) == ("ann", len(team.log.entries) - 1)
    team = Team()
    team.log.host(team.zoe, at=team.log.clock + 1e4)
    liar = LyingHost(tmp_path, team.ann, team.log, links=team.log.links[:1])
    async with liar.running(), joined("eve", JoinRoom(liar.address), tmp_path / "e") as (eve, ear):
        await ear.until(lambda: ear.links[-1].state.name == "CLOSED")
        assert "zoe" in ear.links[-1].detail
        assert eve.state.host == "ann"


def behind_damage(team: Team) -> Log:
    """The founding, an entry that can't be read, and the stranger as the first host."""
    log = team.log.copy(1)
    log.add("", {"type": "unreadable", "why": "gone"})
    log.host(team.zoe)
    log.join(team.zoe, role="host")
    return log


def without_founding(team: Team) -> Log:
    log = team.log.copy(0)
    log.add("", {"type": "opened", "room": log.room, "title": "Team"})
    log.host(team.zoe)
    log.join(team.zoe, role="host")
    return log


def of_her_own_room(team: Team) -> Log:
    own = Log(team.zoe)
    log = team.log.copy(0)
    log.entries = own.entries
    return log


@pytest.mark.parametrize("forge", [behind_damage, without_founding, of_her_own_room])
async def test_stranger_with_real_founding_fails(
    tmp_path: Path, forge: Callable[[Team], Log]
) -> None:
    """A stranger shows a room's own founding, and then a log in which the stranger hosts."""
    team = Team()
    liar = LyingHost(tmp_path, team.zoe, forge(team))
    async with liar.running(), joined("eve", JoinRoom(liar.address), tmp_path / "e") as (_, ear):
        await ear.until(lambda: ear.links[-1].state.name == "CLOSED")
        assert "does not prove to host this room" in ear.links[-1].detail
    assert not any(each["type"] in ("say", "publish", "prefer") for each in liar.heard)


async def test_dropped_and_swapped_entries_are_noticed(tmp_path: Path) -> None:
    team = Team()
    for text in ("one", "two", "three"):
        team.log.say(team.bob, text)
    whole = team.log.entries
    for wrong in ([*whole[:-2], whole[-1]], [*whole[:-2], whole[-1], whole[-2]]):
        numbered = [each | {"seq": seq} for seq, each in enumerate(wrong, 1)]
        state = folded(numbered)
        assert state.doubts
        assert min(state.doubts) == len(whole) - 1
    renewed = Team()  # the chain is whole, but what Bob said in between is not there
    renewed.log = team.log.copy(-2)
    body = {"type": "said", "id": "y", "text": "on"}
    body["previous"] = whole[-1]["body"]["signature"][:16]
    renewed.log.add("bob", body, team.bob)
    assert folded(renewed.log.entries).doubts == {len(renewed.log.entries): GAP}


async def test_engine_hears_only_owners_words(tmp_path: Path) -> None:
    team = Team()
    async with (
        LyingHost(tmp_path, team.ann, team.log).running() as host,
        dan_at(host, tmp_path / "d") as (dan, ear),
    ):
        dan.messages.send("wanted")
        await ear.until(lambda: _decided(dan, "wanted"))
        mine = next(each for each in team.log.entries if each["body"].get("text") == "wanted")
        theirs = {"handler": "dan", "device": mine["body"]["device"]}
        visits = mine["body"]["visits"]
        team.log.add("dan", {"type": "said", "id": "1", "text": "rm", "visits": visits} | theirs)
        body = {"type": "said", "id": "2", "text": "rm", "visits": visits} | theirs
        team.log.add("dan", body, team.ann)
        team.log.add("dan", mine["body"] | {"text": "rm"})
        team.log.add("dan", mine["body"])  # again, as it was
        team.log.say(team.bob, "for my engine", **theirs)
        forged = range(mine["seq"] + 1, len(team.log.entries) + 1)
        await host.send_all()
        dan.messages.send("at last")
        await ear.until(lambda: _decided(dan, "at last"))
        steps = [each["body"] for each in host.heard if each["type"] == "publish"]
        assert steps
        reported = {each["message"] for each in steps if each["type"] != "failed"}
        assert not reported & set(forged)


def test_a_doctored_copy_tells_where(tmp_path: Path) -> None:
    """Text that was changed on the disk, with the right checksum of its line."""
    team = Team()
    said = team.log.say(team.bob, "pay 1")
    team.log.say(team.cleo, "thanks")
    entries = json.loads(json.dumps(team.log.entries))
    entries[said["seq"] - 1]["body"]["text"] = "pay 1000"
    saved = Catalog(tmp_path).copy_of(team.log.room, "Team", "dan", time.time())
    saved.log_path.write_bytes(b"".join(map(scribe.line_of, entries)))
    with saved.reader() as log:
        state = log.state()
        assert not log.problems
    assert state.doubt_of(said["seq"])
    assert state.doubt_of(said["seq"] + 1)  # which follows the entry as it was
    assert not state.doubt_of(said["seq"] - 1)


# -- members that lie to the program's own host


@asynccontextmanager
async def served(folder: Path, log: Log | None = None) -> AsyncIterator[tuple[RoomServer, str]]:
    """Serve a new room, or one that goes on with a log in which the host is `US`."""
    sink = Sink(decoded(log.entries) if log is not None else ())
    founding = found_room(US, "team", "Team")
    async with RoomServer(
        sink.events,
        sink.append,
        RoomSetup(
            log.room if log is not None else room_id(founding),
            "Team",
            "us",
            US,
            founding=None if log is not None else founding,
        ),
        certificate=load_certificate(folder / "us.pem", datetime.now(UTC)),
    ) as server:
        yield server, str(await server.listen(port=0))


async def test_a_raw_client_takes_part(tmp_path: Path) -> None:
    """The handshake and the log of the program's host are as the scribe has them."""
    async with (
        served(tmp_path) as (server, address),
        RawClient.meeting(address, Person("bob")) as bob,
    ):
        assert (await bob.join())["type"] == "welcome"
        founding = bob.challenge["founding"]
        assert scribe.id_of(founding) == bob.room == server.state.room
        said = bob.who.signed(bob.room, {"type": "said", "id": "1", "text": "hello"})
        await bob.send(said | {"type": "say"})
        await bob.until(lambda _: any(each["body"].get("text") for each in bob.entries))
        assert Chain(bob.entries, bob.room).leads_to(bob.challenge["links"], US.key)
        for one, other in zip(bob.entries, bob.entries[1:], strict=False):
            assert other["parent"] == scribe.b64(scribe.link_of(one))
        assert not server.state.doubts
        assert not folded(bob.entries).doubts


FALSE = scribe.b64(b"\0" * 64)


async def test_join_with_other_key_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, address):
        async with RawClient.meeting(address, Person("bob")) as bob:
            assert (await bob.join())["type"] == "welcome"
        async with RawClient.meeting(address, Person("bob")) as other:
            assert (await other.join())["code"] == "name_taken"
        async with RawClient.meeting(address, Person("eve")) as eve:
            assert (await eve.join(FALSE))["code"] == "unproven"
        async with RawClient.meeting(address, Person("us")) as us:
            assert (await us.join())["code"] == "name_taken"
        assert set(server.state.keys) == {"us", "bob"}


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "say", "id": "1", "text": "unsigned"},
        {"type": "say", "id": "1", "text": "badly signed", "signature": FALSE},
        {"type": "prefer", "text": "badly signed", "signature": FALSE},
        {"type": "moderate", "measure": "ban", "name": "us"},
        {"type": "entail", "automatic": True},
        {"type": "share", "on": True},
    ],
    ids=lambda frame: "-".join(str(each) for each in list(frame.values())[:3:2]),
)
async def test_unsigned_or_forbidden_is_refused(frame: Dict, tmp_path: Path) -> None:
    async with (
        served(tmp_path) as (server, address),
        RawClient.meeting(address, Person("bob")) as bob,
    ):
        assert (await bob.join())["type"] == "welcome"
        head = server.state.head
        await bob.send(frame)
        refused = await bob.until(lambda each: each["type"] == "refused")
        assert refused["code"] in ("unproven", "not_allowed")
        assert server.state.head == head


def taken_over() -> tuple[Log, Person, Person, Person]:
    """Ann's room, which the program hosts by her rule, and what she signed until then."""
    ann, bob, us = Person("ann"), Person("bob"), Person("us")
    us.key, us.sign = US.key, lambda data: scribe.b64(US.sign(data))  # type: ignore[method-assign] # our key
    log = Log(ann)
    log.join(bob)
    log.join(us)
    log.host(us, at=log.clock + 61)
    log.join(bob)
    return log, ann, bob, us


async def test_only_signed_events_are_recovered(tmp_path: Path) -> None:
    log, _, bob, _ = taken_over()
    seq = len(log.entries) + 5
    said = {"type": "said", "id": "s", "text": "meanwhile"}
    genuine = bob.signed(log.room, said)
    answer = {"type": "answered", "message": 9_999, "text": "so"}

    def at(number: int, by: str, body: Dict, parent: str = "") -> Dict:
        return {"seq": seq + number, "at": 5.0, "by": by, "body": body, "parent": parent}

    ban = {"type": "moderated", "measure": "ban", "name": "bob"}
    events = [
        at(0, "bob", genuine),
        at(1, "bob", said | {"id": "t"}),
        at(2, "bob", genuine | {"text": "other words", "id": "u"}),
        at(3, "us", bob.signed(log.room, said | {"id": "v"})),
        at(4, "nobody", bob.signed(log.room, said | {"id": "w"})),
        at(5, "bob", answer),
        at(6, "bob", answer | {"message": 10_000, "signature": FALSE}),
        at(7, "bob", bob.signed(log.room, ban, "cA=="), "cA=="),
        at(8, "ann", ban, "cA=="),
    ]
    async with (
        served(tmp_path, log) as (server, address),
        RawClient.meeting(address, bob) as raw,
    ):
        assert (await raw.join())["type"] == "welcome"
        await raw.send({"type": "bequeath", "events": events})
        told = await raw.until(lambda each: each["type"] in ("inherited", "refused"))
        assert told == {"type": "inherited", "seq": seq + 8, "unproven": 8}
        recovered = [each for each in server.state.threads.values() if each.recovered_from]
        assert [each.said.text for each in recovered] == ["meanwhile"]
        assert not server.state.doubts
        assert not server.state.banned


async def test_former_hosts_measures_are_void(tmp_path: Path) -> None:
    log, ann, bob, _ = taken_over()
    parent = scribe.b64(scribe.link_of(log.entries[3]))
    ban = ann.signed(log.room, {"type": "moderated", "measure": "ban", "name": "us"}, parent)
    event = {"seq": len(log.entries), "at": 5.0, "by": "ann", "body": ban, "parent": parent}
    async with (
        served(tmp_path, log) as (server, address),
        RawClient.meeting(address, ann) as raw,
    ):
        assert (await raw.join())["type"] == "welcome"
        await raw.send({"type": "bequeath", "events": [event]})
        await raw.until(lambda each: each["type"] == "inherited")
        assert not server.state.banned
        assert server.state.host_key == US.key
        assert bob.key in server.state.keys.values()
