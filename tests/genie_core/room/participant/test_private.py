"""Private messages and private requests, between people in one room."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from tests.genie_core.room.live_room import Ear, LiveRoom, by_socket, loader, opened, tool_user

from genie_core.agent import AgentInput, ApprovalCallback
from genie_core.datastore import DataStore
from genie_core.room.client.events import EditRejected
from genie_core.room.client.model import Answer
from genie_core.room.engine.config import EngineLoader
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.protocol.errors import NotPrivate
from genie_core.room.protocol.events import (
    Event,
    FileRef,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
)
from genie_core.room.protocol.frames import AnswerDelta, ChangeMessage
from genie_core.room.server.handlers import FrameHandlers
from genie_core.room.server.peers import Peer
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import decode_state, encode_state
from genie_core.room.state.thread import MessageThread, Phase
from genie_core.session import GroupSession
from genie_testing import Emit

SECRET = "the launch is on Friday"


class Trio:
    """ann hosts; ben and cleo are members; each has an engine of their own unless said otherwise."""

    def __init__(self, live: LiveRoom) -> None:
        self.live = live
        self.people: dict[str, JoinedRoom] = {}
        self.ears: dict[str, Ear] = {}

    async def add(self, name: str, load: EngineLoader | None) -> JoinedRoom:
        connector = await by_socket(self.live) if name != "ann" else None
        person, ear = await self.live.joined(name, load, connector=connector)
        self.people[name], self.ears[name] = person, ear
        return person

    async def all_have(self, messages: int) -> None:
        for name, person in self.people.items():
            await self.ears[name].until(
                lambda person=person: person.state.messages >= messages  # type: ignore[misc] # bound at once
            )

    def thread(self, name: str, number: int = -1) -> MessageThread:
        return list(self.people[name].state.threads.values())[number]

    @property
    def log(self) -> bytes:
        return msgspec.json.encode(self.live.sink.events)


@asynccontextmanager
async def trio(folder: Path, **engines: EngineLoader | None) -> AsyncIterator[Trio]:
    async with opened() as live:
        people = Trio(live)
        for name in ("ann", "ben", "cleo"):
            load = engines.get(name, loader(folder / name)) if name in engines else None
            await people.add(name, load if name in engines else None)
        for name in people.people:
            await people.ears[name].until(
                lambda name=name: len(people.people[name].state.present()) == 3  # type: ignore[misc] # bound at once
            )
        yield people


async def test_only_two_people_read_message(tmp_path: Path) -> None:
    async with trio(tmp_path) as room:
        room.people["ben"].messages.send(SECRET, to="CLEO")
        await room.all_have(1)
        assert room.thread("ben").text == room.thread("cleo").text == SECRET
        assert room.thread("cleo").said.to == "cleo"
        host = room.thread("ann")
        assert (host.text, host.is_hidden, host.author) == ("", True, "ben")
        assert SECRET.encode() not in room.log
        assert SECRET not in repr(room.ears["ann"].told)


async def test_quiet_message_is_proven_at_all_members(tmp_path: Path) -> None:
    async with trio(tmp_path) as room:
        room.people["ben"].messages.send("hello @ann", quiet=True)
        await room.all_have(1)
        for name, person in room.people.items():
            thread = room.thread(name)
            assert (thread.said.quiet, person.state.doubt_of(thread.seq)) == (True, "")


async def test_no_engine_takes_in_a_private_message(tmp_path: Path) -> None:
    load = {name: loader(tmp_path / name) for name in ("ann", "ben", "cleo")}
    async with trio(tmp_path, **load) as room:
        room.people["ben"].messages.send(SECRET, to="cleo")
        room.people["cleo"].messages.send("hello all")
        await room.all_have(2)
        await room.ears["cleo"].until(lambda: room.thread("cleo").answer is not None)
        assert room.thread("ben", 0).phase is Phase.UNHANDLED
    assert not any(SECRET.encode() in file.read_bytes() for file in files_in(tmp_path))


async def test_own_agent_alone_answers_request(tmp_path: Path) -> None:
    load = {name: loader(tmp_path / name) for name in ("ann", "ben")}
    async with trio(tmp_path, **load) as room:
        room.people["ben"].messages.send(SECRET, to="ben")
        await room.ears["ben"].until(
            lambda: room.people["ben"].state.threads and room.thread("ben").answer
        )
        own = room.thread("ben")
        assert own.answer is not None
        assert (own.handler, own.answer.text) == ("ben", f"echo: {SECRET}")
        assert own.decision is not None
        assert (own.decision.reason, own.decision.query) == ("asked privately", SECRET)
        await room.ears["ann"].until(lambda: room.thread("ann").phase is Phase.ANSWERED)
        host = room.thread("ann")
        assert host.answer is not None
        assert host.decision is not None
        assert (host.text, host.answer.text, host.decision.query) == ("", "", None)
        assert SECRET.encode() not in room.log
        for name in ("ann", "cleo"):
            assert SECRET not in repr(room.ears[name].told)
            assert not any(isinstance(each, AnswerDelta) for each in room.ears[name].told)


async def test_request_stays_out_of_conversation(tmp_path: Path) -> None:
    """The host's engine serves guests with the same session."""
    asked: list[str] = []

    async def run(input: AgentInput, _callback: ApprovalCallback, _emit: Emit) -> str:  # noqa: A002 - as in Agent.run
        asked.append(input.query)
        return "well"

    async with trio(tmp_path, ann=loader(tmp_path / "ann", run=run)) as room:
        ann = room.people["ann"]
        ann.messages.send(SECRET, to="ann")
        await room.ears["ann"].until(lambda: ann.state.threads and room.thread("ann").answer)
        room.people["cleo"].messages.send("what did ann ask?")
        await room.ears["ann"].until(lambda: room.thread("ann").author == "cleo")
        await room.ears["ann"].until(lambda: room.thread("ann").answer)
        assert len(asked) == 2
    shared = [file for file in files_in(tmp_path) if SECRET.encode() in file.read_bytes()]
    assert all("private" in file.parts for file in shared)
    store = DataStore(tmp_path / "ann")
    remembered = await GroupSession.load_messages(store.narrowed("room"))
    await store.aclose()
    assert remembered is not None
    assert [each.content for each in remembered] == ["what did ann ask?", "well"]


async def test_call_is_shown_to_owner_only(
    tmp_path: Path,
) -> None:
    load = loader(tmp_path / "ben", run=tool_user)
    async with trio(tmp_path, ann=loader(tmp_path / "ann"), ben=load) as room:
        ben = room.people["ben"]
        ben.messages.send(SECRET, to="ben")
        await room.ears["ben"].until(lambda: ben.state.pending_for("ben"))
        (call,) = ben.state.pending_for("ben")
        assert (call.tool, call.arguments) == ("delete", {"path": SECRET})
        await room.ears["ann"].until(lambda: room.people["ann"].state.open)
        (seen,) = room.people["ann"].state.open.values()
        assert (seen.tool, seen.arguments, seen.agent, seen.effects) == ("", {}, "", ())
        assert ben.approvals.answer(call.id, Answer(allow=False, reason=f"never: {SECRET}"))
        await room.ears["ben"].until(lambda: room.thread("ben").answer)
        assert SECRET.encode() not in room.log


async def test_parked_call_runs_after_restart(tmp_path: Path) -> None:
    load = loader(tmp_path / "ben", run=tool_user)
    async with opened() as live:
        connector = await by_socket(live)
        await live.joined("ann", None)
        ben, ear = await live.joined("ben", load, connector=connector)
        ben.messages.send("old.txt", to="ben")
        await ear.until(lambda: ben.state.pending_for("ben"))
        await ben.leave(grace=0)
        later, ear = await live.joined(
            "ben",
            load,
            connector=connector,
            prepare=lambda joined: restored_from(joined, live.sink.events),
        )
        await ear.until(lambda: later.state.parked_for("ben") and later.engine.controls is None)
        (call,) = later.state.parked_for("ben")
        assert call.arguments == {"path": "old.txt"}
        await ear.until(lambda: later.approvals.answer(call.id, Answer(allow=True)))
        await ear.until(lambda: next(iter(later.state.threads.values())).answer)
        (thread,) = later.state.threads.values()
        assert thread.answer is not None
        assert thread.answer.text == "deleted old.txt"


def restored_from(joined: JoinedRoom, events: list[Event]) -> None:
    """Begin with a snapshot of the log as it is, in which nothing private is open."""
    state = RoomState()
    for event in events:
        state.apply(event)
    joined.replay([], decode_state(encode_state(state)))


async def test_private_edit_stays_private(tmp_path: Path) -> None:
    async with trio(tmp_path) as room:
        ben = room.people["ben"]
        ben.messages.send("on Monday", to="cleo")
        await room.all_have(1)
        assert ben.messages.change(MessageEdited(room.thread("ben").seq, SECRET))
        await room.ears["cleo"].until(lambda: room.thread("cleo").text == SECRET)
        await room.ears["ann"].until(lambda: room.thread("ann").edit is not None)
        assert room.thread("ann").text == ""
        assert SECRET.encode() not in room.log
        assert ben.messages.change(MessageDeleted(room.thread("ben").seq))
        await room.ears["cleo"].until(lambda: room.thread("cleo").is_deleted)


@pytest.mark.parametrize("to", ["", "cleo"])
async def test_refused_edit_returns_its_text(tmp_path: Path, to: str) -> None:
    async with trio(tmp_path) as room:
        ben, ear = room.people["ben"], room.ears["ben"]
        ben.messages.send("on Monday", to=to)
        await room.all_have(1)
        number = room.thread("ben").seq
        assert ben.messages.change(MessageDeleted(number))
        assert ben.messages.change(MessageEdited(number, SECRET))
        await ear.until(lambda: any(isinstance(each, EditRejected) for each in ear.told))
        (rejected,) = [each for each in ear.told if isinstance(each, EditRejected)]
        assert (rejected.message, rejected.text) == (number, SECRET)
        assert "deleted" in rejected.reason
        assert not any("deleted" in each for each in ear.notices)


async def test_a_public_reply_quotes_nothing_private(tmp_path: Path) -> None:
    async with trio(tmp_path) as room:
        room.people["ben"].messages.send(SECRET, to="cleo")
        await room.all_have(1)
        first = room.thread("cleo").seq
        room.people["cleo"].messages.send("as ben said", reply_to=first)
        room.people["cleo"].messages.send("I know", reply_to=first, to="ben")
        await room.all_have(3)
        reader = {name: room.people[name].state.reply_of for name in ("ann", "ben", "cleo")}
        assert reader["cleo"](room.thread("cleo", 1)) is None
        assert reader["ann"](room.thread("ann", 2)) is None
        quoted = reader["ben"](room.thread("ben", 2))
        assert quoted is not None
        assert quoted.text == SECRET


async def test_new_copy_reads_messages_again(
    tmp_path: Path,
) -> None:
    async with trio(tmp_path) as room:
        room.people["ben"].messages.send(SECRET, to="cleo")
        await room.all_have(1)
        await room.people["cleo"].leave()
        del room.people["cleo"]
        cleo = await room.add("cleo", None)
        await room.all_have(1)
        assert room.thread("cleo").text == SECRET
        assert cleo.state.threads


@pytest.mark.parametrize(
    ("to", "why"),
    [
        ("dora", "dora has never been in this room"),
        ("cleo", "you have no agent of your own here"),
    ],
)
async def test_impossible_recipient_is_refused(tmp_path: Path, to: str, why: str) -> None:
    async with trio(tmp_path) as room:
        with pytest.raises(NotPrivate, match=why):
            room.people["cleo"].messages.send(SECRET, to=to)
        assert room.people["cleo"].messages.pending == ()


async def test_files_are_not_sent_privately(tmp_path: Path) -> None:
    file = FileRef("a" * 64, "a.txt", 1)
    async with trio(tmp_path) as room:
        with pytest.raises(NotPrivate, match="files"):
            room.people["cleo"].messages.send(SECRET, to="ben", files=[file])


async def test_text_beside_seal_is_not_shown(tmp_path: Path) -> None:
    """A text beside what is sealed is not the author's, whatever its signature says."""
    async with trio(tmp_path) as room:
        room.people["ben"].messages.send(SECRET, to="cleo")
        await room.all_have(1)
        event = next(e for e in room.live.sink.events if isinstance(e.body, MessagePosted))
        forged = msgspec.structs.replace(event.body, text="send me money")
        for name, text in (("cleo", SECRET), ("ann", "")):
            person = room.people[name]
            shown = person._shown(msgspec.structs.replace(event, body=forged))
            assert isinstance(shown.body, MessagePosted)
            assert shown.body.text == text


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_public_event_encoding_is_stable() -> None:
    data = json.loads(msgspec.json.encode(Event(1, 1.0, "ann", MessagePosted("1", "hi"))))
    assert data["body"] == {"type": "said", "id": "1", "text": "hi"}


async def test_edit_of_forgotten_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once its message is forgotten, it is not known who may read the new text."""
    monkeypatch.setattr("genie_core.room.state.room_state.WINDOW", 2)
    sent: list[MessageEdited] = []
    real = FrameHandlers.change

    def change(self: FrameHandlers, peer: Peer, frame: ChangeMessage, now: float) -> None:
        if isinstance(frame.body, MessageEdited):
            sent.append(frame.body)
        real(self, peer, frame, now)

    monkeypatch.setattr(FrameHandlers, "change", change)
    async with trio(tmp_path) as room:
        ben = room.people["ben"]
        ben.messages.send("on Monday", to="cleo")
        await room.all_have(1)
        first = room.thread("ben").seq
        for number in range(6):
            ben.messages.send(str(number))
        await room.all_have(7)
        assert first not in ben.state.threads
        with pytest.raises(NotPrivate, match="too old"):
            ben.messages.change(MessageEdited(first, SECRET))
        ben._client.queue.ask(ChangeMessage(MessageEdited(first, SECRET)))
        await room.ears["ben"].until(lambda: sent)
        assert [each.text for each in sent] == [""]


async def test_waiting_message_keeps_reader_key(tmp_path: Path) -> None:
    async with trio(tmp_path) as room:
        ben = room.people["ben"]
        ben.messages._queue.online = False
        written = ben.messages.send(SECRET, to="cleo")
        (pending,) = [each for each in ben.messages.pending if each.id == written]
        ben.state.members.keys["cleo"] = room.people["ann"]._client.signer.key
        await room.all_have(1)
        assert room.thread("ann").text == ""
        assert len(pending.sealed) == 2
