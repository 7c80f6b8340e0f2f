import logging

import pytest

from genie_core.room.channel import Channel, attempt
from genie_core.room.protocol.frames import ClientFrame, StoreFile
from genie_core.room.protocol.limits import Limits
from genie_core.room.sending import Sending
from genie_core.room.transfer import CHUNK_BYTES, Progress, fitting_chunk
from genie_core.storage.errors import DamagedBlob

QUESTION = StoreFile("d" * 64, 5)


def made(lost: list[str]) -> Channel:
    return Channel(lambda: None, lambda: lost.append("lost"))


def test_a_connection_is_taken_note_of_once() -> None:
    channel = made([])
    assert (channel.is_open, channel.connection, channel.chunk) == (False, 0, CHUNK_BYTES)
    small = Limits(frame_bytes=16 * 1024)
    assert channel.open(small)
    assert not channel.open(small)
    assert (channel.is_open, channel.connection) == (True, 1)
    assert channel.chunk == fitting_chunk(small.frame_bytes)
    channel.close()
    assert not channel.is_open
    assert channel.open(Limits())
    assert channel.connection == 2


def test_what_can_not_be_asked_means_that_the_connection_is_lost() -> None:
    lost: list[str] = []
    channel = made(lost)
    channel.ask(QUESTION)  # to nobody yet
    assert lost == ["lost"]
    asked: list[ClientFrame] = []

    def ask(frame: ClientFrame) -> bool:
        asked.append(frame)
        return len(asked) == 1

    channel.start(ask)
    channel.ask(QUESTION)
    assert lost == ["lost"]
    channel.ask(QUESTION)
    assert (asked, lost) == ([QUESTION] * 2, ["lost"] * 2)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (DamagedBlob("d" * 64, "its end is missing"), "its end is missing"),
        (ZeroDivisionError("of nobody's interest"), "its log"),
    ],
)
async def test_what_goes_wrong_with_a_file_ends_its_transfer_alone(
    error: Exception, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    course = Sending("d" * 64, 5)

    async def step() -> None:
        raise error

    with caplog.at_level(logging.CRITICAL + 1):
        await attempt(course, step)
    assert course.progress is Progress.FAILED
    assert told in course.why
    assert "of nobody's interest" not in course.why
