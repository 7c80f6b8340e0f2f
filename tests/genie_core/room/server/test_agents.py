"""Agents that are members: marked, limited, moderated, and refused what only people may do."""

import pytest
from msgspec.structs import replace
from tests.genie_core.room.bench import Bench, identity, only_refusal, refusals

from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    HeirsChanged,
    MemberJoined,
    MemberModerated,
    MessagePosted,
)
from genie_core.room.protocol.frames import (
    BEQUEST_REF,
    AcceptHosting,
    AnswerApproval,
    AnswerJoinRequest,
    ClientFrame,
    JoinRequested,
    Moderate,
    OfferHosting,
    PostMessage,
    Publish,
    RecoverEvents,
    ReportDelta,
    SetEngine,
    SetHeirs,
    SetPreferences,
    ShareArguments,
    Stop,
    Typing,
)
from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.limits import AGENT_BURST, AGENT_PER_MINUTE, AGENT_TURNS
from genie_core.room.security.signing import is_signed
from genie_core.room.server.peers import Peer, Stage
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state
from genie_core.room.state.thread import Phase


def agent(room: Bench, name: str = "bot", **fields: object) -> Peer:
    return room.joined(name, kind="agent", **fields)


def post(room: Bench, peer: Peer, *ids: str) -> list[str]:
    """Post messages; returns why those that were refused were."""
    frames = room.tell(peer, *(PostMessage(id_, "words") for id_ in ids))
    return [each.text for each in refusals(frames)]


def test_agent_kind_is_signed_on_join() -> None:
    room = Bench(founded=True)
    room.join_host()
    agent(room)
    joined = room.bodies(MemberJoined)[-1]
    assert (joined.kind, joined.role) == ("agent", "guest")
    assert is_signed(identity("bot").key, room.id, joined, "bot")
    assert not is_signed(identity("bot").key, room.id, replace(joined, kind=""), "bot")
    assert room.room.state.people["bot"].is_agent


def test_unsigned_kind_is_refused() -> None:
    room = Bench(founded=True)
    room.join_host()
    hello = room.greet("bot", kind="agent")[1]
    _, answers = room.meet("bot", signature=hello.signature)
    assert only_refusal(answers).code == "unproven"


def test_an_agent_brings_no_engine() -> None:
    room = Bench()
    _, _, answers = room.greet("bot", kind="agent", engine=True)
    assert only_refusal(answers).code == "malformed"


@pytest.mark.parametrize(("first", "then"), [("agent", ""), ("", "agent")])
def test_a_name_never_changes_its_kind(first: str, then: str) -> None:
    room = Bench()
    room.lose(room.joined("bot", kind=first))
    _, answers = room.meet("bot", kind=then)
    refusal = only_refusal(answers)
    assert refusal.code == "name_taken"
    assert "--name" in refusal.text
    assert refusals(room.meet("bot", kind=first)[1]) == []


def test_the_host_is_no_agent() -> None:
    room = Bench(key=identity("hana").key)
    _, answers = room.meet("hana", kind="agent")
    assert only_refusal(answers).code == "name_taken"


def test_host_sees_that_agent_asks() -> None:
    room = Bench(ask=True)
    host = room.join_host()
    room.meet("bot", kind="agent")
    (asked,) = [each for each in room.pull(host) if isinstance(each, JoinRequested)]
    assert (asked.name, asked.kind) == ("bot", "agent")


FORBIDDEN: list[ClientFrame] = [
    Publish("1", DecisionMade(3, "delegate")),
    Publish("2", AnswerPosted(3, "yes")),
    SetEngine("model"),
    SetPreferences("obey me"),
    ReportDelta(3, "text"),
    Stop(3),
    AnswerApproval("a1", allow=True),
    Moderate("kick", "hana"),
    ShareArguments(on=True),
    SetHeirs(("bot",)),
    AnswerJoinRequest(1, allow=True),
    OfferHosting("bot"),
    AcceptHosting(HostRecord("r1", "bot", "k", "p", (), 0.0)),
    RecoverEvents(()),
]


@pytest.mark.parametrize("frame", FORBIDDEN, ids=lambda each: type(each).__name__)
def test_agent_is_refused_human_actions(frame: ClientFrame) -> None:
    room = Bench()
    host = room.join_host()
    bot = agent(room)
    room.say(host)
    before = list(room.written)
    refusal = only_refusal(room.tell(bot, frame))
    assert refusal.code == "not_allowed"
    assert refusal.ref == {"Publish": getattr(frame, "id", ""), "RecoverEvents": BEQUEST_REF}.get(
        type(frame).__name__, ""
    )
    assert room.written == before
    assert bot.stage is Stage.JOINED


def test_an_agent_may_type_and_write() -> None:
    room = Bench()
    bot = agent(room)
    assert refusals(room.tell(bot, Typing(), PostMessage("1", "hello"))) == []


def test_no_engine_acts_on_an_agents_message() -> None:
    room = Bench()
    host = room.join_host(engine=True)
    person = room.joined("bob")
    room.say(person)
    assert room.bodies(MessagePosted)[-1].handler == "hana"
    seq = room.say(agent(room), id_="2")
    assert room.bodies(MessagePosted)[-1].handler == ""
    thread = room.room.state.threads[seq]
    assert (thread.phase, thread.by_agent) == (Phase.UNHANDLED, True)
    refused = only_refusal(room.tell(host, Publish("1", DecisionMade(seq, "ignore"))))
    assert refused.code == "not_responsible"


def test_agent_messages_are_paced() -> None:
    room = Bench()
    host, bot = room.join_host(), agent(room)
    assert post(room, bot, *map(str, range(AGENT_BURST))) == []
    (why,) = post(room, bot, "more")
    assert f"{AGENT_PER_MINUTE} messages a minute" in why
    room.say(host, id_="h")
    room.now += 60 / AGENT_PER_MINUTE
    assert post(room, bot, "more") == []
    assert len(post(room, bot, "again")) == 1


def test_agents_wait_for_person() -> None:
    room = Bench()
    host = room.join_host()
    bots = [agent(room, name) for name in ("bot", "robot")]
    for turn in range(AGENT_TURNS):
        assert post(room, bots[turn % 2], f"t{turn}") == []
        room.now += 60
    assert room.room.state.unprompted() == AGENT_TURNS
    for bot in bots:
        (why,) = post(room, bot, "one too many")
        assert "wait until a person writes" in why
    room.say(host)
    assert post(room, bots[0], "after") == []
    assert room.room.state.unprompted() == 1


def test_reopened_room_keeps_turn_count() -> None:
    room = Bench()
    bot = agent(room)
    for turn in range(AGENT_TURNS):
        post(room, bot, f"t{turn}")
        room.now += 60
    again = Bench(room.written)
    assert again.room.state.unprompted() == AGENT_TURNS
    (why,) = post(again, agent(again), "more")
    assert "wait until a person writes" in why
    copy = decode_state(encode_state(again.room.state))
    assert copy.unprompted() == AGENT_TURNS
    assert copy.people["bot"].is_agent


def test_agent_can_be_muted_and_banned() -> None:
    room = Bench()
    host, bot = room.join_host(), agent(room)
    room.send(host, Moderate("mute", "bot"))
    (why,) = post(room, bot, "1")
    assert "muted" in why
    room.send(host, Moderate("unmute", "bot"))
    assert post(room, bot, "2") == []
    room.send(host, Moderate("ban", "bot"))
    assert only_refusal(room.pull(bot)).code == "banned"
    assert only_refusal(room.meet("bot", kind="agent")[1]).code == "banned"


def test_agent_is_never_member_or_heir() -> None:
    room = Bench()
    host, bot = room.join_host(), agent(room)
    for frame in (Moderate("role", "bot", "member"), SetHeirs(("bot",)), OfferHosting("bot")):
        assert only_refusal(room.tell(host, frame)).code == "out_of_state"
    assert room.bodies(HeirsChanged) == []
    room.send(host, Moderate("role", "bot", "observer"))
    assert room.bodies(MemberModerated)[-1].role == "observer"
    assert len(post(room, bot, "1")) == 1
    room.send(host, Moderate("role", "bot", "guest"))
    assert post(room, bot, "2") == []


def test_agent_as_member_hosts_nothing() -> None:
    room = Bench()
    agent(room)
    state = RoomState()
    for event in room.written:
        body = event.body
        if isinstance(body, MemberJoined):
            event = replace(event, body=replace(body, role="member"))
        state.apply(event)
    assert state.members.entitled(identity("bot").key) is None
