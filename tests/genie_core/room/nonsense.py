"""Frames of all kinds for a room with few people: sensible, out of place and absurd ones."""

from typing import Any, Final

import msgspec
from hypothesis import strategies as st
from tests.genie_core.room.bench import HOST_TOKEN, PIN, identity

from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    ApprovalRequested,
    ApprovalResolved,
    DecisionMade,
    Event,
    FileRef,
    MemberJoined,
    MemberModerated,
    MessagePosted,
    Quote,
    QuotedLine,
    RecoveredEvent,
    RunCancelled,
    RunFailed,
)
from genie_core.room.protocol.frames import (
    AcceptHosting,
    AnswerApproval,
    AnswerJoinRequest,
    Bye,
    Chunk,
    FetchFile,
    Hello,
    IssueInvite,
    Moderate,
    OfferHosting,
    PostMessage,
    Prove,
    Publish,
    RecoverEvents,
    ReportDelta,
    SetEngine,
    SetHeirs,
    ShareArguments,
    Stop,
    StoreFile,
    Typing,
    VoidInvites,
)
from genie_core.room.security.host_records import sign_host_record

PEOPLE: Final = ("hana", "alice", "bob", "carol", "dave", "mallory")
KNOWN: Final = "a" * 64
FILE: Final = FileRef(KNOWN, "a.txt", 3, "text/plain")

people = st.sampled_from(PEOPLE)
names = people | st.sampled_from(["Alice", "HANA", "genie", "", "x" * 70, "\ud800", "alice"])
keys = people.map(lambda name: identity(name).key) | st.sampled_from(["", "k", "k" * 43])
seqs = st.integers(-1, 40) | st.sampled_from([10**30])
ids = st.sampled_from(["1", "2", "3", "4", "5", "6", "7", "", "i" * 99])
texts = st.sampled_from(["hi", "ho", "hey", "", "x" * 60, "x" * 200, "\ud800", "\x1b[31m"])
devices = st.sampled_from(["d1", "d2", "", "\ud800", "d" * 99])
moments = st.sampled_from([0.0, 1.0, -1.0, 1e300, float("nan")])
outcomes = st.sampled_from(["approved", "denied", "expired", "parked"])
measures = st.sampled_from(["kick", "ban", "pardon", "mute", "unmute", "role", "free"])
roles = st.sampled_from([None, "host", "member", "guest", "observer"])
digests = st.sampled_from([KNOWN, "b" * 64, "../../etc/passwd", "", "A" * 64])
arguments = st.sampled_from([{}, {"x": 1}, {"x": object()}])
files = st.one_of(
    st.sampled_from([(), (FileRef(KNOWN, "\ud800", -1),)]),
    st.lists(st.builds(FileRef, digests, texts, st.integers(-1, 99)), max_size=3).map(tuple),
)
quotes = st.lists(
    st.builds(
        Quote,
        texts,
        texts,
        st.lists(st.builds(QuotedLine, names, texts, moments), max_size=2).map(tuple),
    ),
    max_size=1,
).map(tuple)


def run_bodies(messages: st.SearchStrategy[int] = seqs) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(DecisionMade, messages, st.sampled_from(["ignore", "delegate"]), query=texts),
        st.builds(ApprovalRequested, messages, ids, texts, texts, arguments),
        st.builds(ApprovalResolved, messages, ids, outcomes),
        st.builds(AnswerPosted, messages, texts, elapsed=st.floats()),
        st.builds(RunFailed, messages, st.sampled_from(["agent", "lost"]), texts),
        st.builds(RunCancelled, messages, texts),
    )


says = st.builds(PostMessage, st.integers(0, 3).map(str), st.just("hi"))


def sensible_bodies(message: int) -> st.SearchStrategy[Any]:
    """What an engine might report about a message, if not always at the right moment."""
    approvals = st.sampled_from([f"{message}a", f"{message}b"])
    return st.one_of(
        st.just(DecisionMade(message, "delegate", query="q")),
        st.builds(
            ApprovalRequested,
            st.just(message),
            approvals,
            st.just("agent"),
            st.just("rm"),
            st.just({}),
        ),
        st.builds(ApprovalResolved, st.just(message), approvals, outcomes),
        st.just(AnswerPosted(message, "here")),
        run_bodies(st.just(message)),
    )


said = st.builds(MessagePosted, ids, texts, names, device=devices, files=files, quotes=quotes)
bodies = st.one_of(
    said,
    run_bodies(),
    st.builds(MemberJoined, st.sampled_from(["host", "member"]), key=keys),
    st.builds(MemberModerated, measures, names, roles),
)
originals = st.builds(Event, seqs, moments, names | st.just(ROOM), bodies)
events = originals | st.builds(Event, seqs, moments, names, st.builds(RecoveredEvent, originals))
heritage = st.builds(
    Event,
    st.integers(2, 20),
    st.sampled_from([1.0, 1.0, 1.0, 1e300]),
    people,
    st.one_of(
        st.builds(MessagePosted, st.integers(0, 3).map(str), st.just("hi"), people),
        st.builds(AnswerPosted, st.integers(2, 20), st.just("here")),
        bodies,
    ),
)


@st.composite
def host_records(draw: st.DrawFn, whose: str = "") -> Any:
    """Draw a deed, often one that its host did sign."""
    host = draw(st.just(whose or "bob") | people)
    room = draw(st.sampled_from(["r1", "r1", "another"]))
    host_record = sign_host_record(
        identity(draw(st.sampled_from([host, host, "mallory"]))),
        room=room,
        host=host,
        pin=PIN,
        addresses=("192.0.2.7:7777",),
        at=1.0,
    )
    return draw(
        st.sampled_from([host_record, host_record, msgspec.structs.replace(host_record, pin="")])
    )


hellos = st.builds(
    Hello,
    names,
    version=st.sampled_from([1, 2, 2, 2]),
    room=st.sampled_from(["", "", "r1", "another"]),
    since=st.integers(-3, 50),
    mark=st.sampled_from([0, 0, 0, 12345]),
    engine=st.booleans(),
    agent=texts,
    token=st.sampled_from(["", "guess", HOST_TOKEN, "\ud800"]),
    key=keys,
    nonce=st.sampled_from(["nonce", "", "n" * 200]),
    device=devices,
)
proofs = st.builds(
    Prove, st.sampled_from([b"", b"s" * 64]), st.sampled_from(["", "pass"]), st.just(b"p")
)
authority = st.one_of(
    st.builds(Moderate, measures, names, roles, texts),
    st.builds(ShareArguments, st.booleans()),
    st.builds(AnswerJoinRequest, st.integers(-1, 30), st.booleans()),
    st.builds(OfferHosting, names),
    st.builds(SetHeirs, st.lists(names, max_size=2).map(tuple)),
    st.builds(IssueInvite, st.sampled_from([None, 1, 0]), role=roles),
    st.builds(VoidInvites),
)
talk = st.one_of(
    st.builds(PostMessage, ids, texts, st.booleans(), files, quotes),
    st.builds(Publish, ids, run_bodies()),
    st.builds(SetEngine, texts),
    st.builds(Typing),
    st.builds(ReportDelta, seqs, texts),
    st.builds(Stop, seqs),
    st.builds(AnswerApproval, ids, st.booleans(), texts, arguments=arguments),
    st.builds(AcceptHosting, host_records()),
    st.builds(RecoverEvents, st.lists(events, max_size=3).map(tuple)),
)
filing = st.one_of(
    st.builds(StoreFile, digests, st.integers(-1, 10**9)),
    st.builds(Chunk, digests, seqs, st.just(b"x")),
    st.builds(FetchFile, digests, seqs),
)
frames = st.one_of(talk, authority, filing, hellos, proofs, st.builds(Bye, texts))
