import asyncio
from pathlib import Path

import pytest

from genie_core.assistant.tools.chat import rooms
from genie_core.assistant.tools.chat.rooms import Rooms, search_saved_rooms
from genie_core.room.protocol.events import (
    ROOM,
    AnswerPosted,
    AnyBody,
    Event,
    MessageDeleted,
    MessageEdited,
    MessagePosted,
    RecoveredEvent,
    RoomCreated,
)
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.session import METADATA_NAME, SavedSession

NOON = 1_790_000_000.0


def save(base: Path, title: str, *said: tuple[str, AnyBody]) -> SavedSession:
    saved = Catalog(base).create(title, NOON)
    events = [Event(1, NOON, ROOM, RoomCreated(saved.id, title))]
    events += [Event(seq, NOON + seq, by, body) for seq, (by, body) in enumerate(said, 2)]
    saved.log_path.write_bytes(b"".join(map(encode_line, events)))
    return saved


@pytest.fixture
def base(tmp_path: Path) -> Path:
    save(
        tmp_path,
        "Garden",
        ("ann", MessagePosted("1", "Who waters the plants?")),
        ("ann", AnswerPosted(2, "Bob waters them")),
    )
    save(tmp_path, "Budget", ("bob", MessagePosted("1", "The WATER bill: 30")),
         ("bob", RecoveredEvent(Event(9, NOON, "carol", MessagePosted("9", "water is cheap")))))  # fmt: skip
    return tmp_path


def search(base: Path, words: str, room: str = "", limit: int = 10) -> list[str]:
    return search_saved_rooms(str(base), words, room, limit, 600).splitlines()


def test_messages_are_found_as_they_were_left(tmp_path: Path) -> None:
    save(
        tmp_path,
        "Garden",
        ("ann", MessagePosted("1", "teh plan")),
        ("ann", MessagePosted("2", "the secret")),
        ("ann", MessageEdited(2, "the plan")),
        ("ann", MessageDeleted(3)),
    )
    assert search(tmp_path, "plan")[-1].endswith("ann: the plan")
    assert search(tmp_path, "secret")[0].startswith("No saved message")


async def test_hits_show_room_and_time(
    base: Path,
) -> None:
    said = (await Rooms(base, seconds=60).search_rooms("water")).splitlines()
    assert said[0] == '4 messages with "water" (2 rooms searched):'
    assert len(said) == 5
    [garden] = [each for each in Catalog(base).all() if each.title == "Garden"]
    [line] = [each for each in said if "plants" in each]
    assert line.startswith(f"- Garden ({garden.id}), 2026-09-21 ")
    assert line.endswith(", ann: Who waters the plants?")
    assert any(each.endswith(", genie: Bob waters them") for each in said)
    assert said[-1].endswith(", carol: water is cheap")  # the earliest


def test_the_search_can_be_narrowed(base: Path) -> None:
    assert search(base, "water bill")[0] == '1 message with "water" and "bill" (2 rooms searched):'
    assert "1 room searched" in search(base, "water", "gard")[0]
    assert search(base, "water", limit=1)[0].endswith(", the latest 1:")
    assert search(base, '"bill water"')[0].startswith("No saved message contains")


async def test_no_words_or_rooms_find_nothing(tmp_path: Path) -> None:
    assert "no words" in await Rooms(tmp_path).search_rooms('""')
    assert search(tmp_path / "none", "x") == ['No saved message contains "x" (0 rooms searched).']


def test_unreadable_rooms_are_skipped(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        broken = save(base, f"Broken {number}")
        (broken.folder / METADATA_NAME).write_bytes(b"{")
    folder = save(base, "Folder")
    folder.log_path.unlink()
    folder.log_path.mkdir()
    said = search(base, "water")
    assert said[0] == '4 messages with "water" (2 rooms searched):'
    assert said[-1].startswith("Not searched: ")
    assert said[-1].endswith("; and 3 more.")
    torn = save(base, "Torn", ("ann", MessagePosted("1", "water here")))
    torn.log_path.write_bytes(torn.log_path.read_bytes() + b'{"half')
    assert search(base, "water", "torn")[0].startswith("1 message")
    monkeypatch.setattr(rooms, "MAX_LOG_BYTES", 10)
    assert "more than 10 bytes" in search(base, "water", "torn")[-1]


def test_when_time_is_up_what_was_found_is_told(base: Path) -> None:
    said = search_saved_rooms(str(base), "water", "", 10, -1.0).splitlines()
    assert said[-1] == "Not searched: 2 rooms: the time limit was reached."


async def test_slow_search_is_given_up(base: Path) -> None:
    said = await Rooms(base, seconds=0.0).search_rooms("water")
    assert "took too long" in said
    task = asyncio.create_task(Rooms(base, seconds=600).search_rooms("water"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
