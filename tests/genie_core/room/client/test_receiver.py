"""What a room's frames lead to, without a connection."""

import pytest
from tests.genie_core.room.doubles import Recorder

from genie_core.room.client.handshake import ClientHandshake
from genie_core.room.client.model import (
    ConnectionState,
    ConnectionStatus,
    PendingMessage,
    PendingReport,
    Severity,
)
from genie_core.room.client.receiver import LONGEST_GRACE, NOT_REPORTED, WITH_QUOTES, Receiver
from genie_core.room.client.send_queue import SendQueue
from genie_core.room.protocol.codec import event_mark
from genie_core.room.protocol.errors import RoomRefused
from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    Event,
    HostStarted,
    MessagePosted,
    RoomCreated,
)
from genie_core.room.protocol.frames import (
    Entries,
    FileStored,
    FrameRefused,
    MemberTyping,
    Suspending,
    Trouble,
    Welcome,
)
from genie_core.room.protocol.limits import Limits
from genie_core.room.security.identity import Identity

OPENED = Event(1, 1.0, ROOM, RoomCreated("r", "Room"))
HOSTED = Event(2, 2.0, ROOM, HostStarted("ann"))


class Ben:
    """What somebody gets, and what became of it."""

    def __init__(self, last: int = 0, mark: int = 0) -> None:
        self.changes = 0
        self.seen, self.queue = Recorder(), SendQueue(self._changed)
        self.links: list[ConnectionStatus] = []
        self.receiver = Receiver(
            self.seen,
            self.queue,
            ClientHandshake("ben", Identity.generate(), "d1"),
            last=last,
            mark=mark,
            report=self.links.append,
        )

    def _changed(self) -> None:
        self.changes += 1

    def enter(self, head: int = 0) -> None:
        self.queue.connected(Limits())
        self.receiver.welcome(Welcome("r", "Room", "ben", "member", "ann", head, Limits()))

    def say(self, id_: str, text: str = "hello") -> None:
        self.queue.send(PendingMessage(id_, text, emote=False, at=1.0))


def said(seq: int, by: str, id_: str) -> Event:
    return Event(seq, 3.0, by, MessagePosted(id_, "hello"))


def test_events_arrive_once_in_order() -> None:
    ben = Ben()
    ben.enter(head=2)
    assert not ben.receiver.is_caught_up
    assert ben.receiver.take(Entries((OPENED,))) is None
    assert (ben.changes, ben.receiver.is_caught_up) == (0, False)
    assert ben.receiver.take(Entries((OPENED, HOSTED))) is None
    assert ben.seen.events == [OPENED, HOSTED]
    assert (ben.changes, ben.receiver.is_caught_up) == (1, True)
    assert ben.receiver.take(Entries((said(4, "ann", "x"),))) == (
        "the host left out events: 4 came after 2"
    )
    assert ben.receiver.last == 2


def test_the_mark_is_that_of_the_last_event() -> None:
    ben = Ben(1, 77)
    assert (ben.receiver.last, ben.receiver.mark) == (1, 77)
    ben.seen.state.apply(OPENED)
    ben.receiver.take(Entries((HOSTED,)))
    assert (ben.receiver.last, ben.receiver.mark) == (2, event_mark(HOSTED))


def test_only_the_own_word_is_struck_off() -> None:
    ben = Ben()
    ben.enter()
    ben.say("one")
    ben.say("two")
    ben.receiver.take(Entries((OPENED, HOSTED, said(3, "ann", "two"), said(4, "ben", "one"))))
    assert [unsent.id for unsent in ben.seen.unsent] == ["two"]
    assert [unsent.id for unsent in ben.queue.pending] == ["two"]


async def test_refused_message_is_returned() -> None:
    ben = Ben()
    ben.enter()
    ben.say("one", "x" * 100)
    ben.receiver.take(FrameRefused("muted", "you are muted", ref="one"))
    assert ben.queue.pending == ben.seen.unsent == ()
    assert ben.seen.rejected == [("x" * 100, "you are muted")]


async def test_oversized_message_is_returned() -> None:
    ben = Ben()
    ben.enter()
    small = Limits(text_chars=10)
    long, quoting = (PendingMessage(id_, id_, emote=False, at=1.0) for id_ in ("x" * 11, "short"))
    ben.receiver.report_dropped(
        [long, quoting], [PendingReport("a", AnswerPosted(3, "yes"))], small
    )
    assert ben.seen.rejected == [
        ("x" * 11, "the message has 11 characters, this room takes 10"),
        ("short", WITH_QUOTES),
    ]
    assert ben.seen.notices == [(Severity.WARNING, NOT_REPORTED)]


async def test_a_refusal_about_a_file_is_the_files() -> None:
    ben = Ben()
    refused = FrameRefused("unknown_file", "nobody has it", ref="ab" * 32)
    ben.receiver.take(refused)
    stored = FileStored("ab" * 32, 5)
    ben.receiver.take(stored)
    assert ben.seen.files == [refused, stored]
    assert ben.seen.notices == []


@pytest.mark.parametrize(
    ("refused", "in_before", "raised"),
    [
        (FrameRefused("banned", "out", final=True), True, True),
        (FrameRefused("suspended", "back at nine", final=True), False, True),
        (FrameRefused("suspended", "back at nine", final=True), True, False),
        (FrameRefused("slow", "you are slow"), True, False),
    ],
)
def test_only_returning_room_is_awaited(
    refused: FrameRefused, in_before: bool, raised: bool
) -> None:
    ben = Ben()
    if in_before:
        ben.enter()
    if raised:
        with pytest.raises(RoomRefused):
            ben.receiver.take(refused)
        return
    assert ben.receiver.take(refused) == refused.text
    assert ben.receiver.suspended == (refused.text if refused.code == "suspended" else "")
    ben.enter()
    assert ben.receiver.suspended == ""


async def test_trouble_repeats_on_reconnect() -> None:
    ben = Ben()
    ben.enter()
    for text in ("disk full", "disk full", "", "disk full"):
        ben.receiver.take(Trouble(text))
    told = ["disk full", "the host can write to its disk again", "disk full"]
    assert [text for _, text in ben.seen.notices] == told
    assert [status.detail for status in ben.links] == ["disk full", "", "disk full"]
    ben.receiver.disconnected()
    ben.receiver.take(Trouble("disk full"))
    assert len(ben.links) == 4


@pytest.mark.parametrize(("within", "seconds"), [(-1.0, 0.0), (5.0, 5.0), (1e9, LONGEST_GRACE)])
def test_suspend_keeps_messages(within: float, seconds: float) -> None:
    ben = Ben()
    ben.enter()
    ben.say("one")
    ben.receiver.take(Suspending(within))
    ben.receiver.take(Suspending(within))
    assert ben.links == [ConnectionStatus(ConnectionState.ONLINE, closing_in=seconds)]
    assert ben.queue.take(10.0) == []
    assert ben.queue.settled  # for they can't be sent any more


def test_handshake_frame_ends_connection() -> None:
    ben = Ben()
    ben.enter()
    again = Welcome("r", "Room", "ben", "member", "ann", 0, Limits())
    assert ben.receiver.take(again) == "the room sent an unexpected welcome frame"
    assert ben.receiver.take(MemberTyping("ann")) is None
    assert ben.seen.typing == ["ann"]
