import msgspec
import pytest

from genie_core.room.protocol.codec import decode_server, encode
from genie_core.room.protocol.errors import FrameError
from genie_core.room.protocol.events import (
    LARGEST_FILE,
    MOST_FILES,
    AnyBody,
    Event,
    FileRef,
    MemberJoined,
    MessagePosted,
    RecoveredEvent,
)
from genie_core.room.protocol.frames import Entries
from genie_core.room.protocol.limits import Limits

DIGEST = "0123456789abcdef" * 4
SANE = [
    FileRef(DIGEST, "", 1),
    FileRef(DIGEST, "\x1b[2J\u202e" + "x" * 5000, LARGEST_FILE, "application/pdf"),
    FileRef(DIGEST, "a", 1, "x" * 127),
]
INSANE = [
    FileRef("", "a", 5),
    FileRef(DIGEST.upper(), "a", 5),
    FileRef(f"{DIGEST}\n", "a", 5),
    FileRef(f"../{DIGEST[3:]}", "a", 5),
    FileRef("١" * 64, "a", 5),
    FileRef(DIGEST, "a", 0),
    FileRef(DIGEST, "a", -5),
    FileRef(DIGEST, "a", LARGEST_FILE + 1),
    FileRef(DIGEST, "a", 10**400),
    FileRef(DIGEST, "a", 5, "text/\x1b[2Jplain"),
    FileRef(DIGEST, "a", 5, "text/plain\n"),
    FileRef(DIGEST, "a", 5, "text/ünïcode"),
    FileRef(DIGEST, "a", 5, "x" * 128),
]


def bodies(*files: FileRef) -> list[AnyBody]:
    """A message that names these files, here and as others recover it."""
    said = MessagePosted("1", "x", files=files)
    recovered = RecoveredEvent(Event(1, 1.0, "a", said))
    return [said, recovered, RecoveredEvent(Event(1, 1.0, "a", recovered))]


@pytest.mark.parametrize("file", SANE)
def test_a_file_that_can_be(file: FileRef) -> None:
    assert file.is_sane()
    for body in bodies(*[file] * MOST_FILES):
        event = Event(1, 1.0, "a", body)
        assert event.has_sane_files()
        assert decode_server(encode(Entries((event,)))) == Entries((event,))


@pytest.mark.parametrize("file", INSANE)
def test_impossible_file_is_refused(file: FileRef) -> None:
    assert not file.is_sane()
    for body in bodies(SANE[0], file):
        with pytest.raises(FrameError, match="event 7 names files that can't be"):
            decode_server(encode(Entries((Event(7, 1.0, "a", body),))))


def test_thousands_of_files_are_refused() -> None:
    for body in bodies(*[SANE[0]] * 10_000):
        with pytest.raises(FrameError, match="names files"):
            decode_server(encode(Entries((Event(7, 1.0, "a", body),))))


def test_room_file_limit_has_maximum() -> None:
    assert msgspec.convert({"files": MOST_FILES}, Limits).files == MOST_FILES
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"files": MOST_FILES + 1}, Limits)


def test_what_is_no_message_names_no_files() -> None:
    assert Event(1, 1.0, "a", MemberJoined("guest")).has_sane_files()
