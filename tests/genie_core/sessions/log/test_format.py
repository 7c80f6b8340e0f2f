import json
import random
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.genie_core.sessions.log_content import read_lines

from genie_core.room.protocol.events import (
    AnswerPosted,
    ApprovalRequested,
    Event,
    HostStarted,
    MemberJoined,
    MessagePosted,
    RoomCreated,
    UnreadableEvent,
)
from genie_core.room.state.room_state import RoomState
from genie_core.sessions.log.format import (
    MAX_GAP,
    MAX_LOST_LAST,
    LogScan,
    encode_line,
)
from genie_core.sessions.log.lines import LINE_BYTES, split_lines

EVENTS = [
    Event(1, 100.0, "", RoomCreated("r1", "Stand\u2028up")),
    Event(2, 101.5, "", HostStarted("hana")),
    Event(3, 102.0, "hana", MemberJoined("host", engine=True)),
    Event(4, 103.0, "hana", MessagePosted("m1", "héllo\n🧞", "hana")),
    Event(
        5, 104.0, "hana", ApprovalRequested(4, "a1", "system", "shell", {"cmd": ["ls", None, 1.5]})
    ),
    Event(6, 105.0, "hana", AnswerPosted(4, "done")),
]
LINES = [encode_line(event) for event in EVENTS]
WHOLE = b"".join(LINES)


def checked(text: bytes) -> bytes:
    """A line with a checksum that fits, whatever it says."""
    return text[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(text[:-1])


def test_what_was_written_is_read() -> None:
    content = read_lines(WHOLE)
    assert content.events == EVENTS
    assert content.told() == []
    assert content.intact == len(WHOLE)


def test_line_is_json_with_checksum_last() -> None:
    for line, event in zip(LINES, EVENTS, strict=True):
        value = json.loads(line)
        assert list(value) == ["seq", "at", "by", "body", "crc"]
        assert (value["seq"], value["by"]) == (event.seq, event.by)


def test_an_empty_log_has_no_problems() -> None:
    content = read_lines(b"")
    assert (content.events, content.told(), content.intact, content.head) == ([], [], 0, 0)


def test_cut_off_anywhere_all_whole_lines_remain() -> None:
    for cut in range(len(WHOLE)):
        content = read_lines(WHOLE[:cut])
        whole = WHOLE[:cut].count(b"\n")
        assert content.events == EVENTS[:whole]
        assert content.intact == sum(map(len, LINES[:whole]))
        assert bool(content.told()) == (cut != content.intact)


@pytest.mark.parametrize("tail", [b"\0" * 300, b"\0" * 300 + b"\n", b"garbage", b'{"seq":7'])
def test_unfinished_end_is_cut_off(tail: bytes) -> None:
    content = read_lines(WHOLE + tail)
    assert content.events == EVENTS
    assert content.intact == len(WHOLE)
    assert len(content.told()) == 1 or tail.endswith(b"\n")
    assert str(len(tail)) in content.told()[-1]


@pytest.mark.parametrize("bad", range(len(LINES)))
def test_damaged_line_is_named_rest_is_read(bad: int) -> None:
    damaged = bytearray(LINES[bad])
    damaged[len(damaged) // 2] ^= 1
    content = read_lines(b"".join([*LINES[:bad], bytes(damaged), *LINES[bad + 1 :]]))
    assert any(f"line {bad + 1} is damaged" in problem for problem in content.told())
    assert [event.seq for event in content.events] == [1, 2, 3, 4, 5, 6]
    assert content.intact == len(WHOLE)
    for event, original in zip(content.events, EVENTS, strict=True):
        if original.seq == bad + 1:
            assert isinstance(event.body, UnreadableEvent)
        else:
            assert event == original
    folded = RoomState()
    for event in content.events:
        folded.apply(event)
    assert folded.head == 6
    assert folded.unreadable == {bad + 1}


def test_missing_lines_leave_placeholders() -> None:
    content = read_lines(b"".join([*LINES[:1], *LINES[4:]]))
    assert [type(event.body) for event in content.events[1:4]] == [UnreadableEvent] * 3
    assert content.told() == ["events 2 to 4 before line 2 can't be read"]


def test_damaged_newline_costs_two_lines() -> None:
    joined = LINES[1][:-1] + b"x" + LINES[2]
    content = read_lines(b"".join([LINES[0], joined, *LINES[3:]]))
    assert [isinstance(event.body, UnreadableEvent) for event in content.events] == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]


def test_unknown_kinds_become_placeholders() -> None:
    later = checked(b'{"seq":7,"at":106.0,"by":"hana","body":{"type":"waved","hand":"left"}}')
    content = read_lines(WHOLE + later)
    assert content.told() == []
    assert content.events[-1].by == "hana"
    assert content.events[-1].body == UnreadableEvent(
        "this version does not know events like 'waved'"
    )


@pytest.mark.parametrize("at", [1e300, -1e18, -0.5])
@pytest.mark.parametrize("kind", ["hosted", "waved"])
def test_an_impossible_time_counts_as_damage(at: float, kind: str) -> None:
    line = checked(
        b'{"seq":7,"at":%r,"by":"","body":{"type":"%b","host":"x"}}' % (at, kind.encode())
    )
    content = read_lines(WHOLE + line)
    assert content.told() == ["line 7 is damaged: it has an impossible time"]
    assert content.events[-1] == Event(
        7, 105.0, "", UnreadableEvent("line 7 of the log is damaged")
    )


def file(digest: str, size: int) -> str:
    return f'{{"digest":"{digest}","name":"n","size":{size}}}'


def said_with(*files: str) -> str:
    return f'{{"type":"said","id":"m2","text":"","files":[{",".join(files)}]}}'


def with_arguments(fields: str) -> str:
    nested = '{"a":' * 65 + "1" + "}" * 65
    return f'{{{fields},"message":4,"arguments":{nested}}}'


@pytest.mark.parametrize(
    "body",
    [
        said_with(file("../../etc/passwd", 1)),
        said_with(file("a" * 64, 10**400)),
        said_with(*[file("a" * 64, 1)] * 300),
        with_arguments('"type":"asked","approval":"a2","agent":"a","tool":"t"'),
        with_arguments('"type":"settled","approval":"a1","outcome":"approved"'),
        '{"type":"recovered","event":{"seq":7,"at":1,"by":"","body":' * 64
        + '{"type":"preferred","text":""}'
        + "}}" * 64,
    ],
)
def test_what_no_room_records_counts_as_damage(body: str) -> None:
    line = checked(b'{"seq":7,"at":106.0,"by":"hana","body":%b}' % body.encode())
    content = read_lines(WHOLE + line)
    assert content.told()[0].startswith("line 7 is damaged: it ")
    assert content.events[-1].body == UnreadableEvent("line 7 of the log is damaged")


def test_endless_line_costs_bounded_memory() -> None:
    piece, pieces = b"x" * (LINE_BYTES // 4), 9
    later = encode_line(Event(8, 106.0, "hana", MessagePosted("m2", "still here")))
    scan = LogScan()
    events = [
        found.event for found in scan.events(split_lines([WHOLE, *[piece] * pieces, b"\n" + later]))
    ]
    assert scan.damages.told()[0].startswith(f"line 7 is damaged: it is over {LINE_BYTES:,} bytes")
    assert scan.intact == len(WHOLE) + pieces * len(piece) + 1 + len(later)
    assert [event.seq for event in events] == [*range(1, 9)]
    torn = LogScan()
    assert len(list(torn.events(split_lines([WHOLE, *[piece] * 5])))) == len(EVENTS)
    assert (torn.intact, len(torn.damages.told())) == (len(WHOLE), 1)


def test_damage_stays_small_in_memory() -> None:
    content = read_lines(WHOLE + b"\n" * (3 * MAX_LOST_LAST))
    assert content.head == len(EVENTS) + MAX_LOST_LAST
    jumps = [
        encode_line(Event(6 + jump * MAX_GAP, 106.0, "hana", MessagePosted(f"j{jump}", "far on")))
        for jump in range(1, 40)
    ]
    content = read_lines(WHOLE + b"".join(jumps))
    assert content.head <= 6 + 2 * MAX_GAP
    assert content.damages.damaged >= 38


def test_a_repeated_line_is_left_out() -> None:
    content = read_lines(WHOLE + LINES[2])
    assert content.events == EVENTS
    assert content.told() == ["line 7 repeats event 3 and is left out"]


@pytest.mark.parametrize("seq", [10**9, -(10**9), 0])
def test_an_absurd_number_costs_no_memory(seq: int) -> None:
    odd = encode_line(Event(seq, 0.0, "", HostStarted("x")))
    content = read_lines(WHOLE + odd + encode_line(Event(8, 0.0, "", HostStarted("x"))))
    assert len(content.events) == 8
    assert len(content.told()) >= 1


@given(st.binary(max_size=300), st.integers(0, len(WHOLE)), st.integers(0, len(WHOLE)))
def test_no_damage_is_worse_than_lost_events(junk: bytes, start: int, end: int) -> None:
    content = read_lines(WHOLE[: min(start, end)] + junk + WHOLE[max(start, end) :])
    assert [event.seq for event in content.events] == list(range(1, content.head + 1))
    for event in content.events:
        assert event in EVENTS or isinstance(event.body, UnreadableEvent)


@pytest.mark.parametrize(
    "change", [lambda b: b"\xef\xbb\xbf" + b, lambda b: b.replace(b"\n", b"\r\n")]
)
def test_what_editors_add_does_no_harm(change: Callable[[bytes], bytes]) -> None:
    data = change(WHOLE)
    content = read_lines(data)
    assert (content.events, content.told(), content.intact) == (EVENTS, [], len(data))


def test_much_damage_is_told_in_one_line() -> None:
    content = read_lines(WHOLE + b"junk\n" * 1200 + LINES[0])
    assert content.told() == [
        "lines 7, 8, 9, 10, 11 and 1,195 more are damaged",
        "line 1207 repeats event 1 and is left out",
    ]


def test_many_other_problems_are_counted() -> None:
    content = read_lines(WHOLE + LINES[0] * 100)
    assert len(content.told()) == 6
    assert content.told()[-1] == "the log has 95 more problems"


def test_flipped_bits_are_noticed() -> None:
    rng = random.Random(3)
    for _ in range(500):
        data = bytearray(WHOLE)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        content = read_lines(bytes(data))
        assert content.told()
        assert all(
            event in EVENTS or isinstance(event.body, UnreadableEvent) for event in content.events
        )


LONG = [Event(n, 100.0 + n, "ann", MessagePosted(f"m{n}", f"text {n}")) for n in range(1, 301)]
LONG_LINES = [encode_line(event) for event in LONG]


def test_a_copy_of_a_later_line_costs_nothing() -> None:
    content = read_lines(b"".join([*LONG_LINES[:9], LONG_LINES[289], *LONG_LINES[9:]]))
    assert content.events == LONG
    assert content.told() == ["line 10 repeats event 290 and is left out"]


def test_duplicate_number_in_place_wins() -> None:
    other = encode_line(Event(290, 99.0, "bob", MessagePosted("x", "another 290")))
    content = read_lines(b"".join([*LONG_LINES[:9], other, *LONG_LINES[9:]]))
    assert content.events == LONG


def test_contradicted_jump_is_ignored() -> None:
    far = encode_line(Event(5_000, 99.0, "bob", MessagePosted("x", "far away")))
    content = read_lines(b"".join([*LONG_LINES[:9], far, *LONG_LINES[9:]]))
    assert content.events == LONG
    assert content.told() == [
        "line 10 with event 5000 contradicts the others; it is left out",
    ]


def test_uncontradicted_jump_is_believed() -> None:
    content = read_lines(b"".join([*LONG_LINES[:99], *LONG_LINES[199:], LONG_LINES[49]]))
    assert [e for e in content.events if not isinstance(e.body, UnreadableEvent)] == [
        *LONG[:99],
        *LONG[199:],
    ]


CHANGES = st.lists(
    st.tuples(st.sampled_from(["repeat", "move", "swap"]), st.integers(0), st.integers(0)),
    min_size=1,
    max_size=6,
)


def disordered(lines: list[bytes], changes: list[tuple[str, int, int]]) -> list[bytes]:
    lines = lines.copy()
    for change, first, second in changes:
        one, other = first % len(lines), second % len(lines)
        match change:
            case "repeat":
                lines.insert(other, lines[one])
            case "move":
                lines.insert(other, lines.pop(one))
            case "swap":
                lines[one], lines[other] = lines[other], lines[one]
    return lines


@given(CHANGES)
def test_disordered_lines_are_read_in_order(
    changes: list[tuple[str, int, int]],
) -> None:
    content = read_lines(b"".join(disordered(LONG_LINES[:40], changes)))
    assert content.events == LONG[:40]


@given(CHANGES, st.sets(st.integers(0, 39), max_size=3))
def test_damage_in_disorder_costs_itself(
    changes: list[tuple[str, int, int]], damaged: set[int]
) -> None:
    lines = disordered(LONG_LINES[:40], changes)
    for each in damaged:
        lines[each] = lines[each][:-3] + b"??\n"
    content = read_lines(b"".join(lines))
    intact = [event for event in LONG[:40] if encode_line(event) in lines]
    assert [e for e in content.events if not isinstance(e.body, UnreadableEvent)] == intact
    assert [event.seq for event in content.events] == list(range(1, content.head + 1))


def test_damaged_end_counts_in_disorder() -> None:
    lines = LONG_LINES[:20]
    lines[4], lines[5] = lines[5], lines[4]
    for each in (18, 19):
        lines[each] = lines[each][:-3] + b"??\n"
    content = read_lines(b"".join(lines))
    assert [event.seq for event in content.events] == list(range(1, 21))
    assert all(isinstance(event.body, UnreadableEvent) for event in content.events[18:])
