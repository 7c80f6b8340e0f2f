"""What a host checks of private messages, whose content it can't read."""

import pytest
from msgspec.structs import replace
from tests.genie_core.room.bench import ROOMY, Bench, events_in, identity, only_refusal, refusals

from genie_core.room.protocol.events import (
    AnswerPosted,
    DecisionMade,
    FileRef,
    MessageEdited,
    MessagePosted,
    ReactionChanged,
    RunFailed,
)
from genie_core.room.protocol.frames import ChangeMessage, Moderate, PostMessage, Publish
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.sealing import OVERHEAD, PADDING, seal
from genie_core.room.server.peers import Peer

BOX = b"x" * (PADDING + 40)
PAIR = (BOX, BOX)


class Door(Bench):
    """A room where alice sits with an engine, bob without, and carl is a guest."""

    def __init__(self, limits: Limits = ROOMY) -> None:
        super().__init__(limits=limits, key=identity("hana").key)
        self.hana = self.join_host()
        self.alice = self.joined("alice", engine=True)
        self.bob = self.joined("bob")
        self.agent = self.joined("robo", kind="agent")

    def post(self, peer: Peer, **fields: object) -> list[object]:
        given = {"to": "bob", "sealed": PAIR, **fields}
        return [*self.tell(peer, PostMessage("1", given.pop("text", ""), **given))]  # type: ignore[arg-type]


def test_only_note_to_self_has_handler() -> None:
    room = Door()
    room.post(room.alice)
    room.send(room.alice, PostMessage("2", "", to="alice", sealed=(BOX,)))
    said = room.bodies(MessagePosted)
    assert [(each.to, each.handler, each.text) for each in said] == [
        ("bob", "", ""),
        ("alice", "alice", ""),
    ]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"to": "nobody"}, "never been in this room"),
        ({"to": "Bob"}, "never been in this room"),
        ({"to": "robo"}, "agents"),
        ({"to": ""}, "never been in this room"),
        ({"sealed": ()}, "sealed for the two"),
        ({"sealed": (BOX,)}, "sealed for the two"),
        ({"sealed": (BOX, BOX, BOX)}, "sealed for the two"),
        ({"text": "hello"}, "sealed for the two"),
        ({"files": (FileRef("a" * 64, "a.txt", 3),)}, "sealed for the two"),
        ({"to": "alice", "sealed": PAIR}, "sealed for the two"),
    ],
)
def test_half_private_message_is_refused(fields: dict[str, object], why: str) -> None:
    room = Door()
    assert why in only_refusal(room.post(room.alice, **fields)).text  # type: ignore[arg-type]
    assert room.bodies(MessagePosted) == []


def test_private_request_needs_own_engine() -> None:
    room = Door()
    refusal = only_refusal(room.tell(room.bob, PostMessage("1", "", to="bob", sealed=(BOX,))))
    assert "no agent of your own" in refusal.text


def test_agents_write_nothing_private() -> None:
    room = Door()
    assert "agents" in only_refusal(room.post(room.agent)).text  # type: ignore[arg-type]


def test_muted_member_writes_no_private() -> None:
    room = Door()
    room.send(room.hana, Moderate("mute", "alice"))
    assert only_refusal(room.post(room.alice)).code == "muted"  # type: ignore[arg-type]


def test_sealed_content_has_text_limit() -> None:
    room = Door(Limits(text_chars=100))
    most = b"x" * (400 + PADDING + OVERHEAD)
    assert refusals(room.post(room.alice, sealed=(most, most))) == []  # type: ignore[arg-type]
    refusal = only_refusal(
        room.tell(room.alice, PostMessage("2", "", to="bob", sealed=(most, most + b"x")))
    )
    assert "at most 100" in refusal.text


def test_edit_must_be_sealed_no_reaction() -> None:
    room = Door()
    room.post(room.alice)
    seq = room.room.state.head
    for body, why in (
        (MessageEdited(seq, "public"), "both be private"),
        (MessageEdited(seq, "", sealed=(BOX,)), "both be private"),
        (ReactionChanged(seq, "👍"), "see a reaction"),
    ):
        assert why in only_refusal(room.tell(room.alice, ChangeMessage(body))).text
    assert refusals(room.tell(room.alice, ChangeMessage(MessageEdited(seq, "", sealed=PAIR)))) == []
    assert len(room.bodies(MessageEdited)) == 1


def test_work_is_as_private_as_its_message() -> None:
    room = Door()
    room.send(room.alice, PostMessage("1", "", to="alice", sealed=(BOX,)))
    private = room.room.state.head
    public = room.say(room.alice, "hello", "2")
    key = identity("alice").key
    for seq, body in (
        (private, DecisionMade(private, "delegate", "asked", "what?")),
        (public, seal(DecisionMade(public, "delegate", "asked", "what?"), key, [key])),
    ):
        refusal = only_refusal(room.tell(room.alice, Publish(f"a{seq}", body)))
        assert "both be private" in refusal.text
    decided = seal(DecisionMade(private, "delegate", "asked", "what?"), key, [key])
    answer = seal(AnswerPosted(private, "so"), key, [key])
    assert refusals(room.tell(room.alice, Publish("b1", decided), Publish("b2", answer))) == []
    assert room.bodies(AnswerPosted) == [replace(answer, signature=b"")]


def test_stranger_ends_no_private_request() -> None:
    room = Door()
    room.send(room.alice, PostMessage("1", "", to="alice", sealed=(BOX,)))
    failed = RunFailed(room.room.state.head, "agent", "", sealed=(BOX,))
    assert only_refusal(room.tell(room.bob, Publish("1", failed))).code == "not_responsible"


def test_everybody_gets_the_same_log() -> None:
    room = Door()
    room.post(room.alice)
    logs = [events_in(room.pull(each)) for each in (room.hana, room.bob)]
    assert logs[0][-1] == logs[1][-1] == room.written[-1]
