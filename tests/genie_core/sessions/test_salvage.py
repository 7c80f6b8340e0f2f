"""Logs put together from what is left of them."""

import os
import random
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.docs.sample_log import sample_lines
from tests.genie_core.sessions.bad_sectors import BadSectors
from tests.genie_core.sessions.log_content import read_lines
from tests.genie_core.sessions.sample import DIGEST, FILE, log_bytes, saved_room

from genie_core.room.protocol.events import Event, MessagePosted, UnreadableEvent
from genie_core.sessions.check import check, read_log
from genie_core.sessions.errors import NotSalvaged
from genie_core.sessions.lock import SessionInUse, hold
from genie_core.sessions.log.format import decode_line, encode_line
from genie_core.sessions.salvage import Salvaged, salvage, salvage_into
from genie_core.sessions.session import LOG_NAME, SavedSession

LINES = sample_lines()
"""A founded room: signed and chained."""

WHOLE = b"".join(LINES)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def salvaged(base: Path, *sources: Path) -> Salvaged:
    return salvage(base, sources, "ann", 1_800_000_000.0)


def edited(line: bytes, text: str = "changed by hand") -> bytes:
    """A message with another text and a right checksum, as a person with an editor may leave it."""
    event = decode_line(line.rstrip(b"\n"), first=False)
    assert isinstance(event.body, MessagePosted)
    return encode_line(
        msgspec.structs.replace(event, body=msgspec.structs.replace(event.body, text=text))
    )


SAID = next(n for n, line in enumerate(LINES) if b'"said"' in line)


def test_a_whole_log_comes_back_as_it_was(base: Path, tmp_path: Path) -> None:
    done = salvaged(base, source := file(tmp_path, "log", WHOLE))
    assert done.saved.log_path.read_bytes() == WHOLE
    assert (done.taken, done.missing, done.left_out, done.damaged) == (
        {str(source): len(LINES)},
        [],
        0,
        0,
    )
    metadata = done.saved.metadata
    assert (metadata.title, metadata.is_own, metadata.name) == ("Standup", True, "ann")
    assert done.doubts == []
    assert check(done.saved.folder).problems == ["1 file is not on this machine"]


def test_shuffled_pieces_are_put_in_order(base: Path, tmp_path: Path) -> None:
    numbers = list(range(len(LINES)))
    random.Random(7).shuffle(numbers)
    for place, number in enumerate(numbers):
        garbage = os.urandom(50).replace(b"\n", b"-") + b'{"seq":3,"at'
        ends = b"" if place % 2 else b"\n" + os.urandom(20)
        file(
            tmp_path,
            f"lost+found/{place:03}/#{place}",
            garbage + LINES[number].rstrip(b"\n") + ends,
        )
    done = salvaged(base, tmp_path / "lost+found")
    assert done.saved.log_path.read_bytes() == WHOLE
    assert done.missing == []


def test_holes_are_filled_or_marked(base: Path, tmp_path: Path) -> None:
    mine = file(tmp_path, "mine", b"".join([*LINES[:4], b"x" * 30 + LINES[4], *LINES[12:]]))
    theirs = file(tmp_path, "theirs", b"".join(LINES[4:9]))
    done = salvaged(base, mine, theirs)
    assert done.taken == {str(mine): 5 + len(LINES) - 12, str(theirs): 4}
    assert done.missing == [(10, 12)]
    written = done.saved.log_path.read_bytes().splitlines(keepends=True)
    assert written[:9] + written[12:] == LINES[:9] + LINES[12:]
    events = read_lines(b"".join(written)).events
    assert all(isinstance(each.body, UnreadableEvent) for each in events[9:12])


def test_edited_line_yields_to_chained_one(base: Path, tmp_path: Path) -> None:
    mine = file(tmp_path, "mine", WHOLE.replace(LINES[SAID], edited(LINES[SAID])))
    theirs = file(tmp_path, "theirs", WHOLE)
    done = salvaged(base, mine, theirs)
    assert done.saved.log_path.read_bytes() == WHOLE
    assert done.left_out == 1


def test_lone_edited_line_stays_marked(base: Path, tmp_path: Path) -> None:
    content = WHOLE.replace(LINES[SAID], edited(LINES[SAID]))
    done = salvaged(base, file(tmp_path, "mine", content))
    assert done.saved.log_path.read_bytes() == content
    assert any("not signed" in line for line in done.doubts)
    assert any("does not follow" in line for line in done.doubts)


def test_events_of_another_room_fill_no_hole(base: Path, tmp_path: Path) -> None:
    mine = file(tmp_path, "mine", b"".join(LINES[:6] + LINES[8:]))
    other = [
        Event(seq, 1.0, "eve", MessagePosted(str(seq), "I was never there"), b"p" * 24)
        for seq in range(1, 40)
    ]
    theirs = file(tmp_path, "theirs", b"".join(map(encode_line, other)))
    done = salvaged(base, mine, theirs)
    assert b"never there" not in b"".join(
        done.saved.log_path.read_bytes().splitlines(keepends=True)[:6]
    )
    assert done.missing[0][0] == 7
    assert str(theirs) not in done.taken or done.doubts


def test_a_bad_disk_is_read_around(base: Path, tmp_path: Path) -> None:
    texts = [Event(seq, 1.0, "ann", MessagePosted(str(seq), "x" * 900)) for seq in range(4, 60)]
    content = b"".join(log_bytes().splitlines(keepends=True)[:3]) + b"".join(
        map(encode_line, texts)
    )
    source = file(tmp_path, "log", content)
    with BadSectors(source, [(8192, 16384)]).installed():
        done = salvaged(base, source)
    ((first, last),) = done.missing
    assert 8 < last - first < 14
    assert check(done.saved.folder).problems == done.doubts


def test_session_is_mended_and_backed_up(base: Path, tmp_path: Path) -> None:
    saved = saved_room(base)
    whole = saved.log_path.read_bytes()
    lines = whole.splitlines(keepends=True)
    saved.log_path.write_bytes(b"".join(lines[:4]) + lines[4][:20] + b"\n" + b"".join(lines[6:]))
    (blob,) = (saved.folder / "blobs").iterdir()
    blob.unlink()
    copy = tmp_path / "bob"
    file(copy, "events.jsonl", whole)
    file(copy, "a name of its own", FILE)
    done = salvage_into(saved.folder, [copy])
    assert saved.log_path.read_bytes() == whole
    assert done.taken == {str(saved.log_path): len(lines) - 2, str(copy): 2}
    assert (done.files, done.files_missing) == (1, 0)
    assert (saved.folder / "blobs" / DIGEST).read_bytes() == FILE
    backup = (saved.folder / f"{LOG_NAME}.damaged-1").read_bytes()
    assert backup.startswith(b"".join(lines[:4]) + lines[4][:20])
    assert SavedSession.load(saved.folder).metadata.head == len(lines)
    assert check(saved.folder).problems == []


def test_a_lost_log_comes_back_from_a_copy(base: Path, tmp_path: Path) -> None:
    saved = saved_room(base)
    whole = saved.log_path.read_bytes()
    saved.log_path.unlink()
    lines = whole.splitlines(keepends=True)
    done = salvage_into(saved.folder, [file(tmp_path, "copy", b"".join(lines[:-3]))])
    assert done.missing == [(len(lines) - 2, len(lines))]
    assert read_log(saved.log_path).state.head == len(lines) - 3


def test_imported_log_returns_from_copy(base: Path, tmp_path: Path) -> None:
    saved = saved_room(base)
    whole = saved.log_path.read_bytes()
    saved.update(id="2026-11-25-standup", copied="import", origin=saved.metadata.id)
    saved.log_path.unlink()
    salvage_into(saved.folder, [file(tmp_path, "copy", whole)])
    assert saved.log_path.read_bytes() == whole


def test_other_room_mends_nothing(base: Path, tmp_path: Path) -> None:
    saved = saved_room(base)
    saved.log_path.write_bytes(b"nothing is left\n")
    with pytest.raises(NotSalvaged, match="not of"):
        salvage_into(saved.folder, [file(tmp_path, "other", WHOLE)])
    assert saved.log_path.read_bytes() == b"nothing is left\n"
    with hold(saved.folder), pytest.raises(SessionInUse):
        salvage_into(saved.folder, [saved.log_path])


def test_existing_room_is_not_duplicated(base: Path, tmp_path: Path) -> None:
    source = file(tmp_path, "log", WHOLE)
    room = salvaged(base, source).saved.id
    with pytest.raises(NotSalvaged, match=f"--into {room}"):
        salvaged(base, source)
    assert [each.name for each in base.iterdir()] == [room]


def test_metadata_among_the_pieces_is_used(base: Path, tmp_path: Path) -> None:
    saved = saved_room(tmp_path / "old", tags=("work",))
    done = salvaged(base, saved.folder)
    assert done.saved.metadata.tags == ("work",)
    assert done.saved.id == saved.id


@pytest.mark.parametrize(
    "content", [b"", b"no log\n", b'{"seq":' * 5_000, b"\0" * 100_000, os.urandom(50_000)]
)
def test_where_there_is_nothing_nothing_is_made(base: Path, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(NotSalvaged, match="no event"):
        salvaged(base, file(tmp_path, "log", content))
    assert list(base.iterdir()) == []


def test_a_pipe_is_not_waited_for(base: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotSalvaged, match="no event"):
        salvaged(base, tmp_path / "pipe")
    assert salvaged(base, tmp_path / "pipe", file(tmp_path, "log", WHOLE)).missing == []


@settings(max_examples=60)
@given(
    cuts=st.lists(st.tuples(st.integers(0, len(WHOLE)), st.integers(1, 400)), max_size=6),
    spare=st.sets(st.integers(0, len(LINES) - 1)),
)
def test_no_event_is_lost_that_one_source_has(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, int]], spare: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("salvage")
    spoilt = bytearray(WHOLE)
    for start, length in cuts:
        for place in range(start, min(start + length, len(WHOLE))):
            spoilt[place] = 0
    mine = file(folder, "mine", bytes(spoilt))
    theirs = file(folder, "theirs", b"".join(LINES[each] for each in sorted(spare)))
    known = {line for line in LINES if line in bytes(spoilt)} | {LINES[each] for each in spare}
    try:
        done = salvaged(folder / "sessions", mine, theirs)
    except NotSalvaged:
        assert known == set()
        return
    written = done.saved.log_path.read_bytes()
    assert {line for line in LINES if line in written} >= known
    content = read_lines(written)
    assert content.told() == []
    assert [each.seq for each in content.events] == list(range(1, content.head + 1))
