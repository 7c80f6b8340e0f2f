"""Messages that wait for their files or for a connection, and files that come and go."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.genie_core.room.doubles import Recorder, local_connector, room_server
from tests.genie_core.room.live_room import Ear, by_socket, opened
from tests.genie_core.room.shelf import Shelf, Store

from genie_core.room.client.connection import RoomConnection
from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import ConnectionState, PendingMessage
from genie_core.room.client.send_queue import MAX_UNSENT
from genie_core.room.files.transfer import Direction, Transfer
from genie_core.room.participant.files import RoomFiles
from genie_core.room.participant.receipt import LeftInDisorder
from genie_core.room.protocol.errors import TooManyUnsent
from genie_core.room.protocol.events import FileRef, MessagePosted
from genie_core.room.protocol.frames import PostMessage
from genie_core.room.protocol.limits import Limits
from genie_core.room.transport.websocket import ws_connector


def files(count: int) -> list[FileRef]:
    return [FileRef(f"{n:02}" * 32, f"file{n}", 5, "text/plain") for n in range(count)]


def offline() -> RoomConnection:
    client = RoomConnection(local_connector(room_server()), Recorder(), ClientHandshake("ben"))
    client.queue.connected(Limits())
    return client


class Desk:
    """The files and messages of a member who is not connected yet."""

    def __init__(self, folder: Path) -> None:
        self.ear, self.shelf = Ear(), Shelf(folder)
        self.arrived: list[str] = []
        self.client = offline()
        self.files = RoomFiles(self.shelf, self.client, self.ear, self.arrived.append)
        self.files.start()

    def say(self, text: str, *files: FileRef) -> None:
        self.client.messages.send(text, files=files)

    def restore(self, messages: Iterable[PendingMessage]) -> None:
        self.client.messages.restore(messages)
        self.files.restore()

    def pending(self) -> list[str]:
        return [message.text for message in self.client.messages.pending]

    def sent(self) -> list[str]:
        return [each.text for each in self.client.queue.take(0.0) if isinstance(each, PostMessage)]


async def test_message_waits_for_file_and_order(tmp_path: Path) -> None:
    (file,) = files(1)
    desk = Desk(tmp_path)
    desk.say("first")
    desk.say("with a file", file)
    desk.say("after it")
    texts = ["first", "with a file", "after it"]
    assert desk.pending() == texts
    assert desk.sent() == ["first"]
    desk.shelf.arrive(file.digest)
    assert desk.sent() == texts[1:]
    assert [transfer.digest for transfer in desk.ear.transfers] == [file.digest]
    assert desk.arrived == []  # it went up


async def test_failed_file_frees_its_message(tmp_path: Path) -> None:
    (file,) = files(1)
    desk = Desk(tmp_path)
    desk.say("with a file", file)
    desk.shelf.sent.add(file.digest)  # which then is said to be there, for nothing else can come
    desk.shelf.report(Transfer(file.digest, "f", Direction.UP, 2, 5, problem="it is gone"))
    assert desk.sent() == ["with a file"]


async def test_a_file_that_came_down_is_told_of(tmp_path: Path) -> None:
    (file,) = files(1)
    desk = Desk(tmp_path)
    desk.shelf.report(Transfer(file.digest, "f", Direction.DOWN, 2, 5))
    assert desk.arrived == []
    desk.shelf.report(Transfer(file.digest, "f", Direction.DOWN, 5, 5))
    assert desk.arrived == [file.digest]
    assert len(desk.ear.transfers) == 2


async def test_only_unreferenced_file_is_dropped(tmp_path: Path) -> None:
    first, second = files(2)
    desk = Desk(tmp_path)
    desk.say("look", first)
    for file in (first, second):
        desk.files.detach(file.digest)
    assert desk.shelf.dropped == [second.digest]


async def test_restored_message_resends_files(tmp_path: Path) -> None:
    (file,) = files(1)
    earlier, later = Desk(tmp_path), Desk(tmp_path)
    earlier.say("look", file)
    later.restore(earlier.client.messages.pending)
    assert later.shelf.brought == [file.digest]
    assert later.pending() == ["look"]
    assert later.sent() == []
    assert later.files.path(file.digest) is None
    later.shelf.sent.add(file.digest)
    assert later.files.path(file.digest) == tmp_path / file.digest


@pytest.mark.parametrize("at_once", [True, False])
async def test_message_goes_without_lost_file(tmp_path: Path, *, at_once: bool) -> None:
    lost, kept = files(2)
    earlier, later = Desk(tmp_path), Desk(tmp_path)
    earlier.say("look", lost, kept)
    if at_once:
        later.shelf.gone.add(lost.digest)
    later.restore(earlier.client.messages.pending)
    if not at_once:  # it is found out when there is a place for files
        later.shelf.report(
            Transfer(lost.digest, lost.name, Direction.UP, 0, 5, problem="it is gone")
        )
    later.shelf.arrive(kept.digest)
    (unsent,) = later.client.messages.pending
    assert later.sent() == ["look"]
    assert (unsent.text, unsent.files) == ("look", (kept,))
    assert later.ear.notices == ["file0 is no longer on this machine; your message goes without"]


async def test_unsent_messages_are_bounded(tmp_path: Path) -> None:
    (file,) = files(1)
    desk = Desk(tmp_path)
    desk.say("first", file)
    for _ in range(MAX_UNSENT - 1):
        desk.say("more")
    with pytest.raises(TooManyUnsent):
        desk.say("too much")
    assert len(desk.pending()) == MAX_UNSENT


async def test_next_client_sends_unsent_in_order() -> None:
    async with opened() as live:
        address = str(await live.server.listen(port=0))
        ann, heard = await live.joined("ann", None)
        ben, ear = await live.joined("ben", None, connector=ws_connector(address))
        await live.server.close()
        await ear.until(lambda: ben.connection.state is ConnectionState.RETRYING)
        for number in range(5):
            ben.messages.send(f"message {number}")
        left = ben.messages.pending
        assert [unsent.text for unsent in left] == [f"message {number}" for number in range(5)]
        with pytest.raises(LeftInDisorder):
            await ben.leave()
        events = live.sink.events
    async with opened(events) as live:
        ann, heard = await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben", None, prepare=lambda joined: joined.restore_messages(left)
        )
        ben.messages.send("and one more")
        await heard.until(lambda: len(ann.state.threads) == 6)
        await ear.until(lambda: not ben.messages.pending)
        said = [e.body for e in live.sink.events if isinstance(e.body, MessagePosted)]
        assert [each.id for each in said[:5]] == [unsent.id for unsent in left]
        assert said[5].text == "and one more"


async def test_messages_keep_order_despite_files(tmp_path: Path) -> None:
    first, second = files(2)
    async with opened(files=Store(first, second)) as live:
        shelf = Shelf(tmp_path)
        ann, ear = await live.joined("ann", None)
        cleo, other = await live.joined(
            "cleo",
            None,
            connector=ws_connector(str(await live.server.listen(port=0))),
            library=shelf,
        )
        cleo.messages.send("before")
        cleo.messages.send("with both", files=[first, second])
        cleo.messages.send("after")
        cleo.messages.send("with one", files=[second])
        await ear.until(lambda: len(ann.state.threads) == 1)
        assert [unsent.text for unsent in cleo.messages.pending][-3:] == [
            "with both",
            "after",
            "with one",
        ]
        shelf.arrive(second.digest)
        assert len(cleo.messages.pending) >= 3
        shelf.arrive(first.digest)
        await ear.until(lambda: len(ann.state.threads) == 4)
        texts = [e.said.text for e in ann.state.threads.values()]
        assert texts == ["before", "with both", "after", "with one"]
        await other.until(lambda: not cleo.messages.pending and other.unsent == ())
        said = [e.body for e in live.sink.events if isinstance(e.body, MessagePosted)]
        assert said[1].files == (first, second)


@pytest.mark.parametrize(("most", "taken"), [(100_000, True), (1_000, False)])
async def test_kept_message_obeys_room_limit(most: int, taken: bool) -> None:
    """Before the welcome nothing is known of that, and too long a message comes back."""
    kept = PendingMessage("m1", "x" * 20_000, emote=False, at=1.0)
    async with opened(limits=Limits(text_chars=most)) as live:
        ann, heard = await live.joined("ann", None)
        ben, ear = await live.joined(
            "ben",
            None,
            prepare=lambda joined: joined.restore_messages([kept]),
            connector=await by_socket(live),
        )
        if taken:
            await heard.until(lambda: ann.state.threads)
            await ear.until(lambda: not ben.messages.pending)
            assert ear.rejected == []
        else:
            await ear.until(lambda: ear.rejected)
            ((text, why),) = ear.rejected
            assert (text, ben.messages.pending) == (kept.text, ())
            assert "1,000" in why
