"""A room whose log was cut, damaged or edited by hand still opens, says so, and goes on."""

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.seated import quiet_engine
from tests.genie_core.room.histories import histories
from tests.genie_core.room.live_room import Ear
from tests.limits import scaled
from tests.ports import free_port

import genie_core.room.open.profile
from genie_core.room.open.opener import RoomOpener
from genie_core.room.open.requests import ResumeRoom
from genie_core.room.protocol.events import Event, HostStarted, MessagePosted, RoomCreated
from genie_core.room.state.room_state import RoomState
from genie_core.room.state.snapshot import encode_state
from genie_core.sessions.catalog import Catalog
from genie_core.sessions.log import index
from genie_core.sessions.log.format import encode_line
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.log.reader import LogReader
from genie_core.sessions.log.writer import EventLog
from genie_core.sessions.session import SavedSession
from genie_core.settings.locations import Locations, find_locations
from genie_core.settings.model import Settings

# -- any beginning of a log is one


def state_of(events: list[Event]) -> bytes:
    state = RoomState()
    for event in events:
        state.apply(event)
    return encode_state(state)


@pytest.fixture(params=[True, False], ids=["small bases", "no base"])
def indexed(request: pytest.FixtureRequest) -> Iterator[None]:
    """With states written down every few events, and without any."""
    every, tail = (10, 4) if request.param else (4_096, 2_048)
    with mock.patch.object(index, "BASE_EVERY", every), mock.patch.object(index, "TAIL", tail):
        yield


@pytest.mark.usefixtures("indexed")
@given(histories(), st.data())
def test_truncated_log_stays_usable(events: list[Event], data: st.DataObject) -> None:
    """Also where an index stands beside it that speaks of all of the log."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        with EventLog.open(path).log as log:
            for event in events:
                log.write([event])
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        kept = events[: whole[:cut].count(b"\n")]
        path.write_bytes(whole[:cut])
        with LogReader.open(path) as reader:
            assert list(reader.events()) == kept
            assert encode_state(reader.state()) == state_of(kept)
        opened = EventLog.open(path)
        with opened.log:
            assert encode_state(opened.state()) == state_of(kept)
            assert bool(opened.problems) == (not whole[:cut].endswith(b"\n") and cut > 0)
            opened.log.write(events[len(kept) :])
        assert path.read_bytes() == whole
        with LogReader.open(path) as reader:
            assert encode_state(reader.state()) == state_of(events)


# -- logs that were edited

SAID: Final = [
    Event(1, 1e9, "", RoomCreated("room", "Garden")),
    Event(2, 1e9, "", HostStarted("ann")),
    *(Event(n, 1e9 + n, "ann", MessagePosted(f"id {n}", f"message {n}")) for n in range(3, 13)),
]
LINES: Final = [encode_line(event) for event in SAID]


def _swapped(lines: list[bytes]) -> list[bytes]:
    lines[5], lines[8] = lines[8], lines[5]
    return lines


def _edited(lines: list[bytes]) -> list[bytes]:
    lines[6] = lines[6].replace(b"message", b"massage")
    return lines


def _pretty(lines: list[bytes]) -> list[bytes]:
    lines[6] = json.dumps(json.loads(lines[6]), indent=1).encode() + b"\n"
    return lines


EDITS: Final[dict[str, tuple[Callable[[list[bytes]], bytes], str]]] = {
    "text edited": (lambda lines: b"".join(_edited(lines)), "line 7 is damaged"),
    "formatted anew": (lambda lines: b"".join(_pretty(lines)), "damaged"),
    "reordered": (lambda lines: b"".join(_swapped(lines)), "out of place"),
    "duplicated": (lambda lines: b"".join(each * 2 for each in lines), "repeats event"),
    "all of it twice": (lambda lines: b"".join(lines * 2), "repeats event"),
    "line deleted": (lambda lines: b"".join(lines[:4] + lines[5:]), "can't be read"),
    "first line deleted": (lambda lines: b"".join(lines[1:]), "can't be read"),
    "line ends of another system": (
        lambda lines: b"".join(lines).replace(b"\n", b"\r\n"),
        "",
    ),
    "with a byte order mark": (lambda lines: b"\xef\xbb\xbf" + b"".join(lines), ""),
    "in another encoding": (
        lambda lines: b"".join(lines).decode().encode("utf-16"),
        "damaged",
    ),
    "cut in the middle of a line": (lambda lines: b"".join(lines)[:-20], "unfinished"),
    "without its last line end": (lambda lines: b"".join(lines)[:-1], "unfinished"),
    "empty lines in between": (lambda lines: b"\n".join(lines), "damaged"),
    "binary junk in the middle": (
        lambda lines: b"".join([*lines[:5], random.Random(1).randbytes(5_000), *lines[5:]]),
        "damaged",
    ),
    "nothing but junk": (lambda _: random.Random(2).randbytes(20_000), "damaged"),
    "zeros at the end": (lambda lines: b"".join(lines) + b"\0" * 4096, "unfinished"),
    "emptied": (lambda _: b"", "is empty"),
    "of another program": (lambda _: b'{"hello": "world"}\n' * 50, "damaged"),
}


@pytest.fixture
def locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Locations:
    monkeypatch.setattr(genie_core.room.open.profile, "engine_loader", quiet_engine)
    return find_locations({"GENIE_HOME": str(tmp_path)})


def saved_room(locations: Locations, log: bytes) -> SavedSession:
    """A room of ann's with this log, which had ten messages when it was closed."""
    saved = Catalog(locations.sessions).create("Garden", 1e9, host="ann", name="ann")
    with saved.open_log().log as writer:
        writer.write(SAID)
    saved.update(messages=10)
    saved.log_path.write_bytes(log)
    return saved


async def hosted(locations: Locations, room: str, text: str) -> tuple[list[str], list[str]]:
    """Host a room again and say something; what was told, and all texts that are there then."""
    entrance = RoomOpener("ann", Settings(local=True, announce=False, port=free_port()), locations)
    ear = Ear()
    joined = await entrance.enter(ResumeRoom(room), ear)
    joined.messages.send(text)
    await ear.until(lambda: any(text in each for each in texts(joined.state)) and not ear.unsent)
    said = texts(joined.state)
    await joined.leave()
    return ear.notices, said


def texts(state: RoomState) -> list[str]:
    return [thread.said.text for thread in state.threads.values()]


@pytest.mark.parametrize("edit", EDITS)
async def test_hand_edited_log_opens_with_notice(locations: Locations, edit: str) -> None:
    change, told = EDITS[edit]
    saved = saved_room(locations, change(list(LINES)))
    before = saved.log_path.read_bytes()
    async with asyncio.timeout(scaled(60)):
        notices, said = await hosted(locations, saved.id, "what happened here?")
        again, after = await hosted(locations, saved.id, "and now?")
    assert told in "\n".join(notices)
    assert bool(notices) == bool(told)
    assert len("\n".join(notices)) < 2_000
    intact = before[: before.rfind(b"\n") + 1]
    assert saved.log_path.read_bytes().startswith(intact.rstrip(b"\0")), "what can be read stays"
    assert after == [*said, "and now?"]
    if edit in ("reordered", "duplicated", "all of it twice"):
        assert said[:-1] == [f"message {n}" for n in range(3, 13)]
    assert "unfinished" not in "\n".join(again)


def test_junk_index_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(LINES))
    for junk in (b"", b"junk", random.Random(3).randbytes(100_000)):
        path.with_name(INDEX_NAME).write_bytes(junk)
        opened = EventLog.open(path)
        opened.log.close()
        assert opened.problems == []
        assert encode_state(opened.state()) == state_of(SAID)
